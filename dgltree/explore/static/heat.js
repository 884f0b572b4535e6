// Numbers as coloured fields: blue above 0, purple below. One row is a vector, several are a stack, the top one first.
import { h } from "./dom.js";

const NAMES = {
  h: "state h", c: "memory cell c", S: "stack, top row first", in: "input gate", o: "output gate", u: "new content u",
  f: "forget gate", g: "gate of the child", push: "push", pop: "pop", noop: "no-op", q: "rows that are read", fc: "kept of the child",
};
const PERCENT = new Set(["in", "o", "f", "g", "push", "pop", "noop", "q"]);

export const nameOf = (part) => (NAMES[part.name] ?? part.name) + (part.child === null ? "" : `, child ${part.child + 1}`);
export const mean = (rows) => { const all = rows.flat(); return all.reduce((a, b) => a + b, 0) / all.length / 100; };
const norm = (rows) => Math.sqrt(rows.flat().reduce((a, b) => a + (b / 100) ** 2, 0));

export const summary = (part) =>
  (PERCENT.has(part.name) ? `mean ${(100 * mean(part.rows)).toFixed(0)} %` : `norm ${norm(part.rows).toFixed(2)}`);

// told(text): the value under the pointer, or nothing once it has left.
export function heat(rows, { title, told }) {
  const width = rows[0].length, cell = 6, height = 16, gap = 2;
  const svg = d3.create("svg").attr("class", "heat").attr("role", "img").attr("aria-label", title)
    .attr("viewBox", `0 0 ${width * cell} ${rows.length * (height + gap) - gap}`).attr("preserveAspectRatio", "none")
    .attr("width", "100%").attr("height", rows.length * (height + gap) - gap);
  svg.selectAll("g").data(rows).join("g").attr("transform", (_, r) => `translate(0,${r * (height + gap)})`)
    .each(function each(values) {
      d3.select(this).append("rect").attr("class", "ground").attr("width", width * cell).attr("height", height);
      d3.select(this).selectAll(".field").data(values).join("rect")
        .attr("class", (v) => `field ${v < 0 ? "below" : "above"}`).attr("x", (_, i) => i * cell)
        .attr("width", cell).attr("height", height).attr("fill-opacity", (v) => Math.min(1, Math.abs(v) / 100));
    });
  svg.on("pointermove", (event) => {
    const { left, top, width: wide, height: high } = svg.node().getBoundingClientRect();
    const i = Math.min(width - 1, Math.floor((event.clientX - left) / wide * width)), r = Math.min(rows.length - 1, Math.floor((event.clientY - top) / high * rows.length));
    if (i >= 0 && r >= 0) told(`${rows.length > 1 ? `row ${r + 1}, ` : ""}unit ${i + 1}: ${(rows[r][i] / 100).toFixed(2).replace("-", "−")}`);
  }).on("pointerleave", () => told(""));
  return svg.node();
}

const scale = () => h("div", { class: "scale quiet", role: "img", "aria-label": "Colors from −1, purple, through 0 to 1, blue; larger numbers have the color of 1" },
  "−1", h("span", { class: "ramp" }), "+1 and beyond");

// What a node computed: a strip for each part, states first.
const ORDER = ["h", "S", "c", "push", "pop", "noop"];
const rank = (part) => (ORDER.includes(part.name) ? ORDER.indexOf(part.name) : ORDER.length);
export function strips(parts) {
  const sorted = [...parts].sort((a, b) => rank(a) - rank(b));
  return [scale(), h("dl", { class: "strips" }, sorted.map((part) => {
    const value = h("span", { class: "quiet" }, summary(part));
    return h("div", {}, h("dt", {}, nameOf(part), value),
      h("dd", {}, heat(part.rows, { title: `${nameOf(part)}: ${summary(part)}`, told: (text) => { value.textContent = text || summary(part); } })));
  }))];
}
