"""Where things are on the page at four widths: nothing is cut, no word is broken, and the answer is in sight."""

from typing import Any

import pytest
from explore_page import Running
from own_trees import QUIET

pytestmark = [pytest.mark.browser, *QUIET]

HEIGHT = 844
ROOMS = {
    "equation?text=x^2+-+5x+%2B+6+%3D+(x+-+2)_": ".best .check",
    "sequence": "section[aria-label='What the network predicts'] h2, .frame",
    "trees": ".headline",
    "batch": ".figures",
}
"""Rooms with what one came for: it is in the first screen."""
BROKEN = """
() => {
  const broken = [], walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (node.parentElement.closest("code, .text, .katex, svg, input, .decisive, .clamp, .chip, [hidden]")) continue;
    for (const word of node.textContent.matchAll(/[\\p{L}\\p{N}.]{1,24}/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].filter(({ width }) => width).map(({ top }) => Math.round(top)));
      if (tops.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}
"""
"""Words that are broken between two lines."""
CUT = """
() => [...document.querySelectorAll("main h2, main .headline, main th, main td, main button, main summary")]
  .filter((one) => one.offsetParent && !one.closest(".scroll, .frame, .clamp"))
  .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((one) => one.textContent.slice(0, 40))
"""
"""What reaches beyond the right edge and is not in a frame that scrolls."""


@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
@pytest.mark.parametrize("room", ROOMS)
def test_nothing_is_cut_or_broken_and_the_answer_is_in_the_first_screen(
    page: Any, with_trees: Running, room: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.goto(f"{with_trees.url}#{room}")
    head = page.locator(ROOMS[room]).first
    head.wait_for()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    page.wait_for_load_state("networkidle")  # a search that goes on writes its answer again
    box = head.bounding_box()
    assert box["y"] + min(box["height"], 80) <= HEIGHT, "what one came for is below the first screen"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT) == []
    assert page.evaluate(BROKEN) == []


def test_the_test_result_comes_first_with_what_is_easy_to_reach(page: Any, with_trees: Running) -> None:
    page.goto(f"{with_trees.url}#trees")
    headline = page.locator(".headline")
    headline.wait_for()
    text = headline.inner_text()
    assert text.startswith("Test accuracy 0.") and "the most frequent class 0." in text
    assert not page.get_by_role("group", name="Metrics").is_visible()
    page.locator("summary", has_text="All metrics").click()
    assert page.get_by_role("group", name="Metrics").is_visible()
