"""A whole ``dgltree fit`` of a small file, as its command runs it: with the threads that it chooses, and with one."""

import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row, Skipped, in_turn

TREES, EPOCHS = 1500, 2


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The row of the suite."""
    name = f"dgltree fit of {TREES:,} S-expressions, {EPOCHS} epochs, default threads"
    if importlib.util.find_spec("lightning") is None:
        yield Skipped(name, "the train extra is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = written(Path(folder))
        steps = {"ours": (), "one thread": ("--threads", "1"), "two threads": ("--threads", "2")}
        times = in_turn({key: lambda more=more: _fit(file, more) for key, more in steps.items()}, repeats)
    ours, one = times["ours"].median, times["one thread"].median
    others = {key: found.median for key, found in times.items() if key != "ours"}
    spread = {key: (found.low, found.high) for key, found in times.items()}
    yield Row(name, ours / one, "times one thread", 1, 1.1, falling=True, ours_s=ours, peers=others, spread=spread)


def written(folder: Path) -> Path:
    """A file of labelled trees in a folder."""
    rng, file = random.Random(0), folder / "trees.tsv"
    rows = [f"{expression(rng, 5)}\t{rng.choice('ab')}\n" for _ in range(TREES)]
    file.write_text("tree\tlabel\n" + "".join(rows), encoding="utf-8")
    return file


def expression(rng: random.Random, depth: int) -> str:
    """An S-expression of up to so many levels above its leaves."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice("xyz")
    return f"({rng.choice(('add', 'mul', 'sub'))} {expression(rng, depth - 1)} {expression(rng, depth - 1)})"


def _fit(file: Path, more: tuple[str, ...]) -> None:
    """In a process of its own, in which nobody said how many threads there are."""
    out = file.with_name(f"run-{time.perf_counter_ns()}")
    command = [sys.executable, "-m", "dgltree", "fit", str(file), "--out", str(out), "--epochs", str(EPOCHS), *more]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
