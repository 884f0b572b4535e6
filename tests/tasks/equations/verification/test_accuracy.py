"""Accuracy of verification by depth."""

from pathlib import Path

import pytest
import torch

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree import open_model
from dgltree.ranking.ranker import probabilities
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TRAIN
from tasks.equations.store import read
from tasks.equations.verification import accuracy
from tasks.equations.verification.accuracy import by_depth
from tasks.equations.verification.counts import Counts, count_answers, count_by_group, together


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("set")
    write_sets("tiny", {"train": PAPER_TRAIN.scaled(120)}, folder, seed=5)
    return folder / "train.parquet"


def test_counts_give_accuracy_precision_and_recall() -> None:
    labels = torch.tensor([True, True, True, False, False])
    called = torch.tensor([True, True, False, True, False])
    counts = count_answers(called, labels)
    assert (counts.accuracy, counts.precision, counts.recall) == (3 / 5, 2 / 3, 2 / 3)
    twice = together([counts, counts])
    assert (twice.right, twice.size, twice.accuracy) == (6, 10, counts.accuracy)
    assert together([]).accuracy == 0
    groups = torch.tensor([1, 1, 2, 1, 2])
    by_group = count_by_group(called, labels, groups)
    assert (by_group[1].precision, by_group[2].recall) == (2 / 3, 0)
    assert together(by_group.values()) == counts
    nothing = count_answers(called[4:].expand(2), labels[3:])
    assert (nothing.precision, nothing.recall) == (0, 0)


def test_depths_are_scored_as_verify_scores_their_equations(data: Path) -> None:
    model, rows = open_model(), read(data)
    found = by_depth(model, rows)
    assert {depth: counts.size for depth, counts in found.items()}[5] == sum(r.depth == 5 for r in rows)
    called = probabilities(model, [row.equation for row in rows]).tolist()
    right = sum((p > 0.5) == bool(row.label) for p, row in zip(called, rows, strict=True))
    assert together(found.values()).right == right > 80


def test_the_command_prints_a_line_a_depth(data: Path, capsys) -> None:
    accuracy.main(["--data", str(data), "--split", "train"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["depth", "equations", "accuracy", "precision", "recall"]
    assert lines[-2].split()[:2] == ["all", str(sum(row.split == "train" for row in read(data)))]
    with pytest.raises(SystemExit, match="has no equations of split 'test'"):
        accuracy.main(["--data", str(data), "--split", "test"])


def test_the_lines_of_all_depths_and_of_the_deep_ones_are_those_of_their_counts(monkeypatch, capsys) -> None:
    """Four counts that all differ, so that no metric is another one's, and depths next to the limit."""
    counts = {depth: Counts(3 + depth, depth, 2 * depth, 1) for depth in (1, 7, 8, 9)}
    monkeypatch.setattr(accuracy, "by_depth", lambda *_: counts)
    monkeypatch.setattr(accuracy, "open_model", lambda _: None)
    monkeypatch.setattr(accuracy, "_chosen", lambda _: [])

    def line(name: str, depths: list[int]) -> str:
        tp, fp, tn, fn = (sum(counts[depth][k] for depth in depths) for k in range(4))
        shares = (tp + tn) / (tp + fp + tn + fn), tp / (tp + fp), tp / (tp + fn)
        return f"{name:>9} {tp + fp + tn + fn:9,} " + " ".join(f"{share:9.4f}" for share in shares)

    accuracy.main(["--data", "x.parquet"])
    told = capsys.readouterr().out.splitlines()[1:]
    assert told == [*(line(str(d), [d]) for d in counts), line("all", [*counts]), line("8 and up", [8, 9])]
    accuracy.main(["--data", "x.parquet", "--depths", "1", "9"])
    assert capsys.readouterr().out.splitlines()[-1] == line("1 to 9", [*counts])
    del counts[8], counts[9]
    accuracy.main(["--data", "x.parquet"])
    assert capsys.readouterr().out.splitlines()[-1] == line("all", [1, 7])
