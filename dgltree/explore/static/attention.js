// What a sequence encoder did at each word: attention over slots or words, gates of steps, distances.

const ROW = 22, LEFT = 44;
export const columnAt = (t, word) => LEFT + (t + 0.5) * word;
const USED = 5; // hundredths of attention that make a slot worth a row

export function attention(words, scores, { now, chosen, word }) {
  const slots = scores[0].length;
  let first = d3.range(slots).find((slot) => scores.some((row) => row[slot] >= USED)) ?? slots - 1;
  first = Math.min(first, slots - 3 < 0 ? 0 : slots - 3);
  const rows = d3.range(slots - 1, first - 1, -1).map((slot) => ({ label: slot + 1, name: `slot ${slot + 1}`, values: scores.map((row) => row[slot]) }));
  const title = `Attention over ${rows.length} slots at each of ${words.length} words; at ${words[now]} slot ${1 + d3.maxIndex(scores[now])}`;
  return fields(words, rows, { title, now, chosen, word });
}

// Shares of 100 as fields: a row for each of [{label, name, values}], a column for each word.
export function fields(words, rows, { title, now, chosen, word }) {
  const width = LEFT + words.length * word, height = rows.length * ROW;
  const svg = d3.create("svg").attr("class", "attention").attr("role", "img").attr("aria-label", title)
    .attr("viewBox", `0 -2 ${width + 2} ${height + 32}`).attr("width", width + 2).attr("height", height + 32);
  rows.forEach(({ label, name, values }, r) => {
    svg.append("text").attr("class", "axis").attr("x", LEFT - 8).attr("y", r * ROW + ROW / 2).attr("text-anchor", "end").attr("dominant-baseline", "central").text(label);
    words.forEach((_, t) => {
      svg.append("rect").attr("class", "ground").attr("x", LEFT + t * word + 1).attr("y", r * ROW + 1).attr("width", word - 2).attr("height", ROW - 2).attr("rx", 3);
      svg.append("rect").attr("class", "cool").attr("x", LEFT + t * word + 1).attr("y", r * ROW + 1).attr("width", word - 2).attr("height", ROW - 2).attr("rx", 3)
        .attr("fill-opacity", values[t] / 100).append("title").text(`${words[t]}, ${name}: ${values[t]} %`);
    });
  });
  column(svg, words, { now, chosen, word, height });
  return svg.node();
}

export function distances(words, scores, { now, chosen, word }) {
  const height = 130, most = Math.max(...scores, 1), width = LEFT + words.length * word;
  const y = d3.scaleLinear([0, most / 100], [height, 8]).nice(3);
  const svg = d3.create("svg").attr("class", "attention").attr("role", "img").attr("aria-label", `Distances: ${words.map((w, t) => `${w} ${(scores[t] / 100).toFixed(2)}`).join(", ")}`)
    .attr("viewBox", `0 -2 ${width + 2} ${height + 32}`).attr("width", width + 2).attr("height", height + 32);
  for (const tick of y.ticks(3)) {
    svg.append("line").attr("class", "grid").attr("x1", LEFT).attr("x2", width).attr("y1", y(tick)).attr("y2", y(tick));
    svg.append("text").attr("class", "axis").attr("x", LEFT - 8).attr("y", y(tick)).attr("text-anchor", "end").attr("dominant-baseline", "central").text(tick);
  }
  words.forEach((w, t) => svg.append("rect").attr("class", "cool").attr("x", LEFT + t * word + 4).attr("width", word - 8)
    .attr("y", y(scores[t] / 100)).attr("height", height - y(scores[t] / 100)).attr("rx", 3).append("title").text(`${w}: ${(scores[t] / 100).toFixed(2)}`));
  column(svg, words, { now, chosen, word, height });
  return svg.node();
}

// The words below, and a frame around the one that is read; a click on another chooses it.
function column(svg, words, { now, chosen, word, height }) {
  svg.append("rect").attr("class", "frame").attr("x", LEFT + now * word).attr("y", 0).attr("width", word).attr("height", height + 28).attr("rx", 5);
  words.forEach((text, t) => {
    svg.append("text").attr("class", t === now ? "word now" : "word").attr("x", LEFT + (t + 0.5) * word).attr("y", height + 18).attr("text-anchor", "middle").text(text);
    svg.append("rect").attr("class", "touch").attr("x", LEFT + t * word).attr("y", 0).attr("width", word).attr("height", height + 28).on("click", () => chosen(t));
  });
}
