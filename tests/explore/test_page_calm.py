"""The page stays calm: nothing moves while one types, lists are short, and Back goes back."""

from typing import Any

import pytest
from explore_page import Running, look_inside, unfold

pytestmark = pytest.mark.browser
TEXT = "#equation-text"
WATCH = """
() => {
  window.seen = [];
  const places = ["#equation-text", ".chips", ".list", ".guesses", ".guesses .list", ".fold"];
  const look = () => {
    const tops = places.map((place) => document.querySelector(place)?.getBoundingClientRect().top ?? null);
    const rows = document.querySelectorAll(".guesses .list tbody tr").length;
    const height = Math.round(document.querySelector(".list").offsetHeight);
    window.seen.push(JSON.stringify([...tops, height, rows, scrollY]));
    requestAnimationFrame(look);
  };
  look();
}
"""
"""Looks at each frame where the parts of the room are, how high the list is, and how many rows it has."""


def until(page: Any, condition: str) -> None:
    """Waits up to 10 s for a condition; Playwright's own way needs an eval, which the page forbids."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


@pytest.mark.parametrize("width", [1440, 390, 360])
def test_nothing_moves_while_one_types(page: Any, running: Running, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{running.url}#equation?text=x%2B_%3D2")
    page.locator(".effort", has_text="expressions tried").wait_for()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    page.locator(TEXT).focus()
    page.keyboard.press("End")
    page.evaluate(WATCH)
    page.keyboard.type("*sin(y)/(1+x^2)", delay=60)  # half of these texts are no equations
    page.locator(".shown", has_text="sin").wait_for()
    page.locator(".effort", has_text="expressions tried").wait_for()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    seen = page.evaluate("[...new Set(window.seen)]")
    assert len(seen) == 1, seen
    assert page.evaluate("window.seen.length") > 30


def test_a_short_answer_has_no_empty_space_below_it_once_nobody_types(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=x%2B_%3D2")
    page.locator(".effort", has_text="expressions tried").wait_for()
    height = "document.querySelector('.list').offsetHeight"
    page.locator(TEXT).focus()
    reserved = page.evaluate(height)
    until(page, f"{height} < {reserved - 100}")
    room = page.evaluate(
        "() => { const [a, b] = ['.rows-of-fillers tr:last-child', '.effort'].map((one) => "
        "document.querySelector(one).getBoundingClientRect()); return b.top - a.bottom; }"
    )
    assert room < 60


def test_what_the_network_computes_is_folded_until_one_asks_for_it(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=sin(x)^2+%2B+_+%3D+1")
    page.locator(".inside").wait_for(state="attached")
    assert not page.locator(".inside").is_visible()
    page.locator(".lists > .list tbody button").first.click()
    page.locator(".inside .strips").wait_for()
    page.reload()
    page.locator(".inside").wait_for(state="attached")
    assert not page.locator(".inside").is_visible()
    page.goto(f"{running.url}#equation?text=sqrt(x^2)+%3D+x")
    page.locator(".verdict").wait_for()
    assert not page.locator(".fold").is_visible()  # there is nothing inside


def test_a_list_has_five_rows_until_one_wants_more(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=sin(x)^2+%2B+_+%3D+1")
    rows = unfold(page).locator("tbody tr")
    rows.first.wait_for()
    assert rows.count() == 5
    page.get_by_role("button", name="7 more").click()
    assert rows.count() == 12
    page.get_by_role("button", name="fewer").click()
    assert rows.count() == 5


def test_the_list_is_there_before_its_verdicts(page: Any, running: Running) -> None:
    held: list[Any] = []
    page.route("**/api/equation/judge", lambda route: held.append(route))
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2y")
    unfold(page).locator(".check.unknown", has_text="checking").nth(4).wait_for()
    page.locator(".inside").wait_for(state="attached")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    page.locator(".list .check.unknown").first.wait_for(state="detached")
    assert page.locator(".guesses .list").first.locator(".check.yes, .check.no, .check.maybe").count() == 5


def test_the_picture_is_next_to_the_results_or_follows_the_click(page: Any, running: Running) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{running.url}#equation?text=sin(x)^2+%2B+_+%3D+1")
    look_inside(page)
    page.locator(".inside .tree").wait_for()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    tree, rows = page.locator(".inside .frame").bounding_box(), page.locator(".list").first.bounding_box()
    assert tree["x"] > rows["x"] + rows["width"] and tree["y"] + tree["height"] < 900
    page.set_viewport_size({"width": 390, "height": 844})
    unfold(page).locator("tbody button").nth(2).click()
    until(page, "Math.abs(document.querySelector('.insides').getBoundingClientRect().top - 12) < 4")


def test_back_and_forward_go_through_what_was_chosen(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2y")
    page.locator(".inside").wait_for(state="attached")
    page.get_by_role("button", name="sqrt(x^2) = x").click()
    page.locator(".verdict").wait_for()
    page.get_by_role("link", name="Batch").click()
    page.locator(".buffer .row").first.wait_for()
    page.get_by_role("button", name="A chain").click()
    page.locator(".figures", has_text="7 rows").wait_for()
    page.go_back()
    page.locator(".figures", has_text="18 rows").wait_for()
    page.go_back()
    page.locator(".verdict").wait_for()
    page.go_back()
    page.locator(".inside").wait_for(state="attached")
    assert page.locator(TEXT).input_value() == "x + _ = 2y"
    page.go_forward()
    page.locator(".verdict").wait_for()
    assert page.locator(TEXT).input_value() == "sqrt(x^2) = x"


def test_proved_answers_come_first_and_what_a_network_says_is_folded(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=x^2+-+5x+%2B+6+%3D+(x+-+2)_")
    first = page.locator(".lists > :first-child")
    first.locator("tbody tr[data-filler='x - 3']").wait_for()
    assert first.get_by_role("heading").inner_text() == "Found by search"
    folded = page.locator(".guesses")
    assert folded.get_attribute("open") is None and not folded.locator(".list").first.is_visible()
    unfold(page)
    folded.get_by_text("do not rely on it").wait_for()
    folded.locator("tbody tr[data-filler='x - 5']").wait_for()
    page.locator(TEXT).fill("x + _ = 2y")
    page.locator(".guesses tbody tr[data-filler='x - 5']").wait_for(state="detached")
    assert page.locator(".guesses .list").first.is_visible()  # what was opened stays so


def test_an_answer_that_comes_while_one_goes_back_leaves_the_step_alone(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2y")
    until(page, "location.hash.includes('filler=')")
    first = page.url
    unfold(page).locator("tbody button").nth(1).click()
    until(page, f"location.href !== {first!r}")
    # popstate comes before hashchange, by which the page learns where it is.
    late = "addEventListener('popstate', () => keep('equation', { text: 'late' }), { once: true })"
    page.evaluate(f"async () => {{ const {{ keep }} = await import('/static/place.js'); {late}; }}")
    page.go_back()
    until(page, f"location.href === {first!r}")
    page.wait_for_timeout(300)
    page.wait_for_function("url => location.href === url", arg=first)


def test_a_filler_that_was_chosen_is_a_step_and_what_was_typed_is_one(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2y")
    buttons = unfold(page).locator("tbody button")
    buttons.nth(4).wait_for()
    until(page, "location.hash.includes('filler=')")
    first, before = page.url, page.evaluate("history.length")
    buttons.nth(1).click()
    buttons.nth(2).click()
    page.wait_for_timeout(1600)
    page.locator(TEXT).fill("")
    page.locator(TEXT).type("x + _ = 3y", delay=30)
    page.locator(".shown", has_text="3").wait_for()
    assert page.evaluate("history.length") == before + 3
    for _ in range(3):
        page.go_back()
    page.wait_for_function("url => location.href === url", arg=first)
