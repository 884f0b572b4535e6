"""What a training leaves out is counted: records that cannot be read, have no label, or are unknown to the model."""

from pathlib import Path

import pytest
from own_trees import QUIET, written

from dgltree import TreeDataset

pytest.importorskip("lightning", reason="the train extra is not installed")
from dgltree.training.deciding import decide
from dgltree.training.options import FitOptions

pytestmark = QUIET


def table(count: int, unlabelled: int, unreadable: int, unknown: int) -> str:
    """Labelled trees, then those that are left out for each of the reasons; no two trees are equal."""
    known = ["x" + " + y" * (k + 1) for k in range(count + unlabelled)]
    lines = [f"{tree}\t{'ab'[k % 2] if k < count else ''}" for k, tree in enumerate(known)]
    lines += [f"x + {'(' * (k + 1)}\ta" for k in range(unreadable)]
    lines += [f"sin(x{' + y' * k})\tb" for k in range(unknown)]
    return "tree\tlabel\n" + "".join(f"{line}\n" for line in lines)


def test_every_record_is_in_a_split_or_counted_as_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = {"train": (40, 3, 2, 0), "validation": (12, 1, 0, 4), "test": (9, 0, 5, 2)}
    files = {
        name: TreeDataset.from_file(written(tmp_path, f"{name}.tsv", table(*counts)), cached=False, notation="infix")
        for name, counts in left.items()
    }
    decision = decide(files, FitOptions(hidden_size=4, unk=False))
    assert {name: len(data) for name, data in decision.splits.items()} == {
        name: counts[0] for name, counts in left.items()
    }
    assert decision.left_out == {name: sum(counts[1:]) for name, counts in left.items()}
    assert decision.refused == {name: counts[3] for name, counts in left.items()}
    said = capsys.readouterr().err
    for name, (_, *counts) in left.items():
        told = [
            int(line.split()[1]) for line in said.splitlines() if f"{name}: " in line and "could not be read" in line
        ]
        assert sum(told) == sum(counts), name
