"""Trainings over folds and over seeds."""

import json
from pathlib import Path
from typing import Any

import pytest
from own_trees import QUIET, SMALL, table, written

from dgltree import TrainedModel
from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("sklearn")
from dgltree.training.repeats import Repeats

pytestmark = QUIET


def test_folds_are_trainings_of_their_own_and_their_means_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = written(tmp_path, "trees.tsv", table(120)), tmp_path / "runs"
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--folds", "3", "--out", str(out)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "| 3 trainings | accuracy | macro_f1 | most_frequent |" in printed
    assert (out / "summary.md").read_text() in printed
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["trainings"]) == ["fold-1", "fold-2", "fold-3"]
    cards = [json.loads((out / name / "card.json").read_text()) for name in summary["trainings"]]
    assert sum(card["metrics"]["test"]["examples"] for card in cards) == 120
    ours = [card["metrics"]["test"]["accuracy"] for card in cards]
    theirs = [card["baseline"]["test"]["accuracy"] for card in cards]
    means = summary["means"]
    assert means["model"]["accuracy"]["mean"] == pytest.approx(sum(ours) / 3)
    assert means["network"]["accuracy"]["mean"] == pytest.approx(
        sum(card["network"]["test"]["accuracy"] for card in cards) / 3
    )
    assert means["difference"]["accuracy"]["mean"] == pytest.approx((sum(ours) - sum(theirs)) / 3)
    TrainedModel.load(out / "fold-2")
    assert main(arguments) == 0
    assert capsys.readouterr().err.count("is already finished") == 3


def test_seeds_share_their_splits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = written(tmp_path, "trees.tsv", table(120)), tmp_path / "runs"
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--out", str(out), "--no-baseline"]
    assert main([*arguments, "--seeds", "2", "--seed", "4"]) == 0
    cards = [json.loads((out / f"seed-{seed}" / "card.json").read_text()) for seed in (4, 5)]
    assert [card["options"]["seed"] for card in cards] == [4, 5]
    assert cards[0]["data"]["sha256"] == cards[1]["data"]["sha256"]
    assert "difference" not in capsys.readouterr().out
    for wrong, message in (
        (["--folds", "2", "--seeds", "2"], "give it without --seeds"),
        (["--seeds", "1"], "seeds is 1; it must be 2 or more"),
        (["--seeds", "2", "--test", str(path)], "give --validation and --test, or neither"),
    ):
        assert main([*arguments, *wrong]) == 1
        assert message in capsys.readouterr().err


def test_a_metric_that_one_training_lacks_has_no_mean() -> None:
    rows: dict[str, Any] = {
        "fold-1": {"r2": 0.5, "rank_correlation": None},
        "fold-2": {"r2": 0.25, "rank_correlation": 1.0},
    }
    assert "| model | 0.3750 ± 0.1768 | nan ± nan |" in str(Repeats(rows, {}, {}))
