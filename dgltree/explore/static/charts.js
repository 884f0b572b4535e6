// Axes, and the learning curve of a training.
import { h, number } from "./dom.js";
import { saveSvg } from "./save.js";

const signs = (tick) => String(Number(tick.toPrecision(4))).replace("-", "−");
// What draw(width) makes, as wide as there is room, and again when that changes, so that texts keep their size.
export function fitted(most, draw) {
  const host = h("div");
  let width;
  const look = () => {
    const now = Math.max(240, Math.min(most, document.documentElement.clientWidth - 72));
    if (now !== width) host.replaceChildren(draw(width = now));
  };
  look();
  new ResizeObserver(look).observe(host);
  return host;
}

export function axes(svg, x, y, { width, height, left, bottom, xName, yName, format = signs }) {
  for (const tick of y.ticks(4)) {
    svg.append("line").attr("class", "grid").attr("x1", left).attr("x2", width - 12).attr("y1", y(tick)).attr("y2", y(tick));
    svg.append("text").attr("class", "axis").attr("x", left - 8).attr("y", y(tick)).attr("text-anchor", "end").attr("dominant-baseline", "central").text(format(tick));
  }
  for (const tick of x.ticks(6).filter((t) => Number.isInteger(t) || xName !== "epoch")) {
    svg.append("text").attr("class", "axis").attr("x", x(tick)).attr("y", height - bottom + 16).attr("text-anchor", "middle").text(signs(tick));
  }
  svg.append("text").attr("class", "axis").attr("x", (left + width - 12) / 2).attr("y", height - 4).attr("text-anchor", "middle").text(xName);
  if (yName) svg.append("text").attr("class", "axis").attr("x", left).attr("y", 11).text(yName);
}

function line(rows, name, width, { yName, best, level }) {
  const height = 190, left = 46, bottom = 40, top = 24, shown = rows.filter((row) => Number.isFinite(row[name]));
  const x = d3.scaleLinear(d3.extent(rows, (row) => row.epoch), [left + 4, width - 16]);
  const y = d3.scaleLinear(d3.extent([...shown.map((row) => row[name]), level].filter(Number.isFinite)), [height - bottom, top]).nice(4);
  const svg = d3.create("svg").attr("class", "curve").attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height).attr("role", "img")
    .attr("aria-label", `${yName} by epoch: ${shown.map((row) => number(row[name], 3)).join(", ")}`);
  axes(svg, x, y, { width, height, left, bottom, xName: "epoch" });
  if (Number.isFinite(level)) {
    svg.append("line").attr("class", "level").attr("x1", left).attr("x2", width - 12).attr("y1", y(level)).attr("y2", y(level));
    svg.append("text").attr("class", "axis").attr("x", width - 14).attr("y", y(level) - 6).attr("text-anchor", "end").text(`baseline ${number(level, 3)}`);
  }
  svg.append("path").attr("class", "line").attr("d", d3.line((row) => x(row.epoch), (row) => y(row[name]))(shown));
  const highest = best ? d3.greatest(shown, (row) => row[name]) : null;
  svg.selectAll("circle").data(shown).join("circle").attr("class", (row) => (row === highest ? "dot selected" : "dot")).attr("r", (row) => (row === highest ? 6 : 3))
    .attr("cx", (row) => x(row.epoch)).attr("cy", (row) => y(row[name])).append("title").text((row) => `epoch ${row.epoch}: ${number(row[name], 4)}`);
  return svg.node();
}

export function learning(epochs, baseline) {
  const metric = epochs.some((row) => row.accuracy !== undefined) ? "accuracy" : "r2";
  const picture = (name, heading, options) => {
    const host = fitted(460, (width) => line(epochs, name, width, { yName: heading, ...options }));
    return h("div", {}, h("div", { class: "heading" }, h("h3", {}, heading), saveSvg(name, () => host.firstChild)), host);
  };
  return h("div", { class: "curves" }, picture("loss", "Loss in training", {}),
    picture(metric, `${metric === "r2" ? "R²" : "Accuracy"} in validation`, { best: true, level: baseline?.[metric] }));
}
