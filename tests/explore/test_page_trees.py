"""The room of own trees in a browser."""

import re
from pathlib import Path
from typing import Any

import pytest
from explore_page import Running, look_inside
from own_trees import QUIET, rows_of

from dgltree.commands.main import main

pytestmark = [pytest.mark.browser, *QUIET]


def test_mistakes_are_opened_field_by_field(page: Any, with_trees: Running) -> None:
    page.goto(f"{with_trees.url}#trees")
    page.get_by_role("heading", name="Worst mistakes").wait_for()
    page.locator(".confusion button").first.click()
    page.get_by_role("heading", name="True neg, predicted neg").wait_for()
    row = page.get_by_role("region", name="Examples").locator("tbody tr").nth(1)
    name = row.get_by_role("button").inner_text()
    row.get_by_role("button").click()
    page.get_by_role("heading", name=f"Tree {name}").wait_for()
    card = page.get_by_role("region", name="A tree")
    assert "memory cell c" not in card.inner_text()
    look_inside(card)
    assert "memory cell c" in card.inner_text()
    leaf = page.locator("[aria-label='A tree'] .node").last
    leaf.click()
    page.get_by_role("region", name="A tree").get_by_role("heading", name=re.compile("^At ")).wait_for()
    assert "true=0" in page.url and "example=" in page.url


NODES = """
(all) => all.sort((a, b) => a.dataset.node - b.dataset.node)
  .map((one) => [one.querySelector("title").textContent, Number(one.querySelector("rect").style.fillOpacity),
    one.dataset.effect])
"""
"""Of each node in preorder: what is told of it, how deep its colour is, and which colour it has."""


def explained(model: Path, text: str, capsys: Any) -> tuple[list[list[str]], list[str]]:
    """What ``dgltree explain`` prints: the rows of its table, and the effect of each node in preorder."""
    capsys.readouterr()
    assert main(["explain", str(model), text]) == 0
    _, table, tree = capsys.readouterr().out.replace("-", "−").strip("\n").split("\n\n")
    return [row.split("\t") for row in table.splitlines()[1:]], [line[:9].strip() for line in tree.splitlines()]


def test_the_subtrees_that_decide_have_the_effects_that_the_command_prints(
    page: Any, with_trees: Running, fitted: Path, capsys: Any
) -> None:
    page.goto(f"{with_trees.url}#trees")
    listed = page.locator("table.decisive tbody tr")
    listed.nth(4).wait_for()
    card = page.get_by_role("region", name="A tree")
    name = card.get_by_role("heading", level=2).inner_text().removeprefix("Tree ")
    [text] = [tree for own, tree, _ in rows_of((fitted / "trees.tsv").read_text(encoding="utf-8")) if own == name]
    ranked, effects = explained(fitted / "model", text, capsys)
    shown = [row.locator("td").all_inner_texts() for row in listed.all()]
    assert [row[1:] for row in shown] == [[f"{effect} points", odds] for _, effect, odds, _ in ranked]
    nodes = card.locator(".node").evaluate_all(NODES)
    assert [title.partition(": ")[2] for title, *_ in nodes] == [effect and f"{effect} points" for effect in effects]
    sizes = [abs(float(effect.replace("−", "-") or 0)) for effect in effects]
    strongest = [0.55 * size / max(sizes) for size in sizes[1:]]
    assert [opacity for _, opacity, _ in nodes[1:]] == pytest.approx(strongest, abs=0.02)
    assert [kind == "against" for *_, kind in nodes] == [effect.startswith("−") for effect in effects]
    largest = effects[sizes.index(max(sizes))][1:]
    assert card.locator(".reasons .scale").inner_text().split("\n") == [f"−{largest} points", f"+{largest} points"]
    listed.nth(1).get_by_role("button").click()
    card.locator(".detail", has_text=f"Effect of the subtree below: {shown[1][1]}.").wait_for()
    assert card.locator(".node.selected title").evaluate("(t) => t.textContent").endswith(f": {shown[1][1]}")


def test_a_map_is_drawn_in_stages_and_can_be_stopped(page: Any, with_trees: Running) -> None:
    page.goto(f"{with_trees.url}#trees")
    page.locator(".map .plane path").first.wait_for()
    held: list[Any] = []
    page.route("**/api/trees/map", lambda route: held.append(route))  # else its stages may be over too soon
    page.get_by_role("button", name="t-SNE").click()
    page.get_by_role("button", name="Stop").wait_for()
    held.pop().continue_()
    page.locator("progress").wait_for(state="hidden", timeout=60_000)
    assert page.locator(".map .plane path").count() > 10
    page.locator(".map .plane path").first.dispatch_event("click")
    page.locator(".map .plane .selected").wait_for()


def test_without_a_model_it_says_how_to_get_one(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#trees")
    page.locator(".empty", has_text="dgltree fit").wait_for()


def test_the_last_page_of_examples_is_the_last_however_full_it_is(page: Any, with_trees: Running) -> None:
    """Two whole pages, and one more example."""
    rows = [
        {"example": k, "id": f"row {k}", "label": "pos", "predicted": "neg", "probability": 0.5, "text": "x"}
        for k in range(25)
    ]
    for count in (24, 25):

        def answer(route: Any, *, count: int = count) -> None:
            start = route.request.post_data_json["start"]
            page_of = rows[start : min(start + 12, count)]
            route.fulfill(json={"rows": page_of, "count": count, "start": start, "page": 12})

        page.route("**/api/trees/examples", answer)
        page.goto("about:blank")
        page.goto(f"{with_trees.url}#trees")
        examples = page.get_by_role("region", name="Examples")
        seen = []
        for start in range(0, count, 12):
            end = min(start + 12, count)
            examples.get_by_text(f"{start + 1} to {end} of {count}").wait_for()
            seen.append(examples.locator("tbody tr").count())
            assert examples.get_by_role("button", name="before").is_enabled() == (start > 0)
            further = examples.get_by_role("button", name="further")
            assert further.is_enabled() == (end < count)
            if end < count:
                further.click()
        assert sum(seen) == count
