"""The room of own trees in a browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explore_page import Running
from own_trees import QUIET

pytestmark = [pytest.mark.browser, *QUIET]


@pytest.fixture(scope="module")
def with_trees(fitted: Path) -> Iterator[Running]:
    made = Running(str(fitted / "model"), "--trees", str(fitted / "trees.tsv"))
    yield made
    made.end()


def test_mistakes_are_opened_field_by_field(page: Any, with_trees: Running) -> None:
    page.goto(f"{with_trees.url}#trees")
    page.get_by_role("heading", name="Worst mistakes").wait_for()
    page.locator(".confusion button").first.click()
    page.get_by_role("heading", name="neg taken for neg").wait_for()
    row = page.get_by_role("region", name="Examples").locator("tbody tr").nth(1)
    name = row.get_by_role("button").inner_text()
    row.get_by_role("button").click()
    page.get_by_role("heading", name=f"Tree {name}").wait_for()
    assert "memory cell c" in page.get_by_role("region", name="A tree").inner_text()
    leaf = page.locator("[aria-label='A tree'] .node").last
    leaf.click()
    page.get_by_role("region", name="A tree").get_by_role("heading", name=re.compile("^At ")).wait_for()
    assert "true=0" in page.url and "example=" in page.url


def test_a_map_is_drawn_in_stages_and_can_be_stopped(page: Any, with_trees: Running) -> None:
    page.goto(f"{with_trees.url}#trees")
    page.locator(".map .plane path").first.wait_for()
    page.get_by_role("button", name="t-SNE").click()
    page.get_by_role("button", name="Stop").wait_for()
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
