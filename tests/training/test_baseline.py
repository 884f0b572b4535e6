"""The linear model beside every training."""

import json
import random
from pathlib import Path

import pytest
from own_trees import QUIET, SMALL, table, written

from dgltree import Tree, TreeDataset
from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("sklearn")

from dgltree.training.baseline import Features, baseline

pytestmark = QUIET


def leaf(token: str) -> Tree:
    return Tree("w", token=token)


def splits_of(data: TreeDataset, each: int) -> dict[str, TreeDataset]:
    data = data.within(data.vocabulary(unk=True))
    rows = range(len(data))
    parts = {"train": rows[: -2 * each], "validation": rows[-2 * each : -each], "test": rows[-each:]}
    return {name: data.select(of) for name, of in parts.items()}


def test_features_are_counts_of_nodes_and_of_pairs() -> None:
    trees = [Tree("f", (leaf("a"), leaf("a"))), Tree("f", (Tree("f", (leaf("a"),)),)), Tree("g", (leaf("b"),))]
    data = TreeDataset(trees * 2)
    found = Features.of(data)(data).toarray()
    assert found.shape == (6, 4 + 4 + 5 + 4)  # f of two children, f of one, g, w; pairs; with tokens; pairs
    counts = (2.718281828459045 ** found[0]).round(6) - 1
    assert sorted(counts[counts > 0]) == pytest.approx([1, 1, 2, 2, 2, 2])
    assert (found[0] == found[3]).all()


def test_a_feature_that_occurs_in_one_example_is_left_out() -> None:
    data = TreeDataset([Tree("f", (leaf("a"),)), Tree("f", (leaf("b"),))])
    assert sum(map(len, Features.of(data).known)) == 4  # f and w, f alone as a symbol, and the pair of functions


def test_it_learns_what_a_bag_can_say_and_no_more() -> None:
    rng = random.Random(0)
    bags = [[rng.choice("ab") for _ in range(5)] for _ in range(300)]
    trees = [Tree("f", tuple(map(leaf, bag))) for bag in bags]
    classes = TreeDataset(trees, ["a" if bag.count("a") > 2 else "b" for bag in bags])
    assert baseline(splits_of(classes, 60), ["a", "b"])["test"].metrics["accuracy"] > 0.95
    numbers = TreeDataset(trees, [bag.count("a") + 0.5 for bag in bags])
    assert baseline(splits_of(numbers, 60), [])["test"].metrics["r2"] > 0.9
    order = TreeDataset(trees, ["a" if bag[0] == "a" else "b" for bag in bags])
    assert baseline(splits_of(order, 60), ["a", "b"])["test"].metrics["accuracy"] < 0.8


def test_the_two_trees_of_a_pair_have_features_of_their_own() -> None:
    rng = random.Random(0)
    pairs = [(leaf(rng.choice("ab")), leaf(rng.choice("ab"))) for _ in range(200)]
    data = TreeDataset(pairs, [left.token for left, _ in pairs])
    assert baseline(splits_of(data, 40), ["a", "b"])["test"].metrics["accuracy"] == 1


def test_it_stands_beside_the_model_in_print_and_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "trees.tsv", table(120))
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--out"]
    assert main([*arguments, str(tmp_path / "model")]) == 0
    assert "test, baseline (a linear model of the counts of nodes" in capsys.readouterr().err
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert set(card["baseline"]) == {"validation", "test"}
    assert "| test, baseline |" in (tmp_path / "model" / "card.md").read_text()
    assert main([*arguments, str(tmp_path / "bare"), "--no-baseline"]) == 0
    assert json.loads((tmp_path / "bare" / "card.json").read_text())["baseline"] == {}
