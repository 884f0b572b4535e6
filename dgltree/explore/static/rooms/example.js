// One tree of a file: its picture, the states of its nodes, the answer, and the subtrees that decide it.
import { ask, newest } from "../ask.js";
import { decisive, effectText } from "../decisive.js";
import { fill, h } from "../dom.js";
import { strips } from "../heat.js";
import { saveCsv, saveSvg } from "../save.js";
import { treePicture } from "../tree.js";

const explaining = newest();
let unfolded = false; // the states of nodes, until they are folded again
export const stop = () => explaining.stop();

const bars = (answers) => h("ul", { class: "bars short" }, answers.map(({ name, probability }) => {
  const bar = h("span", { class: "bar" });
  bar.style.width = `${100 * probability}%`;
  return h("li", {}, h("span", { class: "class" }, name), h("span", { class: "track" }, bar), h("span", { class: "figure" }, `${(100 * probability).toFixed(1)} %`));
}));

/* The parts of the card. found: an answer of trees/tree; said(value): a label or an answer as a text. */
export function example(model, found, said) {
  const classes = found.answers.length > 0, detail = h("div", { class: "detail" }), reasons = h("div", { class: "reasons" }, h("p", { class: "quiet" }, "measuring the effects of the subtrees …"));
  let effects = [], at = 0;
  const picture = treePicture(found.nodes, { title: `The tree ${found.id}`, chosen: (node) => go(node) });
  picture.svg.classList.add("effects");
  function go(node) {
    at = node;
    picture.mark((id) => (id === node ? "selected" : ""));
    const effect = effects[node] ?? null;
    fill(detail, h("h3", {}, `At ${found.nodes[node].name}`),
      effect === null ? null : h("p", { class: "quiet note" }, `Effect of the subtree below: ${effectText(effect, classes)}.`),
      found.parts ? h("details", { class: "fold", open: unfolded, ontoggle: (event) => { unfolded = event.target.open; } },
        h("summary", {}, "What the network computed at this node"), strips(found.parts[node]))
        : h("p", { class: "quiet" }, "This encoder reads sequences; its nodes have no states of their own."));
  }
  go(0);
  explaining(async (signal) => {
    const explained = await ask("trees/explain", { model, example: found.example }, signal);
    const bring = (node) => { go(node); picture.bring(node); };
    effects = explained.effects;
    decisive(reasons, picture, explained, classes, bring);
    if (at === 0 && explained.ranked.length && !picture.fits()) bring(explained.ranked[0].node);
    else go(at);
  }, (message) => fill(reasons, h("h3", {}, "Subtrees that decide"), h("p", { class: "quiet" }, message)));
  return [h("div", { class: "heading" }, h("h2", {}, `Tree ${found.id}`), h("span", { class: "quiet" }, `labelled ${said(found.label)}, ${found.nodes.length.toLocaleString("en")} nodes`),
    saveSvg("tree", () => picture.svg), saveCsv("effects", () => [["node", "parent", "name", "effect"], ...found.nodes.map(({ name, parent }, k) => [k, parent, name, effects[k]])])),
  h("p", { class: "quiet note" }, `${found.parts ? "Select a node to see what the network computed for it. " : ""}The deeper the color of a node, the larger the effect of its subtree.`),
  h("div", { class: "columns wide" }, h("div", {}, picture.element, h("h3", { class: "apart" }, "The model's answer"),
    classes ? bars(found.answers) : h("p", {}, `It says ${said(found.predicted)}.`), reasons), detail)];
}
