// Vectors of trees in the plane, coloured by class or by value.
import { h } from "./dom.js";
import { zoomable } from "./zoom.js";

const COLOURS = 7, LISTED = 14;
const symbols = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar, d3.symbolWye];
const SHAPES = symbols.length;
// Classes beyond the colours take the next shape, so that the first 49 differ.
const shapeOf = (k) => symbols[(k + Math.floor(k / COLOURS)) % SHAPES];
const ramp = d3.piecewise(d3.interpolateLab, ["#0072b2", "#5fa58a", "#c9b200"]);

// Colours from the 2nd to the 98th hundredth of the values: a few far ones leave the others their colours.
function valueScale(values) {
  const sorted = d3.sort(values.filter(Number.isFinite));
  return d3.scaleLinear([d3.quantile(sorted, 0.02) ?? 0, d3.quantile(sorted, 0.98) ?? 1], [0, 1]).clamp(true);
}

/* values: whether labels are numbers, and colours tell their size. */
export function plane({ points, examples, labels }, classes, { values, chosen, opened }) {
  const of = new Map(classes.map((name, k) => [name, k])), across = d3.extent(points, (p) => p[0]), up = d3.extent(points, (p) => p[1]);
  const width = 640, most = 420, wide = Math.max(across[1] - across[0], 1e-9), high = Math.max(up[1] - up[0], 1e-9);
  const unit = Math.min((width - 32) / wide, (most - 32) / high), height = Math.max(120, 32 + unit * high);
  const right = (x) => width / 2 + unit * (x - (across[0] + across[1]) / 2), down = (y) => height / 2 - unit * (y - (up[0] + up[1]) / 2);
  const numbers = labels.map(Number), scale = valueScale(numbers);
  const kind = (k) => (values ? "value" : `class-${of.has(labels[k]) ? of.get(labels[k]) % COLOURS : "none"}`);
  const svg = d3.create("svg").attr("class", "plane").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", `The vectors of ${points.length} trees in the plane`);
  const paths = svg.selectAll("path").data(points).join("path")
    .attr("transform", (p) => `translate(${right(p[0])},${down(p[1])})`)
    .on("click", (_, p) => opened(examples[points.indexOf(p)]));
  if (values) paths.style("fill", (_, k) => ramp(scale(numbers[k])));
  paths.append("title").text((_, k) => `${values ? "true value" : "class"} ${labels[k] ?? "unknown"}`);
  const mark = (example) => paths.attr("class", (_, k) => `${kind(k)} ${examples[k] === example ? "selected" : ""}`)
    .attr("d", (_, k) => d3.symbol(values || !of.has(labels[k]) ? d3.symbolCircle : shapeOf(of.get(labels[k])), examples[k] === example ? 220 : 44)());
  mark(chosen);
  const places = paths.nodes().map((element, k) => ({ x: right(points[k][0]), y: down(points[k][1]), name: `${labels[k] ?? ""}`, element }));
  return { element: zoomable(svg.node(), { name: "The map", places, wide: true }).element, svg: svg.node(), mark };
}

export function legend(classes, order) {
  return h("ul", { class: "legend" }, order.slice(0, LISTED).map((k) => {
    const svg = d3.create("svg").attr("viewBox", "-8 -8 16 16").attr("width", 14).attr("height", 14).attr("aria-hidden", "true").attr("class", "plane mark");
    svg.append("path").attr("class", `class-${k % COLOURS}`).attr("d", d3.symbol(shapeOf(k), 70)());
    return h("li", {}, svg.node(), classes[k]);
  }), classes.length > LISTED ? h("li", { class: "quiet" }, `and ${classes.length - LISTED} more`) : null);
}

export function valueLegend(labels) {
  const [low, high] = valueScale(labels.map(Number)).domain();
  const said = (v) => Number(v.toPrecision(3)).toString().replace("-", "−");
  return h("div", { class: "scale quiet", role: "img", "aria-label": `Colors from ${said(low)}, blue, to ${said(high)}, yellow` }, `true value ${said(low)}`, h("span", { class: "ramp values" }), said(high));
}
