// What the theme builds in the browser gets names, and regions that scroll are reached by keys.
const SCROLLS = ".md-typeset__scrollwrap, .arithmatex, pre > code";

function improve() {
  for (const region of document.querySelectorAll(SCROLLS)) {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
    else region.removeAttribute("tabindex");
  }
  document.querySelectorAll("nav.md-code__nav").forEach((nav, i) => nav.setAttribute("aria-label", `Code ${i + 1}`));
}

let waiting = false;
function soon() {
  if (waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    improve();
  }, 100);
}

improve();
addEventListener("load", soon);
addEventListener("resize", soon);
new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
