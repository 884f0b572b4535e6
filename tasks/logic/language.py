"""Propositional logic over six variables, and the seven relations between two formulas (Bowman et al. 2015).

A formula is a variable, ``( not F )``, ``( F ( and F ) )`` or ``( F ( or F ) )``; as a tree every word is a leaf,
``not`` included, and every bracket a node of two children. Its truth table is an integer of 64 bits, one for each
assignment.
"""

import re
from collections.abc import Callable

from dgltree import Tree, Vocabulary

VARIABLES = "abcdef"
CONNECTIVES = ("and", "not", "or")
RELATIONS = ("#", "<", "=", ">", "^", "v", "|")
"""In the order of their class numbers."""
ASSIGNMENTS = 2 ** len(VARIABLES)
ALL = 2**ASSIGNMENTS - 1
"""The truth table of a tautology."""
TABLES = {name: sum(1 << row for row in range(ASSIGNMENTS) if row >> k & 1) for k, name in enumerate(VARIABLES)}
VOCABULARY = Vocabulary([("phrase", 2), ("word", 0)], [*VARIABLES, *CONNECTIVES])

_VARIABLE = re.compile(rf"\b[{VARIABLES}]\b")
_REDUCIBLE = re.compile(r"\( not F \)|\( F \( (?:and|or) F \) \)")

_Meaning = int | Callable[[int], "_Meaning"]
_MEANINGS: dict[str, _Meaning] = {
    **TABLES,
    "not": lambda table: ALL ^ table,
    "and": lambda right: lambda left: left & right,
    "or": lambda right: lambda left: left | right,
}


def is_formula(text: str) -> bool:
    """Whether a text is a formula, with single spaces between its words."""
    text, reduced = _VARIABLE.sub("F", text), 1
    while reduced:
        text, reduced = _REDUCIBLE.subn("F", text)
    return text == "F"


def operators(text: str) -> int:
    """The number of connectives in a formula."""
    return sum(word in CONNECTIVES for word in text.split())


def truth_table(formula: Tree) -> int:
    """Bit r says whether the formula holds in assignment r, in which variable k is bit k of r."""

    def apply(node: Tree, children: list[_Meaning]) -> _Meaning:
        if node.token is not None:
            return _MEANINGS[node.token]
        function, argument = children if callable(children[0]) else reversed(children)
        assert callable(function) and isinstance(argument, int)
        return function(argument)

    table = formula.fold(apply)
    assert isinstance(table, int)
    return table


def relation(left: int, right: int) -> str:
    """Which of the seven relations holds between two truth tables, neither of them 0 or ``ALL``.

    ``=`` equivalence, ``^`` negation, ``<`` and ``>`` entailment, ``|`` they exclude each other, ``v`` one of them
    always holds, ``#`` none of these.
    """
    if left == right:
        return "="
    if left == ALL ^ right:
        return "^"
    if not left & right:
        return "|"
    if left | right == ALL:
        return "v"
    if left | right == right:
        return "<"
    return ">" if left | right == left else "#"
