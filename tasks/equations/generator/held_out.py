"""Equations that no generated set may hold, by their digests: the textbook lines, published equations, a benchmark.

``python -m tasks.equations held-out --blanks DIR`` writes ``held_out.npy``: of each textbook line with every shipped
filler in the blank, the right ones and the wrong ones, so that not one candidate that a line is ranked on was trained
on, of each published equation, and of all of them with the blank itself, so that no equation is blanked to one.
``--problems FILE`` writes ``held_out_further.npy``, which is kept out beyond the papers' world only: of each textbook
line with every further filler, and of the benchmark's equations with their answers and with the blank.
"""

import argparse
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dgltree import Equation, Tree, read_equation, read_infix
from dgltree.read.text import read_text
from dgltree.support.files import replacing
from tasks.equations.blanks import read_folder
from tasks.equations.canonical import digest
from tasks.equations.fillers import VARIABLES, fillers, further_fillers
from tasks.equations.generator.identities import TEXTBOOK, World, read_lines
from tasks.equations.leaves import variables, with_leaves

FILE, FURTHER = (Path(__file__).with_name(name) for name in ("held_out.npy", "held_out_further.npy"))


@functools.cache
def held_out(world: World = "paper") -> frozenset[int]:
    """The digests in ``held_out.npy``; beyond the papers' world also those in ``held_out_further.npy``."""
    files = [FILE] if world == "paper" else [FILE, FURTHER]
    return frozenset(number for file in files for number in np.load(file, allow_pickle=False).tolist())


def textbook_candidates(candidates: Sequence[Tree]) -> Iterator[Equation]:
    """Every textbook line with every one of the candidates in its blank, and as it is."""
    for line in read_lines(TEXTBOOK):
        present = variables(Tree("=", line))
        renamed = Equation(*(with_leaves(side, dict(zip(present, VARIABLES, strict=False))) for side in line))
        yield renamed
        for filler in candidates:
            yield renamed.fill(filler)


def published(folder: Path) -> Iterator[Equation]:
    """The published equations with their own fillers, and with the blank."""
    for blank in read_folder(folder):
        yield blank.example.equation
        yield blank.example.equation.fill(blank.example.filler)


def problems(file: Path) -> Iterator[Equation]:
    """The equations of a benchmark with their answers, and with the blank.

    The file has tab-separated lines of a kind, an equation and its answer, the first of them the header.
    """
    lines = [line.split("\t") for line in read_text(file).splitlines() if line and not line.startswith("#")]
    for _, equation, answer in lines[1:]:
        blank = read_equation(equation)
        yield blank
        yield blank.fill(read_infix(answer))


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations held-out", description=__doc__)
    parser.add_argument("--blanks", type=Path, help="folder of the blanked equations")
    parser.add_argument("--problems", type=Path, help="file of the benchmark's equations")
    options = parser.parse_args(arguments)
    if options.blanks is not None:
        _write(FILE, [*textbook_candidates(fillers()), *published(options.blanks)])
    if options.problems is not None:
        _write(FURTHER, [*textbook_candidates(further_fillers()), *problems(options.problems)])


def _write(file: Path, equations: list[Equation]) -> None:
    digests = np.unique(np.array([digest(equation) for equation in equations], np.uint64))
    with replacing(file) as beside, beside.open("wb") as opened:
        np.save(opened, digests, allow_pickle=False)
    print(f"{len(digests):,} digests of {len(equations):,} equations -> {file.name}")
