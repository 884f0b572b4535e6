"""Common ground of infix and SymPy: the functions known by name, and every leaf as a text.

The leaves are (function, token): (Symbol, x), (Integer, 2), (NegativeOne, -1), (Half, 1/2), (Rational, 2/5),
(Float, 0.7), (Pi, pi), (Exp1, e), (Infinity, oo), (NaN, nan), the blank, written ``_``, and named blanks (_, _1).
"""

import re
from collections.abc import Collection, Mapping
from fractions import Fraction

from dgltree.read.functions import RECORDS
from dgltree.trees.equation import BLANK, blank
from dgltree.trees.tree import Tree

FUNCTIONS: Mapping[str, Collection[int]] = {record.name: record.arities for record in RECORDS}
"""The functions known by default, each with the numbers of arguments it takes."""
OPERATORS = ("Add", "Mul", "Pow")
"""Functions that ``+ * ^`` build. By name they take any number of arguments, so that a tree of any arity has a text."""

EXP1, HALF, MINUS_ONE = Tree("Exp1", token="e"), Tree("Half", token="1/2"), Tree("NegativeOne", token="-1")
IMAGINARY_UNIT = Tree("Pow", (MINUS_ONE, HALF))
CONSTANTS = {
    "_": BLANK,
    "e": EXP1,
    "pi": Tree("Pi", token="pi"),
    "oo": Tree("Infinity", token="oo"),
    "nan": Tree("NaN", token="nan"),
}
NUMBERS = ("Integer", "NegativeOne", "Half", "Rational", "Float")
"""The functions of the leaves whose token is a number."""

NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NAME = r"[^\W\d]\w*"
NAMED_BLANK = re.compile("_[0-9]+")
FRACTION = re.compile("-?[0-9]+/0*[1-9][0-9]*")
LITERAL = re.compile(f"-?{NUMBER}|{FRACTION.pattern}")
DIGITS = 4300  # the longest text that Python turns into an integer


def is_name(text: str) -> bool:
    """Whether ``text`` is made of letters, digits and ``_``; ``\\w`` alone also matches superscripts and the like."""
    return re.fullmatch(NAME, text) is not None and text.isidentifier()


def number(literal: str) -> Tree:
    """The leaf of a text that matches ``LITERAL``: integers and fractions in lowest terms, floats as written."""
    if "/" not in literal and not literal.lstrip("-").isdigit():
        return Tree("Float", token=literal)
    value = str(Fraction(literal))
    function = {"-1": "NegativeOne", "1/2": "Half"}.get(value) or ("Rational" if "/" in value else "Integer")
    return Tree(function, token=value)


def make_leaf(name: str) -> Tree:
    """The leaf of a name: a constant, a blank, or a variable."""
    if NAMED_BLANK.fullmatch(name):
        return blank(name)
    return CONSTANTS.get(name) or Tree("Symbol", token=name)


def leaf_text(leaf: Tree) -> str:
    """The text that reads as ``leaf`` if ``FUNCTIONS`` are known. Raises ``ValueError`` if there is none."""
    text = "_" if leaf == BLANK else leaf.token
    if text is None or _leaf(text) != leaf:
        raise ValueError(f"no text reads as the leaf {leaf!r}")
    return text


def _leaf(text: str) -> Tree | None:
    if LITERAL.fullmatch(text):
        return number(text) if max(map(len, text.lstrip("-").split("/"))) <= DIGITS else None
    if is_name(text) and text not in FUNCTIONS and text not in OPERATORS:
        return make_leaf(text)
    return None
