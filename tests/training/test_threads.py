"""How many threads a training computes by."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from own_trees import QUIET, SMALL, table

from dgltree.commands.main import main
from dgltree.training import threads

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.training.stepping.module import TreeTraining

pytestmark = QUIET


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with four cores, whose torch would take them all."""
    monkeypatch.setattr(threads, "cores", lambda: 4)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("four_cores")
def test_threads_follow_from_the_work() -> None:
    assert threads.worth(8192, 100) == 1
    assert threads.worth(8192, 300) == 4
    assert threads.worth(8192, 300, others=1) == 3
    assert threads.worth(8192, 300, others=9) == 1
    torch.set_num_threads(2)  # OMP_NUM_THREADS=2
    assert threads.worth(8192, 300) == 2


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(("more", "count"), [([], 1), (["--threads", "3"], 3)])
def test_a_small_training_has_one_thread_unless_told_otherwise(
    more: list[str], count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, seen = TreeTraining.training_step, set()

    def watched(self: TreeTraining, batch: Any, index: int) -> torch.Tensor:
        seen.add(torch.get_num_threads())
        return step(self, batch, index)

    monkeypatch.setattr(TreeTraining, "training_step", watched)
    path = tmp_path / "trees.tsv"
    path.write_text(table(60), encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--out", str(tmp_path / "model")]
    assert main([*arguments, *more]) == 0
    assert seen == {count}
    assert torch.get_num_threads() == 4  # as it was before
    assert main([*arguments, "--threads", "2"]) == 0, "another number of threads is no other training"


def test_no_threads_are_refused(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(fitted / "model"), str(fitted / "trees.tsv"), "--threads", "-1"]) == 1
    assert "threads is -1; it must be 1 or more" in capsys.readouterr().err
