"""An epoch of training as its command runs it: loader, plans, model, optimizer and validation."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.row import Row, Skipped

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "tasks" / "equations" / "verification" / "configs" / "tree_smu.yaml"
EPOCHS = 2  # the second is measured, the first warms up


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite: the faster of two epochs each way, in turn, whatever the repeats."""
    name = "epoch of paper-train, Tree-SMU, batch 32"
    if importlib.util.find_spec("lightning") is None:
        yield Skipped(name, "the train extra is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        run("generate", "--preset", "paper-train", "--out", folder, "--seed", "0")
        arguments = fit(Path(folder), Path(folder), EPOCHS, "gpu" if device == "cuda" else "cpu")
        rounds = [{mode: _epoch(Path(folder), mode, arguments) for mode in ("on", "off")} for _ in range(2)]
        seconds = {mode: min(found[mode] for found in rounds) for mode in ("on", "off")}
    yield Row(name, seconds["on"], "s, everything included", 10, 20, falling=True, ours_s=seconds["on"])
    if device == "cpu":
        ratio, peers = seconds["off"] / seconds["on"], {"the torch path": seconds["off"]}
        yield Row(name, ratio, "times the torch path", 2.5, 1.5, ours_s=seconds["on"], peers=peers)


def fit(data: Path, out: Path, epochs: int, kind: str = "cpu") -> tuple[str, ...]:
    """Arguments of ``verification``: of the set in the folder ``data``, on a kind of device."""
    where = ("--trainer.default_root_dir", str(out), "--data.train", str(data / "train.parquet"))
    how = ("--data.batch_size", "32", "--trainer.max_epochs", str(epochs))
    return ("fit", "--config", str(CONFIG), *where, *how, "--trainer.accelerator", kind)


def _epoch(folder: Path, mode: str, arguments: tuple[str, ...]) -> float:
    """Seconds of the last epoch, with kernels "on" or "off"."""
    run("verification", *arguments, DGLTREE_KERNELS=mode)
    last = (folder / "epochs.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    found: float = json.loads(last)["seconds"]
    return found


def run(*arguments: str, **environment: str) -> None:
    """A command of ``python -m tasks.equations``, in a process of its own with as many threads as this one has."""
    threads = {"OMP_NUM_THREADS": str(torch.get_num_threads()), **environment}
    command = [sys.executable, "-m", "tasks.equations", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | threads, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
