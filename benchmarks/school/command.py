"""Measure how well solvers complete the benchmark's equations.

``python -m tasks.equations benchmark --part reported --sympy`` prints the share of equations in % and the seconds per
equation. ``right``: the first candidate has the value of the textbook's answer. ``in five``: one of the first five
candidates has this value. ``short``: the first candidate is right and at most two symbols longer than the textbook's
answer. ``textbook``: it has the textbook's form.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from tqdm import tqdm

from benchmarks.school.peer import SIMPLIFIED, TIDIED, Peer
from benchmarks.school.problems import PARTS, Problem, read_problems
from benchmarks.school.scoring import SHOWN, Record, Solver, best_score, table
from dgltree import Equation, Ranker, Tree, open_model, shipped_fillers
from dgltree.equations.completion.completer import Completer
from dgltree.ranking.completion import completer
from dgltree.support.files import replacing

Attempts = AbstractContextManager[Sequence[Solver]]
"""Opens a solver and closes what it holds. Mostly one attempt; of several the best counts (``best_score``)."""


@contextmanager
def rank_list() -> Iterator[Sequence[Solver]]:
    """The shipped model over the shipped list of fillers; nothing for an equation that the model cannot read."""
    ranker = Ranker(open_model(), shipped_fillers())

    def solve(equation: Equation) -> Sequence[Tree]:
        try:
            return ranker.rank([equation], top=SHOWN, any_variables=False)[0].fillers
        except ValueError:
            return ()

    yield [solve]


@contextmanager
def run_search(invert: bool = True) -> Iterator[Sequence[Solver]]:
    """The search of ``dgltree complete``, or the same without walking the path back."""
    asked = Completer(completer().guesser, invert=invert)

    def solve(equation: Equation) -> Sequence[Tree]:
        return [filler.trees[0] for filler in asked.complete(equation, top=SHOWN).fillers]

    yield [solve]


@contextmanager
def sympy_peer(changes: Sequence[str] = SIMPLIFIED) -> Iterator[Sequence[Solver]]:
    """SymPy with plain symbols, then with positive ones."""
    with Peer() as peer:
        yield [peer.solver(positive, changes) for positive in (False, True)]


SOLVERS: dict[str, Callable[[], Attempts]] = {
    "search": run_search,
    "search-by-trial": partial(run_search, invert=False),
    "list": rank_list,
    "sympy": sympy_peer,
    "sympy-tidied": partial(sympy_peer, TIDIED),
}


INTERRUPTED = 130


def run(problems: Sequence[Problem], name: str) -> Iterator[Record]:
    """Put the equations to a solver, one after another."""
    with SOLVERS[name]() as attempts:
        for problem in tqdm(problems, desc=name, unit="equation", disable=None):
            yield Record(name, problem, best_score(problem, attempts))


def main(arguments: list[str] | None = None) -> int:
    """The command line; an interrupted run reports what it has."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations benchmark", description=__doc__)
    parser.add_argument(
        "--part", choices=PARTS, default="reported", help="use this part of the equations (default: %(default)s)"
    )
    parser.add_argument(
        "--solvers", nargs="+", choices=SOLVERS, default=["search"], help="solvers to compare (default: search)"
    )
    parser.add_argument("--sympy", action="store_true", help="also run SymPy, for comparison")
    parser.add_argument("--out", metavar="FILE", help="write each answer to this file as a line of JSON")
    options = parser.parse_args(arguments)
    problems = read_problems(options.part)
    records: list[Record] = []
    status = 0
    try:
        for name in dict.fromkeys([*options.solvers, *["sympy"] * options.sympy]):
            for record in run(problems, name):
                records.append(record)  # one by one: what there is stays when the run is interrupted
    except KeyboardInterrupt:
        status = INTERRUPTED
        print(f"interrupted after {len(records)} answers", file=sys.stderr)
    if options.out:
        write(records, options.out)
    if records:
        print(f"part {options.part}: {len(problems)} equations")
        print("\n".join(table(records)))
    return status


def write(records: Sequence[Record], path: str) -> None:
    """One line of JSON an answer."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record.line(), ensure_ascii=False) + "\n" for record in records)
