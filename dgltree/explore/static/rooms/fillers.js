// A list of fillers in a card of fixed height: old rows stay, grey, until there are new ones.
import { fill, h, more, outdate, signed, typeset } from "../dom.js";
import { saveCsv } from "../save.js";

const SHOWN = 5;
const SIGNS = { yes: "✓", maybe: "~", no: "✗", unknown: "…" };
const grade = (filler) => (filler.verdict === null ? "unknown" : filler.holds ? "yes" : filler.undecided ? "maybe" : "no");

/* heading, note: what the list is; scored: whether a network's score is shown instead of the source;
   picked(text): called for a filler of one blank; own: an element below the rows. */
export function fillerCard({ heading, note, scored, picked, own }) {
  let found = null, extra = [], open = false, chosen = "";
  const rows = h("div", { class: "rows-of-fillers" }), effort = h("p", { class: "quiet effort" }), below = h("div", { class: "more-line" });
  const csv = saveCsv("fillers", () => [["place", "filler", "check", "score", "source"],
    ...(found?.fillers ?? []).map((f, k) => [k + 1, f.texts.join(", "), f.verdict, f.score, f.source ?? "list"])]);
  const element = h("div", { class: "card list" }, h("div", { class: "heading" }, h("h3", {}, heading), csv), h("p", { class: "quiet note" }, note), rows, below, effort, own);

  function row(filler, place, single) {
    const set = filler.latex.map((latex, k) => [k ? ", " : "", typeset(latex, filler.texts[k])]), mark = grade(filler);
    const title = filler.forms.length ? `= ${filler.forms.join(" = ")}` : null;
    return h("tr", { class: single && filler.texts[0] === chosen ? "chosen" : "", "data-filler": filler.texts.join(", "), title },
      h("td", { class: "place" }, place),
      h("td", { class: "expression" }, single
        ? h("button", { type: "button", class: "filler", title: `Look into ${filler.texts[0]}`, onclick: () => picked(filler.texts[0]) }, set)
        : h("span", { class: "filler" }, set)),
      h("td", { class: `check ${mark}` }, h("div", { class: "clamp", title: filler.verdict ?? "" }, h("span", { class: "mark", "aria-hidden": "true" }, `${SIGNS[mark]} `), filler.verdict?.replace(/^holds /, "") ?? "checking",
        scored ? null : h("span", { class: "source" }, ` · ${filler.source}`))),
      scored ? h("td", { class: "figure" }, signed(filler.score)) : null);
  }

  function draw() {
    const single = found.blanks.length === 1, head = ["", "filler", scored ? "check" : "check and source", ...(scored ? ["score"] : [])];
    const shown = open ? found.fillers : found.fillers.slice(0, SHOWN);
    fill(rows, shown.length + extra.length ? h("table", {}, h("thead", {}, h("tr", {}, head.map((name, k) => (name
      ? h("th", { scope: "col", class: k === 3 ? "figure" : "" }, name) : h("td", {}))))),
    h("tbody", {}, shown.map((filler, k) => row(filler, `${k + 1}`, single)), extra.map((filler) => row(filler, "+", single)))) : null);
    fill(below, more(found.fillers.length, SHOWN, open, (now) => { open = now; draw(); below.querySelector("button").focus(); }));
  }

  return {
    element,
    show(given, said) { found = given; draw(); fill(effort, said); },
    wait(...said) { extra = []; if (found) outdate(rows); fill(effort, said); },
    fail(message) { fill(rows); fill(below); fill(effort, message); found = null; },
    say(...said) { fill(effort, said); },
    judged(verdicts) { verdicts.forEach((verdict, k) => Object.assign(found.fillers[k], verdict)); draw(); },
    add(filler) { extra = [filler]; if (found) draw(); },
    choose(text) {
      chosen = text;
      for (const one of rows.querySelectorAll("tr[data-filler]")) one.classList.toggle("chosen", one.dataset.filler === text);
    },
  };
}
