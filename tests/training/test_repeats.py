"""Trainings over folds and over seeds."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from own_trees import QUIET, SMALL, table, written

from dgltree import TrainedModel, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets import split

pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("sklearn")
from dgltree.training import repeats
from dgltree.training.options import FitOptions
from dgltree.training.repeats import Repeats

pytestmark = QUIET
ROOT = Path(__file__).parents[2]


def test_seeds_continue_on_the_splits_that_they_began_with_also_if_the_training_part_alone_is_small(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All 215 rows are split by a hash; the rule for the 180 to train on would be another."""
    path = written(tmp_path, "trees.tsv", table(215))
    arguments = [
        "fit",
        str(path),
        *SMALL,
        "--epochs",
        "1",
        "--seeds",
        "2",
        "--no-baseline",
        "--out",
        str(tmp_path / "m"),
    ]
    assert main(arguments) == main(arguments) == 0
    assert capsys.readouterr().err.count("is already finished") == 2


@pytest.mark.slow
def test_folds_are_trainings_of_their_own_and_their_means_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = written(tmp_path, "trees.tsv", table(120)), tmp_path / "runs"
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--folds", "3", "--baseline", "fast", "--out", str(out)]
    assert main(arguments) == 0
    printed, progress = capsys.readouterr()
    order = [line for line in progress.splitlines() if line.startswith(("fold-", "epoch 0"))]
    assert [line.split(": ")[0] for line in order] == [each for k in "123" for each in (f"fold-{k}:", "epoch 0")]
    assert "fold-1:\n" not in printed
    assert "| test, 3 trainings | accuracy | macro_f1 | most_frequent |" in printed
    assert (out / "summary.md").read_text() in printed
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["trainings"]) == ["fold-1", "fold-2", "fold-3"]
    cards = [json.loads((out / name / "card.json").read_text()) for name in summary["trainings"]]
    assert sum(card["metrics"]["test"]["examples"] for card in cards) == 120
    ours = [card["metrics"]["test"]["accuracy"] for card in cards]
    theirs = [card["baseline"]["test"]["accuracy"] for card in cards]
    described = [f"{card['options']['encoder']} of {card['options']['hidden_size']}: " for card in cards]
    sizes = [", ".join(f"{count} {split}" for split, count in card["data"]["examples"].items()) for card in cards]
    lines = [f"{kind}{size}" for kind, size in zip(described, sizes, strict=True)]
    assert summary["what"] == "; ".join(dict.fromkeys(lines))
    assert (out / "summary.md").read_text().splitlines()[0] == summary["what"]
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
    data = TreeDataset.from_file(path)
    by_seed = [{name: part.lines for name, part in split(data, seed).items()} for seed in (4, 0)]
    rows = [line.split("\t") for line in (out / "seed-5" / "split.tsv").read_text().splitlines()[1:]]
    assert {name: [int(row[4]) for row in rows if row[0] == name] for name in by_seed[0]} == by_seed[0] != by_seed[1]
    assert "difference" not in capsys.readouterr().out
    for wrong, message in (
        (["--folds", "2", "--seeds", "2"], "leave out --seeds"),
        (["--seeds", "1"], "seeds is 1; it must be 2 or more"),
        (["--seeds", "2", "--test", str(path)], "give both --validation and --test, or neither"),
    ):
        assert main([*arguments, *wrong]) == 1
        assert message in capsys.readouterr().err


def test_a_metric_that_one_training_lacks_has_no_mean() -> None:
    rows: dict[str, Any] = {
        "fold-1": {"r2": 0.5, "rank_correlation": None},
        "fold-2": {"r2": 0.25, "rank_correlation": 1.0},
    }
    assert "| model | 0.3750 ± 0.1768 | nan ± nan |" in str(Repeats(rows, {}, {}))


