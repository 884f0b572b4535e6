"""One scoring for several solvers: the rank of a textbook's answer in a list of fillers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean, median
from time import perf_counter
from typing import Any

from benchmarks.school.problems import Problem, part_of
from benchmarks.school.values import same_value
from dgltree import Equation, Tree, write_infix
from dgltree.equations.expressions.written_form import form, symbols

Solver = Callable[[Equation], Sequence[Tree]]
"""From an equation with one blank to fillers, best first; empty if it has none or cannot read the equation."""

SHOWN = 5
"""Fillers of an equation that are looked at."""
LONGER = 2
"""Symbols that a form may have beyond the textbook's."""
SCORES = ("right", "right_5", "short", "textbook")


@dataclass(frozen=True)
class Score:
    """A solver's answer to one equation."""

    right: bool
    """The first filler has the value of the textbook's answer."""
    right_5: bool
    """One of the first five has."""
    short: bool
    """The first has, and is written with at most two symbols more than the textbook's."""
    textbook: bool
    """The first is the textbook's own form; the order of summands and factors counts."""
    seconds: float
    fillers: tuple[str, ...]

    @property
    def key(self) -> tuple[bool, ...]:
        """Compares scores of one equation: a right first filler counts more than a short one, and so on."""
        return self.right, self.right_5, self.short, self.textbook


@dataclass(frozen=True)
class Record:
    """A score with its equation and solver."""

    solver: str
    problem: Problem
    score: Score

    def line(self) -> dict[str, Any]:
        """The record as one line of JSON."""
        kind, text, _, answer = self.problem
        head = {"solver": self.solver, "kind": kind, "part": part_of(text), "equation": text}
        return {**head, "answer": write_infix(answer), **asdict(self.score)}


def score(problem: Problem, fillers: Sequence[Tree], seconds: float) -> Score:
    """The score of a ranked list of fillers."""
    fillers = fillers[:SHOWN]
    rights = [same_value(filler, problem.answer, problem.equation) for filler in fillers]
    right = rights[:1] == [True]
    short = right and symbols(fillers[0]) <= symbols(problem.answer) + LONGER
    textbook = right and form(fillers[0]) == form(problem.answer)
    return Score(right, any(rights), short, textbook, round(seconds, 4), tuple(map(write_infix, fillers)))


def best_score(problem: Problem, attempts: Iterable[Solver]) -> Score:
    """The best score of a solver's attempts; the next is made only if those before gave no right and short filler.

    The seconds are those of all attempts made.
    """
    scores: list[Score] = []
    seconds = 0.0
    for solver in attempts:
        start = perf_counter()
        fillers = solver(problem.equation)
        seconds += perf_counter() - start
        scores.append(score(problem, fillers, seconds))
        if scores[-1].short:
            break
    return replace(max(scores, key=lambda found: found.key), seconds=scores[-1].seconds)


def table(records: Sequence[Record]) -> list[str]:
    """Lines with the shares in % by kind and in total, one solver after another."""
    width = max(len(record.problem.kind) for record in records)
    lines = []
    for solver in dict.fromkeys(record.solver for record in records):
        mine = [record for record in records if record.solver == solver]
        kinds = dict.fromkeys(record.problem.kind for record in mine)
        lines += [f"{solver:{width}}  equations  right  in five  short  textbook  median s  mean s"]
        for kind in kinds:
            lines.append(_row(kind, width, [record.score for record in mine if record.problem.kind == kind]))
        lines += [_row("all", width, [record.score for record in mine]), ""]
    return lines


def _row(name: str, width: int, scores: Sequence[Score]) -> str:
    right, five, short, textbook = (100 * mean(getattr(found, key) for found in scores) for key in SCORES)
    seconds = [found.seconds for found in scores]
    shares = f"{right:5.1f}  {five:7.1f}  {short:5.1f}  {textbook:8.1f}"
    return f"{name:{width}}  {len(scores):9}  {shares}  {median(seconds):8.3f}  {mean(seconds):6.3f}"
