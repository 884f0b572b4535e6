// Answers of an exported model by onnxruntime-web alone: node plan.mjs FOLDER < trees.txt, one example a line.
import { readFileSync } from "node:fs";
import * as ort from "onnxruntime-web";

const SYMBOL = /\(\s*([^\s()";]*)|(\))|([^\s()";]+)|"((?:[^"\\]|\\.)*)"|(\S)/g;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/, DATE = /^\d{4}-\d\d-\d\d/;

// The nodes of an s-expression, children before parents: [function, token or null, numbers of the children].
function readSexpr(text) {
  const nodes = [], lists = [["", []]];
  for (const [, head, close, atom, string, wrong] of text.matchAll(SYMBOL)) {
    if (head !== undefined) { lists.push([head, []]); continue; }
    if (wrong || (close && lists.length === 1)) throw new Error(`${wrong ?? close} is one too many in ${text}`);
    if (close) {
      const [name, children] = lists.pop();
      nodes.push([name || "list", null, children]);
    } else {
      nodes.push(atom ? ["atom", atom, []] : ["string", string.replace(/\\(["\\])/g, "$1"), []]);
    }
    lists.at(-1)[1].push(nodes.length - 1);
  }
  if (lists.length > 1 || lists[0][1].length !== 1) throw new Error(`${text} is not one whole tree`);
  return nodes;
}

// The nodes of a JSON tree, {"label": ..., "children": [...], "token": ...}; numbers stay as they are written.
function readJson(text) {
  const nodes = [];
  const visit = (item) => {
    item = typeof item === "object" ? item : { label: item };
    const children = (item.children ?? []).map(visit), token = item.token ?? null;
    nodes.push(children.length || token !== null ? [item.label, token, children] : ["leaf", item.label, []]);
    return nodes.length - 1;
  };
  visit(JSON.parse(text, (_, value, context) => (typeof value === "number" ? context?.source ?? String(value) : value)));
  return nodes;
}

// A number on the scale of its place, the narrowest that there is.
function scaled(value, name, above, position, scales) {
  for (const place of [[name, above, position], [name, above, null], [name, null, null], [null, null, null]]) {
    const found = scales.get(JSON.stringify(place));
    if (!found) continue;
    const distance = (value / 2 - found[0] / 2) / found[1];
    return Math.asinh(Math.min(Math.max(distance, -1e300), 1e300) * 2);
  }
  return value;
}

// Append [function, token, number, rows of the children] for each node; return the root's row.
function addRows(nodes, model, rows) {
  const first = rows.length, above = nodes.map(() => ["", 0]);
  for (const [name, , children] of nodes) {
    const names = children.map((child) => (model.ownPositions.has(name) ? nodes[child][0] : ""));
    const before = (k) => names.slice(0, k).filter((other) => other === names[k]).length;
    children.forEach((child, k) => { above[child] = [name, Math.min(before(k), 8)]; });
  }
  nodes.forEach(([name, token, children], i) => {
    const keys = [name, "<unk>"].flatMap((each) => [[each, children.length], [each, null]]);
    const known = keys.map((key) => model.functions.get(JSON.stringify(key))).find((id) => id !== undefined);
    let number = NaN;
    if (model.numbers && token !== null && !children.length && NUMBER.test(token)) {
      [number, token] = [scaled(Number(token), name, ...above[i], model.scales), null];
    }
    const word = token === null ? -1 : model.tokens.get(token) ?? model.unknown_token;
    if (known === undefined || word === null || (model.dates && DATE.test(token ?? ""))) {
      throw new Error(`the model does not know ${name} of ${children.length}, or ${token}; dates are not read here`);
    }
    rows.push([known, word, number, children.map((child) => first + child)]);
  });
  return rows.length - 1;
}

// The inputs of the graph for trees, which are lists of nodes.
function plan(trees, model) {
  const rows = [], level = [], roots = trees.map((nodes) => addRows(nodes, model, rows));
  for (const [, , , children] of rows) level.push(1 + children.reduce((most, child) => Math.max(most, level[child]), -1));
  const group = rows.map(([id]) => model.groups[id]), order = [...rows.keys()];
  order.sort((a, b) => level[a] - level[b] || group[a] - group[b]);
  const leaves = level.filter((height) => height === 0).length, place = [], free = [], written = new Set();
  const found = { leaf_runs: [], runs: [], slots: [], children: [], parents: [], positions: [] };
  for (let first = 0, last = 0, count = 0; first < order.length; first = last) {
    const one = order[first], edge = found.children.length;
    while (last < order.length && level[order[last]] === level[one] && group[order[last]] === group[one]) last += 1;
    const run = order.slice(first, last);
    if (level[one] === 0) {
      run.forEach((row, k) => { place[row] = first + k; });
      found.leaf_runs.push(first, last, group[one]);
      continue;
    }
    run.forEach((row, k) => rows[row][3].forEach((child, position) => {
      if (place[child] >= leaves && !written.delete(place[child])) throw new Error("a node has two parents");
      found.children.push(place[child]);
      found.parents.push(first - leaves + k);
      found.positions.push(position);
    }));
    free.push(...found.children.slice(edge).filter((child) => child >= leaves)); // each has one parent
    for (const row of run) {
      place[row] = free.length ? free.pop() : leaves + count++;
      found.slots.push(place[row] - leaves);
      written.add(place[row]);
    }
    found.runs.push(first - leaves, last - leaves, group[one], edge, found.children.length);
  }
  ["function", "token", "number"].forEach((name, k) => { found[name] = order.map((row) => rows[row][k]); });
  found.roots = roots.map((root) => place[root]);
  const widths = { leaf_runs: 3, runs: 5 };
  return Object.fromEntries(model.inputs.map((name) => {
    const size = widths[name] ? [found[name].length / widths[name], widths[name]] : [found[name].length];
    if (name === "number") return [name, new ort.Tensor("float64", Float64Array.from(found[name]), size)];
    return [name, new ort.Tensor("int64", BigInt64Array.from(found[name], BigInt), size)];
  }));
}

const folder = process.argv[2], model = JSON.parse(readFileSync(`${folder}/reading.json`, "utf8"));
if (model.special.length) throw new Error(`this planner reads s-expressions and JSON trees, and lacks ${model.special.join(", ")}`);
model.groups = model.functions.map((known) => known.group);
model.functions = new Map(model.functions.map((known, i) => [JSON.stringify([known.name, known.children]), i]));
model.tokens = new Map(model.tokens.map((token, i) => [token, i]));
model.scales = new Map(model.scales.map(([where, numbers]) => [JSON.stringify(where), numbers]));
model.ownPositions = new Set(model.own_positions);
const read = { sexpr: readSexpr, json: readJson }[model.reading.notation];
const texts = readFileSync(0, "utf8").split("\n").filter((line) => line.trim())
  .flatMap((line) => (model.trees_of_an_example > 1 ? line.match(/([^\t]*)\t?(.*)/).slice(1) : [line]));
const results = await (await ort.InferenceSession.create(readFileSync(`${folder}/model.onnx`))).run(plan(texts.map(read), model));
if (model.classes) for (const k of results.label.data) console.log(model.classes[Number(k)]);
else for (const number of results.answers.data) console.log(String(number));
