"""Which examples the folds of a baseline keep together."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from dgltree import Tree, TreeDataset, Vocabulary

pytest.importorskip("sklearn", reason="the train extra is not installed")
from sklearn.linear_model import LogisticRegression

from dgltree.training.baseline import choice
from dgltree.training.baseline.baseline import Baseline
from dgltree.training.baseline.features import Columns
from dgltree.training.objectives.classes import Classes

ALONE = 20


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The groups of each cross-validation."""
    found: list[Any] = []

    def score(*_: object, groups: Any, **__: object) -> np.ndarray:
        found.append(groups)
        return np.array([0.5, np.nan, 0.25 * len(found)])

    monkeypatch.setattr(choice, "cross_val_score", score)
    return found


def best(groups: list[str | None]) -> str:
    candidates = [choice.BaselineCandidate(name, None, linear=True) for name in ("one", "two", "three")]
    labels = np.arange(len(groups)) % 2
    train = SimpleNamespace(groups=groups)
    objective = SimpleNamespace(classes=("a", "b"))
    return choice._best(candidates, np.zeros((len(groups), 2)), labels, train, objective)[0].what  # type: ignore[arg-type]


def test_examples_without_a_group_are_each_alone_next_to_groups(asked: list[Any]) -> None:
    groups = ["a", "a", "b", "b", "b", *[None] * ALONE]
    assert best(groups) == "three", "with the best mean over the folds that have one"
    assert len(asked) == 3
    for found in asked:
        assert [found.index(group) for group in found] == [0, 0, 2, 2, 2, *range(5, 5 + ALONE)]


def test_without_any_group_none_is_asked_for(asked: list[Any]) -> None:
    assert best([None] * ALONE) == "three"
    assert asked == [None] * 3


def test_too_few_examples_or_groups_take_the_middle_one(asked: list[Any]) -> None:
    assert best([None] * (choice.MIN_EXAMPLES - 1)) == best(["a"] * 10 + ["b"] * 10) == "two"
    assert asked == []
    assert best(["a"] * 10 + ["b"] * 10 + [None]) == "three", "three groups, as many as folds"


def test_a_baseline_reads_the_names_of_trees_whatever_vocabulary_they_are_in() -> None:
    """Names that a network reads as one unknown are still told apart."""
    trees = [Tree("f", [Tree("w", token=token) for token in word]) for word in ("ab", "bb", "cc", "cd", "da")]
    data = TreeDataset(trees, list("xyxyx"))
    columns = Columns.of(data)
    model = LogisticRegression().fit(columns(data).log1p(), np.arange(5) % 2)
    model.coef_ = np.arange(float(len(columns.codes)))[None]
    baseline = Baseline(columns, model, True, Classes(("x", "y")), "of a test")
    known = data.within(Vocabulary([("f", 2), ("w", 0)], ["a"], unk=True))
    assert known.trees.token.unique().numel() < data.trees.token.unique().numel()
    found = baseline.found(data)
    assert len(found.unique(dim=0)) == len(trees)
    torch.testing.assert_close(baseline.found(known), found, rtol=0, atol=0)
