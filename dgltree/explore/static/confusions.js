// Which classes a model confuses: the most frequent mistakes first, and all classes against all.
import { h, more } from "./dom.js";

export const FEW = 12; // classes of a matrix that is shown at once
const SHOWN = 6, UPRIGHT = 5; // mistakes, and names of classes side by side, until one presses or they are turned

const short = (name) => h("span", { class: "clamp", title: name }, name); // two lines of a long name
const numeric = (name) => name.trim() !== "" && Number.isFinite(Number(name));
// The places of classes, sorted as numbers where all are numbers, else as they are.
export function inOrder(names) {
  const places = d3.range(names.length);
  return names.every(numeric) ? d3.sort(places, (k) => Number(names[k])) : places;
}

export const allNumbers = (names) => names.length > 0 && names.every(numeric);

// The fields of the matrix with examples in which the class is another one, the most frequent first.
// Of very many classes the server sends only the most frequent mistakes.
export function mistakes({ true: names, counts, mistakes: given }, classes) {
  if (given) return given;
  const fields = counts.flatMap((row, r) => { const all = d3.sum(row); return row.map((count, c) => ({ true: r, predicted: c, count, share: count / all })); });
  return d3.sort(fields.filter((field) => field.count && names[field.true] !== classes[field.predicted]), (a, b) => b.count - a.count || b.share - a.share);
}

export function frequent(confusion, classes, chosen, opened, open, pressed) {
  const { true: names } = confusion, rows = mistakes(confusion, classes);
  if (!rows.length) return h("p", { class: "quiet" }, "No mistakes.");
  const shown = open ? rows.slice(0, 100) : rows.slice(0, SHOWN);
  return h("div", {}, h("div", { class: open ? "scroll tall" : null, tabindex: open ? 0 : null, role: open ? "group" : null, "aria-label": open ? "Confusions" : null }, h("table", { class: "frequent" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "true"), h("th", { scope: "col" }, "predicted"), h("th", { scope: "col", class: "figure" }, "examples"), h("th", { scope: "col", class: "figure" }, "of the class"))),
    h("tbody", {}, shown.map((row) => h("tr", { class: chosen.true === row.true && chosen.predicted === row.predicted ? "chosen" : "" },
      h("td", {}, opened ? h("button", { type: "button", class: "filler", onclick: () => opened(row.true, row.predicted) }, short(names[row.true])) : short(names[row.true])), h("td", {}, short(classes[row.predicted])),
      h("td", { class: "figure" }, `${row.count}`), h("td", { class: "figure" }, `${Math.round(100 * row.share)} %`)))))),
  h("div", { class: "more-line" }, more(Math.min(rows.length, 100), SHOWN, open, pressed)));
}

// Rows are the true classes. A field that has examples opens them.
export function matrix({ true: names, counts }, classes, chosen, opened) {
  const most = counts.map((row) => Math.max(1, d3.sum(row))), columns = inOrder(classes), rows = [...columns, ...d3.range(classes.length, names.length)];
  return h("div", { class: classes.length > FEW ? "scroll tall" : "scroll", tabindex: 0, role: "group", "aria-label": "All classes against all" }, h("table", { class: `confusion ${classes.length > FEW ? "dense" : classes.length > UPRIGHT ? "several" : ""}` },
    h("caption", { class: "unseen" }, "Rows: true classes. Columns: predicted classes. Each cell counts examples."),
    h("thead", {}, h("tr", {}, h("td", { class: "corner quiet" }, "true \\ predicted"), columns.map((c) => h("th", { scope: "col" }, classes[c])))),
    h("tbody", {}, rows.map((r) => h("tr", {}, h("th", { scope: "row" }, names[r]), columns.map((c) => {
      const count = counts[r][c], share = count / most[r], label = `${count} of ${names[r]} predicted as ${classes[c]}, ${Math.round(100 * share)} % of the class`;
      const field = count && opened
        ? h("button", { type: "button", "aria-label": label, title: label, "aria-pressed": chosen?.true === r && chosen?.predicted === c ? "true" : "false", onclick: () => opened(r, c) }, `${count}`)
        : h("span", { title: count ? label : null }, count ? `${count}` : "·");
      const cell = h("td", { class: `${names[r] === classes[c] ? "right" : "mistake"} ${count ? "" : "nothing"}` }, field);
      if (count) cell.style.setProperty("--share", `${8 + 47 * share}%`);
      return cell;
    }))))));
}
