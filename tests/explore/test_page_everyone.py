"""The page by keyboard, by ear, on a phone and in the dark; axe-core finds no fault."""

from pathlib import Path
from typing import Any

import pytest
from explore_page import Running
from own_trees import QUIET

pytestmark = [pytest.mark.browser, *QUIET]
AXE = Path(__file__).with_name("axe.min.js")
READY = {
    "equation": ".lists tbody tr",
    "equation?text=sqrt(x^2)+%3D+x": ".plot svg",
    "sequence": ".brackets",
    "trees": ".map .plane path",
    "batch": ".buffer .row",
}
"""What stands in each room when it has answered."""
LOOKED_AT = {"batch": "step=1", "equation": "text=sin(x)^2+%2B+_+%3D+1&step=0"}
"""Where a room is looked at elsewhere than where it begins."""


WIDTHS = {1280: ("light", "dark"), 390: ("dark",), 360: ("light",)}
UNDER = """
() => [...document.querySelectorAll("main button, main select, main input[type=text], nav a, summary")]
  .filter((one) => one.checkVisibility()).map((one) => [one.outerHTML.slice(0, 120), one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 24 || height < 24).map(([html]) => html)
"""
"""What can be pressed and is smaller than 24 pixels."""
FAULTS = """
async () => (await axe.run({ rules: { "target-size": { enabled: true } } })).violations
  .map(({ id, help, nodes }) => [id, help, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))])
"""
"""What axe-core finds."""


@pytest.mark.parametrize("room", READY)
def test_axe_finds_no_fault_and_a_phone_shows_everything(chromium: Any, with_trees: Running, room: str) -> None:
    address, _, query = room.partition("?")
    check_everywhere(chromium, f"{with_trees.url}#{address}?{query or LOOKED_AT.get(room, '')}", READY[room])


@pytest.mark.parametrize("model", ["numbers", "classes"])
def test_axe_finds_no_fault_in_numbers_and_in_86_classes(chromium: Any, graded: Running, model: str) -> None:
    check_everywhere(chromium, f"{graded.url}#trees?model={model}&example=1", ".decisive")


def test_axe_finds_no_fault_in_a_matrix_of_86_classes(chromium: Any, graded: Running) -> None:
    context = chromium.new_context(bypass_csp=True, viewport={"width": 360, "height": 844})
    page = context.new_page()
    page.goto(f"{graded.url}#trees?model=classes&example=1")
    page.locator("summary", has_text="All 86 classes").click()
    page.locator(".confusion.dense button").first.wait_for()
    page.add_script_tag(path=AXE)
    faults, under = page.evaluate(FAULTS), page.evaluate(UNDER)
    context.close()
    assert (faults, under) == ([], [])


def check_everywhere(chromium: Any, address: str, ready: str) -> None:
    """Light and dark, on a desktop and on phones, where nothing scrolls sideways and what is pressed has 24 pixels."""
    for width, schemes in WIDTHS.items():
        phone = width < 1000
        context = chromium.new_context(
            bypass_csp=True, viewport={"width": width, "height": 844}, has_touch=phone, is_mobile=phone
        )
        page = context.new_page()
        page.goto(address)
        page.locator(ready).first.wait_for()
        page.locator("main [aria-busy=true]").first.wait_for(state="detached")
        page.add_script_tag(path=AXE)
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(300)
            faults = page.evaluate(FAULTS)
            assert faults == [], (width, scheme)
        sideways, under = page.evaluate("document.documentElement.scrollWidth"), page.evaluate(UNDER)
        context.close()
        assert sideways <= width
        assert under == [], width


def test_rooms_are_reached_by_keys(page: Any, with_trees: Running) -> None:
    page.goto(with_trees.url)
    page.locator(READY["equation"]).first.wait_for()
    rooms = [room for room in READY if "?" not in room]
    for key, room in zip("4321", reversed(rooms), strict=True):
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


def test_the_first_key_leads_past_the_frame(page: Any, with_trees: Running) -> None:
    page.goto(with_trees.url)
    page.locator(READY["equation"]).first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the room"


def test_what_is_read_is_said(page: Any, with_trees: Running) -> None:
    page.goto(f"{with_trees.url}#equation?text=x+%2B+_+%3D+2")
    page.locator("#said", has_text="read as x + _ = 2").wait_for(state="attached")
