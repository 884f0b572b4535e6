"""A run that is interrupted while it saves, or finds the disk full, leaves what it had and continues from there."""

import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

import command_line
import interrupted
from interrupted import fitted, generated

from dgltree.support.files import lock_folder
from dgltree.training.stepping.callbacks import WholeCheckpoints
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TRAIN


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with command_line.quiet():
        yield


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    write_sets("tiny", {"train": PAPER_TRAIN.scaled(150)}, folder, seed=5)
    return folder


@pytest.fixture(scope="module")
def being_hit(sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.Popen]]:
    """The folder of runs that are hit while they save, and their process, which takes seconds to begin."""
    folder = tmp_path_factory.mktemp("hit")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, interrupted.__file__, str(sets), str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as run:
        yield folder, run


@pytest.fixture(scope="module")
def whole(sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(sets, out)
    return out


@pytest.fixture(scope="module")
def hit(being_hit: tuple[Path, subprocess.Popen], whole: Path) -> Path:
    """The folder of runs that were hit while they saved, and meanwhile the uninterrupted one was made."""
    folder, run = being_hit
    output, errors = run.communicate(timeout=900)
    assert output.count("half written") == 5, errors
    return folder


def last(out: Path, name: str = "last") -> dict:
    return torch.load(out / "checkpoints" / f"{name}.ckpt", weights_only=True)


def assert_same_end(whole: Path, out: Path) -> None:
    a, b = last(whole), last(out)
    assert a["global_step"] == b["global_step"]
    assert all(torch.equal(a["state_dict"][name], b["state_dict"][name]) for name in a["state_dict"])


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["SIGTERM", "SIGINT", "SIGKILL"])
def test_a_training_hit_while_it_saves_continues_to_the_same_weights(
    signal: str, hit: Path, sets: Path, whole: Path
) -> None:
    out = hit / f"fit-{signal}"
    saved = 1 if signal == "SIGTERM" else 0  # Lightning ends what it does when a SIGTERM comes, then stops
    assert last(out)["epoch"] == saved
    assert last(out, "best")["epoch"] in (0, 1)
    fitted(sets, out, "--ckpt_path=last")
    assert_same_end(whole, out)


@pytest.mark.slow
def test_a_full_disk_leaves_the_last_checkpoints(
    sets: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = WholeCheckpoints.save_checkpoint
    kept: dict[str, bytes] = {}

    def with_little_room(self, checkpoint, path, storage_options=None):
        """From the second epoch on, a file may have half the size that a checkpoint has."""
        if checkpoint["epoch"] == 0:
            return save(self, checkpoint, path)
        kept.update({file.name: file.read_bytes() for file in Path(path).parent.iterdir()})
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(kept["last.ckpt"]) // 2, hard))
        try:
            save(self, checkpoint, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    with monkeypatch.context() as patch:
        patch.setattr(WholeCheckpoints, "save_checkpoint", with_little_room)
        with pytest.raises(SystemExit, match=r"^error: .*/checkpoints/\w+\.ckpt cannot be written: File too large$"):
            fitted(sets, tmp_path)
    assert {file.name: file.read_bytes() for file in (tmp_path / "checkpoints").iterdir()} == kept
    assert {"best.ckpt", "last.ckpt"} == set(kept)
    fitted(sets, tmp_path, "--ckpt_path=last")
    assert_same_end(whole, tmp_path)


def test_a_checkpoint_takes_no_storage_options(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="takes no storage_options"):
        WholeCheckpoints().save_checkpoint({}, tmp_path / "a.ckpt", storage_options={"a": 1})


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["SIGTERM", "SIGKILL"])
def test_a_generation_hit_while_it_writes_continues_to_the_same_set(signal: str, hit: Path, tmp_path: Path) -> None:
    out = hit / f"generate-{signal}"
    assert not (out / "train.parquet").exists()
    generated(out)
    generated(tmp_path)
    for name in ("train.parquet", "train.json"):
        assert (out / name).read_bytes() == (tmp_path / name).read_bytes()


def test_workers_end_with_a_generation_that_is_killed() -> None:
    code = (
        "import os, signal; from tasks.equations.generator.generate import pool_map\n"
        "with pool_map(2) as pool: print(*pool(abs, range(4)), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=900, check=False)
    assert done.stdout == b"0 1 2 3\n", "and it ends: the workers hold its output open while they live"


def test_a_training_owns_its_folder_while_it_runs(sets: Path, tmp_path: Path) -> None:
    with lock_folder(tmp_path), pytest.raises(SystemExit, match=f"another run writes to {tmp_path}"):
        fitted(sets, tmp_path)
