// Charts of a training: its learning curve, what is taken for what, numbers against labels, and vectors in the plane.
import { h, number } from "./dom.js";
import { saveSvg } from "./save.js";

export const CLASS_COLOURS = 7;

function axes(svg, x, y, { width, height, left, bottom, xName, yName, format = (v) => v }) {
  for (const tick of y.ticks(4)) {
    svg.append("line").attr("class", "grid").attr("x1", left).attr("x2", width - 12).attr("y1", y(tick)).attr("y2", y(tick));
    svg.append("text").attr("class", "axis").attr("x", left - 8).attr("y", y(tick)).attr("text-anchor", "end").attr("dominant-baseline", "central").text(format(tick));
  }
  for (const tick of x.ticks(6).filter((t) => Number.isInteger(t) || xName !== "epoch")) {
    svg.append("text").attr("class", "axis").attr("x", x(tick)).attr("y", height - bottom + 16).attr("text-anchor", "middle").text(tick);
  }
  svg.append("text").attr("class", "axis").attr("x", (left + width - 12) / 2).attr("y", height - 4).attr("text-anchor", "middle").text(xName);
  if (yName) svg.append("text").attr("class", "axis").attr("x", left).attr("y", 11).text(yName);
}

function line(rows, name, { yName, best, level }) {
  const width = 400, height = 180, left = 46, bottom = 40, shown = rows.filter((row) => Number.isFinite(row[name]));
  const x = d3.scaleLinear(d3.extent(rows, (row) => row.epoch), [left + 4, width - 16]);
  const y = d3.scaleLinear(d3.extent([...shown.map((row) => row[name]), level].filter(Number.isFinite)), [height - bottom, 12]).nice(4);
  const svg = d3.create("svg").attr("class", "curve").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img")
    .attr("aria-label", `${yName} by epoch: ${shown.map((row) => number(row[name], 3)).join(", ")}`);
  axes(svg, x, y, { width, height, left, bottom, xName: "epoch" });
  if (Number.isFinite(level)) {
    svg.append("line").attr("class", "level").attr("x1", left).attr("x2", width - 12).attr("y1", y(level)).attr("y2", y(level));
    svg.append("text").attr("class", "axis").attr("x", width - 14).attr("y", y(level) - 6).attr("text-anchor", "end").text(`baseline ${number(level, 3)}`);
  }
  svg.append("path").attr("class", "line").attr("d", d3.line((row) => x(row.epoch), (row) => y(row[name]))(shown));
  const top = best ? d3.greatest(shown, (row) => row[name]) : null;
  svg.selectAll("circle").data(shown).join("circle").attr("class", (row) => (row === top ? "dot selected" : "dot")).attr("r", (row) => (row === top ? 6 : 3))
    .attr("cx", (row) => x(row.epoch)).attr("cy", (row) => y(row[name])).append("title").text((row) => `epoch ${row.epoch}: ${number(row[name], 4)}`);
  return svg.node();
}

export function learning(epochs, baseline) {
  const metric = epochs.some((row) => row.accuracy !== undefined) ? "accuracy" : "r2";
  const picture = (name, heading, options) => {
    const svg = line(epochs, name, { yName: heading, ...options });
    return h("div", {}, h("div", { class: "heading" }, h("h3", {}, heading), saveSvg(name, () => svg)), svg);
  };
  return h("div", { class: "curves" }, picture("loss", "Loss in training", {}),
    picture(metric, `${metric === "r2" ? "R²" : "Accuracy"} in validation`, { best: true, level: baseline?.[metric] }));
}

