"""How many threads a training computes by."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from own_trees import QUIET, SMALL, table

from dgltree import Vocabulary
from dgltree.cells import TreeLSTM
from dgltree.commands.main import main
from dgltree.encoders import TreeEncoder
from dgltree.engine.kernels.threads import _passes
from dgltree.support import workers
from dgltree.training import cpu_threads

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.training.stepping.module import TreeTraining

pytestmark = QUIET


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with four cores, whose torch would take them all."""
    monkeypatch.setattr(cpu_threads, "cores", lambda: 4)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("four_cores")
def test_threads_follow_from_the_work() -> None:
    assert cpu_threads.worth(8192, 100) == 1
    assert cpu_threads.worth(8192, 300) == 4
    assert cpu_threads.worth(8192, 300, others=1) == 3
    assert cpu_threads.worth(8192, 300, others=9) == 1
    torch.set_num_threads(2)  # OMP_NUM_THREADS=2
    assert cpu_threads.worth(8192, 300) == 2


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("more", "of_torch", "of_passes"),
    [
        (["--encoder", "tree_lstm"], 1, 4),
        (["--encoder", "tree_lstm", "--threads", "3"], 1, 3),
        (["--encoder", "tree_rnn"], 1, 4),
        (["--encoder", "child_sum", "--threads", "3"], 3, None),  # fit gives it positions, which are not compiled
        (["--encoder", "lstm"], 1, None),
        (["--encoder", "lstm", "--threads", "3"], 3, None),
    ],
)
def test_passes_of_cells_have_all_cores_and_torch_one_thread_unless_told(
    more: list[str], of_torch: int, of_passes: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba", reason="the fast extra is not installed")
    step, seen = TreeTraining.training_step, set()

    def watched(self: TreeTraining, batch: Any, index: int) -> torch.Tensor:
        seen.add((torch.get_num_threads(), _passes.get()))
        return step(self, batch, index)

    monkeypatch.setattr(TreeTraining, "training_step", watched)
    path = tmp_path / "trees.tsv"
    path.write_text(table(60), encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--no-baseline", "--out", str(tmp_path / "model"), *more]
    assert main(arguments) == 0
    assert seen == {(of_torch, of_passes)}
    assert (torch.get_num_threads(), _passes.get()) == (4, None), "as it was before"
    assert main([*arguments, "--threads", "2"]) == 0, "another number of threads is no other training"


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("processes", "loading", "count"), [(1, 0, 4), (1, 1, 3), (2, 0, 2), (2, 1, 2), (4, 1, 1), (9, 1, 1)]
)
def test_cores_are_divided_among_processes_and_what_loads_their_data(processes: int, loading: int, count: int) -> None:
    pytest.importorskip("numba", reason="the fast extra is not installed")
    encoder = TreeEncoder(TreeLSTM(Vocabulary([("f", 1), ("x", 0)], ["x"]), 4))
    with cpu_threads.computing(encoder, None, 1000, processes, loading):
        assert _passes.get() == count
    torch.set_num_threads(1)  # OMP_NUM_THREADS=1
    with cpu_threads.computing(encoder, None, 1000):
        assert _passes.get() == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [("max 100000\n", 4), ("50000 100000\n", 1), ("150000 100000\n", 2), ("900000 100000\n", 4), ("?", 4), (None, 4)],
)
def test_cores_are_those_of_the_affinity_and_the_quota(
    text: str | None, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers.os, "sched_getaffinity", lambda pid: {0, 1, 2, 5}, raising=False)
    monkeypatch.setattr(workers, "QUOTA", tmp_path / "cpu.max")
    if text is not None:
        (tmp_path / "cpu.max").write_text(text)
    assert workers.cores() == count


def test_no_threads_are_refused(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(fitted / "model"), str(fitted / "trees.tsv"), "--threads", "-1"]) == 1
    assert "threads is -1; it must be 1 or more" in capsys.readouterr().err
