"""Equations that no generated set may hold, by their digests: the textbook lines and the published equations.

``python -m tasks.equations held-out --blanks DIR`` writes ``held_out.npy``: of each textbook line with every shipped
filler in the blank, the right ones and the wrong ones, so that not one candidate that a line is ranked on was trained
on, of each published equation, and of all of them with the blank itself, so that no equation is blanked to one.
"""

import argparse
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dgltree import Equation, Tree
from dgltree.files import replacing
from tasks.equations.blanks import read_folder
from tasks.equations.canonical import digest
from tasks.equations.fillers import VARIABLES, fillers
from tasks.equations.generator.identities import TEXTBOOK, read_lines
from tasks.equations.leaves import variables, with_leaves

FILE = Path(__file__).with_name("held_out.npy")


@functools.cache
def held_out() -> frozenset[int]:
    """The digests in ``held_out.npy``."""
    return frozenset(np.load(FILE, allow_pickle=False).tolist())


def textbook_candidates() -> Iterator[Equation]:
    """Every textbook line with every shipped filler in its blank."""
    for line in read_lines(TEXTBOOK):
        present = variables(Tree("=", line))
        renamed = Equation(*(with_leaves(side, dict(zip(present, VARIABLES, strict=False))) for side in line))
        yield renamed
        for filler in fillers():
            yield renamed.fill(filler)


def published(folder: Path) -> Iterator[Equation]:
    """The published equations with their own fillers, and with the blank."""
    for blank in read_folder(folder):
        yield blank.example.equation
        yield blank.example.equation.fill(blank.example.filler)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations held-out", description=__doc__)
    parser.add_argument("--blanks", type=Path, required=True, help="folder of the blanked equations")
    options = parser.parse_args(arguments)
    equations = [*textbook_candidates(), *published(options.blanks)]
    digests = np.unique(np.array([digest(equation) for equation in equations], np.uint64))
    with replacing(FILE) as beside, beside.open("wb") as file:
        np.save(file, digests, allow_pickle=False)
    print(f"{len(digests):,} digests of {len(equations):,} equations -> {FILE.name}")
