// The room of sequences: attention, distances, merges or beams step by step, and the tree found by them next to the given one.
import { ask, newest } from "../ask.js";
import { attention, columnAt, distances, fields } from "../attention.js";
import { bracketTree, depthOf, merged, wordWidth } from "../brackets.js";
import { chooser, fill, h, later, number, outdate, say } from "../dom.js";
import { keep } from "../place.js";
import { saveCsv, saveSvg } from "../save.js";
import { zoomable } from "../zoom.js";

export const title = "Sequence";
const RELATIONS = { "=": "they say the same", "^": "one is the negation of the other", "<": "the first implies the second",
  ">": "the second implies the first", "|": "they exclude each other", v: "one of them always holds", "#": "neither implies nor excludes the other" };
const BY = { "truth table": "a truth table says", arithmetic: "arithmetic says" };
const PACE = 700;
const KINDS = { attention: "attention over the slots, word by word", distances: "the distance before each word", merges: "neighbors joined, merge by merge",
  beams: "the beams, merge by merge" };
const SENTENCES = { attention: "A column is a word, a row is a slot of the memory; a deeper blue means more attention, from 0 to 100 %. Select a column to go to its word.",
  distances: "A bar is the distance between a word and the one before it; the tree is split at the largest distance first.",
  merges: "Each step joins two neighbors, until one tree is left.", beams: "Each picture is a beam with its share in the prediction; each step joins two neighbors." };
const capital = (text) => text[0].toUpperCase() + text.slice(1);

