"""Ray on this machine, a process of which is killed at a drawn moment: every row is there once when it is run again.

In turn the process of the model, the raylet (the process of Ray that starts the others) and the command itself get
SIGKILL. ``scripts/fuzz --only ray``, on Linux.
"""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow
import pyarrow.compute
from fuzzing import SlowTarget
from own_trees import SMALL, table
from pyarrow.parquet import read_table, write_table

from benchmarks.processes import below

VICTIMS = {"model": b"ray::MapWorker", "raylet": b"/raylet/raylet\0", "command": b""}
LONGEST = 600  # seconds of a run
MOST = 5  # runs until one succeeds
ROWS = 2000


class Cluster:
    """A model and trees, and their vectors by a run without a kill."""

    def __init__(self) -> None:
        self._kept = TemporaryDirectory()
        self.folder = Path(self._kept.name)
        text, self.model, self.trees = self.folder / "trees.tsv", self.folder / "model", self.folder / "trees.parquet"
        text.write_text(table(ROWS), encoding="utf-8")
        header, *rows = (line.split("\t") for line in text.read_text(encoding="utf-8").splitlines())
        columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        write_table(pyarrow.table(columns), self.trees, row_group_size=ROWS // 8)
        fit = [sys.executable, "-m", "dgltree", "fit", str(text), "--out", str(self.model), *SMALL]
        subprocess.run(fit, check=True, capture_output=True)
        since, out = time.monotonic(), self.folder / "unhurt"
        assert self.begin(out).wait(LONGEST) == 0, out.with_suffix(".log").read_text()
        self.seconds, self.wanted = time.monotonic() - since, rows_of(out)

    def begin(self, out: Path) -> "subprocess.Popen[bytes]":
        """A run, which writes what it says beside its output."""
        command = [sys.executable, "-m", "dgltree", "encode", str(self.model), str(self.trees), "--out", str(out)]
        with out.with_suffix(".log").open("ab") as log:
            return subprocess.Popen([*command, "--ray"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def rows_of(out: Path) -> pyarrow.Table:
    """All rows of the output, in the order of the names of its files."""
    return pyarrow.concat_tables([read_table(path) for path in sorted(out.glob("*.parquet"))])


def same(found: pyarrow.Table, wanted: pyarrow.Table) -> bool:
    """Whether the rows are the same, with the same vectors up to rounding."""
    if found["line"].to_pylist() != wanted["line"].to_pylist() or found["id"].to_pylist() != wanted["id"].to_pylist():
        return False
    vectors = [pyarrow.compute.list_flatten(table["vector"]).to_numpy() for table in (found, wanted)]
    return bool(np.allclose(*vectors, atol=1e-6))


@lru_cache(maxsize=1)
def cluster() -> Cluster:
    """The one of this process."""
    return Cluster()


def killed(example: tuple[str, float]) -> bool:
    """Whether a victim was there to be killed; a row that is missing or there twice is a defect."""
    victim, share = example
    out = cluster().folder / uuid.uuid4().hex
    run = cluster().begin(out)
    time.sleep(share * cluster().seconds)
    was_there = kill(run, victim)
    codes = [run.wait(LONGEST)]
    while codes[-1] and len(codes) < MOST:
        codes.append(cluster().begin(out).wait(LONGEST))
    assert not codes[-1], f"{example}: exit codes {codes}"
    assert same(rows_of(out), cluster().wanted) and not list(out.glob(".*.part")), example
    return was_there


def kill(run: "subprocess.Popen[bytes]", victim: str) -> bool:
    """Kill the victim as soon as it is there; whether it was."""
    while run.poll() is None:
        for number, line in below(run.pid):
            if number == run.pid if victim == "command" else VICTIMS[victim] in line:
                os.kill(number, signal.SIGKILL)
                return True
        time.sleep(0.1)
    return False


def _drawn(draw: random.Random) -> tuple[str, float]:
    return draw.choice(list(VICTIMS)), draw.random()


def ray_targets() -> dict[str, SlowTarget]:
    """By name; none without Ray."""
    return {} if find_spec("ray") is None else {"ray": SlowTarget(_drawn, killed)}
