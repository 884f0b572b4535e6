// A picture in a frame of its own: moved, enlarged, fitted and searched. Names are hidden before they are too small.
import { h } from "./dom.js";

const READABLE = 0.72; // of the size of 13 px: 9.4 px
const HIGHEST = 460, LOWEST = 90, MOST = 4, SEARCHED = 25;

/* Puts a picture of fixed size into a frame as wide as its place: the element; whether all of it fits, readable; bring(place),
   which moves a place to the middle where it does not; follow(place), which does where the place is out of sight; and
   redraw(svg), which shows another picture of the same size.
   places: [{x, y, name, element}], what can be searched; start: the place that is in the middle at first;
   wide: a picture without texts, which may be small at first; height: of the frame, else that of the picture. */
export function zoomable(svg, { name, places = [], start, wide = false, height }) {
  const box = svg.viewBox.baseVal, natural = { x: box.x, y: box.y, width: box.width, height: box.height };
  const inner = document.createElementNS("http://www.w3.org/2000/svg", "g");
  inner.setAttribute("class", "zoomed");
  inner.append(...svg.childNodes);
  svg.append(inner);
  svg.dataset.box = [natural.x, natural.y, natural.width, natural.height].join(" ");
  svg.removeAttribute("viewBox");
  const frame = h("div", { class: "frame", tabindex: 0, role: "group", "aria-label": `${name}: arrows move it, + and - change its size, 0 fits it` }, svg);
  const size = { width: 0, height: 0 };
  let fits = true, now = d3.zoomIdentity;
  const surface = d3.select(svg), zoom = d3.zoom()
    .filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button && !(event.touches?.length === 1 && fits)))
    .on("zoom", ({ transform }) => {
      now = transform;
      inner.setAttribute("transform", transform);
      svg.classList.toggle("far", transform.k < READABLE && !wide);
    });
  const whole = () => Math.min(size.width / natural.width, (height ?? HIGHEST) / natural.height, 1);
  const around = (x, y, k) => d3.zoomIdentity.translate(size.width / 2 - k * x, size.height / 2 - k * y).scale(k);
  const middle = (k) => around(natural.x + natural.width / 2, natural.y + natural.height / 2, k);
  const at = (place, k) => {
    const near = (centre, from, length, shown) => (length * k <= shown ? from + length / 2 : Math.min(Math.max(centre, from + shown / 2 / k), from + length - shown / 2 / k));
    return around(near(place.x, natural.x, natural.width, size.width), near(place.y, natural.y, natural.height, size.height), k);
  };
  const to = (transform) => surface.call(zoom.transform, transform);
  const fit = () => to(middle(whole()));

  function open() {
    const k = wide ? whole() : Math.max(whole(), Math.min(1, READABLE + 0.03));
    size.height = height ?? Math.max(LOWEST, Math.min(HIGHEST, natural.height * k));
    svg.setAttribute("width", size.width);
    svg.setAttribute("height", size.height);
    fits = k <= whole() + 1e-6;
    svg.style.touchAction = fits ? "pan-y" : "none";
    zoom.extent([[0, 0], [size.width, size.height]]).scaleExtent([Math.min(whole(), 1) * 0.8, MOST])
      .translateExtent([[natural.x - size.width / 2, natural.y - size.height / 2], [natural.x + natural.width + size.width / 2, natural.y + natural.height + size.height / 2]]);
    to(fits || !start ? middle(k) : at(start, k));
  }
  const watch = new ResizeObserver(() => {
    if (!frame.isConnected) return;
    const width = Math.floor(frame.clientWidth);
    if (width && width !== size.width) { size.width = width; open(); }
  });
  watch.observe(frame);
  surface.call(zoom).on("dblclick.zoom", null);

  function show(place, k = Math.max(now.k, 1)) { to(around(place.x, place.y, k)); }
  function follow(place) {
    const [x, y] = now.apply([place.x, place.y]);
    if (x < 20 || y < 20 || x > size.width - 20 || y > size.height - 20) show(place, now.k);
  }
  svg.addEventListener("focusin", (event) => {
    const found = places.find(({ element }) => element === event.target);
    if (found) follow(found);
  });
  const scale = (by) => surface.call(zoom.scaleBy, by);
  frame.addEventListener("keydown", (event) => {
    if (event.target !== frame || event.ctrlKey || event.metaKey) return;
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) surface.call(zoom.translateBy, step[0] / now.k, step[1] / now.k);
    else if (event.key === "+" || event.key === "=") scale(1.4);
    else if (event.key === "-") scale(1 / 1.4);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  const button = (text, label, onclick) => h("button", { type: "button", class: "plain small", "aria-label": `${label}: ${name}`, title: label, onclick }, text);
  const bar = h("div", { class: "zoom-bar" }, button("+", "Larger", () => scale(1.4)), button("−", "Smaller", () => scale(1 / 1.4)), button("Fit", "Fit to the frame", fit),
    places.length > SEARCHED ? finder(places, name, show) : null);
  const bring = (place) => {
    start = place;
    if (size.width && !fits) show(place, Math.max(now.k, READABLE + 0.03));
  };
  const redraw = (picture) => {
    inner.replaceChildren(...picture.childNodes);
    svg.setAttribute("aria-label", picture.getAttribute("aria-label"));
  };
  return { element: h("div", { class: "zoom" }, bar, frame), fits: () => fits, bring, follow: (place) => { if (size.width) follow(place); }, redraw };
}

// Goes from one place to the next whose name has the text.
function finder(places, name, show) {
  let found = [], current = -1;
  const count = h("output", { class: "quiet" });
  const mark = () => {
    for (const { element } of places) element.classList.remove("hit");
    found[current]?.element.classList.add("hit");
    count.textContent = field.value.trim() ? `${found.length ? current + 1 : 0} of ${found.length}` : "";
    if (found[current]) show(found[current]);
  };
  const field = h("input", { type: "search", class: "small", "aria-label": `Search in ${name}`, placeholder: "search", oninput: () => {
    const wanted = field.value.trim().toLowerCase();
    found = wanted ? places.filter((place) => place.name.toLowerCase().includes(wanted)) : [];
    current = found.length ? 0 : -1;
    mark();
  }, onkeydown: (event) => {
    if (event.key !== "Enter" || !found.length) return;
    current = (current + (event.shiftKey ? found.length - 1 : 1)) % found.length;
    mark();
  } });
  return [field, count];
}
