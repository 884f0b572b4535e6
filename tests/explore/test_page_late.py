"""Answers that come late, and questions that are asked too often: the page shows what belongs to its last question."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from explore_page import Running
from own_trees import QUIET

pytestmark = [pytest.mark.browser, *QUIET]


def texts_asked(page: Any, path: str) -> list[str]:
    """The texts of all questions to a path from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data_json["text"]) if path in request.url else None)
    return asked


@pytest.mark.parametrize(
    ("room", "field", "path", "typed", "sign"),
    [
        ("batch", "#batch-text", "batch/plan", "(f x y)\n(g (h x))", ".node >> text=h"),
        ("equation", "#equation-text", "equation/read", "x + _ = 2y", ".shown >> text=2"),
    ],
)
def test_what_is_typed_at_once_is_one_question(
    room: str, field: str, path: str, typed: str, sign: str, page: Any, running: Running
) -> None:
    page.goto(f"{running.url}#{room}")
    page.locator(field).wait_for()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    asked = texts_asked(page, path)
    page.evaluate(
        """([field, text]) => {
          const place = document.querySelector(field);
          for (let end = 1; end <= text.length; end += 1) {
            place.value = text.slice(0, end);
            place.dispatchEvent(new Event("input"));
          }
        }""",
        [field, typed],
    )
    page.locator(sign).first.wait_for()
    page.wait_for_timeout(500)
    assert asked == [typed]


def test_times_are_those_of_the_trees_that_are_shown(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#batch")
    page.locator(".figures", has_text="18 rows").wait_for()
    page.locator(".figures", has_text=" ms").wait_for()
    held: list[Any] = []
    page.route("**/api/batch/time", lambda route: held.append(route))
    page.locator("#batch-text").fill("(add x (mul y y))")
    page.locator(".figures", has_text="4 rows").wait_for()
    for _ in range(200):
        if held:
            break
        page.wait_for_timeout(20)
    said = page.locator(".figures").inner_text()
    assert said.count("timing …") == 3 and " ms" not in said
    held[0].continue_()
    page.locator(".figures", has_text=" ms").wait_for()


def test_an_answer_to_a_text_that_was_deleted_is_not_shown(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2")
    page.locator(".shown", has_text="2").wait_for()
    held: list[Any] = []
    page.route("**/api/equation/read", lambda route: held.append(route))
    page.locator("#equation-text").fill("x + _ = 7")
    for _ in range(200):
        if held:
            break
        page.wait_for_timeout(20)
    page.locator("#equation-text").fill("")
    page.locator(".lists", has_text="Type an equation, or choose one of the examples.").wait_for()
    for route in held:
        try:
            route.continue_()
        except Exception:
            continue
    page.wait_for_timeout(800)
    assert page.locator(".lists").inner_text() == "Type an equation, or choose one of the examples."
    assert page.locator(".shown").inner_text() == ""


def test_the_list_of_another_model_begins_with_its_first_page(page: Any, fitted: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(fitted / "model", other)
    made = Running(str(fitted / "model"), str(other), "--trees", str(fitted / "trees.tsv"))
    starts: list[tuple[str, int]] = []

    def answer(route: Any) -> None:
        asked = route.request.post_data_json
        starts.append((asked["model"], asked["start"]))
        rows = [
            {"example": k, "id": f"row {k}", "label": "pos", "predicted": "neg", "probability": 0.5, "text": "x"}
            for k in range(asked["start"], min(asked["start"] + 12, 30))
        ]
        route.fulfill(json={"rows": rows, "count": 30, "start": asked["start"], "page": 12})

    try:
        page.route("**/api/trees/examples", answer)
        page.goto(f"{made.url}#trees")
        examples = page.get_by_role("region", name="Examples")
        examples.get_by_text("1 to 12 of 30").wait_for()
        examples.get_by_role("button", name="further").click()
        examples.get_by_text("13 to 24 of 30").wait_for()
        page.get_by_label("Model", exact=True).select_option("other")
        page.get_by_role("heading", name="other").wait_for()
        examples.get_by_text("1 to 12 of 30").wait_for()
        assert "start=" not in page.url
        page.goto("about:blank")
    finally:
        made.end()
    assert starts == [("model", 0), ("model", 12), ("other", 0)]


def test_an_answer_that_comes_while_back_is_followed_does_not_take_the_address(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#batch")
    page.locator(".figures", has_text="18 rows").wait_for()
    page.evaluate(
        """() => {
          const ask = window.fetch;
          window.fetch = async (path, how) => {
            const answer = await ask(path, how);
            if (!path.endsWith("batch/plan") || !how.body.includes("tan")) return answer;
            const said = await answer.json();
            return new Promise((resolve) => {
              const late = () => resolve({ ok: true, json: async () => said });
              window.addEventListener("hashchange", late, { once: true });
              window.held = true;
            });
          };
        }"""
    )
    page.get_by_role("button", name="A chain").click()
    while not page.evaluate("window.held === true"):
        page.wait_for_timeout(20)
    page.go_back()
    page.wait_for_timeout(800)
    assert "tan" not in page.locator("#batch-text").input_value()
    page.locator(".figures", has_text="18 rows").wait_for()
