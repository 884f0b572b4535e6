"""Formulas of logic as one writes them, to the trees of the published ones: ``a and not (b or c)``."""

import re

from dgltree.read.text import error_at
from dgltree.trees.tree import Tree

SIGNS = {"¬": "not", "~": "not", "!": "not", "∧": "and", "&": "and", "∨": "or", "|": "or"}
STRENGTH = {"or": 1, "and": 2, "not": 3}
WORD = re.compile(r"\w+|\S")


def read_formula(text: str) -> Tree:
    """``( a ( and ( not b ) ) )`` of ``a and not b``: ``not`` before ``and`` before ``or``, both to the left.

    Every word is a ``word`` leaf and every pair a ``phrase``, as :func:`dgltree.read.bracket.read_unlabelled` reads
    them. Raises ``ValueError`` with line and column.
    """
    values: list[Tree] = []
    waiting: list[tuple[str, int]] = []

    def apply(least: int) -> None:
        """The operators that bind at least so strongly, from the right."""
        while waiting and STRENGTH.get(waiting[-1][0], 0) >= least:
            name, _ = waiting.pop()
            right = _pair(_word(name), values.pop())
            values.append(right if name == "not" else _pair(values.pop(), right))

    expects = True  # a formula, else what joins two
    for found in WORD.finditer(text):
        word = SIGNS.get(found[0], found[0])
        at = found.start()
        if expects != (word not in ("and", "or", ")")):
            raise error_at(text, at, f"found {word!r}; expected {'a formula' if expects else 'and, or, or the end'}")
        if word in ("(", "not"):
            waiting.append((word, at))
        elif word == ")":
            apply(1)
            if not waiting:
                raise error_at(text, at, "found ')' where no bracket is open")
            waiting.pop()
        elif word in STRENGTH:
            apply(STRENGTH[word])
            waiting.append((word, at))
            expects = True
        else:
            values.append(_word(word))
            expects = False
    if expects:
        raise error_at(text, len(text.rstrip()), "found the end; expected a formula")
    apply(1)
    if waiting:
        raise error_at(text, waiting[-1][1], "the '(' is never closed")
    return values[0]


def _word(token: str) -> Tree:
    return Tree("word", token=token)


def _pair(left: Tree, right: Tree) -> Tree:
    return Tree("phrase", (left, right))
