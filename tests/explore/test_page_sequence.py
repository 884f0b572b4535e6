"""The room of sequences in a browser."""

from typing import Any

import pytest
from explore_page import Running

pytestmark = pytest.mark.browser


def test_a_formula_is_read_word_by_word(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#sequence")
    page.get_by_role("heading", name="First: attention").wait_for()
    page.locator("#sequence-text").fill("not (a or b)")
    page.locator("#sequence-other").fill("not a and not b")
    page.get_by_role("heading", name="They say the same").wait_for()
    card = page.get_by_role("region", name="First sequence")
    card.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    assert card.locator(".where").inner_text() == "(: the first word"
    card.get_by_role("button", name="Play").click()
    card.locator(".where", has_text="or: slot").wait_for()
    card.get_by_role("button", name="Pause").click()
    assert card.get_by_role("img", name="Tree found over not a or b").count() == 1
    assert "other=not" in page.url


def test_mistakes_are_told_and_nothing_is_shown_for_nothing(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#sequence?text=a+and")
    page.locator("#sequence-wrong", has_text="expected a formula").wait_for()
    page.locator("#sequence-text").fill("")
    page.locator(".empty").wait_for()
