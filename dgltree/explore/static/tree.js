// A tree, or the two sides of an equation, from nodes in preorder: {name, parent}.
import { zoomable } from "./zoom.js";

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

/* A picture, in a frame that is moved and searched: its element, svg and groups of nodes; mark() for other classes of nodes
   and links; fits() and bring(id), which moves a node to the middle unless all nodes are to be seen.
   chosen(id): called when a node is chosen; without it nodes are no buttons.
   kind(id): further classes of a node; label(id): what is read aloud for it; start: the node that is in the middle at first;
   height: of the frame, else that of the picture. */
export function treePicture(nodes, { title, chosen, kind = () => "", label, link = () => "", start = 0, height } = {}) {
  const { places, links } = laidOut(nodes);
  const all = [...places.values()];
  const left = d3.min(all, (p) => p.x - widthOf(p.name) / 2) - 6, right = d3.max(all, (p) => p.x + widthOf(p.name) / 2) + 6;
  const bottom = d3.max(all, (p) => p.y) + HEIGHT / 2 + 6, above = -HEIGHT / 2 - 6;
  const svg = d3.create("svg").attr("class", "tree").attr("role", chosen ? "group" : "img").attr("aria-label", title)
    .attr("viewBox", `${left} ${above} ${right - left} ${bottom - above}`);
  const paths = svg.selectAll("path").data(links).join("path").attr("d", (l) => {
    const a = places.get(l.from), b = places.get(l.to), middle = (a.y + b.y) / 2;
    return `M${a.x},${a.y - HEIGHT / 2}C${a.x},${middle} ${b.x},${middle} ${b.x},${b.y + HEIGHT / 2}`;
  });
  const groups = svg.selectAll("g").data(all).join("g").attr("transform", (p) => `translate(${p.x},${p.y})`).attr("data-node", (p) => p.id);
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
  const mark = (now) => {
    groups.attr("class", (p) => `node ${p.id < 0 ? "equals" : now(p.id)}`);
    paths.attr("class", (l) => `link ${link(l.from)}`);
  };
  mark(kind);
  const found = groups.nodes().map((element, k) => ({ x: all[k].x, y: all[k].y, name: all[k].id < 0 ? "" : nodes[all[k].id].name, element }));
  const zoom = zoomable(svg.node(), { name: title, places: found, start: places.get(start) ?? all[0], height });
  return { ...zoom, svg: svg.node(), groups, mark, bring: (id) => zoom.bring(places.get(id)) };
}
