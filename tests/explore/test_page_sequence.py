"""The room of sequences in a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explore_page import SIZES, SMALLEST, Running, look_inside

from dgltree import Vocabulary, save
from dgltree.encoders import make_encoder
from dgltree.models import ClassifierReadout, TreeModel
from dgltree.read.bracket import read_unlabelled

pytestmark = pytest.mark.browser


def test_a_formula_is_read_word_by_word(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#sequence")
    page.get_by_role("heading", name="First: the tree that was found").wait_for()
    page.locator("#sequence-text").fill("not (a or b)")
    page.locator("#sequence-other").fill("not a and not b")
    page.get_by_role("heading", name="The network predicts: they say the same").wait_for()
    assert page.locator(".checked").inner_text() == "A truth table says: they say the same. ✓ the same"
    page.locator("#sequence-other").fill("c and not c")
    page.locator(".checked", has_text="the second formula never holds").wait_for()
    page.locator("#sequence-other").fill("not a and not b")
    page.locator(".checked .agrees").wait_for()
    card = page.get_by_role("region", name="First sequence")
    assert not card.locator("input[type=range]").is_visible()
    look_inside(card)
    card.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    assert card.locator(".where").inner_text() == "(: the first word"
    page.keyboard.press("End")
    card.get_by_role("button", name="Play").click()  # at the end it begins again
    card.locator(".where", has_text="(: the first word").wait_for()
    card.locator(".where", has_text="or: slot").wait_for()
    card.get_by_role("button", name="Pause").click()
    assert card.get_by_role("img", name="Tree found over not a or b").count() == 1
    assert "other=not" in page.url


def test_mistakes_are_told_and_nothing_is_shown_for_nothing(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#sequence?text=a+and")
    page.locator("#sequence-wrong", has_text="expected a formula").wait_for()
    page.locator("#sequence-text").fill("")
    page.locator(".empty").wait_for()


def test_a_link_without_a_network_opens_the_first_one(page: Any, running: Running) -> None:
    page.goto(f"{running.url}#sequence?text=a+or+b")
    network = page.get_by_role("combobox", name="Network")
    first, other = (network.locator("option").nth(k).get_attribute("value") for k in (0, 1))
    assert network.input_value() == first
    network.select_option(other)
    page.wait_for_url(f"**model={other}*")
    page.evaluate("location.hash = '#sequence?text=a+or+b'")
    page.wait_for_function("document.querySelector('#sequence-text').value === 'a or b'")
    assert network.input_value() == first


@pytest.fixture
def in_context(tmp_path: Path) -> Iterator[Running]:
    """The page of a model with words in context, untrained."""
    vocabulary = Vocabulary([("phrase", 2), ("word", 0)], ["the", "cat", "sees", "a", "dog"])
    encoder = make_encoder("efficient_beam_tree", vocabulary, 8, order="leaves", in_context=True)
    save(TreeModel(encoder, ClassifierReadout(8, 2), ("a", "b")), tmp_path / "context.safetensors")
    made = Running(str(tmp_path / "context.safetensors"))
    yield made
    made.end()


def test_a_word_shows_the_parts_that_it_attends_to(page: Any, in_context: Running) -> None:
    page.goto(f"{in_context.url}#sequence?model=context&text=the+cat+sees+a+dog")
    look_inside(page)
    asking = page.locator(".asking")
    asking.get_by_role("heading", name="What each word attends to").wait_for()
    word = asking.get_by_role("button", name="dog")
    word.press("Enter")
    assert asking.locator("[aria-pressed=true]").text_content() == "dog"
    shares = [int(text.split(" ")[0]) for text in asking.locator("text.share").all_text_contents()]
    assert sum(shares) == pytest.approx(100, abs=3)


def test_a_long_sequence_is_readable_and_the_picture_follows_the_word(page: Any, running: Running) -> None:
    text = " ".join(["not"] * 60) + " ( a or b )"
    page.goto(f"{running.url}#sequence?text={text.replace(' ', '+')}")
    card = page.get_by_role("region", name="sequence").nth(1)
    frames = card.locator(".frame")
    card.get_by_role("heading", name="Tree found").wait_for()
    look_inside(card)
    slots, tree = card.locator(".fold div.frame"), frames.first
    assert min(page.evaluate(SIZES)) >= SMALLEST
    marked = slots.locator(".word.now")

    def in_sight() -> bool:
        word, frame = marked.bounding_box(), slots.bounding_box()
        return frame["x"] <= word["x"] and word["x"] + word["width"] <= frame["x"] + frame["width"]

    assert in_sight()
    card.locator("input[type=range]").focus()
    for key in ("Home", "PageUp", "PageUp", "End"):
        page.keyboard.press(key)
        assert in_sight(), key
    wide = slots.locator(".zoomed").bounding_box()["width"]
    assert wide > slots.bounding_box()["width"]
    slots.focus()
    page.keyboard.press("0")
    assert slots.locator(".zoomed").bounding_box()["width"] <= slots.bounding_box()["width"] + 1
    assert slots.locator("text").first.is_hidden()
    card.get_by_role("searchbox").first.fill("or")
    hit, frame = tree.locator(".hit").bounding_box(), tree.bounding_box()
    assert abs(hit["x"] + hit["width"] / 2 - frame["x"] - frame["width"] / 2) < 12


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Running]:
    pytest.importorskip("uvicorn", reason="the explore extra is not installed")
    vocabulary = Vocabulary.from_trees([read_unlabelled("( 101 ( a b ) )")])
    encoder = make_encoder("neural_data_router", vocabulary, 8, order="leaves", num_layers=6, num_heads=1)
    save(TreeModel(encoder, ClassifierReadout(8, 2), classes=("x", "y")), tmp_path / "router.safetensors")
    made = Running(str(tmp_path / "router.safetensors"))
    yield made
    made.end()


def test_a_router_is_followed_step_by_step(page: Any, router: Running) -> None:
    page.goto(f"{router.url}#sequence?model=router&text=101+a+b+a")
    card = page.get_by_role("region", name="sequence")
    card.get_by_role("heading", name="gates and attention, step by step").wait_for()
    assert card.locator("svg.attention .ground").count() == 2 * 6 * 6  # gates and attention, steps, words with two ends
    card.get_by_role("heading", name="What ⊣ attends to").wait_for()
    card.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    card.get_by_role("heading", name="What ⊢ attends to").wait_for()
    card.get_by_role("img", name="How much of each").locator(".touch").nth(2).click()
    assert card.locator(".where").inner_text() == "a"
    card.get_by_role("img", name="What a attends to in each of 6 steps").wait_for()
