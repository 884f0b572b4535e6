"""The page's modules, asked one by one with what a server may answer, in a browser."""

import csv
import io
from typing import Any

import pytest
from explore_page import Running

pytestmark = pytest.mark.browser


@pytest.fixture
def module(page: Any, running: Running) -> Any:
    """``module(name, body, argument)``: the body of an async function of a module's exports ``m`` and the argument."""
    page.goto(running.url)

    def ask(name: str, body: str, argument: Any = None) -> Any:
        return page.evaluate(f"async (given) => {{ const m = await import('/static/{name}'); {body} }}", argument)

    return ask


def test_a_table_is_read_by_another_program_as_it_was(module: Any) -> None:
    rows = [
        ["id", 'a "b" and "c"', "x, y", "two\nlines", "two\r\nlines", "", '"'],
        ["é", 0, -1.5, True, "'", "\t", ";"],
        [None, "", " ", '""', '",', "\r", "−"],
    ]
    text = module("save.js", "return m.csvText(given);", rows)
    shown = {None: "", True: "true"}
    wanted = [[shown.get(cell, str(cell)) if not isinstance(cell, str) else cell for cell in row] for row in rows]
    assert list(csv.reader(io.StringIO(text, newline=""))) == wanted


def test_a_node_is_drawn_over_the_middle_of_its_children_however_many_there_are(module: Any) -> None:
    words = [{"word": word} for word in "abcde"]
    nodes = [*words, {"children": [0, 1, 2, 3]}, {"children": [5, 4]}]
    paths = module(
        "brackets.js",
        """const svg = m.bracketTree(given, { title: "t", word: 40 });
        return [...svg.querySelectorAll("path")].map((path) => path.getAttribute("d"));""",
        nodes,
    )
    ends = [float(path.rsplit("H", 1)[1]) for path in paths]
    middle = (20 + 140) / 2
    assert ends == [middle] * 4 + [(middle + 180) / 2] * 2


@pytest.mark.parametrize("inner", [[[0, 1], [4, 2], [5, 3]], [[2, 3], [1, 4], [0, 5]], [[1, 2], [0, 4, 3], [5]]])
def test_a_tree_is_as_high_as_its_longest_path(module: Any, inner: list[list[int]]) -> None:
    nodes = [*({"word": word} for word in "abcd"), *({"children": children} for children in inner)]
    assert module("brackets.js", "return m.depthOf(given);", nodes) == 3


def test_merges_join_what_lies_beside_their_gap(module: Any) -> None:
    words, order = list("abcde"), [2, 0, 3, 1]

    def joined(count: int) -> list[str]:
        """The same on a list of texts, whose gaps are counted by the words before them."""
        parts = list(words)
        for gap in order[:count]:
            ends = [sum(len(part) for part in parts[: k + 1]) - 1 for k in range(len(parts))]
            k = ends.index(gap)
            parts[k : k + 2] = [parts[k] + parts[k + 1]]
        return parts

    for count in range(5):
        nodes = module(
            "brackets.js",
            "return m.merged(given.words, given.order, given.count);",
            {"words": words, "order": order, "count": count},
        )
        texts: list[str] = []
        inner = {child for node in nodes for child in node.get("children", [])}
        for node in nodes:
            texts.append(node.get("word") or "".join(texts[child] for child in node["children"]))
        assert sorted(text for k, text in enumerate(texts) if k not in inner) == sorted(joined(count))


def test_events_come_whole_however_the_network_cuts_them(module: Any) -> None:
    said = [{"k": 1, "text": "é∫"}, {"k": 2, "text": "a\nb"}, {"k": 3}]
    for size in (1, 2, 3, 7, 1000):
        found = module(
            "ask.js",
            """const text = given.said.map((one) => `data: ${JSON.stringify(one)}\\n\\n`).join("");
            const bytes = new TextEncoder().encode(text);
            const real = window.fetch, found = [];
            window.fetch = async () => new Response(new ReadableStream({ start(to) {
              for (let at = 0; at < bytes.length; at += given.size) to.enqueue(bytes.slice(at, at + given.size));
              to.close();
            } }), { headers: { "content-type": "text/event-stream" } });
            try { await m.listen("x", {}, undefined, (piece) => found.push(piece)); } finally { window.fetch = real; }
            return found;""",
            {"said": said, "size": size},
        )
        assert found == said


