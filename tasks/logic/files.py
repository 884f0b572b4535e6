"""The files ``train0`` ... ``train12`` and ``test0`` ... ``test12``: lines ``relation TAB left TAB right``.

File k holds the pairs whose longer formula has k operators; file 12 those that have 12 or more.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from dgltree.read.bracket import read_unlabelled
from dgltree.read.text import read_text
from dgltree.support.files import replacing
from dgltree.trees.logic import RELATIONS
from tasks.logic.language import is_formula, operators

Part = Literal["train", "test"]
PARTS: tuple[Part, ...] = ("train", "test")
MAX_FILE_NUMBER = 12
"""The largest number of a file."""


class Pair(NamedTuple):
    """Two formulas, the relation between them, and the number of their file."""

    relation: str
    left: str
    right: str
    operators: int


@cache
def read_pairs(folder: Path, part: Part, number: int) -> tuple[Pair, ...]:
    """The pairs of one file, in order. A process reads a file once.

    Raises ``FileNotFoundError``, and ``ValueError`` naming file, line and what was expected: for a line that has not
    three fields, another relation, what is not a formula, other numbers of operators, and for an empty file.
    """
    file = folder / f"{part}{number}"
    if not file.is_file():
        raise FileNotFoundError(
            f"{file}: no such file; the folder holds train0 to train{MAX_FILE_NUMBER} and test0 to "
            f"test{MAX_FILE_NUMBER}"
        )
    lines = read_text(file).splitlines()
    if not lines:
        raise ValueError(f"{file} is empty; expected lines such as '<' TAB '( a ( and b ) )' TAB 'a'")
    return tuple(_pair(line, number, f"{file}, line {place}") for place, line in enumerate(lines, 1))


def write_pairs(folder: Path, part: Part, number: int, pairs: Iterable[Pair]) -> None:
    """A pair as :func:`read_pairs` reads it."""
    with replacing(folder / f"{part}{number}") as beside:
        beside.write_text("".join("\t".join(pair[:3]) + "\n" for pair in pairs), encoding="utf-8")


def _pair(line: str, number: int, where: str) -> Pair:
    fields = line.split("\t")
    if len(fields) != 3:
        raise ValueError(f"{where}: found {len(fields)} fields; expected relation, left and right with tabs between")
    relation, left, right = fields
    pair = Pair(relation, left, right, number)
    if relation not in RELATIONS:
        raise ValueError(f"{where}: found the relation {relation!r}; expected one of {' '.join(RELATIONS)}")
    for side, text in (("left", left), ("right", right)):
        if not is_formula(text):
            raise ValueError(f"{where}, {side} formula: {_wrong(text)}")
    most = max(operators(left), operators(right))
    if min(most, MAX_FILE_NUMBER) != number:
        raise ValueError(
            f"{where}: the longer formula has {most} operators; expected {number}, as the file's name says"
        )
    return pair


def _wrong(text: str) -> str:
    """The fault of a formula: in its brackets, or in their content."""
    try:
        read_unlabelled(text)
    except ValueError as error:
        return str(error).removeprefix("line 1, ")
    return f"found {text!r}; expected a to f, ( not F ), ( F ( and F ) ) or ( F ( or F ) ), with single spaces"
