"""The formulas of logic (Bowman et al. 2015): over six variables, as published (:mod:`dgltree.trees.logic`)."""

import re

from dgltree import Vocabulary
from dgltree.trees.logic import CONNECTIVES, TruthTables

VARIABLES = "abcdef"
TABLES = TruthTables(VARIABLES)
VOCABULARY = Vocabulary([("phrase", 2), ("word", 0)], [*VARIABLES, *CONNECTIVES])

_VARIABLE = re.compile(rf"\b[{VARIABLES}]\b")
_REDUCIBLE = re.compile(r"\( not F \)|\( F \( (?:and|or) F \) \)")


def is_formula(text: str) -> bool:
    """Whether a text is a formula, with single spaces between its words."""
    text = _VARIABLE.sub("F", text)
    reduced = 1
    while reduced:
        text, reduced = _REDUCIBLE.subn("F", text)
    return text == "F"


def operators(text: str) -> int:
    """The number of connectives in a formula."""
    return sum(word in CONNECTIVES for word in text.split())
