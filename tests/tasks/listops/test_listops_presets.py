"""The sets that latent-tree networks are tested on: what the published processes would leave of what they draw."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from dgltree.read.listops import read_words
from tasks.listops import generate, presets
from tasks.listops.data import ListOps
from tasks.listops.sampler import ListProcess


def depth_of(text: str) -> int:
    """Lists within each other."""
    depth = deepest = 0
    for word in text.split():
        depth += word.startswith("[")
        deepest = max(deepest, depth)
        depth -= word == "]"
    return deepest


@pytest.mark.parametrize("name", presets.PRESETS)
def test_a_set_has_what_its_preset_says(name: str) -> None:
    wanted, found = presets.PRESETS[name], presets.preset(name, 20)
    assert len(set(found)) == 20
    assert presets.preset(name, 10) == found[:10]
    assert presets.preset(name, 10, seed=1) != found[:10]
    for text, value in found:
        assert read_words(text)[1] == value
        assert wanted.shortest <= text.count(" ") + 1 <= wanted.longest
        assert wanted.depths(depth_of(text)) and depth_of(text) < wanted.deepest


def test_lengths_and_depths_are_those_of_drawing_and_leaving_out() -> None:
    random = Random(1)
    kept = [words for words, _ in (generate._place(1, random) for _ in range(60_000)) if 8 <= len(words) <= 12]
    made, other = ListProcess(20, 5, 0.25, 12), Random(2)
    weights = made.lengths[-1][8:]
    drawn = [
        made.draw(8 + int(np.searchsorted(np.cumsum(weights / weights.sum()), other.random())), other) for _ in kept
    ]
    for measure in (len, lambda words: depth_of(" ".join(words)), lambda words: words[0], lambda words: words[1]):
        there, here = Counter(map(measure, kept)), Counter(measure(words) for words, _, _ in drawn)
        for key in there | here:
            assert here[key] == pytest.approx(there[key], abs=5 * (there[key] + here[key] + 1) ** 0.5), key


def test_how_probable_a_length_is_follows_from_all_expressions() -> None:
    made = ListProcess(3, 3, 0.5, 12)  # the root, lists in it, digits in those
    digit, lists = 0.5, 0.5
    assert made.lengths[-1][1] == pytest.approx(digit)
    assert made.lengths[-1][4] == pytest.approx(lists / 2 * digit**2)  # two digits
    assert made.lengths[-1][7] == pytest.approx(lists / 2 * (2 * digit * lists / 2))  # a digit, and a list of two


def test_unknown_sets_and_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="no set 'long'; there are length_200, length_500"):
        presets.preset("long")
    with pytest.raises(ValueError, match="count is 0; it must be 1 or more"):
        presets.preset("length_200", 0)
    with pytest.raises(ValueError, match=r"no set depth_6; there are length_200, .*, or all"):
        ListOps(sets=["depth_6"])


def test_listops_dg_is_trained_on_shallow_and_tested_on_deep_ones() -> None:
    data = ListOps(count=50, set_size=10, depth=True)
    assert max(depth_of(text) for text, _ in data.train) <= 5
    assert {depth_of(text) for text, _ in data.validation} == {7}
    assert min(depth_of(text) for text, _ in data.test) >= 8
    assert [len(part) for part in (data.train, data.validation, data.test)] == [50, 10, 10]


@pytest.mark.slow
def test_longer_expressions_to_validate_on_are_added_and_are_not_those_that_are_tested() -> None:
    short = ListOps(count=100, longest=30)
    data = ListOps(count=100, longest=30, sets=["all"], validate_on=["length_200"], set_size=5)
    longer = data.validation[len(short.validation) :]
    assert data.validation[: len(short.validation)] == short.validation and data.train == short.train
    assert len(longer) == 5 and all(200 <= expression.length <= 300 for expression in longer)
    assert not {*longer} & {*presets.preset("length_200")}
    both = ListOps(count=50, set_size=5, depth=True, validate_on=["length_200"])
    assert both.validation == [*presets.preset("depth_7", 5), *longer]
    with pytest.raises(ValueError, match=r"no set long; there are length_200, .*, or all"):
        ListOps(validate_on=["long"])


def test_the_published_bounds_leave_out_both_ends_and_all_does_not_ask_for_them() -> None:
    bounds = [(each.shortest, each.longest) for each in presets.BETWEEN.values()]
    assert bounds == [(201, 299), (501, 599), (901, 999)]
    assert ListOps(sets=["between_200"]).more == ("between_200",)
    assert ListOps(sets=["all"]).more == tuple(presets.SETS)


def test_validation_can_have_any_length_as_published() -> None:
    cut, whole = (ListOps(count=4_000, longest=20, validate_any=choice) for choice in (False, True))
    assert whole.train == cut.train and whole.test == cut.test
    assert len(whole.validation) == len(cut.validation) == len(set(whole.validation))
    assert max(each.length for each in cut.validation) <= 20 < max(each.length for each in whole.validation)
    assert not {*whole.validation} & {*whole.train, *whole.test}
    with pytest.raises(ValueError, match="validate_any is of expressions that are validated on by length; depth has"):
        ListOps(depth=True, validate_any=True)
