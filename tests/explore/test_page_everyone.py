"""The page by keyboard, by ear, on a phone and in the dark; axe-core finds no fault."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explore_page import Running
from own_trees import QUIET

pytestmark = [pytest.mark.browser, *QUIET]
AXE = Path(__file__).with_name("axe.min.js")
READY = {
    "equation": ".inside .strips",
    "sequence": ".brackets",
    "trees": ".map .plane path",
    "batch": ".buffer .row",
}
"""What stands in each room when it has answered."""
LOOKED_AT = {"batch": "?step=1"}
"""Where a room is looked at elsewhere than where it begins."""


@pytest.fixture(scope="module")
def all_rooms(fitted: Path) -> Iterator[Running]:
    made = Running(str(fitted / "model"), "--trees", str(fitted / "trees.tsv"))
    yield made
    made.end()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("room", READY)
def test_axe_finds_no_fault(chromium: Any, all_rooms: Running, room: str, scheme: Any) -> None:
    context = chromium.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{all_rooms.url}#{room}{LOOKED_AT.get(room, '')}")
    page.locator(READY[room]).first.wait_for()
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run().then((result) => result.violations)")
    context.close()
    assert [(fault["id"], fault["help"], [node["html"][:200] for node in fault["nodes"][:3]]) for fault in found] == []


@pytest.mark.parametrize("room", READY)
def test_a_phone_shows_everything_without_scrolling_sideways(chromium: Any, all_rooms: Running, room: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{all_rooms.url}#{room}{LOOKED_AT.get(room, '')}")
    page.locator(READY[room]).first.wait_for()
    width = page.evaluate("document.documentElement.scrollWidth")
    context.close()
    assert width <= 390


def test_rooms_are_reached_by_keys(page: Any, all_rooms: Running) -> None:
    page.goto(all_rooms.url)
    page.locator(READY["equation"]).first.wait_for()
    for key, room in zip("4321", reversed(READY), strict=True):
        page.keyboard.press(key)
        page.locator(READY[room]).first.wait_for()
        assert page.locator("nav a[aria-current]").get_attribute("href") == f"#{room}"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "equation-text"
    page.keyboard.type("4")  # is a character now
    assert page.locator("nav a[aria-current]").get_attribute("href") == "#equation"
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    assert page.locator("#equation-text").input_value().endswith("4d")


def test_the_first_key_leads_past_the_frame(page: Any, all_rooms: Running) -> None:
    page.goto(all_rooms.url)
    page.locator(READY["equation"]).first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the room"


def test_what_is_read_is_said(page: Any, all_rooms: Running) -> None:
    page.goto(f"{all_rooms.url}#equation?text=x+%2B+_+%3D+2")
    page.locator("#said", has_text="read as x + _ = 2").wait_for(state="attached")