def test_an_error_among_events_is_told_after_what_came_before_it(module: Any) -> None:
    found = module(
        "ask.js",
        """const real = window.fetch, found = [];
        const text = 'data: {"k": 1}\\n\\ndata: {"error": "too large"}\\n\\ndata: {"k": 2}\\n\\n';
        window.fetch = async () => new Response(text, { headers: { "content-type": "text/event-stream" } });
        const run = m.newest();
        try {
          const work = (signal) => m.listen("x", {}, signal, (piece) => found.push(piece.k));
          await run(work, (error) => found.push(error));
        } finally { window.fetch = real; }
        return found;""",
    )
    assert found == [1, "too large"]


def test_the_answer_to_an_older_question_is_never_shown(module: Any) -> None:
    shown = module(
        "ask.js",
        """const shown = [], open = {}, run = m.newest();
        const work = (name) => async (signal) => {
          await new Promise((resolve, reject) => {
            open[name] = resolve;
            signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
          });
          shown.push(name);
        };
        const both = [run(work("old"), (text) => shown.push(text)), run(work("new"), (text) => shown.push(text))];
        open.old(); open.new();
        await Promise.all(both);
        const third = run(work("stopped"), (text) => shown.push(text));
        run.stop();
        await third;
        return shown;""",
    )
    assert shown == ["new"]


def test_what_is_filled_anew_can_be_clicked_again(module: Any) -> None:
    states = module(
        "dom.js",
        """const box = document.createElement("div");
        const state = () => [box.inert, box.getAttribute("aria-busy"), box.textContent];
        m.fill(box, "a", [null, [false, "b"]]);
        const states = [state()];
        m.outdate(box); states.push(state());
        m.fill(box, 0); states.push(state());
        return states;""",
    )
    assert states == [[False, None, "ab"], [True, "true", "ab"], [False, None, "0"]]


def test_numbers_are_written_as_python_writes_them(module: Any) -> None:
    values = [0, -0.5, 1.005, 2.675, 123.456, -1e-9, 1e21]
    found = module("dom.js", "return given.map((v) => [m.number(v), m.number(v, 3), m.signed(v)]);", values)
    for value, (two, three, signed) in zip(values[:-1], found[:-1], strict=True):
        assert (two, three) == (f"{value:.2f}".replace("-", "−"), f"{value:.3f}".replace("-", "−"))
        assert signed == f"{value:+.2f}".replace("-", "−")
    assert (
        module("dom.js", "return [m.number(null), m.number(NaN), m.number(Infinity), m.signed(undefined)];")
        == ["–"] * 4
    )


def test_a_point_tells_its_own_numbers(module: Any) -> None:
    pairs = [[1.0, 3.5], [2.0, 0.5]]
    told = """const shown = m[given.name](given.pairs, () => 0);
    return [...shown.querySelectorAll("title")].map((title) => title.textContent);"""
    for name in ("predicted", "residuals"):
        assert module("numbers.js", told, {"name": name, "pairs": pairs}) == [
            "true 1.00, predicted 3.50, residual 2.50",
            "true 2.00, predicted 0.50, residual −1.50",
        ]


@pytest.mark.parametrize("count", [13, 14, 15, 20])
def test_a_legend_names_fourteen_classes_and_counts_the_others(module: Any, count: int) -> None:
    names = [f"class {k}" for k in range(count)]
    body = "return [...m.legend(given, given.map((_, k) => k)).children].map((item) => item.textContent);"
    assert module("map.js", body, names) == names[:14] + [f"and {count - 14} more"] * (count > 14)
