"""CPU seconds of what a new user does first, each in a process of its own, next to ``import torch``.

With ``--earlier CHECKOUT`` the same commands are also run there, in turn.
"""

import importlib.util
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import fit
from benchmarks.earlier import EARLIER, ROOT, spent
from benchmarks.row import Row, Skipped

REFERENCE = "import torch"
WRONG = "an option of dgltree fit that is not there"
"""The command that fails."""
MOST = 3
"""Repeats at most: with an earlier checkout one takes a minute."""
EPOCHS = ["--threads", "1", "--epochs", "10", "--patience", "10"]
Command = Callable[[Path], list[str]]
"""The arguments of Python, from a folder with ``trees.tsv`` in which the commands before it wrote, too."""


def python(text: str) -> Command:
    """A program of one line."""
    return lambda folder: ["-c", text]


def dgltree(name: str, *arguments: str) -> Command:
    """A command of ours on the trees; FOLDER in an argument stands for the folder."""

    def command(folder: Path) -> list[str]:
        return ["-m", "dgltree", name, *(each.replace("FOLDER", str(folder)) for each in arguments)]

    return command


COMMANDS = {
    REFERENCE: python("import torch"),
    "dgltree.fit, the attribute": python("import dgltree; dgltree.fit"),
    "dgltree.TreeClassifier, the attribute": python("import dgltree; dgltree.TreeClassifier"),
    "dgltree --help": dgltree("--help"),
    WRONG: dgltree("fit", "FOLDER/trees.tsv", "--nonsense"),
    "dgltree fit of 1,500 trees, 10 epochs, no baseline": dgltree(
        "fit", "FOLDER/trees.tsv", *EPOCHS, "--no-baseline", "--out", "FOLDER/alone"
    ),
    "dgltree fit of 1,500 trees, 10 epochs": dgltree("fit", "FOLDER/trees.tsv", *EPOCHS, "--out", "FOLDER/averaged"),
    "dgltree predict of 1,500 trees, a network alone": dgltree("predict", "FOLDER/alone", "FOLDER/trees.tsv"),
    "dgltree predict of 1,500 trees, with a baseline": dgltree("predict", "FOLDER/averaged", "FOLDER/trees.tsv"),
}
"""In the order in which they run."""


def rows(checkout: Path | None, device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    if device != "cpu" or any(importlib.util.find_spec(name) is None for name in ("lightning", "sklearn")):
        yield Skipped("the first hour", "it is for a CPU and the extra train")
        return
    places = {"ours": ROOT} if checkout is None else {"ours": ROOT, EARLIER: checkout}
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(min(repeats, MOST)):
        for place, checked_out in places.items():
            with tempfile.TemporaryDirectory() as folder:
                fit.written(Path(folder))
                for name, command in COMMANDS.items():
                    seconds = spent([sys.executable, *command(Path(folder))], checked_out, 2 if name == WRONG else 0)
                    times.setdefault((place, name), []).append(seconds)
    medians = {key: statistics.median(of) for key, of in times.items()}
    reference = medians["ours", REFERENCE]
    for name in COMMANDS:
        if name == REFERENCE:
            continue
        ours = medians["ours", name]
        peers = {place: medians[place, name] for place in places if place != "ours"}
        yield Row(name, ours / reference, f"times {REFERENCE}", ours_s=ours, peers={REFERENCE: reference, **peers})
