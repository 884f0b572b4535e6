"""Which examples the folds of a baseline keep together."""

from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from dgltree import Tree, TreeDataset, Vocabulary

pytest.importorskip("sklearn", reason="the train extra is not installed")
from sklearn.linear_model import LogisticRegression

from dgltree.training.baseline import selection
from dgltree.training.baseline.baseline import Baseline, Columns
from dgltree.training.objectives.classes import Classes

ALONE = 20


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is tested in each fold, for each model: its number comes first."""
    found: list[Any] = []

    def score(model: Any, *_: object, cv: Any, **__: object) -> np.ndarray:
        found.extend((model, test.tolist()) for _, test in cv)
        return np.array([0.5] if len(cv) == 1 else [np.nan, 0.25 * model])

    monkeypatch.setattr(selection, "cross_val_score", score)
    return found


def best(groups: list[str | None]) -> str:
    candidates = [selection.BaselineCandidate(name, i, linear=True) for i, name in enumerate(("one", "two", "three"))]
    labels = np.arange(len(groups)) % 2
    train = SimpleNamespace(groups=groups)
    objective = SimpleNamespace(classes=("a", "b"))
    return selection._best(candidates, np.zeros((len(groups), 2)), labels, train, objective)[0].what  # type: ignore[arg-type]


def test_examples_without_a_group_are_each_alone_next_to_groups(asked: list[Any]) -> None:
    groups = ["a", "a", "b", "b", "b", *[None] * ALONE]
    assert best(groups) == "three", "with the best mean over the folds that have one"
    for model in range(3):
        tested = [rows for number, rows in asked if number == model]
        assert len(tested) == 3 and sorted(chain(*tested)) == list(range(len(groups)))
        for rows in tested:
            assert len({0, 1} & set(rows)) in (0, 2) and len({2, 3, 4} & set(rows)) in (0, 3)


def test_without_any_group_none_is_asked_for(asked: list[Any]) -> None:
    assert best([None] * ALONE) == "three"
    assert len(asked) == 9


def test_too_few_examples_or_groups_take_the_middle_one(asked: list[Any]) -> None:
    assert best([None] * (selection.MIN_EXAMPLES - 1)) == best(["a"] * 10 + ["b"] * 10) == "two"
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
