// Pictures as self-contained SVG files, and tables as CSV.
import { h } from "./dom.js";

const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];

function offer(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const moved = copy.querySelector("g.zoomed");
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, place) => {
    const style = getComputedStyle(originals[place]);
    for (const name of DRAWN) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role"]) element.removeAttribute(name);
  });
  moved?.removeAttribute("transform"); // all of it, however it is moved
  const [x, y, width, height] = svg.dataset.box?.split(" ") ?? ["x", "y", "width", "height"].map((name) => svg.viewBox.baseVal[name]);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", [x, y, width, height].join(" "));
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.removeAttribute("style");
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x, y, width, height })) {
    back.setAttribute(name, value);
  }
  back.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(name, find) {
  return h("button", {
    class: "save", type: "button", "aria-label": `Download ${name} as SVG`, title: "Download as SVG",
    onclick: () => { const svg = find(); if (svg) offer(`${name}.svg`, svgText(svg), "image/svg+xml"); },
  }, "SVG");
}

const quoted = (cell) => {
  const text = cell === null || cell === undefined ? "" : String(cell);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const csvText = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";

export function saveCsv(name, rows) {
  return h("button", {
    class: "save", type: "button", "aria-label": `Download ${name} as CSV`, title: "Download as CSV",
    onclick: () => offer(`${name}.csv`, csvText(rows()), "text/csv"),
  }, "CSV");
}
