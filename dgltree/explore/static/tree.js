// A tree, or the two sides of an equation, from nodes in preorder: {name, parent}.
import { h } from "./dom.js";

const LEVEL = 58, ACROSS = 14, HEIGHT = 28, CHARACTER = 7.6;

export const widthOf = (name) => Math.max(HEIGHT, 16 + CHARACTER * [...name].length);
export const cut = (name, most = 14) => ([...name].length > most ? `${[...name].slice(0, most - 1).join("")}…` : name);

// Places by d3's tidy layout, wide names given their room: [{node, x, y}] in the order of the nodes, and the links.
export function laidOut(nodes, joined = "=") {
  const roots = nodes.filter((node) => node.parent < 0).length;
  const rows = nodes.map((node, id) => ({ id, name: cut(node.name), parent: node.parent }));
  const top = roots > 1 ? { id: -1, name: joined, parent: null } : null;
  const find = (id) => (id < 0 ? (top ? -1 : null) : id);
  const hierarchy = d3.stratify().id((d) => `${d.id}`).parentId((d) => {
    if (d.parent === null) return "";
    const parent = find(d.parent);
    return parent === null ? "" : `${parent}`;
  })(top ? [top, ...rows] : rows);
  const half = (d) => widthOf(d.data.name) / 2;
  d3.tree().nodeSize([1, LEVEL]).separation((a, b) => half(a) + half(b) + ACROSS)(hierarchy);
  const places = new Map(hierarchy.descendants().map((d) => [d.data.id, { x: d.x, y: d.y, name: d.data.name, id: d.data.id }]));
  const links = hierarchy.links().map((link) => ({ from: link.target.data.id, to: link.source.data.id }));
  return { places, links, top };
}

/* Draws into a new svg.
   chosen(id): called when a node is chosen; without it nodes are no buttons.
   kind(id): further classes of a node; label(id): what is read aloud for it. */
export function treePicture(nodes, { title, chosen, kind = () => "", label, link = () => "" } = {}) {
  const { places, links } = laidOut(nodes);
  const all = [...places.values()];
  const left = Math.min(...all.map((p) => p.x - widthOf(p.name) / 2)) - 6;
  const right = Math.max(...all.map((p) => p.x + widthOf(p.name) / 2)) + 6;
  const bottom = Math.max(...all.map((p) => p.y)) + HEIGHT / 2 + 6, above = -HEIGHT / 2 - 6;
  const svg = d3.create("svg").attr("class", "tree").attr("role", chosen ? "group" : "img").attr("aria-label", title)
    .attr("viewBox", `${left} ${above} ${right - left} ${bottom - above}`).attr("width", right - left).attr("height", bottom - above);
  svg.selectAll("path").data(links).join("path").attr("class", (l) => `link ${link(l.from)}`)
    .attr("d", (l) => {
      const a = places.get(l.from), b = places.get(l.to), middle = (a.y + b.y) / 2;
      return `M${a.x},${a.y - HEIGHT / 2}C${a.x},${middle} ${b.x},${middle} ${b.x},${b.y + HEIGHT / 2}`;
    });
  const groups = svg.selectAll("g").data(all).join("g").attr("transform", (p) => `translate(${p.x},${p.y})`)
    .attr("class", (p) => `node ${p.id < 0 ? "equals" : kind(p.id)}`).attr("data-node", (p) => p.id);
  groups.append("rect").attr("x", (p) => -widthOf(p.name) / 2).attr("y", -HEIGHT / 2)
    .attr("width", (p) => widthOf(p.name)).attr("height", HEIGHT).attr("rx", HEIGHT / 2);
  groups.append("text").attr("text-anchor", "middle").attr("dominant-baseline", "central").text((p) => p.name);
  groups.append("title").text((p) => (p.id < 0 ? "equals" : label?.(p.id) ?? nodes[p.id].name));
  if (chosen) {
    const buttons = groups.filter((p) => p.id >= 0);
    buttons.attr("role", "button").attr("tabindex", 0).attr("aria-label", (p) => label?.(p.id) ?? nodes[p.id].name)
      .on("click", (_, p) => chosen(p.id))
      .on("keydown", (event, p) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); chosen(p.id); }
      });
  }
  return svg.node();
}

// A picture that may be wider than its place: it shrinks a little, then scrolls.
export const scrolling = (svg, name) => h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": name }, svg);
