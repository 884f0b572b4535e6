"""Training by two processes is training by one."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

import losses
import torch

from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TRAIN
from tasks.equations.verification.data import LabelledEquations
from tasks.shards import shards

CONFIG = Path(__file__).parents[4] / "tasks" / "equations" / "verification" / "configs" / "tree_lstm.yaml"
STEPS = 50


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    write_sets("tiny", {"train": PAPER_TRAIN.scaled(150)}, folder, seed=5)
    return folder


def start(folder: Path, sets: Path, devices: int) -> subprocess.Popen:
    """A training whose steps have 15 equations: 8 for the first of two processes, 7 for the second."""
    folder.mkdir()
    options = {
        "config": CONFIG,
        "data.train": sets / "train.parquet",
        "data.batch_size": 15,
        "model.hidden_size": 8,
        "trainer.accelerator": "cpu",
        "trainer.default_root_dir": folder,
        "trainer.devices": devices,
        "trainer.enable_progress_bar": "false",
        "trainer.max_steps": STEPS,
        "trainer.strategy": "ddp" if devices > 1 else "auto",
    }
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[4]),
        "OMP_NUM_THREADS": "1",
        "LOSSES": str(folder),
    }
    command = [sys.executable, losses.__file__, "fit", *(f"--{k}={v}" for k, v in options.items())]
    with (folder / "output").open("w") as output:
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output)


def recorded(folder: Path, rank: int = 0) -> list[float]:
    return [float(line) for line in (folder / f"losses-{rank}").read_text().splitlines()]


def test_two_processes_have_the_losses_of_one(sets: Path, tmp_path: Path) -> None:
    folders = {devices: tmp_path / str(devices) for devices in (1, 2)}
    runs = [start(folder, sets, devices) for devices, folder in folders.items()]
    for run, folder in zip(runs, folders.values(), strict=True):
        assert run.wait(timeout=200) == 0, (folder / "output").read_text()
    one, (first, second) = recorded(folders[1]), (recorded(folders[2], rank) for rank in (0, 1))
    assert len(one) == STEPS
    together = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    assert together == pytest.approx(one, abs=1e-5)
    assert first != pytest.approx(second, abs=1e-5), "each has equations of its own"
    tested = [(folder / "output").read_text().partition("test: ")[2] for folder in folders.values()]
    assert tested[0] == tested[1] != "", "printed once, and of the same figures"


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_shares_of_a_batch_are_the_batch(ranks: int) -> None:
    order = torch.randperm(23).tolist()
    shares = [shards(order, 10, rank, ranks) for rank in range(ranks)]
    for step, whole in enumerate((order[:10], order[10:20], order[20:])):
        assert sorted(row for share in shares for row in share[step]) == sorted(whole)
        assert max(len(share[step]) for share in shares) - min(len(share[step]) for share in shares) <= 1


def test_a_batch_for_more_processes_than_equations_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a batch of 1 cannot be shared by 2 processes: 21 examples in batches of 10"):
        shards(range(21), 10, rank=0, ranks=2)


def test_the_order_is_the_same_in_every_process_and_differs_by_epoch_and_seed(sets: Path) -> None:
    def batches(seed: int, epoch: int, rank: int, ranks: int = 2) -> list[list[int]]:
        data = LabelledEquations(sets / "train.parquet", batch_size=10, seed=seed)
        data.trainer = SimpleNamespace(current_epoch=epoch, global_rank=rank, world_size=ranks)
        return list(data.train_dataloader().batch_sampler)

    whole = batches(0, 0, 0, ranks=1)
    assert [sorted(a + b) for a, b in zip(batches(0, 0, 0), batches(0, 0, 1), strict=True)] == list(map(sorted, whole))
    assert batches(0, 0, 0) == batches(0, 0, 0)
    assert len({str(batches(seed, epoch, 0)) for seed, epoch in ((0, 0), (0, 1), (1, 0))}) == 3