// Rows are the true classes. A field that has examples opens them.
export function confusion({ true: names, counts }, classes, chosen, opened) {
  const most = counts.map((row) => Math.max(1, d3.sum(row)));
  return h("div", { class: "scroll" }, h("table", { class: "confusion" },
    h("caption", { class: "unseen" }, "How often each true class, a row, is taken for which"),
    h("thead", {}, h("tr", {}, h("td", { class: "corner quiet" }, "true \\ predicted"), classes.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, counts.map((row, r) => h("tr", {}, h("th", { scope: "row" }, names[r]), row.map((count, c) => {
      const share = count / most[r], label = `${count} of ${names[r]} taken for ${classes[c]}`;
      const field = count && opened
        ? h("button", { type: "button", "aria-label": label, title: label, "aria-pressed": chosen?.true === r && chosen?.predicted === c ? "true" : "false", onclick: () => opened(r, c) }, `${count}`)
        : h("span", { title: label }, count ? `${count}` : "·");
      const cell = h("td", { class: `${r === c ? "right" : "mistake"} ${count ? "" : "nothing"}` }, field);
      cell.style.setProperty("--share", `${count ? 8 + 47 * share : 0}%`);
      return cell;
    }))))));
}

export function predicted(pairs, opened) {
  const size = 320, left = 46, bottom = 40, extent = d3.extent(pairs.flat());
  const x = d3.scaleLinear(extent, [left + 6, size - 16]).nice(), y = d3.scaleLinear(extent, [size - bottom, 26]).nice();
  const svg = d3.create("svg").attr("class", "curve").attr("viewBox", `0 0 ${size} ${size}`).attr("role", "img").attr("aria-label", `${pairs.length} numbers that were predicted, against the labels`);
  axes(svg, x, y, { width: size, height: size, left, bottom, xName: "label", yName: "predicted" });
  svg.append("line").attr("class", "level").attr("x1", x(extent[0])).attr("y1", y(extent[0])).attr("x2", x(extent[1])).attr("y2", y(extent[1]));
  svg.selectAll("circle").data(pairs).join("circle").attr("class", "dot point").attr("r", 3.5).attr("cx", (p) => x(p[0])).attr("cy", (p) => y(p[1]))
    .on("click", (_, p) => opened(pairs.indexOf(p))).append("title").text((p) => `label ${number(p[0])}, predicted ${number(p[1])}`);
  return svg.node();
}

const symbols = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar, d3.symbolWye];

export function plane({ points, examples, labels }, classes, chosen, opened) {
  const of = new Map(classes.map((name, k) => [name, k])), across = d3.extent(points, (p) => p[0]), up = d3.extent(points, (p) => p[1]);
  const width = 640, most = 420, wide = Math.max(across[1] - across[0], 1e-9), high = Math.max(up[1] - up[0], 1e-9);
  const unit = Math.min((width - 32) / wide, (most - 32) / high), height = Math.max(120, 32 + unit * high);
  const scale = (x) => width / 2 + unit * (x - (across[0] + across[1]) / 2), down = (y) => height / 2 - unit * (y - (up[0] + up[1]) / 2);
  const kind = (k) => (of.has(labels[k]) ? of.get(labels[k]) % CLASS_COLOURS : "none");
  const svg = d3.create("svg").attr("class", "plane").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", `The vectors of ${points.length} trees in the plane`);
  svg.selectAll("path").data(points).join("path").attr("class", (_, k) => `class-${kind(k)} ${examples[k] === chosen ? "selected" : ""}`)
    .attr("d", (_, k) => d3.symbol(symbols[of.get(labels[k]) % symbols.length] ?? d3.symbolCircle, examples[k] === chosen ? 220 : 44)())
    .attr("transform", (p) => `translate(${scale(p[0])},${down(p[1])})`)
    .on("click", (_, p) => opened(examples[points.indexOf(p)])).append("title").text((_, k) => labels[k] ?? "");
  return svg.node();
}

export function legend(classes) {
  return h("ul", { class: "legend" }, classes.slice(0, 14).map((name, k) => {
    const svg = d3.create("svg").attr("viewBox", "-8 -8 16 16").attr("width", 14).attr("height", 14).attr("aria-hidden", "true").attr("class", "plane mark");
    svg.append("path").attr("class", `class-${k % CLASS_COLOURS}`).attr("d", d3.symbol(symbols[k % symbols.length], 70)());
    return h("li", {}, svg.node(), name);
  }), classes.length > 14 ? h("li", { class: "quiet" }, `and ${classes.length - 14} more`) : null);
}