@pytest.mark.slow
def test_trainings_by_several_processes_are_those_of_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "trees.tsv", table(120))
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--folds", "3", "--no-baseline"]
    printed = {}
    for processes in ("1", "2"):
        assert main([*arguments, "--out", str(tmp_path / processes), "--processes", processes]) == 0
        printed[processes] = capfd.readouterr()
    assert (tmp_path / "1" / "summary.json").read_bytes() == (tmp_path / "2" / "summary.json").read_bytes()
    weights = [(tmp_path / processes / "fold-3" / "model.safetensors").read_bytes() for processes in ("1", "2")]
    assert weights[0] == weights[1]
    alone = [line.partition(";")[0] for line in printed["1"].err.splitlines()]
    named = [line.partition(";")[0] for line in printed["2"].err.splitlines() if line.startswith("fold-")]
    assert {line.partition(": ")[0] for line in named} == {"fold-1", "fold-2", "fold-3"}
    assert sum("epoch 0" in line for line in named) == 3
    of_trainings = Counter(line.partition(": ")[2] for line in named)
    assert of_trainings == Counter(line for line in alone if line in of_trainings)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_stop_ends_all_trainings_and_begins_no_further_one(tmp_path: Path) -> None:
    path, out = written(tmp_path, "trees.tsv", table(400)), tmp_path / "runs"
    arguments = [str(path), *SMALL, "--epochs", "300", "--patience", "300", "--folds", "3", "--out", str(out)]
    command = [sys.executable, "-m", "dgltree", "fit", *arguments, "--processes", "2"]
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        lines, begun = list[str](), set[str]()
        while len(begun) < 2 and (line := run.stderr.readline()):
            lines.append(line)
            begun |= {line.partition(":")[0]} if ": epoch " in line else set()
        run.terminate()
        said = "".join(lines) + run.communicate(timeout=120)[1]
    assert run.returncode == 143 and "Traceback" not in said, said
    assert {path.name for path in out.iterdir()} == begun == {"fold-1", "fold-2"}
    for name in begun:
        assert (
            f"{name}: stopped: {out / name} contains the best model so far, and the same command continues the training"
            in said
        )
        assert not (out / name / "card.json").exists()


@pytest.mark.slow
def test_a_training_that_fails_ends_all(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, out = written(tmp_path, "trees.tsv", table(120)), tmp_path / "runs"
    arguments = ["fit", str(path), *SMALL, "--seeds", "2", "--out", str(out), "--processes", "2"]
    (out / "seed-0").mkdir(parents=True)
    (out / "seed-0" / "fit.json").write_text("{")
    assert main(arguments) == 1
    said = capfd.readouterr().err
    assert "fit.json" in said and "Traceback" not in said


def test_a_failure_is_raised_while_an_earlier_training_goes_on() -> None:
    trainings = {"fold-1": partial(time.sleep, 600), "fold-2": partial(int, "no number")}
    began = time.monotonic()
    with pytest.raises(ValueError, match="no number"):
        repeats.train_at_once(trainings, 2)
    assert time.monotonic() - began < 500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--folds", "2", "--processes", "0"], "processes is 0; it must be 1 or more"),
        (["--processes", "2"], "--processes is for --folds or --seeds"),
        (
            ["--folds", "2", "--processes", "2", "--devices", "2"],
            "give --processes to train in parallel, or --devices and --machines for each training run",
        ),
    ],
)
def test_processes_that_do_not_fit_are_one_line(
    given: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "trees.tsv", table(30))
    assert main(["fit", str(path), "--out", str(tmp_path / "runs"), *given]) == 1
    assert message in capsys.readouterr().err


def test_as_many_trainings_at_a_time_as_cores_and_memory_have_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "cores", lambda: 4)
    monkeypatch.setattr(repeats, "resident_bytes", lambda: 100)
    for left, trainings, expected in ((None, 5, 4), (10_000, 3, 3), (599, 5, 2), (600, 5, 3), (10, 5, 1)):
        monkeypatch.setattr(repeats, "available_bytes", lambda _, left=left: left)
        assert repeats.processes_for(trainings, 100_000, FitOptions(epochs=10, device="cpu")) == expected
    monkeypatch.setattr(repeats, "available_bytes", lambda _: None)
    short = FitOptions(epochs=10, device="cpu")
    assert [repeats.processes_for(5, nodes, short) for nodes in (29_999, 30_000)] == [1, 4]
    for alone in (FitOptions(device="cuda"), FitOptions(device="cpu", devices=2)):
        assert repeats.processes_for(5, 10**6, alone) == 1
