// Elements from names, properties and children. Texts become text nodes, never HTML.

export function h(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "value") made.value = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function fill(element, ...children) {
  element.removeAttribute("aria-busy");
  element.inert = false;
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Greys what belongs to an earlier question; until it is filled again, nothing in it can be clicked.
export function outdate(...elements) {
  for (const element of elements) {
    element.setAttribute("aria-busy", "true");
    element.inert = true;
  }
}

// Typeset LaTeX of the server's own making; what KaTeX cannot set stays as the text.
export function typeset(latex, text, display = false) {
  const host = h("span", { class: display ? "math display" : "math" });
  try {
    katex.render(latex, host, { displayMode: display, throwOnError: true, trust: false, maxExpand: 100, maxSize: 20 });
  } catch {
    host.textContent = text;
  }
  return host;
}

// For those who hear the page: said once it is quiet.
let saying;
export function say(text) {
  clearTimeout(saying);
  saying = setTimeout(() => { document.getElementById("said").textContent = text; }, 400);
}

export function number(value, digits = 2) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return value.toFixed(digits).replace("-", "−");
}

export function signed(value, digits = 2) {
  return value === null || value === undefined ? "–" : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
}

// models: [{name, title}].
export function chooser(label, models, chosen, onchange, none) {
  const select = h("select", { "aria-label": label, onchange: () => onchange(select.value) },
    none === undefined ? null : h("option", { value: "" }, none),
    models.map(({ name, title }) => h("option", { value: name, selected: name === chosen }, title)));
  select.value = chosen ?? "";
  return h("label", { class: "chooser" }, h("span", {}, label), select);
}

// Calls back when nothing has happened for a while.
export function later(milliseconds, callback) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => callback(...given), milliseconds);
  };
}

// So many entries, and a button for the others; open: whether it was pressed before.
export function more(count, shown, open, pressed) {
  if (count <= shown) return null;
  return h("button", { type: "button", class: "plain small more", "aria-expanded": `${open}`, onclick: () => pressed(!open) },
    open ? "fewer" : `${count - shown} more`);
}
