"""A generator of trees and labels is a data set that equals the one of a list, and trains."""

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import repeat
from math import nan
from pathlib import Path
from typing import Any

import pytest

import dgltree
from dgltree.datasets import tree_dataset

TEXTS = ("x+y", "x*y", "sin(x)+y", "sin(x*y)", "z")
TREES = [dgltree.read_infix(text) for text in TEXTS]


def test_a_generator_is_the_data_set_of_its_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_dataset, "AT_A_TIME", 2)  # names of later blocks are new
    labels = ["sum", "product", None, 2, 0.5]
    found = dgltree.TreeDataset.from_iterable(zip(TREES, labels, strict=True))
    listed = dgltree.TreeDataset(TREES, labels)
    assert [found[i] for i in range(5)] == [listed[i] for i in range(5)]
    assert list(found.lines) == [1, 2, 3, 4, 5]
    assert found.num_nodes == sum(tree.size for tree in TREES)


def test_texts_and_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_dataset, "AT_A_TIME", 2)
    texts = dgltree.TreeDataset.from_iterable(((text, "a") for text in TEXTS), notation="infix")
    assert texts[3] == dgltree.TreeDataset(TREES, ["a"] * 5)[3]
    pairs = dgltree.TreeDataset.from_iterable(((tree, TREES[0]), "same") for tree in TREES)
    assert (pairs.each, pairs[4]) == (2, ((TREES[4], TREES[0]), "same"))


def test_memory_holds_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_dataset, "AT_A_TIME", 50)

    def peak(make: Callable[[Iterator[Any]], object]) -> int:
        tracemalloc.start()
        made = make((dgltree.read_infix("x+y*sin(x)"), "ab"[i % 2]) for i in range(1000))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del made
        return found

    peak(dgltree.TreeDataset.from_iterable)  # what is made once
    assert peak(dgltree.TreeDataset.from_iterable) < peak(list) / 2


def test_fit_takes_a_generator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [text.replace("x", name) for name in "abcdefgh" for text in TEXTS[:4]]
    trees, labels = [dgltree.read_infix(text) for text in texts], ["sum", "product", "sum", "product"] * 8
    options = {"hidden_size": 4, "epochs": 1, "no_baseline": True, "device": "cpu"}
    model = dgltree.fit(zip(trees, labels, strict=True), out=tmp_path / "model", **options)
    assert "classify: 26 train, 3 validation, 3 test" in capsys.readouterr().err
    assert list(model.classes) == ["product", "sum"]


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "no examples: give at least one"),
        (TREES, "example 1 is Tree"),
        ([(TREES[0], "a"), (TREES[1], "b", 1)], r"example 2 is \(Tree"),
        (
            [(TREES[0], "a"), (TREES[1], nan)],
            "the label of example 2 is nan; a label must be a string, a finite number or None",
        ),
        (
            [(TREES[0], "a"), ((TREES[0], TREES[1]), "b")],
            "some examples are single trees and others are pairs; give one kind",
        ),
        (
            [*[(TREES[0], "a")] * 1000, ((TREES[0], TREES[1]), "b")],
            "some examples are single trees and others are pairs; give one kind",
        ),
        ([*[("x+y", "a")] * 1500, ("x+", "a")], "tree 1501: not a valid infix tree"),
        (zip(repeat(3, 2), "ab", strict=True), "tree 1: found 3 of type int; expected a Tree"),
        ("trees.tsv", "'trees.tsv'; read a file by dgltree.TreeDataset.from_file"),
    ],
)
def test_what_is_no_example(examples: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dgltree.TreeDataset.from_iterable(examples)
