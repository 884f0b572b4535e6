// A forest drawn as one graph: each node in the colour of its step, and what is sent from children to parents.
import { laidOut, widthOf } from "./tree.js";
import { zoomable } from "./zoom.js";

const HEIGHT = 28, GAP = 36, BETWEEN = 30;
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// From blue over green to yellow, as many as there are steps.
export const colours = (count) => d3.quantize(d3.piecewise(d3.interpolateLab, ["#0072B2", "#009E73", "#B8A100"]), Math.max(2, count));
const onto = (colour) => (d3.lab(colour).l > 58 ? "#14171a" : "#ffffff");

// Trees side by side, in lines as wide as the place.
function placed({ nodes, trees }, width) {
  const places = [], links = [];
  let start = 0, x = 0, y = 0, tallest = 0, widest = 0;
  for (const size of trees) {
    const own = nodes.slice(start, start + size).map((node) => ({ ...node, parent: node.parent < 0 ? -1 : node.parent - start }));
    const laid = laidOut(own), all = [...laid.places.values()];
    const left = d3.min(all, (p) => p.x - widthOf(p.name) / 2), right = d3.max(all, (p) => p.x + widthOf(p.name) / 2);
    if (x > 0 && x + right - left > width) { x = 0; y += tallest + BETWEEN; tallest = 0; }
    for (const p of all) places[start + p.id] = { id: start + p.id, name: p.name, x: x + p.x - left, y: y + p.y };
    for (const link of laid.links) links.push({ from: start + link.from, to: start + link.to });
    x += right - left + GAP;
    widest = Math.max(widest, x - GAP);
    tallest = Math.max(tallest, ...all.map((p) => p.y + HEIGHT));
    start += size;
  }
  return { places, links, width: widest, height: y + tallest };
}

export function forest(found, { row, stepOf, ramp, twin, width, touched }) {
  const { places, links, ...size } = placed(found, Math.max(width - 60, 240));
  const svg = d3.create("svg").attr("class", "tree graph").attr("role", "img")
    .attr("aria-label", `${found.trees.length} trees as one graph of ${places.length} nodes, each in the color of its step`)
    .attr("viewBox", `-6 ${-HEIGHT / 2 - 6} ${size.width + 12} ${size.height + 12}`);
  const paths = svg.append("g").selectAll("path").data(links).join("path").attr("class", "link").attr("d", (l) => {
    const a = places[l.from], b = places[l.to], middle = (a.y + b.y) / 2;
    return `M${a.x},${a.y - HEIGHT / 2}C${a.x},${middle} ${b.x},${middle} ${b.x},${b.y + HEIGHT / 2}`;
  });
  const sent = svg.append("g");
  const groups = svg.append("g").selectAll("g").data(places).join("g").attr("transform", (p) => `translate(${p.x},${p.y})`)
    .attr("class", (p) => `node ${twin(p.id) ? "twin" : ""}`).attr("data-node", (p) => p.id)
    .on("pointerenter", (_, p) => touched(p.id)).on("pointerleave", () => touched(null));
  groups.append("rect").attr("x", (p) => -widthOf(p.name) / 2).attr("y", -HEIGHT / 2).attr("width", (p) => widthOf(p.name)).attr("height", HEIGHT).attr("rx", HEIGHT / 2);
  groups.append("text").attr("text-anchor", "middle").attr("dominant-baseline", "central").text((p) => p.name);
  groups.append("title").text((p) => `${found.nodes[p.id].name}: row ${row[p.id]}, ${stepOf(row[p.id]) ? `step ${stepOf(row[p.id])}` : "a leaf"}${twin(p.id) ? ", shared with an equal subtree" : ""}`);
  const steps = row.map(stepOf);
  const searched = groups.nodes().map((element, k) => ({ x: places[k].x, y: places[k].y, name: found.nodes[k].name, element }));
  return {
    element: zoomable(svg.node(), { name: "The forest", places: searched, start: places[0] }).element, svg: svg.node(), groups, paths, sent, steps, ramp, twin,
    together(own) {
      groups.classed("touched", (p) => own !== null && row[p.id] === own);
    },
  };
}

// What is done by a step is filled, what comes later is an outline.
export function paint({ groups, paths, steps, ramp, sent }, now) {
  sent.selectAll("*").interrupt().remove();
  groups.classed("done", (p) => steps[p.id] <= now).classed("now", (p) => steps[p.id] === now);
  groups.select("rect").style("fill", (p) => (steps[p.id] <= now ? ramp[steps[p.id]] : null)).style("stroke", (p) => (steps[p.id] <= now ? ramp[steps[p.id]] : null));
  groups.select("text").style("fill", (p) => (steps[p.id] <= now ? onto(ramp[steps[p.id]]) : null));
  paths.style("stroke", (l) => (steps[l.to] <= now ? ramp[steps[l.to]] : null)).classed("now", (l) => steps[l.to] === now);
}

// The children's states on their way to the rows of a step; equal subtrees are sent once.
export function send({ paths, steps, ramp, sent, twin }, now) {
  if (still()) return;
  paths.filter((l) => steps[l.to] === now && !twin(l.to)).each(function each(l) {
    const length = this.getTotalLength();
    sent.append("circle").attr("class", "sent").attr("r", 5).style("fill", ramp[steps[l.from]])
      .transition().duration(650).ease(d3.easeCubicInOut)
      .attrTween("transform", () => (t) => { const p = this.getPointAtLength(t * length); return `translate(${p.x},${p.y})`; })
      .remove();
  });
}
