// Which subtrees decide an answer: the nodes of a tree in the colour of their effect, a scale, and a short list.
import { fill, h, number, signed } from "./dom.js";

const DEEPEST = 0.55; // of a colour, so that names stay readable

/* classes: whether effects are changes of a probability, given in percentage points; else of the number. */
export const effectText = (effect, classes) => (classes ? `${signed(100 * effect, 1)} points`
  : (effect < 0 ? "−" : "+") + Number(Math.abs(effect).toPrecision(4)));

function paint(groups, effects, classes) {
  const largest = d3.max(effects, Math.abs) || 1;
  groups.filter((p) => p.id >= 0 && effects[p.id] !== null).each(function each(p) {
    const effect = effects[p.id], group = d3.select(this).attr("data-effect", effect < 0 ? "against" : "for");
    group.select("rect").style("fill-opacity", DEEPEST * Math.abs(effect) / largest);
    const said = `${group.attr("aria-label")}: ${effectText(effect, classes)}`;
    group.attr("aria-label", said).select("title").text(said);
  });
}

function scale(effects, classes) {
  const largest = d3.max(effects, Math.abs) ?? 0, [low, high] = [effectText(-largest, classes), effectText(largest, classes)];
  return h("div", { class: "scale quiet", role: "img", "aria-label": `Colors from ${low}, purple, to ${high}, blue` }, low, h("span", { class: "ramp effects" }), high);
}

/* Colours the picture, and fills the place with what the colours mean and the subtrees that decide. */
export function decisive(place, picture, { prediction, support, effects, ranked }, classes, chosen) {
  if (!ranked.length) {
    fill(place, h("p", { class: "quiet" }, "The tree has one node; there is no subtree to hide."));
    return;
  }
  paint(picture.groups, effects, classes);
  const what = classes ? `the probability of ${prediction} (${number(support, 3)})` : `the number (${Number(support.toPrecision(6))})`;
  fill(place, h("h3", {}, "Subtrees that decide"), scale(effects, classes),
    h("p", { class: "quiet note" }, `Each subtree in turn is replaced by an unknown leaf; its effect is the resulting drop in ${what}. `, h("span", { class: "key for-key" }, "blue supports the prediction"), " ", h("span", { class: "key against-key" }, "purple speaks against it")),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Subtrees that decide" }, h("table", { class: "decisive" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "subtree"),
      h("th", { scope: "col", class: "figure" }, "effect"), classes ? h("th", { scope: "col", class: "figure" }, "log-odds") : null)),
    h("tbody", {}, ranked.map(({ node, subtree, effect, evidence }) => h("tr", {}, h("td", {}, h("button", { type: "button", class: "filler", onclick: () => chosen(node) }, subtree)),
      h("td", { class: "figure" }, effectText(effect, classes)), classes ? h("td", { class: "figure" }, signed(evidence)) : null))))));
}
