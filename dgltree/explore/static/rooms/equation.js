// The room of equations: read, rank, search and verify as one types, and look into what a filler changes.
import { ask, listen, newest } from "../ask.js";
import { sides } from "../curves.js";
import { chooser, fill, h, later, number, outdate, say, typeset } from "../dom.js";
import { keep } from "../place.js";
import { fillerCard } from "./fillers.js";
import { inside } from "./inside.js";

export const title = "Equation";
const EXAMPLES = ["sin(x)^2 + _ = 1", "x^2 - 5x + 6 = (x - 2)_", "\\frac{1}{x} - \\frac{1}{x+1} = \\frac{1}{\\square}",
  "x^3 + _ = sin(x) y + tan(x y)", "x^2 - 5x + 6 = (x - _1)(x - _2)", "sqrt(x^2) = x"];

export function make(models) {
  const names = models.equations.map(({ name }) => name), titles = new Map(models.equations.map((model) => [model.name, model.title]));
  const now = { text: "", first: names[0], second: names[1] ?? "", filler: "", step: "" };
  const reading = newest(), ranking = newest(), searching = newest(), verifying = newest(), plotting = newest(), adding = newest();
  const field = h("input", {
    type: "text", id: "equation-text", class: "equation", autocomplete: "off", spellcheck: "false", autocapitalize: "off",
    maxlength: 1000, "aria-describedby": "equation-help equation-wrong", oninput: () => { now.filler = now.step = ""; reserve(); typed(field.value); }, onfocus: () => reserve(),
  });
  const shown = h("div", { class: "shown" }), best = h("p", { class: "headline best" }), wrong = h("p", { id: "equation-wrong", class: "wrong", role: "status" });
  const lists = h("div", { class: "lists" }), insides = h("div", { class: "insides" }), plot = h("div"), choosers = h("div", { class: "choosers" });
  const fold = h("details", { class: "fold" }, h("summary", {}, "Inside the network"), insides);
  const element = h("div", { class: "room" },
    h("section", { class: "card question", "aria-label": "The equation" },
      h("div", {}, h("label", { class: "name", for: "equation-text" }, "Equation with a blank"),
        field,
        h("p", { id: "equation-help", class: "quiet help" }, "Write it as usual, or paste LaTeX. The blank is _ or ?; several blanks are _1, _2. An equation without a blank is verified.")),
      h("div", { class: "reply" }, shown, best, wrong),
      h("div", { class: "chips" }, EXAMPLES.map((text) =>
        h("button", { type: "button", class: "chip", onclick: () => begin(text) }, text)))),
    h("div", { class: "split" },
      h("section", { "aria-label": "Answers" }, h("div", { class: "heading" }, h("h2", {}, "Answers")), lists),
      h("section", { class: "picture", "aria-label": "Inside the network" }, choosers, fold, plot)));
  let cards = [], search = null, unfolded = false;

  function choose() {
    const chosen = (part) => (name) => { now[part] = name; now.step = ""; cards = []; update("chosen"); };
    fill(choosers, models.equations.length > 1 ? [chooser("Network", models.equations, now.first, chosen("first")),
      chooser("Compare with", models.equations, now.second, chosen("second"), "none")] : null);
  }
  // Room for five answers while one types, so that nothing moves; it goes when the search is over and nothing is typed.
  const release = later(3000, () => { if (lists.dataset.searching) release(); else lists.classList.remove("reserved"); });
  function reserve() { lists.classList.add("reserved"); release(); }
  const networks = () => [...new Set([now.first, now.second].filter(Boolean))];
  const remember = (why) => keep("equation", {
    text: now.text, model: now.first === names[0] ? "" : now.first,
    beside: now.second, filler: now.filler, step: now.step,
  }, why);

  function begin(text) {
    field.value = text;
    now.filler = now.step = "";
    now.text = text;
    update("chosen");
  }
  const typed = later(120, (text) => { now.text = text; update("typed"); });

  function update(why) {
    remember(why);
    for (const run of [ranking, searching, verifying, plotting, adding]) run.stop();
    if (!now.text.trim()) {
      reading.stop();
      for (const place of [shown, best, insides, plot]) fill(place);
      wrong.textContent = "";
      cards = [];
      fill(lists, h("p", { class: "empty" }, "Type an equation, or choose one of the examples."));
      return;
    }
    outdate(shown, best, lists, insides, plot);
    reading(async (signal) => {
      const read = await ask("equation/read", { text: now.text }, signal);
      wrong.textContent = "";
      fill(shown, typeset(read.latex, read.text, true));
      say([`read as ${read.text}`, ...read.notes].join(" · "));
      if (read.blanks.length) complete(read);
      else verify();
    }, tellWrong);
  }

  // The message, and under the text a mark at the place that it names.
  function tellWrong(message) {
    const place = /line 1, column (\d+)/.exec(message), at = place ? Number(place[1]) - 1 : null, text = now.text;
    fill(shown);
    fill(best);
    fill(wrong, at === null || text.includes("\n") ? null : h("code", { class: "place-of-mistake" }, [...text].slice(Math.max(0, at - 24), at).join(""),
      h("mark", {}, [...text][at] ?? " "), [...text].slice(at + 1, at + 13).join("")), h("span", {}, message));
  }

  // The answer with its proof, under the equation.
  function answer(filler) {
    fill(best, filler ? [filler.latex.map((latex, k) => h("span", {}, k ? ", " : "", typeset(latex, filler.texts[k]))),
      h("span", { class: `check ${filler.holds ? "yes" : filler.undecided ? "maybe" : "no"}` }, ` ${filler.verdict ?? ""}`)] : null);
  }

  function complete(read) {
    fold.hidden = false;
    const single = read.blanks.length === 1, wanted = single ? networks() : [];
    if (!search || cards.map(({ name }) => name).join() !== wanted.join() || search.element.parentNode !== lists) {
      cards = wanted.map((name) => ({ name, card: fillerCard({ heading: `From the list, by ${titles.get(name)}`, scored: true, picked: pick,
        note: "A score above 0 means “correct” to the network; the verdict comes from arithmetic." }) }));
      search = fillerCard({ heading: "Found by search", scored: false, picked: pick, own: single ? ownFiller() : null,
        note: "Expressions for the missing value, found without a network; one line per value." });
      fill(lists, search.element, single ? folded() : null);
      for (const { card } of [...cards, { card: search }]) card.wait("asking …");
    } else fill(lists, ...lists.childNodes);
    for (const { card } of cards) card.wait("ranking …");
    if (single) rank();
    else {
      fill(insides, h("p", { class: "empty" }, "The network’s computation is shown for equations with one blank."));
      fill(plot);
    }
    open();
  }

  // What a network would answer, closed until it is opened once.
  function folded() {
    return h("details", { class: "guesses", open: unfolded, ontoggle: (event) => { unfolded = event.target.open; } },
      h("summary", {}, "What a network predicts"),
      h("p", { class: "quiet" }, "The network ranks a shipped list of right and wrong fillers by its score. The score shows what the network has learned; do not rely on it as an answer."),
      cards.map(({ card }) => card.element));
  }

  function rank() {
    ranking(async (signal) => {
      await Promise.all(cards.map(async ({ name, card }) => {
        let found;
        try {
          found = await ask("equation/rank", { text: now.text, model: name }, signal);
        } catch (error) {
          if (signal.aborted || error.name === "TypeError") throw error;
          card.fail(error.message);
          if (name === now.first) { fill(insides); fill(plot); }
          return;
        }
        card.show(found, `${found.tried.toLocaleString("en")} fillers ranked in ${Math.round(1000 * found.seconds)} ms`);
        if (name === now.first) {
          if (!now.filler && found.fillers.length) now.filler = found.fillers[0].texts[0];
          look();
        }
        card.judged((await ask("equation/judge", { text: now.text, fillers: found.fillers.map(({ texts }) => texts[0]) }, signal)).verdicts);
        card.choose(now.filler);
      }));
    });
  }

  // A form by which a filler of the user's is judged, scored and looked into.
  function ownFiller() {
    const text = h("input", { type: "text", class: "small", maxlength: 1000, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "Your own filler", placeholder: "your own filler" });
    const said = h("span", { class: "wrong", role: "status" });
    return h("form", { class: "own", onsubmit: (event) => {
      event.preventDefault();
      if (!text.value.trim()) return;
      adding(async (signal) => {
        const filler = await ask("equation/own", { text: now.text, model: now.first, filler: text.value }, signal);
        said.textContent = "";
        search.add(filler);
        pick(filler.texts[0]);
      }, (message) => { said.textContent = message; });
    } }, text, h("button", { class: "plain small" }, "Check it"), said);
  }

  function open() {
    const card = search, stop = h("button", { type: "button", class: "plain small", onclick: () => { searching.stop(); delete lists.dataset.searching; card.say("stopped"); } }, "Stop");
    card.wait("searching … ", stop);
    lists.dataset.searching = "yes";
    searching(async (signal) => {
      await new Promise((ready) => { setTimeout(ready, 350); }); // while one types on, nothing is searched
      if (signal.aborted) return;
      await listen("equation/search", { text: now.text }, signal, (found) => {
        const tried = `${found.tried.toLocaleString("en")} expressions tried in ${number(found.seconds)} s`;
        card.show(found, found.done ? `${found.found ? "" : "Nothing was found that holds; these are guesses. "}${tried}${found.stopped ? "; the time is over" : ""}` : [`${tried}, searching on … `, stop]);
        card.choose(now.filler);
        answer(found.fillers[0]);
        if (found.done) delete lists.dataset.searching;
      });
    }, (message) => { delete lists.dataset.searching; card.fail(message); });
  }

  function pick(text) {
    now.filler = text;
    now.step = "";
    fold.open = true;
    remember("chosen");
    look();
    // At once: a smooth scroll ends where the element was before answers of a search moved it.
    if (matchMedia("(max-width: 900px)").matches) insides.scrollIntoView({ block: "start" });
  }

  function look() {
    remember();
    for (const { card } of [...cards, { card: search }]) card.choose(now.filler);
    outdate(insides, plot);
    inside(insides, { text: now.text, filler: now.filler, models: networks().map((name) => ({ name, title: titles.get(name) })), step: now.step === "" ? null : Number(now.step) }, (step) => {
      now.step = step;
      remember();
    });
    draw(now.filler);
  }

  function draw(filler) {
    plotting(async (signal) => {
      const found = await ask("equation/plot", { text: now.text, filler }, signal);
      fill(plot, found.plot ? sides(found.plot, found.text) : null);
    }, () => fill(plot));
  }

  function verify() {
    cards = [];
    fold.hidden = true;
    verifying(async (signal) => {
      const answers = await Promise.all(networks().map((name) => ask("equation/verify", { text: now.text, model: name }, signal)));
      const [{ verdict, holds, undecided, against }] = answers;
      fill(insides);
      answer({ latex: [], texts: [], verdict, holds, undecided });
      fill(lists, h("div", { class: "card verdict" },
        h("p", { class: `check ${holds ? "yes" : undecided ? "maybe" : "no"}` },
          h("span", { "aria-hidden": "true" }, holds ? "✓" : undecided ? "~" : "✗"), ` ${verdict}`),
        against ? h("p", {}, "A point at which it fails: ", h("strong", {}, against)) : null,
        h("p", { class: "quiet" }, "The verdict comes from arithmetic. A network only gives the equation a score from 0 (wrong) to 1 (correct):"),
        networks().map((name, k) => h("p", { class: "quiet" }, answers[k].score === null
          ? `${titles.get(name)} cannot score this filler` : `${titles.get(name)} gives this filler the score ${number(answers[k].score, 4)}`))));
      say(verdict);
      draw("");
    }, (message) => { fill(lists, h("p", { class: "wrong" }, message)); fill(insides); fill(plot); });
  }

  return {
    element,
    open(given) {
      const name = (wanted, otherwise) => (names.includes(wanted) ? wanted : otherwise);
      now.text = given.get("text") ?? (now.text || EXAMPLES[0]);
      now.filler = given.get("filler") ?? "";
      now.step = given.get("step") ?? "";
      if (now.step !== "") fold.open = true;
      now.first = name(given.get("model"), given.has("text") ? names[0] : now.first);
      now.second = given.has("text") ? name(given.get("beside"), "") : now.second;
      field.value = now.text;
      choose();
      update();
    },
    leave() { for (const run of [reading, ranking, searching, verifying, plotting, adding]) run.stop(); },
  };
}