export function make(models) {
  const about = new Map(models.sequences.map((model) => [model.name, model])), names = [...about.keys()];
  const now = { model: names[0], text: "", other: "" }, looking = newest(), timers = new Set();
  let unfolded = false;
  const text = h("input", { type: "text", id: "sequence-text", class: "equation", maxlength: 2000, spellcheck: "false", autocapitalize: "off", autocomplete: "off",
    "aria-describedby": "sequence-help sequence-wrong" });
  const other = h("input", { type: "text", id: "sequence-other", class: "equation", maxlength: 2000, spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
  const second = h("div", { class: "second" }, h("label", { class: "name", for: "sequence-other" }, "Second sequence, to compare"), other);
  const wrong = h("p", { id: "sequence-wrong", class: "wrong", role: "status" });
  const chips = h("div", { class: "chips" }), choosers = h("div", { class: "choosers" }), found = h("div", { class: "room" });
  const changed = later(200, () => { now.text = text.value; now.other = other.value; update("typed"); });
  text.addEventListener("input", changed);
  other.addEventListener("input", changed);
  const element = h("div", { class: "room" },
    h("section", { class: "card", "aria-label": "The sequence" },
      h("div", { class: "heading" }, h("label", { class: "name grow", for: "sequence-text" }, "Sequence"), choosers),
      text, h("p", { id: "sequence-help", class: "quiet help" }, "A formula such as a and not b, a ListOps expression, or a sentence, depending on the model’s training data; with or without brackets."),
      second, chips, wrong), found);

  function choose() {
    fill(choosers, chooser("Network", models.sequences, now.model, (name) => { now.model = name; [now.text, now.other] = about.get(name).examples[0] ?? ["", ""]; show("chosen"); }));
    second.hidden = !about.get(now.model).pairs;
    fill(chips, about.get(now.model).examples.map(([a, b]) => h("button", { type: "button", class: "chip", onclick: () => { [now.text, now.other] = [a, b]; show("chosen"); } }, b ? `${a}  ·  ${b}` : a)));
  }

  function show(why) {
    choose();
    text.value = now.text;
    other.value = now.other;
    update(why);
  }

  function update(why) {
    keep("sequence", { text: now.text, other: now.other, model: now.model === names[0] ? "" : now.model }, why);
    stop();
    if (!now.text.trim()) {
      looking.stop();
      wrong.textContent = "";
      fill(found, h("p", { class: "empty" }, "Type a sequence, or choose one of the examples."));
      return;
    }
    outdate(found);
    looking(async (signal) => {
      const answer = await ask("sequence/look", { text: now.text, other: about.get(now.model).pairs ? now.other : "", model: now.model }, signal);
      wrong.textContent = "";
      fill(found, classes(answer), answer.sequences.map((one, k) => (one.kind === "steps" ? steps : sequence)(one, answer.sequences.length > 1 ? ["First", "Second"][k] : "")));
    }, (message) => { wrong.textContent = message; });
  }

  function classes({ classes: rows, checked, each }) {
    if (!rows.length) return each === 2 ? h("p", { class: "quiet" }, "Add a second sequence to see how the network relates the two.") : null;
    const known = rows.every(({ name }) => RELATIONS[name]), meaning = (name) => (known ? RELATIONS[name] : name);
    const [first] = rows, guess = `The network predicts: ${meaning(first.name)}, ${(100 * first.probability).toFixed(1)} %`;
    say(guess);
    return h("section", { class: "card", "aria-label": "What the network predicts" },
      h("div", { class: "heading" }, h("h2", {}, guess),
        saveCsv("classes", () => [["class", "probability"], ...rows.map((row) => [row.name, row.probability])])),
      checked ? h("p", { class: "checked" }, `${capital(BY[checked.by])}: ${checked.answer === null ? checked.note : meaning(checked.answer)}. `,
        checked.answer === null ? null : h("span", { class: checked.answer === first.name ? "agrees" : "disagrees" }, checked.answer === first.name ? "✓ the same" : "✗ the network is wrong")) : null,
      h("p", { class: "quiet note" }, `The probabilities of ${about.get(now.model).title}${each === 2 ? ", for how the two are related" : ""}.`),
      h("ul", { class: "bars" }, rows.map(({ name, probability }) => {
        const bar = h("span", { class: "bar" });
        bar.style.width = `${100 * probability}%`;
        return h("li", {}, h("span", { class: "class" }, name), h("span", { class: "track" }, bar), h("span", { class: "figure" }, `${(100 * probability).toFixed(1)} %`),
          known ? h("span", { class: "quiet meaning" }, RELATIONS[name]) : null);
      })));
  }

  function sequence(one, heading) {
    const { words, scores, beams, kind } = one, word = wordWidth(words), last = words.length - 1;
    const picture = h("div"), where = h("output", { class: "where" });
    const slider = h("input", { type: "range", min: 0, max: last, value: last, "aria-label": `Word of the ${heading.toLowerCase()} sequence`, oninput: () => { pause(); go(Number(slider.value)); } });
    const play = h("button", { type: "button", class: "plain play", onclick: () => (timer ? pause() : begin()) }, "▶ Play");
    const depth = beams && Math.max(...beams.map(({ order }) => depthOf(merged(words, order, last))));
    let at = last, timer, frames;
    // What there is to see at a step: the pictures, each with the place that the step is about.
    function pictures() {
      if (!beams) {
        const svg = (kind === "attention" ? attention : distances)(words, scores, { now: at, word, chosen: (t) => { pause(); go(t); } });
        return [{ svg, name: kind === "attention" ? "Attention over the slots" : "Distances", place: { x: columnAt(at, word), y: 40 } }];
      }
      return beams.map(({ order, weight }, k) => {
        const name = kind === "beams" ? `Beam ${k + 1}, ${weight} %` : "Merges";
        const svg = bracketTree(merged(words, order, at), { title: `${name}: ${at} of ${last} merges of ${words.join(" ")}`, word, depth });
        return { svg, name, place: { x: (at ? order[at - 1] + 1 : 0.5) * word, y: 40 } };
      });
    }
    function go(step) {
      at = Math.min(step, last);
      slider.value = at;
      const now = pictures();
      if (frames) {
        now.forEach(({ svg, place }, k) => { frames[k].redraw(svg); frames[k].follow(place); });
      } else {
        frames = now.map(({ svg, name, place }) => zoomable(svg, { name, start: place }));
        fill(picture, now.map(({ name }, k) => h("div", {}, kind === "beams" ? h("h3", {}, name) : null, frames[k].element)));
      }
      if (beams) {
        const gap = beams[0].order[at - 1];
        where.textContent = at ? `${at} of ${last}: between ${words[gap]} and ${words[gap + 1]}` : `${words.length} words`;
      } else {
        where.textContent = kind === "attention" ? (at ? `${words[at]}: slot ${1 + d3.maxIndex(scores[at])}` : `${words[0]}: the first word`) : `${words[at]}: ${number(scores[at] / 100)}`;
      }
    }
    function begin() {
      go(at === last ? 0 : at);
      play.textContent = "❚❚ Pause";
      timer = setInterval(() => { if (at >= last) pause(); else go(at + 1); }, PACE);
      timers.add(pause);
    }
    function pause() { clearInterval(timer); timer = undefined; play.textContent = "▶ Play"; timers.delete(pause); }
    go(last);
    const plain = one.found.filter((node) => node.word !== undefined).map((node) => node.word), wide = Math.max(30, wordWidth(plain));
    const tree = (nodes, name, note) => {
      const svg = bracketTree(nodes, { title: `${name} over ${plain.join(" ")}`, word: wide });
      const texts = [...svg.querySelectorAll("text")], places = texts.map((element, k) => ({ x: (k + 0.5) * wide, y: Number(element.getAttribute("y")), name: plain[k], element }));
      return h("div", {}, h("div", { class: "heading" }, h("h3", {}, name), h("span", { class: "quiet" }, note), saveSvg(name.toLowerCase(), () => svg)), zoomable(svg, { name, places, start: places[0] }).element);
    };
    const differing = one.brackets - one.matched;
    const compared = differing ? [`${one.matched} of ${one.brackets} brackets as in the given tree; `, h("span", { class: "key other-key" }, "orange, dashed: only in one of the two trees")] : "all brackets as in the given tree";
    return h("section", { class: "card", "aria-label": `${heading} sequence` },
      h("div", { class: "heading" }, h("h2", {}, capital(`${heading ? `${heading}: ` : ""}the tree that was found`))),
      one.given ? h("p", { class: "quiet note" }, compared) : null,
      h("div", { class: "pair" }, tree(one.found, "Tree found", ""), one.given ? tree(one.given, "Given tree", `${one.brackets} brackets`) : null),
      h("details", { class: "fold", open: unfolded, ontoggle: (event) => { unfolded = event.target.open; } }, h("summary", {}, `How the tree was found: ${KINDS[kind]}`),
        h("div", { class: "heading" }, h("p", { class: "quiet note grow" }, SENTENCES[kind]),
          saveSvg(kind, () => picture.querySelector("svg")),
          saveCsv(kind, () => (beams ? beams.map(({ order, weight }) => [weight / 100, ...order]) : words.map((w, t) => [w, ...[scores[t]].flat().map((v) => v / 100)])))),
        h("div", { class: "slide" }, play, slider, where), picture,
        one.ancestors ? asking(one) : null));
  }

  // The steps of a network that finds no tree: how much of each word a step rewrites, and what the chosen word attends to in each.
  function steps({ words, gates, attention: attended }, heading) {
    const word = wordWidth(words), picture = h("div"), where = h("output", { class: "where" });
    const slider = h("input", { type: "range", min: 0, max: words.length - 1, value: words.length - 1, "aria-label": `Word of the ${heading.toLowerCase()} sequence`, oninput: () => go(Number(slider.value)) });
    const row = (values, step) => ({ label: step + 1, name: `step ${step + 1}`, values });
    let frames;
    function go(at) {
      slider.value = at;
      where.textContent = words[at];
      const how = { now: at, chosen: go, word }, start = { x: columnAt(at, word), y: 40 };
      const now = [["Gates", fields(words, gates.map(row), { ...how, title: `How much of each of ${words.length} words each of ${gates.length} steps rewrites` })],
        [`What ${words[at]} attends to`, fields(words, attended.map((of, step) => row(of[at], step)), { ...how, title: `What ${words[at]} attends to in each of ${gates.length} steps` })]];
      if (frames) now.forEach(([, svg], k) => { frames[k].redraw(svg); frames[k].follow(start); });
      else frames = now.map(([name, svg]) => zoomable(svg, { name, start }));
      fill(picture, now.map(([name], k) => h("div", {}, h("div", { class: "heading" }, h("h3", {}, name), saveSvg(k ? "attention" : "gates", () => frames[k].element.querySelector("svg"))), frames[k].element)));
    }
    go(words.length - 1);
    return h("section", { class: "card", "aria-label": `${heading} sequence` },
      h("div", { class: "heading" }, h("h2", {}, capital(`${heading ? `${heading}: ` : ""}gates and attention, step by step`)),
        saveCsv("gates", () => [["step", ...words], ...gates.map((of, step) => [step + 1, ...of.map((v) => v / 100)])])),
      h("p", { class: "quiet note" }, "A row is a step of the network, with the first step on top; a column is a word between the start ⊢ and the end ⊣. In the upper picture, a deeper blue means that more of the word is rewritten, from 0 to 100 %; pale words are copied. The lower picture shows what the chosen word attends to."),
      h("div", { class: "slide" }, slider, where), picture);
  }

  // How much each word attends to the nodes above it, in the best beam.
  function asking({ words, ancestors, beams }) {
    const nodes = merged(words, beams[0].order, words.length - 1), word = wordWidth(words);
    const drawn = (k) => bracketTree(nodes, { title: `How much ${words[k]} attends to what it is part of`, word, shares: [...words.map(() => 0), ...ancestors[k]], chosen: k, choose });
    const frame = zoomable(drawn(0), { name: "Attention to what a word is part of", start: { x: word / 2, y: 40 } });
    function choose(k) {
      frame.redraw(drawn(k));
      frame.element.querySelector(`[data-word="${k}"]`).focus();
    }
    return h("div", { class: "asking" },
      h("div", { class: "heading" }, h("h3", {}, "What each word attends to"), saveSvg("ancestors", () => frame.element.querySelector("svg")),
        saveCsv("ancestors", () => words.map((w, k) => [w, ...ancestors[k].map((v) => v / 100)]))),
      h("p", { class: "quiet note" }, "A word’s vector in context is computed from the parts of the sentence that contain it; a deeper blue means more attention. Choose a word."), frame.element);
  }

  function stop() { for (const pause of [...timers]) pause(); }

  return {
    element,
    open(given) {
      if (about.has(given.get("model"))) now.model = given.get("model");
      else if (given.has("text")) now.model = names[0];
      const [a, b] = about.get(now.model).examples[0] ?? ["", ""];
      if (given.has("text")) [now.text, now.other] = [given.get("text"), given.get("other") ?? ""];
      else if (!now.text) [now.text, now.other] = [a, b];
      show();
    },
    leave() { stop(); looking.stop(); },
  };
}
