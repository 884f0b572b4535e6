// What networks compute for a filled equation: the path the filler changes, scores along it, and each step's state.
import { ask, newest } from "../ask.js";
import { fill, h, number, say, signed, typeset } from "../dom.js";
import { strips } from "../heat.js";
import { scrolling, treePicture } from "../tree.js";
import { saveCsv, saveSvg } from "../save.js";

const looking = newest();

export function inside(host, { text, filler, models, step }, stepped) {
  if (!filler) { fill(host); return; }
  looking(async (signal) => {
    const panels = await Promise.all(models.map(async (model) => {
      try {
        return { model, found: await ask("equation/path", { text, filler, model }, signal) };
      } catch (error) {
        if (signal.aborted || error.name === "TypeError") throw error;
        return { model, wrong: error.message };
      }
    }));
    fill(host, panels.map(({ model, found, wrong }) => (wrong
      ? h("div", { class: "card" }, h("h2", {}, `Inside ${model}`), h("p", { class: "quiet" }, wrong))
      : panel(model, found, step, stepped, panels.length))));
  }, (message) => fill(host, h("p", { class: "wrong" }, message)));
}

function panel(model, found, given, stepped, count) {
  const { path, nodes, parts } = found, last = path.length - 1;
  const onPath = new Map(path.map((node, place) => [node, place])), within = new Set(found.filler);
  const picture = h("div"), detail = h("div", { class: "detail", "aria-live": "off" }), curve = h("div");
  const slider = h("input", {
    type: "range", min: 0, max: last, step: 1, "aria-label": `Step along the path in ${model}`, oninput: () => go(path[Number(slider.value)]),
  });
  const where = h("output", { class: "where" });

  function go(node, quiet) {
    const place = onPath.get(node);
    if (place !== undefined) slider.value = place;
    const kind = (id) => [within.has(id) ? "within" : "", onPath.has(id) ? "path" : "", id === node ? "selected" : ""].join(" ");
    const svg = treePicture(nodes, {
      title: `The tree of ${found.text}; the path that the filler changes is marked`, chosen: go, kind,
      link: (id) => (onPath.has(id) ? "path" : within.has(id) ? "within" : ""),
      label: (id) => nodes[id].name + (onPath.has(id) ? `, step ${onPath.get(id) + 1} of the path` : ""),
    });
    const focused = picture.querySelector(":focus")?.dataset.node;
    fill(picture, scrolling(svg, "The tree"));
    if (focused !== undefined) picture.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus();
    fill(curve, scores(found, place));
    where.textContent = place === undefined ? "off the path" : place === 0 && last ? "the filler" : place === last ? "the root of its side" : `step ${place + 1} of ${last + 1}`;
    fill(detail, h("h3", {}, `At ${nodes[node].name}`), strips(parts[node]));
    if (!quiet) { stepped(place ?? ""); say(`${nodes[node].name}, ${where.textContent}`); }
  }
  go(path[given === null ? last : Math.min(Math.max(given, 0), last)] ?? path[last], true);
  return h("div", { class: `card inside ${count > 1 ? "half" : "whole"}` },
    h("div", { class: "heading" }, h("h2", {}, `Inside ${model}`),
      h("span", { class: "quiet" }, `score ${signed(found.scores[last])}, correct with ${number(found.probability, 3)}`),
      saveSvg("tree", () => picture.querySelector("svg")),
      saveCsv("path", () => [["step", "node", "score"], ...path.map((node, k) => [k + 1, nodes[node].name, found.scores[k]])])),
    h("p", { class: "math-line" }, typeset(found.latex, found.text)),
    h("div", { class: "columns" },
      h("div", {}, picture, h("div", { class: "slide" }, h("span", { class: "quiet" }, "filler"), slider, h("span", { class: "quiet" }, "root"), where),
        h("h3", {}, "Score, if the side ended here"), curve),
      detail));
}

// The logits along the path: a line through as many points as steps.
function scores(found, place) {
  const { scores: values, path, nodes } = found, width = 420, height = 134, left = 40, right = 16, top = 14, bottom = 30;
  const x = d3.scalePoint(d3.range(values.length), [left, width - right]).padding(values.length > 1 ? 0 : 0.5);
  const y = d3.scaleLinear(d3.extent([...values, 0]), [height - bottom, top]).nice(4);
  const svg = d3.create("svg").attr("class", "curve").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img")
    .attr("aria-label", `Scores along the path: ${values.map((v, k) => `${nodes[path[k]].name} ${signed(v)}`).join(", ")}`);
  for (const tick of y.ticks(4)) {
    svg.append("line").attr("class", tick === 0 ? "zero" : "grid").attr("x1", left).attr("x2", width - right).attr("y1", y(tick)).attr("y2", y(tick));
    svg.append("text").attr("class", "axis").attr("x", left - 8).attr("y", y(tick)).attr("text-anchor", "end").attr("dominant-baseline", "central").text(String(tick).replace("-", "−"));
  }
  svg.append("path").attr("class", "line").attr("d", d3.line((_, k) => x(k), (v) => y(v))(values));
  svg.selectAll("circle").data(values).join("circle").attr("cx", (_, k) => x(k)).attr("cy", (v) => y(v)).attr("r", (_, k) => (k === place ? 6 : 3.5))
    .attr("class", (_, k) => (k === place ? "dot selected" : "dot")).append("title").text((v, k) => `${nodes[path[k]].name}: ${signed(v)}`);
  const every = Math.ceil(values.length / 12);
  svg.selectAll(".tick").data(values).join("text").attr("class", "axis").attr("x", (_, k) => x(k)).attr("y", height - 8).attr("text-anchor", "middle")
    .text((_, k) => (k % every === 0 || k === values.length - 1 ? nodes[path[k]].name.slice(0, 6) : ""));
  return svg.node();
}
