"""The room of equations in a browser, used as a person would."""

import json
import re
from typing import Any

import pytest
from explore_page import Running, look_inside, unfold

pytestmark = pytest.mark.browser
TEXT = "#equation-text"


def rows(page: Any, heading: str) -> Any:
    return page.locator(".list", has_text=heading).locator("tbody tr")


def test_an_equation_is_ranked_searched_and_looked_into_as_one_types(page: Any, running: Running) -> None:
    page.goto(running.url)
    unfold(page)
    look_inside(page)
    page.locator(TEXT).fill("tan(x)_ = sin(x)")
    page.locator(".shown .katex").wait_for()
    first = rows(page, "From the list").first
    answer = first.and_(page.locator('[data-filler="cos(x)"]'))  # those of the equation before stand there for a moment
    answer.get_by_text("everywhere").wait_for()
    assert page.title() == "Equation · dgltree"
    rows(page, "Found by search").first.wait_for()
    inside = page.locator(".inside")
    inside.get_by_role("heading", name="Inside Tree-LSTM, shipped").wait_for()
    assert inside.locator(".node.path").count() == 2
    assert "memory cell c" in inside.inner_text()
    page.locator(".effort", has_text="expressions tried").wait_for()
    rows(page, "From the list").nth(2).get_by_role("button").click()
    rows(page, "From the list").nth(2).locator("xpath=self::*[@class='chosen']").wait_for()
    assert "filler=" in page.url


def test_the_slider_goes_from_the_filler_to_the_root_and_nodes_are_chosen_by_keys(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=sin(x)^2+%2B+_+%3D+1&filler=cos(x)^2")
    look_inside(page)
    slider = page.locator(".inside input[type=range]")
    slider.wait_for()
    assert page.locator(".where").inner_text() == "the root of its side"
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator(".where").inner_text() == "the filler"
    assert "step=0" in page.url
    page.locator(".node[data-node='5']").focus()
    page.keyboard.press("Enter")
    assert "selected" in page.locator(".node[data-node='5']").get_attribute("class").split()
    assert page.evaluate("document.activeElement.dataset.node") == "5"


def test_what_the_address_says_is_shown_again(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2y&filler=2*y&step=0")
    page.locator(".inside .where", has_text="the filler").wait_for()
    assert page.locator(TEXT).input_value() == "x + _ = 2y"
    page.goto(f"{running.url}#equation?text=1%2B1%3D3")
    page.locator(".verdict", has_text="does not hold").wait_for()


def test_answers_to_an_earlier_text_are_grey_and_cannot_be_clicked(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2y")
    page.locator(".inside").wait_for(state="attached")
    found = page.locator("button.filler:visible").first  # of the search: those of a network are folded
    found.wait_for()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    page.locator(TEXT).fill("x + _ = ")
    page.locator("#equation-wrong", has_text=re.compile(".")).wait_for()
    assert page.locator(".lists[aria-busy=true], .insides[aria-busy=true]").count() == 2
    assert page.locator(".shown").inner_text() == ""  # the equation of before is not that of the message
    found.click(force=True)
    assert "filler=" not in page.url
    page.locator(TEXT).fill("x + _ = y")
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    assert page.locator("main [inert]").count() == 0


def test_mistakes_are_told_where_one_types(page: Any, running: Running) -> None:
    page.goto(running.url)
    page.locator(TEXT).fill("sin(x + = 1")
    page.locator("#equation-wrong", has_text="line 1, column").wait_for()
    page.locator(TEXT).fill("")
    page.locator(".empty").wait_for()
    page.locator(TEXT).fill("sqrt(x^2) = -x")
    page.locator(".verdict", has_text="A point at which it fails").wait_for()


def test_a_mistake_is_marked_where_it_was_typed(page: Any, running: Running) -> None:
    page.goto(running.url)
    page.locator(TEXT).fill("x + # = _")
    page.locator("#equation-wrong mark").wait_for()
    assert page.locator("#equation-wrong mark").inner_text() == "#"
    assert page.locator(".place-of-mistake").inner_text() == "x + # = _"


def test_both_sides_are_curves_with_a_band_where_they_part(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=sqrt(x^2)+%3D+x")
    page.locator(".plot .apart-band").wait_for()
    assert page.locator(".verdict .check").inner_text() == "✓ holds for x ≥ 0 (proved)"
    line, band = page.locator(".plot .side-left").bounding_box(), page.locator(".plot .apart-band").bounding_box()
    assert band["x"] == pytest.approx(line["x"], abs=8) and band["width"] == pytest.approx(line["width"] / 2, abs=8)
    page.locator(".plot svg").hover(position={"x": 100, "y": 90})
    assert re.fullmatch(r"x = −[\d.]+: left [\d.]+, right −[\d.]+", page.locator(".plot .reading").inner_text())
    page.locator(TEXT).fill("sin(x)^2 + _ = 1")
    page.locator(".plot", has_text="The sides agree at every point drawn, from −5 to 5").wait_for()


def test_a_filler_of_ones_own_joins_the_list(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#equation?text=sin(x)^2+%2B+_+%3D+1")
    page.locator(".inside").wait_for(state="attached")
    page.get_by_label("Your own filler").fill("1 - sin(x)^2")
    page.keyboard.press("Enter")
    own = page.locator(".lists > .list tbody tr", has=page.locator(".place", has_text="+"))
    own.get_by_text("everywhere (proved)").wait_for()
    assert "yours" in own.inner_text()
    page.locator(".inside", has_text=re.compile(r"score [+−]\d+\.\d\d")).wait_for()
    assert "filler=1+-+sin" in page.url
    page.get_by_label("Your own filler").fill("cos(")
    page.keyboard.press("Enter")
    page.locator(".own .wrong", has_text="line 1, column").wait_for()


def test_pictures_and_tables_are_saved(page: Any, running: Running, tmp_path: Any) -> None:
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2y")
    look_inside(page)
    with page.expect_download() as saved:
        page.locator(".inside").get_by_role("button", name="Download tree as SVG").click()
    picture = saved.value.path().read_text(encoding="utf-8")
    assert picture.startswith("<svg") and "xmlns=" in picture and "class=" not in picture and "fill=" in picture
    with page.expect_download() as saved:
        unfold(page).get_by_role("button", name="CSV").click()
    lines = saved.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0] == "place,filler,check,score,source" and len(lines) > 5
    assert json.loads(re.split(",", lines[1])[0]) == 1


def test_the_theme_is_turned_and_kept(page: Any, running: Running) -> None:
    page.goto(running.url)
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    page.get_by_role("button", name="Dark or light").click()
    assert page.evaluate(colour) != before
    page.reload()
    assert page.evaluate(colour) != before


def test_what_is_no_longer_asked_is_never_shown_as_an_error(page: Any, running: Running) -> None:
    """The path of one filler is given up for another's, whose answer takes its time."""
    page.goto(f"{running.url}#equation?text=x+%2B+_+%3D+2y")
    look_inside(page)
    inside = page.locator(".inside")
    inside.get_by_role("heading", name="Inside Tree-LSTM, shipped").wait_for()
    unfold(page)
    held: list[Any] = []
    page.route("**/api/equation/path", lambda route: held.append(route))
    for place in (1, 2):
        rows(page, "From the list").nth(place).get_by_role("button").click()
        while len(held) < place:
            page.wait_for_timeout(20)
    page.wait_for_timeout(100)
    assert inside.locator("svg").count() > 0  # the old answer, grey, until there is a new one
    assert "abort" not in page.locator("main").inner_text().lower()
    held[1].continue_()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")
    assert inside.count() == 1
