"""What is drawn can be read: no text is under 9 pixels, large trees are moved, fitted and searched."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explore_page import SIZES, SMALLEST, Running, look_inside
from own_trees import QUIET, large_tree

pytestmark = [pytest.mark.browser, *QUIET]


@pytest.mark.parametrize("width", [1280, 360])
def test_a_tree_of_a_thousand_nodes_is_readable_moved_and_searched(page: Any, running: Running, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{running.url}#batch")
    page.locator(".buffer .row").first.wait_for()
    page.locator("#batch-text").fill(large_tree(999))
    page.locator(".figures", has_text="999 rows").wait_for()
    page.locator(".graph .node").nth(998).wait_for(state="attached")
    page.locator(".graph .zoomed[transform]").wait_for(state="attached")
    sizes = page.evaluate(SIZES)
    assert len(sizes) > 900 and min(sizes) >= SMALLEST
    root, frame = page.locator(".graph .node").first.bounding_box(), page.locator(".frame").bounding_box()
    assert frame["x"] <= root["x"] <= frame["x"] + frame["width"] and abs(root["y"] - frame["y"]) < 60  # it opens there
    page.get_by_role("button", name="Fit to the frame").click()
    graph = page.locator(".graph .zoomed").bounding_box()
    assert graph["width"] <= frame["width"] + 1 and graph["height"] <= frame["height"] + 1
    assert page.evaluate(SIZES) == []  # names that would be too small are hidden
    page.get_by_role("searchbox").fill("treasure")
    hit = page.locator(".graph .node.hit")
    hit.wait_for()
    found = hit.bounding_box()
    assert abs(found["x"] + found["width"] / 2 - frame["x"] - frame["width"] / 2) < 12
    assert min(page.evaluate(SIZES)) >= SMALLEST
    assert page.locator(".zoom-bar output").inner_text() == "1 of 1"
    page.locator(".frame").focus()
    before = page.locator(".zoomed").get_attribute("transform")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    assert page.locator(".zoomed").get_attribute("transform") != before


def test_an_own_tree_of_a_thousand_nodes_opens_at_the_subtree_that_decides(page: Any, graded: Running) -> None:
    page.goto(f"{graded.url}#trees?model=numbers&example=0")
    card = page.get_by_role("region", name="A tree")
    card.get_by_role("heading", name="Tree large").wait_for()
    card.locator("table.decisive").wait_for(timeout=60_000)
    first = card.locator("table.decisive tbody td.figure").first.inner_text()
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        sizes = page.evaluate(SIZES)
        assert len(sizes) > 900 and min(sizes) >= SMALLEST
        node, frame = card.locator(".node.selected"), card.locator(".frame").bounding_box()
        assert node.locator("title").evaluate("(title) => title.textContent").endswith(f": {first}")
        at = node.bounding_box()
        assert frame["x"] < at["x"] and at["x"] + at["width"] < frame["x"] + frame["width"]
        assert frame["y"] < at["y"] and at["y"] + at["height"] < frame["y"] + frame["height"]
    last = card.locator("table.decisive tbody tr").nth(4)
    last.get_by_role("button").click()
    at, frame = card.locator(".node.selected").bounding_box(), card.locator(".frame").bounding_box()
    assert abs(at["x"] + at["width"] / 2 - frame["x"] - frame["width"] / 2) < 12
    assert abs(at["y"] + at["height"] / 2 - frame["y"] - frame["height"] / 2) < 12


def test_a_picture_is_dragged_and_a_click_still_chooses(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=sin(x)^2+%2B+_+%3D+1")
    look_inside(page)
    page.locator(".inside .tree .zoomed[transform]").wait_for()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    leaf = page.locator(".inside .node", has_text="sin").first
    leaf.click()
    page.get_by_role("heading", name="At sin").wait_for()
    at, frame = leaf.bounding_box(), page.locator(".inside .frame").bounding_box()
    page.mouse.move(frame["x"] + 20, frame["y"] + 200)
    page.mouse.down()
    page.mouse.move(frame["x"] + 60, frame["y"] + 230, steps=4)
    page.mouse.up()
    assert leaf.bounding_box()["x"] == pytest.approx(at["x"] + 40, abs=1)
    page.get_by_role("button", name="Fit to the frame").click()
    assert leaf.bounding_box()["x"] == pytest.approx(at["x"], abs=1)


@pytest.fixture(scope="module")
def numbers(fitted_numbers: Path) -> Iterator[Running]:
    made = Running(str(fitted_numbers), "--trees", str(fitted_numbers.parent / "trees.tsv"))
    yield made
    made.end()


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("address", ["equation", "equation?text=sqrt(x^2)+%3D+x", "sequence", "trees", "batch"])
def test_no_text_of_a_picture_is_small(page: Any, numbers: Running, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{numbers.url}#{address}")
    if address == "equation":
        look_inside(page)
    page.locator("main svg text").first.wait_for()
    page.wait_for_load_state("networkidle")
    sizes = page.evaluate(SIZES)
    assert sizes and min(sizes) >= SMALLEST


def test_numbers_are_shown_as_numbers(page: Any, numbers: Running) -> None:
    page.goto(f"{numbers.url}#trees")
    page.locator(".map .plane path").first.wait_for()
    card = page.get_by_role("region", name="Confusions")
    assert card.get_by_role("heading").all_inner_texts() == ["Predicted against true", "Residuals: predicted − true"]
    told = card.locator("circle title").first.evaluate("(title) => title.textContent")
    true, predicted, rest = (float(part.split()[-1].replace("−", "-")) for part in told.split(", "))
    assert rest == pytest.approx(predicted - true, abs=0.011)
    fills = page.locator(".map .plane path").evaluate_all("(paths) => paths.map((p) => getComputedStyle(p).fill)")
    assert len(set(fills)) > 5
    page.get_by_role("img", name="Colors from").nth(1).wait_for()
    texts = page.get_by_role("region", name="Examples").locator(".text").all_inner_texts()
    assert all("Add" not in text and "Mul" not in text for text in texts)


def test_many_classes_begin_with_the_most_frequent_confusions(page: Any, running: Running) -> None:
    page.goto(running.url)
    names = [f"{k}" for k in sorted(range(86), key=str)]
    counts = [[0] * 86 for _ in names]
    counts[3][5], counts[7][7], counts[1][0], counts[80][81] = 9, 50, 12, 4
    found = page.evaluate(
        """async ([names, counts]) => {
          const m = await import("/static/confusions.js");
          const list = m.frequent({ true: names, counts }, names, {}, null, false, () => {});
          const matrix = m.matrix({ true: names, counts }, names, {}, null);
          document.querySelector("main").replaceChildren(list, matrix);
          const texts = (cells) => [...cells].map((cell) => cell.textContent);
          return { rows: [...list.querySelectorAll("tbody tr")].map((row) => texts(row.cells)),
            columns: texts(matrix.querySelectorAll("thead th")), height: matrix.offsetHeight };
        }""",
        [names, counts],
    )
    assert found["rows"] == [
        [names[1], names[0], "12", "100 %"],
        [names[3], names[5], "9", "100 %"],
        [names[80], names[81], "4", "100 %"],
    ]
    assert found["columns"] == [str(k) for k in range(86)]
    assert found["height"] < 500


@pytest.mark.parametrize("width", [1440, 390])
def test_ten_classes_with_long_names_stay_in_their_card(page: Any, running: Running, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(running.url)
    names = ["addition and subtraction", "trigonometric identity", "logarithms of products", "hyperbolic functions"] * 3
    found = page.evaluate(
        """async (names) => {
          const m = await import("/static/confusions.js");
          const { h } = await import("/static/dom.js");
          const counts = names.map((_, k) => names.map((_, j) => (j === (k + 1) % 10 ? 3 : 0)));
          const card = h("section", { class: "card" }, m.matrix({ true: names, counts }, names, {}, null),
            m.frequent({ true: names, counts }, names, {}, null, false, () => {}));
          const both = h("div", { class: "columns wide" }, card, h("section", { class: "card" }));
          document.querySelector("main").replaceChildren(both);
          const end = card.getBoundingClientRect().right, out = (cell) => cell.getBoundingClientRect().right > end;
          return [...card.querySelectorAll("td, th")].filter(out).length;
        }""",
        [f"{k} {name}" for k, name in enumerate(names[:10])],
    )
    assert found == 0
