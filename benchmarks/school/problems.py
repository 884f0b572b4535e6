"""The equations of the benchmark, and their split into a part for tuning and a part that is only reported."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from dgltree import Equation, Tree, read_equation, read_infix
from dgltree.equations.expressions.variables import count_blanks
from dgltree.read.notation import FUNCTIONS
from dgltree.read.text import read_text

FILE = Path(__file__).with_name("equations.tsv")
COLUMNS = ("kind", "equation", "answer")
PARTS = ("tuned", "reported", "all")
KNOWN = {**FUNCTIONS, "abs": (1,)}
"""The functions that equations and answers may contain."""


class Problem(NamedTuple):
    """An equation with one blank, and what a textbook writes there."""

    kind: str
    text: str
    equation: Equation
    answer: Tree


def part_of(text: str) -> str:
    """The part of an equation, by nothing but its text: SHA-256, an even digest is ``tuned``, an odd one ``reported``.

    Search and ranking may be tuned on ``tuned``; ``reported`` is only reported.
    """
    return ("tuned", "reported")[sha256(text.encode()).digest()[-1] % 2]


def read_problems(part: str = "all", path: Path = FILE) -> list[Problem]:
    """The equations of a part, in the order of the file. Raises ``ValueError`` naming file, line and what is wrong."""
    if part not in PARTS:
        raise ValueError(f"no part {part!r}; there is {', '.join(PARTS)}")
    lines = [(n, line) for n, line in enumerate(read_text(path).splitlines(), start=1) if line and line[0] != "#"]
    if not lines or tuple(lines[0][1].split("\t")) != COLUMNS:
        raise ValueError(f"{path}: the first line is not the header {' '.join(COLUMNS)}, separated by tabs")
    problems = [_problem(line, f"{path}, line {number}") for number, line in lines[1:]]
    return [problem for problem in problems if part in ("all", part_of(problem.text))]


def _problem(line: str, where: str) -> Problem:
    fields = line.split("\t")
    if len(fields) != len(COLUMNS):
        raise ValueError(f"{where}: {len(fields)} columns, not the {len(COLUMNS)} {' '.join(COLUMNS)}")
    kind, text, answer = fields
    try:
        problem = Problem(kind, text, read_equation(text, KNOWN), read_infix(answer, KNOWN))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if count_blanks(problem.equation) != 1:
        raise ValueError(f"{where}: {text} has {count_blanks(problem.equation)} blanks, not one")
    return problem
