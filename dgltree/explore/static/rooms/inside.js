// What networks compute for a filled equation: the path the filler changes, scores along it, and each step's state.
import { fitted } from "../charts.js";
import { ask, newest } from "../ask.js";
import { fill, h, say, signed, typeset } from "../dom.js";
import { strips } from "../heat.js";
import { treePicture } from "../tree.js";
import { saveCsv, saveSvg } from "../save.js";

const looking = newest();

export function inside(host, { text, filler, models, step }, stepped) {
  if (!filler) { fill(host); return; }
  looking(async (signal) => {
    const panels = await Promise.all(models.map(async ({ name, title }) => {
      try {
        return { title, found: await ask("equation/path", { text, filler, model: name }, signal) };
      } catch (error) {
        if (signal.aborted || error.name === "TypeError") throw error;
        return { title, wrong: error.message };
      }
    }));
    fill(host, panels.map(({ title, found, wrong }) => (wrong
      ? h("div", { class: "card" }, h("h2", {}, `Inside ${title}`), h("p", { class: "quiet" }, wrong))
      : panel(title, found, step, stepped))));
  }, (message) => fill(host, h("p", { class: "wrong" }, message)));
}

function panel(title, found, given, stepped) {
  const { path, nodes, parts } = found, last = path.length - 1;
  const onPath = new Map(path.map((node, place) => [node, place])), within = new Set(found.filler);
  const detail = h("div", { class: "detail", "aria-live": "off" }), curve = h("div");
  const slider = h("input", {
    type: "range", min: 0, max: last, step: 1, "aria-label": `Step along the path in ${title}`, oninput: () => go(path[Number(slider.value)]),
  });
  const where = h("output", { class: "where" });
  const picture = treePicture(nodes, {
    title: `The tree of ${found.text}; the path that the filler changes is marked`, chosen: (node) => go(node), start: path[0], height: 264,
    link: (id) => (onPath.has(id) ? "path" : within.has(id) ? "within" : ""),
    label: (id) => nodes[id].name + (onPath.has(id) ? `, step ${onPath.get(id) + 1} of the path` : ""),
  });

  function go(node, quiet) {
    const place = onPath.get(node);
    if (place !== undefined) slider.value = place;
    picture.mark((id) => [within.has(id) ? "within" : "", onPath.has(id) ? "path" : "", id === node ? "selected" : ""].join(" "));
    fill(curve, fitted(380, (width) => scores(found, place, width)));
    where.textContent = place === undefined ? "off the path" : place === 0 && last ? "the filler" : place === last ? "the root of its side" : `step ${place + 1} of ${last + 1}`;
    fill(detail, h("h3", {}, `At ${nodes[node].name}`), strips(parts[node]));
    if (!quiet) { stepped(place ?? ""); say(`${nodes[node].name}, ${where.textContent}`); }
  }
  go(path[given === null ? last : Math.min(Math.max(given, 0), last)] ?? path[last], true);
  return h("div", { class: "card inside" },
    h("div", { class: "heading" }, h("h2", {}, `Inside ${title}`),
      saveSvg("tree", () => picture.svg),
      saveCsv("path", () => [["step", "node", "score"], ...path.map((node, k) => [k + 1, nodes[node].name, found.scores[k]])])),
    h("p", { class: "math-line" }, typeset(found.latex, found.text), h("span", { class: "quiet" }, ` score ${signed(found.scores[last])}`)),
    h("p", { class: "quiet note" }, h("span", { class: "key path-key" }, "Yellow: the nodes that the filler changes, from the blank to the root."), " Select a node to see its numbers."),
    h("div", { class: "columns" },
      h("div", {}, picture.element, h("div", { class: "slide" }, h("span", { class: "quiet" }, "filler"), slider, h("span", { class: "quiet" }, "root"), where),
        h("h3", {}, "Score if the side ended here"), h("p", { class: "quiet" }, "Above 0, the network rates the equation as correct."), curve),
      detail));
}

// The logits along the path: a line through as many points as steps.
function scores(found, place, width) {
  const { scores: values, path, nodes } = found, height = 150, left = 44, right = 16, top = 12, bottom = 44;
  const x = d3.scalePoint(d3.range(values.length), [left + 8, width - right]).padding(values.length > 1 ? 0 : 0.5);
  const y = d3.scaleLinear(d3.extent([...values, 0]), [height - bottom, top]).nice(4);
  const svg = d3.create("svg").attr("class", "curve").attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height).attr("role", "img")
    .attr("aria-label", `Scores along the path: ${values.map((v, k) => `${nodes[path[k]].name} ${signed(v)}`).join(", ")}`);
  for (const tick of y.ticks(4)) {
    svg.append("line").attr("class", tick === 0 ? "zero" : "grid").attr("x1", left).attr("x2", width - right).attr("y1", y(tick)).attr("y2", y(tick));
    svg.append("text").attr("class", "axis").attr("x", left - 8).attr("y", y(tick)).attr("text-anchor", "end").attr("dominant-baseline", "central").text(String(tick).replace("-", "−"));
  }
  svg.append("path").attr("class", "line").attr("d", d3.line((_, k) => x(k), (v) => y(v))(values));
  svg.selectAll("circle").data(values).join("circle").attr("cx", (_, k) => x(k)).attr("cy", (v) => y(v)).attr("r", (_, k) => (k === place ? 6 : 3.5))
    .attr("class", (_, k) => (k === place ? "dot selected" : "dot")).append("title").text((v, k) => `${nodes[path[k]].name}: ${signed(v)}`);
  const every = Math.ceil(values.length / 8);
  svg.selectAll(".tick").data(values).join("text").attr("class", "axis").attr("x", (_, k) => x(k)).attr("y", height - bottom + 18).attr("text-anchor", "middle")
    .text((_, k) => (k % every === 0 ? nodes[path[k]].name.slice(0, 6) : ""));
  svg.append("text").attr("class", "axis").attr("x", (left + width - right) / 2).attr("y", height - 6).attr("text-anchor", "middle").text("from the filler to the root");
  return svg.node();
}
