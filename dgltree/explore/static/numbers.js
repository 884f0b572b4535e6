// Numbers that were predicted, against the labels, and what is left between them.
import { axes, fitted } from "./charts.js";
import { h, number } from "./dom.js";

const scatter = (pairs, opened, options) => fitted(460, (width) => points(pairs, opened, width, options));

function points(pairs, opened, width, { yName, height, across, up, line, label, told }) {
  const left = 50, bottom = 40, top = 24;
  const x = d3.scaleLinear(across, [left + 6, width - 16]).nice(), y = d3.scaleLinear(up, [height - bottom, top]).nice();
  const svg = d3.create("svg").attr("class", "curve").attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height).attr("role", "img").attr("aria-label", label);
  axes(svg, x, y, { width, height, left, bottom, xName: "true", yName });
  svg.append("line").attr("class", "level").attr("x1", x(across[0])).attr("x2", x(across[1])).attr("y1", y(line(across[0]))).attr("y2", y(line(across[1])));
  svg.selectAll("circle").data(pairs).join("circle").attr("class", "dot point").attr("r", 3.5).attr("cx", (p) => x(p[0])).attr("cy", (p) => y(told(p)))
    .on("click", (_, p) => opened(pairs.indexOf(p))).append("title").text((p) => `true ${number(p[0])}, predicted ${number(p[1])}, residual ${number(p[1] - p[0])}`);
  return svg.node();
}

export function predicted(pairs, opened) {
  const all = d3.extent(pairs.flat());
  return scatter(pairs, opened, { yName: "predicted", height: 300, across: all, up: all, line: (v) => v, told: (p) => p[1], label: `${pairs.length} predicted numbers against the true ones` });
}

export function residuals(pairs, opened) {
  const rest = pairs.map((p) => p[1] - p[0]);
  return scatter(pairs, opened, { yName: "predicted − true", height: 190, across: d3.extent(pairs, (p) => p[0]), up: d3.extent([...rest, 0]), line: () => 0, told: (p) => p[1] - p[0],
    label: `Residuals of ${pairs.length} numbers: mean ${number(d3.mean(rest))}, from ${number(d3.min(rest))} to ${number(d3.max(rest))}` });
}

export const summary = (pairs) => {
  const rest = pairs.map((p) => p[1] - p[0]);
  return h("p", { class: "quiet note" }, `Each point is an example; on the dashed line the prediction is exact. Predicted − true is ${number(d3.mean(rest))} on average, and lies between ${number(d3.quantile(d3.sort(rest), 0.05))} and ${number(d3.quantile(d3.sort(rest), 0.95))} for 90 % of the examples.`);
};
