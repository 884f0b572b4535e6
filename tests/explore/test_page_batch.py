"""The room of batches in a browser."""

from typing import Any

import pytest
from explore_page import Running

pytestmark = pytest.mark.browser


def test_a_pass_is_played_step_by_step_with_and_without_sharing(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#batch?step=0")
    page.locator(".figures", has_text="18 rows").wait_for()
    assert page.locator(".where").inner_text() == "leaves: 4 rows"
    assert page.locator(".node.now").count() == 18 and page.locator(".node.now.twin").count() == 14
    page.get_by_role("button", name="One step on").click()
    assert page.locator(".where").inner_text() == "step 1 of 5: 2 rows of 1 child"
    assert page.locator(".step.done .row").count() == 6
    page.get_by_role("switch").uncheck()
    assert page.locator(".twin").count() == 0 and page.locator(".row").count() == 37
    assert "share=no" in page.url
    page.get_by_role("button", name="Play").click()
    page.locator(".where", has_text="step 5 of 5").wait_for()
    page.get_by_role("button", name="Play").wait_for()
    page.locator(".figures .number", has_text="One batch").first.get_by_text("ms").wait_for()


def test_trees_are_typed_and_mistakes_told(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#batch")
    page.locator(".row").first.wait_for()
    page.locator("#batch-text").fill("x + sin(")
    page.locator("#batch-wrong", has_text="line 1, column").wait_for()
    page.locator("#batch-text").fill("(add x (mul y y))")
    page.locator(".node", has_text="mul").wait_for()
    page.locator(".row").first.hover()
    assert page.locator(".node.touched").count() >= 1


def test_new_trees_end_the_playing_of_the_old_ones(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#batch?step=0")
    page.locator(".figures", has_text="18 rows").wait_for()
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.locator("#batch-text").fill("(one (two (three (four (five (six (seven x)))))))")
    page.locator(".where", has_text="step 6 of 6").wait_for()
    assert page.get_by_role("button", name="Play").count() == 1
    page.get_by_role("button", name="One step back").click()
    page.get_by_role("button", name="Play").click()
    page.locator(".where", has_text="step 6 of 6").wait_for()
    page.get_by_role("button", name="Play").wait_for()
