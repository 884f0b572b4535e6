// The room of equations: read, rank, search and verify as one types, and look into what a filler changes.
import { ask, listen, newest } from "../ask.js";
import { chooser, fill, h, later, number, outdate, say, signed, typeset } from "../dom.js";
import { keep } from "../place.js";
import { saveCsv } from "../save.js";
import { inside } from "./inside.js";

export const title = "Equation";
const EXAMPLES = ["sin(x)^2 + _ = 1", "x^2 - 5x + 6 = (x - 2)_", "\\frac{1}{x} - \\frac{1}{x+1} = \\frac{1}{\\square}",
  "x^3 + _ = sin(x) y + tan(x y)", "x^2 - 5x + 6 = (x - _1)(x - _2)", "sqrt(x^2) = x"];

export function make(models) {
  const now = { text: "", first: models.equations[0], second: models.equations[1] ?? "", filler: "", step: "" };
  const reading = newest(), ranking = newest(), searching = newest(), verifying = newest();
  const field = h("input", {
    type: "text", id: "equation-text", class: "equation", autocomplete: "off", spellcheck: "false", autocapitalize: "off",
    maxlength: 1000, "aria-describedby": "equation-help equation-wrong", oninput: () => { now.filler = now.step = ""; typed(field.value); },
  });
  const shown = h("div", { class: "shown" }), wrong = h("p", { id: "equation-wrong", class: "wrong", role: "status" });
  const lists = h("div", { class: "lists" }), insides = h("div", { class: "insides" }), choosers = h("div", { class: "choosers" });
  const element = h("div", { class: "room" },
    h("section", { class: "card", "aria-label": "The equation" },
      h("label", { class: "name", for: "equation-text" }, "Equation with a blank"),
      field,
      h("p", { id: "equation-help", class: "quiet help" }, "As you type or paste it, LaTeX too. The blank is _ or ?, several are _1, _2; without one it is verified."),
      h("div", { class: "chips" }, EXAMPLES.map((text) =>
        h("button", { type: "button", class: "chip", onclick: () => begin(text) }, text))),
      shown, wrong),
    h("section", { "aria-label": "Fillers" }, h("div", { class: "heading" }, h("h2", {}, "Fillers"), choosers), lists),
    h("section", { "aria-label": "Inside the network" }, insides));

  function choose() {
    fill(choosers,
      chooser("Network", models.equations, now.first, (name) => { now.first = name; now.step = ""; update(); }),
      models.equations.length > 1
        ? chooser("Beside it", models.equations, now.second, (name) => { now.second = name; now.step = ""; update(); }, "none") : null);
  }
  const chosen = () => [...new Set([now.first, now.second].filter(Boolean))];
  const remember = () => keep("equation", {
    text: now.text, model: now.first === models.equations[0] ? "" : now.first,
    beside: now.second, filler: now.filler, step: now.step,
  });

  function begin(text) {
    field.value = text;
    now.filler = now.step = "";
    now.text = text;
    update();
  }
  const typed = later(120, (text) => { now.text = text; update(); });

  function update() {
    remember();
    for (const run of [ranking, searching, verifying]) run.stop();
    if (!now.text.trim()) {
      reading.stop();
      for (const place of [shown, lists, insides]) fill(place);
      wrong.textContent = "";
      fill(lists, h("p", { class: "empty" }, "Type an equation, or take one of the examples."));
      return;
    }
    outdate(shown, lists, insides);
    reading(async (signal) => {
      const read = await ask("equation/read", { text: now.text }, signal);
      wrong.textContent = "";
      fill(shown, typeset(read.latex, read.text, true));
      say(`read as ${read.text}`);
      if (read.blanks.length) complete(read);
      else verify();
    }, (message) => { wrong.textContent = message; });
  }

  function complete(read) {
    const cards = chosen().map((name) => ({ name, card: h("div", { class: "card list" }, h("p", { class: "quiet" }, "ranking …")) }));
    const search = h("div", { class: "card list" });
    fill(lists, read.blanks.length === 1 ? cards.map(({ card }) => card) : null, search);
    if (read.blanks.length === 1) {
      ranking(async (signal) => {
        await Promise.all(cards.map(async ({ name, card }) => {
          const found = await ask("equation/rank", { text: now.text, model: name }, signal);
          const took = `${Math.round(1000 * found.seconds)} ms`;
          list(card, `From the list, by ${name}`, found, `${found.tried.toLocaleString("en")} fillers ranked in ${took}`);
          if (name === now.first) {
            if (!now.filler && found.fillers.length) now.filler = found.fillers[0].texts[0];
            look();
          }
        }));
      }, (message) => {
        for (const { card } of cards) fill(card, h("h3", {}, "From the list"), h("p", { class: "quiet" }, message));
        fill(insides);
      });
    } else fill(insides, h("p", { class: "empty" }, "The inside of a network is shown for equations with one blank."));
    open(search);
  }

  function open(card) {
    const heading = "By search, what holds";
    const stop = h("button", { type: "button", class: "plain", onclick: () => { searching.stop(); fill(card.querySelector(".effort"), "stopped"); } }, "Stop");
    fill(card, h("h3", {}, heading), h("p", { class: "quiet effort" }, "searching … ", stop));
    searching(async (signal) => {
      await new Promise((ready) => { setTimeout(ready, 350); }); // while one types on, nothing is searched
      if (signal.aborted) return;
      await listen("equation/search", { text: now.text }, signal, (found) => {
        const tried = `${found.tried.toLocaleString("en")} expressions tried in ${number(found.seconds)} s`;
        list(card, heading, found, found.done ? tried + (found.stopped ? "; the time is over" : "") : `${tried}, searching on … `);
        if (!found.done) card.querySelector(".effort").append(stop);
        else if (!found.found) card.querySelector(".effort").prepend("Nothing was found that holds; these are guesses. ");
      });
    }, (message) => fill(card, h("h3", {}, heading), h("p", { class: "quiet" }, message)));
  }

  function list(card, heading, found, effort) {
    const single = found.blanks.length === 1;
    const scored = found.fillers.some((filler) => filler.score !== null);
    const mark = (filler) => (filler.holds ? "yes" : filler.undecided ? "maybe" : "no");
    const rows = found.fillers.map((filler, place) => {
      const sign = { yes: "✓", maybe: "~", no: "✗" }[mark(filler)];
      const set = filler.latex.map((latex, k) => [k ? ", " : "", typeset(latex, filler.texts[k])]);
      const title = filler.forms.length ? `= ${filler.forms.join(" = ")}` : null;
      return h("tr", { class: single && filler.texts[0] === now.filler ? "chosen" : "", "data-filler": filler.texts.join(", "), title },
        h("td", { class: "place" }, `${place + 1}`),
        h("td", {}, single
          ? h("button", { type: "button", class: "filler", title: `Look into ${filler.texts[0]}`, onclick: () => pick(filler.texts[0]) }, set)
          : h("span", { class: "filler" }, set)),
        h("td", { class: `check ${mark(filler)}` }, h("span", { class: "mark" }, h("span", { "aria-hidden": "true" }, `${sign} `), filler.verdict.replace(/^holds /, "")),
          scored ? null : h("span", { class: "source" }, ` · ${filler.source}`)),
        scored ? h("td", { class: "figure" }, signed(filler.score)) : null);
    });
    const head = ["", "filler", scored ? "check" : "check and source", ...(scored ? ["score"] : [])];
    fill(card,
      h("div", { class: "heading" }, h("h3", {}, heading), saveCsv("fillers", () => [["place", "filler", "check", "score", "source"],
        ...found.fillers.map((f, k) => [k + 1, f.texts.join(", "), f.verdict, f.score, f.source])])),
      rows.length ? h("table", {}, h("thead", {}, h("tr", {}, head.map((name, k) => (name
        ? h("th", { scope: "col", class: k === 3 ? "figure" : "" }, name) : h("td", {}))))), h("tbody", {}, rows)) : null,
      h("p", { class: "quiet effort" }, effort));
  }

  function pick(text) {
    now.filler = text;
    now.step = "";
    for (const row of lists.querySelectorAll("tr[data-filler]")) row.classList.toggle("chosen", row.dataset.filler === text);
    look();
  }

  function look() {
    remember();
    inside(insides, { text: now.text, filler: now.filler, models: chosen(), step: now.step === "" ? null : Number(now.step) }, (step) => {
      now.step = step;
      remember();
    });
    for (const row of lists.querySelectorAll("tr[data-filler]")) row.classList.toggle("chosen", row.dataset.filler === now.filler);
  }

  function verify() {
    fill(insides);
    verifying(async (signal) => {
      const answers = await Promise.all(chosen().map((name) => ask("equation/verify", { text: now.text, model: name }, signal)));
      const [{ verdict, holds, undecided, against }] = answers;
      fill(lists, h("div", { class: "card verdict" },
        h("p", { class: `check ${holds ? "yes" : undecided ? "maybe" : "no"}` },
          h("span", { "aria-hidden": "true" }, holds ? "✓" : undecided ? "~" : "✗"), ` ${verdict}`),
        against ? h("p", {}, "A point that shows it: ", h("strong", {}, against)) : null,
        chosen().map((name, k) => h("p", { class: "quiet" }, answers[k].score === null
          ? `${name} has no score for it` : `${name} gives it the score ${number(answers[k].score, 4)}`))));
      say(verdict);
    }, (message) => fill(lists, h("p", { class: "wrong" }, message)));
  }

  return {
    element,
    open(given) {
      const name = (wanted, otherwise) => (models.equations.includes(wanted) ? wanted : otherwise);
      now.text = given.get("text") ?? (now.text || EXAMPLES[0]);
      now.filler = given.get("filler") ?? "";
      now.step = given.get("step") ?? "";
      now.first = name(given.get("model"), now.first);
      now.second = given.has("text") ? name(given.get("beside"), "") : now.second;
      field.value = now.text;
      choose();
      update();
    },
    leave() { for (const run of [reading, ranking, searching, verifying]) run.stop(); },
  };
}
