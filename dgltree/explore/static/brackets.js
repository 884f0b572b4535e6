// A binary or other tree over words that are next to each other, as dgltree.plotting.trees draws it.

function levelsOf(nodes) {
  const levels = [];
  for (const { children } of nodes) levels.push(children ? 1 + Math.max(...children.map((child) => levels[child])) : 0);
  return levels;
}
export const depthOf = (nodes) => Math.max(...levelsOf(nodes));

/* depth: for how many levels there is room; at least those of the nodes. shares: of a word's attention to each node, in %;
   chosen: that word; choose(k): called when another word is chosen, without it words are no buttons. */
export function bracketTree(nodes, { title, word = 46, depth = depthOf(nodes), shares, chosen, choose }) {
  const levels = levelsOf(nodes), x = [];
  let count = 0;
  nodes.forEach((node, k) => {
    if (node.word !== undefined) { x[k] = count * word + word / 2; count += 1; return; }
    const { children } = node;
    x[k] = (x[children[0]] + x[children[children.length - 1]]) / 2;
  });
  const level = Math.max(16, Math.min(30, 300 / Math.max(depth, 1)));
  const top = (shares ? 20 : 8) + level * depth, y = (k) => top - level * levels[k];
  const svg = d3.create("svg").attr("class", "brackets").attr("role", choose ? "group" : "img").attr("aria-label", title)
    .attr("viewBox", `0 0 ${count * word} ${top + 28}`).attr("width", count * word).attr("height", top + 28);
  nodes.forEach((node, k) => {
    if (node.word !== undefined) {
      const text = svg.append("text").attr("x", x[k]).attr("y", top + 16).attr("text-anchor", "middle").attr("class", k === chosen ? "word now" : "word").text(node.word);
      if (choose) {
        text.attr("role", "button").attr("tabindex", 0).attr("aria-pressed", k === chosen).attr("data-word", k).on("click", () => choose(k))
          .on("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(k); } });
      }
      return;
    }
    for (const child of node.children) {
      svg.append("path").attr("class", node.shared ? "bracket" : "bracket other").attr("d", `M${x[child]},${y(child) + (levels[child] ? 0 : 2)}V${y(k) + 5}Q${x[child]},${y(k)} ${x[child] + Math.sign(x[k] - x[child]) * Math.min(5, Math.abs(x[k] - x[child]))},${y(k)}H${x[k]}`);
    }
  });
  if (shares) {
    nodes.forEach((node, k) => {
      if (!shares[k]) return;
      svg.append("circle").attr("class", "share").attr("cx", x[k]).attr("cy", y(k)).attr("r", 9).attr("fill-opacity", shares[k] / 100);
      svg.append("text").attr("class", "share").attr("x", x[k] + 12).attr("y", y(k) - 5).text(`${shares[k]} %`);
    });
  }
  return svg.node();
}

// Words, and what the first merges make of them: gap g lies between the words g and g + 1, and is closed by a merge.
export function merged(words, order, count) {
  const nodes = words.map((word) => ({ word })), parts = words.map((_, t) => ({ node: t, end: t }));
  for (const gap of order.slice(0, count)) {
    const k = parts.findIndex((part) => part.end === gap), [left, right] = [parts[k], parts[k + 1]];
    nodes.push({ children: [left.node, right.node], shared: true });
    parts.splice(k, 2, { node: nodes.length - 1, end: right.end });
  }
  return nodes;
}

export const wordWidth = (words) => Math.max(34, 14 + 8 * Math.max(...words.map((w) => [...w].length)));
