// The frame around the rooms: which one is open, the theme, and keys.
import { fill, h, say } from "./dom.js";
import { ask } from "./ask.js";
import { follow, here } from "./place.js";

// A room is fetched when it is opened for the first time.
const rooms = {
  equation: () => import("./rooms/equation.js"), sequence: () => import("./rooms/sequence.js"),
  trees: () => import("./rooms/trees.js"), batch: () => import("./rooms/batch.js"),
};
const made = {};
let open;

function asked() {
  const { room } = here();
  return Object.hasOwn(rooms, room) ? room : "equation";
}

async function show(models) {
  const name = asked();
  const { make, title } = await rooms[name]();
  if (name !== asked()) return; // another one was opened meanwhile
  const { room, given } = follow();
  made[name] ??= make(models);
  if (open !== name) {
    open && made[open].leave?.();
    open = name;
    fill(document.getElementById("main"), made[name].element);
    document.title = `${title} · dgltree`;
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
  made[name].open(name === room ? given : new URLSearchParams());
}

function turnTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* it holds until the page is closed */ }
  say(`${root.dataset.theme} theme`);
}

const KEYS = { 1: "equation", 2: "sequence", 3: "trees", 4: "batch" };
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (KEYS[event.key]) location.hash = KEYS[event.key];
  if (event.key === "d") turnTheme();
  if (event.key === "/") {
    const field = document.querySelector("main textarea, main input[type=text]");
    if (field) { event.preventDefault(); field.focus(); }
  }
});
document.getElementById("theme").addEventListener("click", turnTheme);

ask("models").then((models) => {
  window.addEventListener("hashchange", () => show(models));
  return show(models);
}).catch((error) => {
  fill(document.getElementById("main"), h("p", { class: "wrong" }, `The page could not start: ${error.message}`));
  console.error(error);
});
