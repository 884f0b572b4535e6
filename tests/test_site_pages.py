"""Ten pages of the documentation site in Chromium: axe-core finds no fault, wide and narrow, light and dark."""

from pathlib import Path
from typing import Any

import pytest

PAGES = (
    "index",
    "install",
    "table",
    "networks",
    "completing",
    "performance",
    "results",
    "explore",
    "reference/cells",
    "tasks/logic/index",
)
AXE = Path(__file__).with_name("explore") / "axe.min.js"
FAULTS = """
async () => (await axe.run()).violations
  .map(({ id, help, nodes }) => [id, help, nodes.length, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))])
"""
BROKEN = "[...document.images].filter((one) => one.complete && !one.naturalWidth).map((one) => one.src)"
pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_fault(chromium: Any, start_page: Any, width: int, scheme: str) -> None:
    root = start_page.url.partition("#")[0].removesuffix("index.html")
    context = chromium.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
    page, faults = context.new_page(), {}
    for name in PAGES:
        page.goto(f"{root}{name}.html")
        page.add_script_tag(path=AXE)
        page.wait_for_timeout(400)
        faults[name] = page.evaluate(FAULTS) + page.evaluate(BROKEN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    context.close()
    assert {name: found for name, found in faults.items() if found} == {}


def test_axe_finds_no_fault_in_the_search_dialog(chromium: Any, start_page: Any) -> None:
    for width in (1280, 390):
        context = chromium.new_context(viewport={"width": width, "height": 844}, bypass_csp=True)
        page = context.new_page()
        page.goto(start_page.url)
        page.locator("label.md-header__button[for=__search]").dispatch_event("click")
        field = page.locator("input[name=query]")
        field.fill("how to save and load a model")
        field.press("End")  # the page asks when a key is let go
        page.locator(".md-search-result__item").first.wait_for(state="attached")
        page.add_script_tag(path=AXE)
        page.wait_for_timeout(600)
        faults = page.evaluate(FAULTS)
        context.close()
        assert faults == [], width
