// Both sides of an equation in one variable, and where they differ.
import { fitted } from "./charts.js";
import { h } from "./dom.js";
import { saveSvg } from "./save.js";

const HEIGHT = 220, LEFT = 44, BOTTOM = 36, TOP = 14;

// The stretches of a curve: it breaks where a side is not real, and where it leaves the picture.
function curve(x, values, across, up, most) {
  return d3.line((_, k) => across(x[k]), (v) => up(Math.max(-3 * most, Math.min(3 * most, v)))).defined((v, k) => v !== null && Math.abs(v) <= 3 * most
    && !(k && values[k - 1] !== null && Math.abs(v - values[k - 1]) > 2 * most))(values);
}

const value = (v) => (v === null ? "not real" : Number(v.toPrecision(4)).toString().replace("-", "−"));

function drawn({ variable, x, left, right, apart }, text, width, read) {
  const all = [...left, ...right].filter((v) => v !== null).sort(d3.ascending), most = Math.max(1, Math.min(20, d3.max([d3.quantile(all, 0.95), -d3.quantile(all, 0.05)].filter(Number.isFinite)) ?? 1));
  const low = Math.max(-most, d3.min(all) ?? -1), high = Math.min(most, d3.max(all) ?? 1), room = Math.max(0.1 * (high - low), 0.25);
  const across = d3.scaleLinear(d3.extent(x), [LEFT, width - 12]), up = d3.scaleLinear([low - room, high + room], [HEIGHT - BOTTOM, TOP]);
  const svg = d3.create("svg").attr("class", "curve sides").attr("viewBox", `0 0 ${width} ${HEIGHT}`).attr("width", width).attr("height", HEIGHT).attr("role", "img")
    .attr("aria-label", `Both sides of ${text} by ${variable}; ${apart.length ? `the sides differ on ${apart.map(([a, b]) => `${x[a]} to ${x[b]}`).join(", ")}` : "the sides agree at every point drawn"}`);
  const clip = `clip-${Math.random().toString(36).slice(2)}`;
  svg.append("clipPath").attr("id", clip).append("rect").attr("x", LEFT).attr("y", TOP).attr("width", width - LEFT - 12).attr("height", HEIGHT - BOTTOM - TOP);
  const half = (across(x[1]) - across(x[0])) / 2;
  for (const [a, b] of apart) {
    svg.append("rect").attr("class", "apart-band").attr("x", Math.max(LEFT, across(x[a]) - half)).attr("y", TOP).attr("width", Math.max(2, Math.min(width - 12, across(x[b]) + half) - Math.max(LEFT, across(x[a]) - half))).attr("height", HEIGHT - BOTTOM - TOP);
  }
  for (const tick of up.ticks(4)) {
    svg.append("line").attr("class", tick === 0 ? "zero" : "grid").attr("x1", LEFT).attr("x2", width - 12).attr("y1", up(tick)).attr("y2", up(tick));
    svg.append("text").attr("class", "axis").attr("x", LEFT - 8).attr("y", up(tick)).attr("text-anchor", "end").attr("dominant-baseline", "central").text(String(tick).replace("-", "−"));
  }
  for (const tick of across.ticks(7)) svg.append("text").attr("class", "axis").attr("x", across(tick)).attr("y", HEIGHT - BOTTOM + 15).attr("text-anchor", "middle").text(String(tick).replace("-", "−"));
  svg.append("text").attr("class", "axis").attr("x", (LEFT + width - 12) / 2).attr("y", HEIGHT - 5).attr("text-anchor", "middle").text(variable);
  const inside = svg.append("g").attr("clip-path", `url(#${clip})`);
  inside.append("path").attr("class", "side-left").attr("d", curve(x, left, across, up, most));
  inside.append("path").attr("class", "side-right").attr("d", curve(x, right, across, up, most));
  const cursor = svg.append("line").attr("class", "cursor").attr("y1", TOP).attr("y2", HEIGHT - BOTTOM).attr("visibility", "hidden");
  svg.on("pointermove", (event) => {
    const k = d3.bisectCenter(x, across.invert(d3.pointer(event)[0]));
    cursor.attr("x1", across(x[k])).attr("x2", across(x[k])).attr("visibility", "visible");
    read.textContent = `${variable} = ${value(x[k])}: left ${value(left[k])}, right ${value(right[k])}`;
  }).on("pointerleave", () => { cursor.attr("visibility", "hidden"); read.textContent = ""; });
  return svg.node();
}

export function sides(found, text) {
  const { variable, x, apart } = found, read = h("output", { class: "quiet reading" });
  const host = fitted(620, (width) => drawn(found, text, width, read));
  return h("section", { class: "card plot", "aria-label": "Both sides as curves" },
    h("div", { class: "heading" }, h("h3", {}, "Both sides as curves"), saveSvg("sides", () => host.firstChild)),
    h("p", { class: "quiet" }, h("span", { class: "key left" }, "left side"), " ", h("span", { class: "key right" }, "right side, dashed"), apart.length
      ? [" ", h("span", { class: "key apart-key" }, "orange: the sides differ, or only one side is real")] : `. The sides agree at every point drawn, from ${value(x[0])} to ${value(x[x.length - 1])}.`),
    host, read);
}
