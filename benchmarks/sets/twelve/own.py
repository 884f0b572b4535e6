"""``dgltree fit`` with its defaults, in a process of its own, whose time and memory are measured; and its baseline."""

import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

import dgltree
from benchmarks.sets.peer_answers import Answered, labels_of
from benchmarks.sets.twelve.names import SETS
from benchmarks.sets.twelve.rows import TreeParts
from dgltree.training.folder import CARD


def fit(name: str, seed: int, file: Path, out: Path) -> dict[str, float]:
    """Train, or go on; its seconds of CPU time, and megabytes. Raises ``RuntimeError`` if the command fails."""
    command = ["fit", str(file), "--group-by", "group", "--seed", str(seed), "--no-cache", "--out", str(out)]
    with (out.parent / "log.txt").open("a", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dgltree", *command, *SETS[name].options], stdout=log, stderr=log
        )
        status, used, peak = _ended(process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"dgltree {' '.join(command)} ended with {process.returncode}; {log.name} says why")
    return {"seconds": round(used.ru_utime + used.ru_stime, 1), "megabytes": peak // 1024}


def _ended(process: int) -> tuple[int, Any, int]:
    """Exit status and usage of a process once it has ended, and the most kilobytes that it had.

    Linux counts what this process had in the largest that its child had (``ru_maxrss``), hence the other way.
    """
    peak = 0
    while True:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        peak = max(peak, *map(int, re.findall(r"VmHWM:\s+(\d+) kB", status)), 0)
        ended, code, used = os.wait4(process, os.WNOHANG)
        if ended:
            return code, used, peak
        time.sleep(0.1)


def answers(out: Path, parts: TreeParts, classes: list[str]) -> dict[str, tuple[Answered, int]]:
    """Those of the trained model and of the baseline within it, each with the number of refused rows."""
    model, card = dgltree.TrainedModel.load(out), json.loads((out / CARD).read_text(encoding="utf-8"))
    data = model.dataset([row.tree for row in parts.test])
    refused = {bad.line - 1 for bad in data.bad}
    assert model.average is not None
    found = {"fit": model.answers_to(data), "baseline": model.average.baseline.answers(data)}
    weights = {"fit": card["weights"], "baseline": len(model.average.baseline.columns.codes)}
    metric = "accuracy" if classes else "r2"
    validation = {"fit": card["metrics"], "baseline": card["baseline"]}
    what = {"fit": model.summary, "baseline": model.average.baseline.what}
    mean = 0.0 if classes else labels_of(parts.train).mean()
    return {
        who: (
            Answered(
                what[who],
                validation[who]["validation"][metric],
                _of_all(_numbers(given, model.classes, classes), refused, len(parts.test), mean),
                weights[who],
            ),
            len(refused),
        )
        for who, given in found.items()
    }


def _numbers(given: torch.Tensor, own: tuple[str, ...], classes: list[str]) -> list[float]:
    if not classes:
        return [float(number) for number in given]
    return [float(classes.index(own[place])) for place in given.argmax(1).tolist()]


def _of_all(given: list[float], refused: set[int], count: int, mean: float) -> list[Any]:
    """Answers to all rows: a refused one has the mean of numbers, and a class that is none."""
    left = iter(given)
    return [(mean or -math.inf) if place in refused else next(left) for place in range(count)]
