"""The rules of proofs, one per row: what is true of all real numbers A and B for which both sides have a value.

``n`` is a whole number of at least 2. A row holds under its conditions; they are separated by ``;``.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from dgltree.equations.truth.proofs.expression import (
    FUNCTIONS,
    NEGATIVE,
    NONZERO,
    NOT_NEGATIVE,
    NOT_POSITIVE,
    POSITIVE,
    ZERO,
    Signs,
)
from dgltree.read.infix import read_infix
from dgltree.trees.tree import Tree

RELATIONS: Mapping[str, Signs] = {
    ">=": NOT_NEGATIVE, "<=": NOT_POSITIVE, "==": ZERO, "!=": NONZERO, ">": POSITIVE, "<": NEGATIVE,
}  # fmt: skip
_ROWS = """
abs+        | A >= 0                  | abs(A)          | A
abs-        | A <= 0                  | abs(A)          | -A
abs^2       |                         | abs(A)^2        | A^2
abs*        |                         | abs(A*B)        | abs(A)*abs(B)
sqrt^2      | A >= 0                  | sqrt(A)^2       | A
sqrt is     | B^2 == A; B >= 0        | sqrt(A)         | B
log*        | A > 0; B > 0            | log(A*B)        | log(A) + log(B)
log^        | A > 0                   | log(A^n)        | n*log(A)
log/        | A > 0                   | log(1/A)        | -log(A)
log 1       |                         | log(1)          | 0
log exp     |                         | log(exp(A))     | A
exp log     | A > 0                   | exp(log(A))     | A
exp+        |                         | exp(A + B)      | exp(A)*exp(B)
exp-        |                         | exp(-A)*exp(A)  | 1
exp 0       |                         | exp(0)          | 1
sin+        |                         | sin(A + B)      | sin(A)*cos(B) + cos(A)*sin(B)
cos+        |                         | cos(A + B)      | cos(A)*cos(B) - sin(A)*sin(B)
sin-        |                         | sin(-A)         | -sin(A)
cos-        |                         | cos(-A)         | cos(A)
circle      |                         | sin(A)^2 + cos(A)^2 | 1
sin asin    | A + 1 >= 0; 1 - A >= 0  | sin(asin(A))    | A
cos asin    | A + 1 >= 0; 1 - A >= 0  | cos(asin(A))    | sqrt(1 - A^2)
sin acos    | A + 1 >= 0; 1 - A >= 0  | sin(acos(A))    | sqrt(1 - A^2)
cos acos    | A + 1 >= 0; 1 - A >= 0  | cos(acos(A))    | A
sin atan    |                         | sin(atan(A))    | A*cos(atan(A))
cos atan    |                         | cos(atan(A))    | 1/sqrt(1 + A^2)
asin is     | sin(B) == A; B + pi/2 >= 0; pi/2 - B >= 0 | asin(A) | B
acos is     | cos(B) == A; B >= 0; pi - B >= 0          | acos(A) | B
atan is     | A*cos(B) == sin(B); B + pi/2 > 0; pi/2 - B > 0 | atan(A) | B
asin+acos   | A + 1 >= 0; 1 - A >= 0  | asin(A) + acos(A) | pi/2
sin 2       |                         | sin(pi/2)       | 1
cos 2       |                         | cos(pi/2)       | 0
sin 4       |                         | sin(pi/4)       | sqrt(2)/2
cos 4       |                         | cos(pi/4)       | sqrt(2)/2
sin 6       |                         | sin(pi/6)       | 1/2
cos 6       |                         | cos(pi/6)       | sqrt(3)/2
root^       |                         | (A^(1/n))^n     | A
root is     | B^n == A                | A^(1/n)         | B
zero        | A == 0                  | A               | 0
"""


class Lemma(NamedTuple):
    """A rule with its conditions: an expression and the relation that it has to 0 are given for each."""

    text: str
    """The lemma as a person reads it."""
    conditions: tuple[tuple[str, Tree, Tree], ...]
    """(relation, left, right)"""
    left: Tree
    right: Tree


def _rows() -> dict[str, tuple[str, str, str]]:
    rows = {}
    for line in _ROWS.strip().splitlines():
        name, conditions, left, right = (field.strip() for field in line.split("|"))
        rows[name] = (conditions, left, right)
    return rows | {f"same {f}": ("A == B", f"{f}(A)", f"{f}(B)") for f in FUNCTIONS}


LEMMAS: Mapping[str, tuple[str, str, str]] = _rows()
"""Conditions, left side, right side."""


@cache
def lemma(name: str, n: str) -> Lemma:
    """The rule of a name, with a number for n. Raises ``KeyError``."""
    conditions, left, right = (
        text.replace("n*", f"{n}*").replace("^n", f"^{n}").replace("/n", f"/{n}") for text in LEMMAS[name]
    )
    asked = []
    for condition in filter(None, map(str.strip, conditions.split(";"))):
        relation = next(r for r in RELATIONS if f" {r} " in condition)
        first, second = condition.split(f" {relation} ")
        asked.append((relation, read_infix(first), read_infix(second)))
    text = f"{left} = {right}" + (f" if {conditions.replace(';', ' and')}" if conditions else "")
    return Lemma(text, tuple(asked), read_infix(left), read_infix(right))
