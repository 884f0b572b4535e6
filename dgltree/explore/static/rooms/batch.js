// The room of batches: trees as one graph, computed step by step; equal subtrees share a row where one wants.
import { ask, newest } from "../ask.js";
import { fill, h, later, number, outdate, say } from "../dom.js";
import { keep } from "../place.js";
import { saveCsv, saveSvg } from "../save.js";
import { colours, forest, paint, send } from "../forest.js";

export const title = "Batch";
const EXAMPLE = "sin(x)^2 + cos(x)^2\n(x + y)*(x - y)\nexp(x*y) + sin(x)^2\n(x + y)^2 * exp(x*y)";
const EXAMPLES = { "Four expressions": EXAMPLE, "One subtree, repeated": "sin(x + y)*z\nsin(x + y)*y\ncos(sin(x + y))\nexp(sin(x + y))*sin(x + y)",
  "A sentence": "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))))\n(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))",
  "A chain": "exp(sin(cos(tan(exp(sin(x))))))\ncos(tan(exp(sin(x))))\nx" };
const PACE = 1100;

export function make() {
  const now = { text: EXAMPLE, shared: true, step: null };
  const planning = newest(), timing = newest();
  let found, drawing, timer;
  const field = h("textarea", { id: "batch-text", rows: 5, spellcheck: "false", maxlength: 20000, "aria-describedby": "batch-help batch-wrong",
    oninput: later(250, () => { now.text = field.value; now.step = null; update(); }) });
  const wrong = h("p", { id: "batch-wrong", class: "wrong", role: "status" });
  const share = h("input", { type: "checkbox", role: "switch", id: "share", onchange: () => { now.shared = share.checked; plan(); go(now.step); } });
  const play = h("button", { type: "button", class: "plain play", onclick: () => (timer ? pause() : begin()) }, "▶ Play");
  const slider = h("input", { type: "range", min: 0, value: 0, "aria-label": "Step of the pass", oninput: () => { pause(); go(Number(slider.value)); } });
  const where = h("output", { class: "where" });
  const picture = h("div", { class: "forest" }), buffer = h("div", { class: "buffer" }), figures = h("div", { class: "figures" }), table = h("div");
  const element = h("div", { class: "room" },
    h("section", { class: "card", "aria-label": "The trees" },
      h("label", { class: "name", for: "batch-text" }, "Trees, one per line"), field,
      h("p", { id: "batch-help", class: "quiet help" }, "Expressions as you type them, S-expressions, or bracketed sentences."),
      h("div", { class: "chips" }, Object.entries(EXAMPLES).map(([name, text]) =>
        h("button", { type: "button", class: "chip", onclick: () => { field.value = now.text = text; now.step = null; update("chosen"); } }, name))), wrong),
    figures,
    h("section", { class: "card", "aria-label": "The pass" },
      h("div", { class: "heading" }, h("h2", {}, "One graph, step by step"),
        h("label", { class: "switch", for: "share" }, share, h("span", {}, "equal subtrees share a row")),
        saveSvg("batch", () => drawing?.svg), saveCsv("schedule", () => rows())),
      h("p", { class: "quiet note" }, "All trees are one graph. A step computes the nodes of one color together, once their children are computed; dashed nodes share the row of a duplicate subtree."),
      h("div", { class: "slide" }, play,
        h("button", { type: "button", class: "plain", "aria-label": "One step back", onclick: () => { pause(); go(Math.max(0, now.step - 1)); } }, "‹"), slider,
        h("button", { type: "button", class: "plain", "aria-label": "One step on", onclick: () => { pause(); go(Math.min(last(), now.step + 1), true); } }, "›"), where),
      picture,
      h("h3", { class: "apart" }, "The rows of the states, in the order in which they are computed"), buffer, table));

  const current = () => found[now.shared ? "shared" : "plain"];
  const last = () => current().steps.length - 1;
  const stepOf = (row) => current().steps.findIndex((step) => row < step.stop);
  const remember = () => keep("batch", { text: now.text, share: now.shared ? "" : "no", step: now.step === last() ? "" : now.step });

  function update(why) {
    pause();
    if (why) keep("batch", { text: now.text, share: now.shared ? "" : "no" }, why);
    outdate(figures, picture, buffer);
    planning(async (signal) => {
      found = await ask("batch/plan", { text: now.text }, signal);
      wrong.textContent = "";
      forget();
      plan();
      go(now.step === null ? last() : Math.min(now.step, last()));
      time();
    }, (message) => { wrong.textContent = message; });
  }

  // The forest, coloured by steps; drawn again when the trees, or the rows that they share, change.
  function plan() {
    const { steps, row } = current(), ramp = colours(steps.length), first = new Map();
    row.forEach((own, node) => { if (!first.has(own)) first.set(own, node); });
    drawing = forest(found, { row, stepOf, ramp, twin: (node) => first.get(row[node]) !== node, width: element.clientWidth || 1100,
      touched: (node) => together(node === null ? null : row[node]) });
    fill(picture, drawing.element);
    fill(buffer, steps.map((step, k) => h("div", { class: "step", "data-step": k },
      h("span", { class: "quiet" }, k ? `step ${k}` : "leaves"),
      h("div", { class: "rows" }, d3.range(step.start, step.stop).map((own) => {
        const box = h("span", { class: "row", "data-row": own, title: `row ${own}: ${found.nodes[first.get(own)].name}`,
          onpointerenter: () => together(own), onpointerleave: () => together(null) }, found.nodes[first.get(own)].name);
        box.style.setProperty("--step", ramp[k]);
        return box;
      })))));
    slider.max = steps.length - 1;
    share.checked = now.shared;
    tell();
  }

  function together(row) {
    drawing.together(row);
    for (const box of buffer.querySelectorAll(".row")) box.classList.toggle("touched", row !== null && Number(box.dataset.row) === row);
  }

  function go(step, moving = false) {
    now.step = Math.min(step, last());
    slider.value = now.step;
    const { steps } = current(), { start, stop, arity } = steps[now.step];
    paint(drawing, now.step);
    if (moving) send(drawing, now.step);
    for (const box of buffer.querySelectorAll(".step")) {
      const own = Number(box.dataset.step);
      box.classList.toggle("done", own <= now.step);
      box.classList.toggle("now", own === now.step);
    }
    const many = stop - start;
    where.textContent = now.step === 0 ? `leaves: ${many} row${many === 1 ? "" : "s"}` : `step ${now.step} of ${last()}: ${many} row${many === 1 ? "" : "s"} of ${arity} child${arity === 1 ? "" : "ren"}`;
    remember();
    if (!timer) say(where.textContent);
  }

  function begin() {
    if (!found) return;
    if (now.step === last()) go(0); else go(now.step);
    play.textContent = "❚❚ Pause";
    timer = setInterval(() => {
      if (now.step >= last()) { pause(); return; }
      go(now.step + 1, true);
    }, PACE);
  }
  function pause() {
    clearInterval(timer);
    timer = undefined;
    play.textContent = "▶ Play";
  }

  const measured = {};
  function forget() {
    for (const name of Object.keys(measured)) delete measured[name];
  }
  function time() {
    timing(async (signal) => {
      Object.assign(measured, await ask("batch/time", { text: now.text }, signal));
      tell();
    }, () => {});
  }

  function tell() {
    const nodes = found.nodes.length, rows = { plain: found.plain.row.length, shared: new Set(found.shared.row).size };
    const figure = (name, heading, count, steps, on) => h("div", { class: `card number${on ? " on" : ""}` },
      h("h2", {}, heading), h("p", { class: "large" }, `${count}`, h("span", {}, count === 1 ? " row" : " rows")),
      h("p", { class: "quiet" }, steps === undefined ? " " : `${steps} step${steps === 1 ? "" : "s"}`,
        measured.times ? h("span", {}, ` · ${number(measured.times[name], measured.times[name] < 10 ? 2 : 1)} ms`) : h("span", {}, " · timing …")));
    fill(figures,
      figure("singly", "Tree by tree", nodes, measured.steps, false),
      figure("plain", "One batch", rows.plain, found.plain.steps.length, !now.shared),
      figure("shared", "One batch, equal subtrees once", rows.shared, found.shared.steps.length, now.shared));
    fill(table, h("p", { class: "quiet apart" }, `${found.trees.length} tree${found.trees.length === 1 ? "" : "s"}, ${nodes} nodes, ${found.edges} edges from child to parent: one DGLGraph. `
      + "A step computes all its rows together: nodes with the same number of children, whose children are done. Times: a Tree-LSTM with states of 64 numbers, on this machine, fastest of several passes."));
  }

  function rows() {
    const { row } = current();
    return [["node", "name", "parent", "row", "step"], ...found.nodes.map((node, k) => [k, node.name, node.parent < 0 ? "" : node.parent, row[k], stepOf(row[k])])];
  }

  return {
    element,
    open(given) {
      if ([...given.keys()].length) { // else this room as it was left
        now.text = given.get("text") ?? EXAMPLE;
        now.shared = given.get("share") !== "no";
        now.step = given.has("step") ? Number(given.get("step")) || 0 : null;
      }
      field.value = now.text;
      update();
    },
    leave() { pause(); planning.stop(); timing.stop(); },
  };
}
