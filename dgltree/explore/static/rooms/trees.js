// The room of own trees: metrics, mistakes, any tree with the states of its nodes, its neighbours, and a map.
import { ask, listen, newest } from "../ask.js";
import { learning } from "../charts.js";
import { allNumbers, FEW, frequent, inOrder, matrix } from "../confusions.js";
import { chooser, fill, h, number, outdate, say } from "../dom.js";
import { legend, plane, valueLegend } from "../map.js";
import { predicted, residuals, summary } from "../numbers.js";
import { keep } from "../place.js";
import { saveCsv, saveSvg } from "../save.js";
import { example, stop } from "./example.js";

export const title = "Own trees";
const METRICS = { examples: "examples", accuracy: "accuracy", macro_f1: "macro F1", most_frequent: "most frequent", calibration_error: "calibration error", r2: "R²", rmse: "RMSE", mae: "MAE" };

export function make(models) {
  if (!models.trees.length) {
    return { element: h("div", { class: "empty" },
      h("h2", {}, "No model of your own trees is open"),
      h("p", {}, "Train a model on a file of labelled trees, and name its folder when you start the page:"),
      h("pre", {}, h("code", {}, "dgltree fit trees.tsv --out runs/trees\ndgltree explore runs/trees --trees trees.tsv"))), open() {} };
  }
  const now = { model: models.trees[0], true: null, predicted: null, start: 0, example: null, method: "pca" };
  const loading = newest(), listing = newest(), looking = newest(), mapping = newest();
  let card, map, drawn, loaded, allConfusions = false;
  const choosers = h("div", { class: "choosers" }), about = h("section", { class: "card", "aria-label": "The model" });
  const curves = h("section", { class: "card", "aria-label": "Learning curve" }), confused = h("section", { class: "card", "aria-label": "Confusions" });
  const list = h("section", { class: "card", "aria-label": "Examples" }), tree = h("section", { class: "card", "aria-label": "A tree" }), chart = h("section", { class: "card", "aria-label": "Map" });
  const element = h("div", { class: "room" }, about, h("div", { class: "halves" }, curves, confused), list, tree, chart);
  const remember = (why) => keep("trees", { model: now.model === models.trees[0] ? "" : now.model, true: now.true, predicted: now.predicted, start: now.start || "", example: now.example }, why);
  const wrongIn = (place) => (message) => fill(place, h("p", { class: "quiet" }, message));

  function load() {
    fill(about, h("p", { class: "quiet" }, "opening …"));
    loading(async (signal) => {
      card = await ask("trees/card", { model: now.model }, signal);
      loaded = now.model;
      tell();
      if (!card.examples) {
        for (const place of [list, tree, chart]) place.hidden = true;
        return;
      }
      for (const place of [list, tree, chart]) place.hidden = false;
      examples(now.example === null);
      if (now.example !== null) open(now.example);
      draw(now.method);
    }, wrongIn(about));
  }

  // What one came for: the test result of the model's answers, next to what is easy to reach.
  function headline() {
    const found = card.metrics.test, name = found && ["accuracy", "r2"].find((metric) => Number.isFinite(found[metric]));
    if (!name) return null;
    const others = [["the baseline", card.baseline.test?.[name]], ["the most frequent class", found.most_frequent]].filter(([, value]) => Number.isFinite(value));
    return h("p", { class: "headline" }, h("b", {}, `Test ${METRICS[name]} ${number(found[name], 2)}`),
      others.length ? h("span", {}, `, ${others.map(([who, value]) => `${who} ${number(value, 2)}`).join(", ")}`) : null,
      h("span", { class: "quiet" }, ` (${found.examples.toLocaleString("en")} examples not used in training)`));
  }

  function tell() {
    const splits = Object.entries(card.metrics), names = Object.keys(splits[0]?.[1] ?? {});
    const rows = splits.flatMap(([split, found]) => [[split, found],
      ...["network", "baseline"].filter((who) => card[who][split]).map((who) => [`${split}, ${who}`, { ...card[who][split], examples: found.examples }])]);
    const figure = (name, value) => (name === "examples" ? value.toLocaleString("en") : number(value, 3));
    fill(about,
      h("div", { class: "heading" }, h("h2", {}, now.model), models.trees.length > 1 ? chooser("Model", models.trees.map((name) => ({ name, title: name })), now.model, (name) => { Object.assign(now, { model: name, true: null, predicted: null, start: 0, example: null }); remember("chosen"); load(); }) : null,
        rows.length ? saveCsv("metrics", () => [["split", ...names], ...rows.map(([split, found]) => [split, ...names.map((name) => found[name])])]) : null),
      headline(),
      h("p", { class: "quiet" }, [card.encoder, card.task, `${card.weights.toLocaleString("en")} weights`, card.seconds === null ? null : `${card.seconds} s of training`, card.made?.slice(0, 10)].filter(Boolean).join(" · ")),
      rows.length ? h("details", { class: "metrics" }, h("summary", {}, "All metrics"), h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Metrics" }, h("table", { class: "plainly" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "split"), names.map((name) => h("th", { scope: "col", class: "figure" }, METRICS[name] ?? name)))),
        h("tbody", {}, rows.map(([split, found]) => h("tr", {}, h("th", { scope: "row" }, split), names.map((name) => h("td", { class: "figure" }, figure(name, found[name])))))))))
        : h("p", { class: "quiet apart" }, "The training is not finished; this is its best epoch so far."),
      h("p", { class: "quiet apart" }, card.examples === null ? "To see examples, also name their file: dgltree explore FOLDER --trees FILE."
        : card.test ? `Below: the ${card.examples.toLocaleString("en")} examples of the test set, from ${card.file}.` : `Below: ${card.examples.toLocaleString("en")} labelled trees of ${card.file}.`));
    fill(curves, h("div", { class: "heading" }, h("h2", {}, "Learning curve"), saveCsv("epochs", () => { const columns = Object.keys(card.epochs[0] ?? {}); return [columns, ...card.epochs.map((row) => columns.map((name) => row[name]))]; })),
    card.epochs.length ? learning(card.epochs, card.baseline.validation) : h("p", { class: "quiet" }, "The folder has no epochs.jsonl."));
    compare();
  }

  function compare() {
    const openable = card.examples ? (row, column) => { Object.assign(now, { true: row, predicted: column, start: 0 }); remember("chosen"); compare(); examples(true); } : null;
    if (card.predicted) {
      const opened = (example) => open(example, "chosen");
      const pictures = [predicted(card.predicted, opened), residuals(card.predicted, opened)];
      fill(confused, h("div", { class: "heading" }, h("h2", {}, "Predicted against true"), saveSvg("predicted", () => pictures[0].firstChild)), summary(card.predicted), pictures[0],
        h("div", { class: "heading" }, h("h3", {}, "Residuals: predicted − true"), saveSvg("residuals", () => pictures[1].firstChild)), pictures[1]);
    } else if (card.confusion) {
      const whole = card.confusion.counts ? matrix(card.confusion, card.classes, now, openable) : null, many = card.classes.length > FEW;
      const hint = [h("span", { class: "key right-key" }, "green: right"), " ", h("span", { class: "key wrong-key" }, "orange: a mistake"), `. A deeper color means a larger share of the true class.${openable ? " Select a field to see its examples." : ""}`];
      const rows = frequent(card.confusion, card.classes, now, openable, allConfusions, (open) => { allConfusions = open; compare(); });
      fill(confused, h("div", { class: "heading" }, h("h2", {}, "Confusions"),
        saveCsv("confusion", () => (whole ? [["true", ...card.classes], ...card.confusion.counts.map((row, k) => [card.confusion.true[k], ...row])]
          : [["true", "predicted", "examples"], ...card.confusion.mistakes.map((row) => [card.confusion.true[row.true], card.classes[row.predicted], row.count])]))),
      many ? [h("p", { class: "quiet note" }, `The most frequent mistakes among ${card.classes.length.toLocaleString("en")} classes.`), rows,
        whole && h("details", {}, h("summary", {}, `All ${card.classes.length} classes against all`), h("p", { class: "quiet note" }, hint), whole)]
        : [h("p", { class: "quiet note" }, "Rows are the true classes, columns the predicted ones. ", hint), whole,
          card.classes.length > 2 ? [h("h3", { class: "apart" }, "The most frequent mistakes"), rows] : null]);
    } else fill(confused, h("h2", {}, "Confusions"), h("p", { class: "quiet" }, "The folder has no confusion.tsv."));
  }

  function examples(first) {
    remember();
    outdate(list);
    const all = now.true === null;
    listing(async (signal) => {
      const found = await ask("trees/examples", { model: now.model, all, true: now.true ?? 0, predicted: now.predicted ?? 0, start: now.start }, signal);
      const heading = all ? (card.predicted ? "Largest errors" : "Worst mistakes") : `True ${card.confusion.true[now.true]}, predicted ${card.classes[now.predicted]}`;
      const end = Math.min(found.start + found.page, found.count), turn = (start) => { now.start = start; remember("chosen"); examples(false); };
      fill(list, h("div", { class: "heading" }, h("h2", {}, heading),
        all ? null : h("button", { type: "button", class: "plain", onclick: () => { Object.assign(now, { true: null, predicted: null, start: 0 }); remember("chosen"); compare(); examples(true); } }, "Worst mistakes"),
        saveCsv("examples", () => [["id", "label", "predicted", "probability", "tree"], ...found.rows.map((row) => [row.id, row.label, row.predicted, row.probability, row.text])])),
      found.count ? table(found.rows) : h("p", { class: "quiet" }, all ? "No mistakes: every prediction is right." : "No examples."),
      found.count > found.page ? h("div", { class: "turn" },
        h("button", { type: "button", class: "plain", disabled: found.start === 0, onclick: () => turn(Math.max(0, found.start - found.page)) }, "‹ before"),
        h("span", { class: "quiet" }, `${found.start + 1} to ${end} of ${found.count.toLocaleString("en")}`),
        h("button", { type: "button", class: "plain", disabled: end >= found.count, onclick: () => turn(found.start + found.page) }, "further ›")) : null);
      if (first) open(found.rows[0]?.example ?? 0);
      mark();
    }, wrongIn(list));
  }

  const said = (value) => (card.predicted && value !== null ? number(Number(value), 3) : value);
  function table(rows, similarity) {
    return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": similarity ? "Nearest trees" : "List of examples" }, h("table", { class: "examples" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "id"), h("th", { scope: "col" }, "tree"), h("th", { scope: "col" }, "true"), h("th", { scope: "col" }, "predicted"),
      similarity || !card.predicted ? h("th", { scope: "col", class: "figure" }, similarity ? "cosine" : "probability") : null)),
    h("tbody", {}, rows.map((row) => h("tr", { "data-example": row.example },
      h("td", {}, h("button", { type: "button", class: "filler", onclick: () => { open(row.example, "chosen"); toTree(); } }, row.id)), h("td", { class: "text" }, row.text), h("td", {}, h("div", { class: "clamp", title: row.label }, said(row.label) ?? "")),
      h("td", { class: `check ${card.predicted ? "" : row.label === row.predicted ? "yes" : "no"}` }, h("div", { class: "clamp", title: `${row.predicted}` },
        card.predicted ? null : h("span", { "aria-hidden": "true" }, row.label === row.predicted ? "✓ " : "✗ "), said(row.predicted))),
      similarity || !card.predicted ? h("td", { class: "figure" }, similarity ? number(row.similarity, 3) : number(row.probability, 2)) : null)))));
  }
  function mark() {
    for (const row of element.querySelectorAll("tr[data-example]")) row.classList.toggle("chosen", Number(row.dataset.example) === now.example);
  }

  function open(place, why) {
    now.example = place;
    stop();
    remember(why);
    mark();
    outdate(tree);
    looking(async (signal) => {
      const found = await ask("trees/tree", { model: now.model, example: place }, signal);
      look(found);
      say(`tree ${found.id}, labelled ${found.label}, predicted ${found.predicted}`);
    }, wrongIn(tree));
    drawn?.mark(place);
  }

  function look(found) {
    fill(tree, example(now.model, found, said), found.near ? [h("h3", { class: "apart" }, "The nearest trees, by the cosine of their vectors"), table(found.near, true)] : null);
    mark();
  }

  function draw(method) {
    now.method = method;
    const progress = h("progress", { max: 1, value: 0, "aria-label": "Progress of the map", hidden: method === "pca" });
    const stop = h("button", { type: "button", class: "plain", hidden: method === "pca", onclick: () => { mapping.stop(); progress.hidden = stop.hidden = true; } }, "Stop");
    const button = (name, text) => h("button", { type: "button", class: "plain", "aria-pressed": `${name === method}`, onclick: () => draw(name) }, text);
    const key = h("div"), host = h("div", { class: "map" }, h("p", { class: "quiet" }, "drawing …"));
    fill(chart, h("div", { class: "heading" }, h("h2", {}, "Map of the vectors"), progress, stop, button("pca", "PCA"), button("tsne", "t-SNE"), saveSvg("map", () => drawn?.svg),
      saveCsv("map", () => [["example", "label", "x", "y"], ...(map?.points ?? []).map((p, k) => [map.examples[k], map.labels[k], ...p])])),
    h("p", { class: "quiet note" }, "Each point is a tree; trees whose vectors are similar are close together. Select a point to open its tree."), host, key);
    map = drawn = undefined;
    mapping(async (signal) => {
      await listen("trees/map", { model: now.model, method }, signal, (found) => {
        map = found;
        progress.value = found.stage / found.stages;
        if (found.stage === found.stages) progress.hidden = stop.hidden = true;
        place(host, key);
      });
    }, (message) => { progress.hidden = stop.hidden = true; fill(host, h("p", { class: "quiet" }, message)); });
  }
  function place(host, key) {
    const values = Boolean(card.predicted) || allNumbers(card.classes);
    drawn = plane(map, card.classes, { values, chosen: now.example, opened: (example) => { open(example, "chosen"); toTree(); } });
    fill(host, drawn.element);
    fill(key, values ? valueLegend(map.labels) : legend(card.classes, inOrder(card.classes)));
  }
  function toTree() {
    tree.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "nearest" });
  }

  return {
    element,
    open(given) {
      const whole = (name) => (/^\d+$/.test(given.get(name) ?? "") ? Number(given.get(name)) : null);
      if (models.trees.includes(given.get("model"))) now.model = given.get("model");
      else if ([...given.keys()].length) now.model = models.trees[0];
      if (card && loaded && ![...given.keys()].length) { remember(); return; }
      Object.assign(now, { true: whole("true"), predicted: whole("predicted"), start: whole("start") ?? 0, example: whole("example") });
      if (now.predicted === null) now.true = null;
      if (loaded !== now.model || !card.examples) { load(); return; }
      compare();
      examples(now.example === null);
      if (now.example !== null) open(now.example);
    },
    leave() { for (const run of [loading, listing, looking, mapping]) run.stop(); stop(); loaded = undefined; },
  };
}
