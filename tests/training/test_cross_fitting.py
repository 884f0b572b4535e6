"""Small sets of documents: epochs and the average are chosen by answers to folds that nothing was fitted to."""

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from dgltree import TreeDataset, fit
from dgltree.datasets.objects import read_objects, with_notation
from dgltree.datasets.settings import Reading
from dgltree.training.deciding import SMALL_SET, Decision, decide
from dgltree.training.options import FitOptions
from dgltree.training.short_trainings import MIN_CROSSED, cross_fit, is_crossed

pytest.importorskip("lightning", reason="the train extra is not installed")


def data_of(values: list[Any], labels: list[Any]) -> TreeDataset:
    reading = with_notation(values, Reading())
    return TreeDataset(read_objects(values, reading), labels, reading=reading)


def told(count: int, seed: int = 0) -> TreeDataset:
    """Documents whose label is one of their keys."""
    random = Random(seed)
    values = [{"kind": random.choice("ab"), "n": random.uniform(0, 9), "name": f"x {i}"} for i in range(count)]
    return data_of(values, [value["kind"] for value in values])


def drawn(count: int) -> TreeDataset:
    """Documents that say nothing of their label, but that can all be told apart."""
    random = Random(0)
    values = [{"words": " ".join(f"w{random.randrange(400)}" for _ in range(8))} for _ in range(count)]
    return data_of(values, [random.choice("ab") for _ in range(count)])


def decided(data: TreeDataset, **options: Any) -> Decision:
    rows = list(range(0, len(data), 5))
    rest = [i for i in range(len(data)) if i % 5]
    parts = {"train": data.select(rest), "validation": data.select(rows), "test": data.select(rows)}
    return decide(parts, FitOptions(hidden_size=8, **options))


def test_answers_are_of_what_was_not_learnt_and_in_the_order_of_the_examples() -> None:
    crossed = cross_fit(decided(told(75))).crossed
    assert crossed is not None and crossed.baseline is not None and len(crossed.targets) == 60
    for answers in (crossed.network, crossed.baseline):
        assert (answers.argmax(1) == crossed.targets).float().mean() > 0.95
    assert crossed.loss < 0.3


@pytest.mark.slow
def test_what_can_only_be_memorized_is_not_answered() -> None:
    crossed = cross_fit(decided(drawn(75))).crossed
    assert crossed is not None and crossed.baseline is not None
    assert crossed.loss > math.log(2) - 0.05
    for answers in (crossed.network, crossed.baseline):
        assert (answers.argmax(1) == crossed.targets).float().mean() < 0.7


@pytest.mark.slow
def test_numbers_are_cross_fitted_in_their_unit() -> None:
    random = Random(1)
    values = [{"n": random.uniform(0, 9), "m": random.uniform(0, 9)} for _ in range(120)]
    decision = decided(data_of(values, [1000 + 50 * value["n"] for value in values]))
    crossed = cross_fit(decision).crossed
    assert crossed is not None and crossed.baseline is not None
    for answers in (decision.objective.answers(crossed.network), crossed.baseline):
        assert torch.corrcoef(torch.stack([answers.double(), crossed.targets.double()]))[0, 1] > 0.8
        assert 1000 < answers.mean() < 1500


@pytest.mark.slow
def test_a_fit_of_few_documents_trains_as_long_as_the_folds_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit(told(60), out=tmp_path / "one", hidden_size=8)
    out, err = capsys.readouterr()
    card = json.loads((tmp_path / "one" / "card.json").read_text())
    epochs = (tmp_path / "one" / "epochs.jsonl").read_text().splitlines()
    assert f"chooses {len(epochs)} epochs" in err
    assert card["cross-fitting"]["epochs"] == card["options"]["epochs"] == len(epochs)
    assert out.splitlines()[-1].endswith(("in cross-fitting", "adds nothing"))
    assert "chosen by the loss in cross-fitting" in (tmp_path / "one" / "card.md").read_text()
    fit(told(60), out=tmp_path / "one", hidden_size=8)
    assert "already finished" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (lambda: told(100), {"epochs": 3}),
        (lambda: told(100), {"max_time": "00:00:01:00"}),
        (lambda: told(MIN_CROSSED), {}),
        (lambda: told(SMALL_SET * 5 // 4), {}),
        (lambda: TreeDataset([tree for tree, _ in told(100)], ["a", "b"] * 50), {}),  # type: ignore[misc]
    ],
)
def test_others_are_not_cross_fitted(data: Any, options: dict[str, Any]) -> None:
    assert not is_crossed(decided(data(), **options))
    assert is_crossed(decided(told(100)))
