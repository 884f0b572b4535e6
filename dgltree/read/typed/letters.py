"""Letters side by side: a product of single letters, as textbooks write it, or one name, as programs do.

LaTeX and the style of school have products (``ab``, ``nRT``, ``mx + b``), text in the style of programs has names
(``mass*velocity``). If both are possible, the equation decides; how each run of letters was read is noted.
"""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from dgltree.read.typed.notes import Note, make_note
from dgltree.read.typed.patterns import LATEX
from dgltree.read.typed.spelling import CONSTANTS, GREEK, GREEK_LETTERS
from dgltree.read.typed.token import Token

_GREEK = frozenset((*GREEK, *GREEK_LETTERS.values()))
_LONG_GREEK = sorted({name for name in _GREEK if len(name) > 3}, key=len, reverse=True)
LETTER_PATTERN = re.compile(rf"(?:pi|{'|'.join(_LONG_GREEK)}|[^\W\d_])(?:_?[0-9]+)?")
"""A single letter, a Greek one by its name, or pi, with a subscript of digits."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_INDEXED = re.compile(r"[^\W\d_]{3,}_[0-9]+")
"""var_0"""
_VOWELS = frozenset("aeiouAEIOU")
WORD = 4
"""Letters from which on a run is a word."""
OPERANDS = ("name", "word", "constant", "number", "close")
BEGINS = ("name", "word", "constant", "function", "open", "root", "frac")


class Runs(NamedTuple):
    """The readings of runs of letters."""

    split: dict[str, tuple[str, ...]]
    """Runs that are products, with their factors."""
    kept: tuple[str, ...]
    """Runs that are names."""
    before_brackets: tuple[str, ...] = ()
    """Letters before a sum in brackets that are factors, and no functions."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """For people: each run once."""
        notes: list[Note] = []
        if self.split:
            products = ", ".join(f"{run} is {'*'.join(factors)}" for run, factors in self.split.items())
            keeps = ",".join(self.split)
            notes.append(make_note("products", products=products, names=keeps))
        if self.kept:
            kept = ", ".join(self.kept)
            notes.append(make_note("name", name=kept) if len(self.kept) == 1 else make_note("names", names=kept))
        if self.before_brackets:
            notes.append(make_note("factors", letters=", ".join(self.before_brackets)))
        return tuple(notes)


def is_program(text: str, tokens: Sequence[Token]) -> bool:
    """Whether products are written with ``*``, and none without a sign."""
    starred = any(token.kind == "*" and text[token.start] == "*" for token in tokens) or "**" in text or "==" in text
    return starred and not any(_is_unwritten(a, b) for a, b in pairwise(tokens))


def _is_unwritten(a: Token, b: Token) -> bool:
    """Whether two tokens are factors with no sign between them."""
    return a.kind in OPERANDS and b.kind in BEGINS and not (a.kind == "name" and b.text in "([")


class Letters:
    """Decides what the runs of letters of a text are.

    Args:
        text: typed.
        tokens: of it, functions and their arguments taken apart.
        known: names of an equation that the text belongs to.
        names: what is read as one name.
    """

    def __init__(self, text: str, tokens: Sequence[Token], known: Collection[str], names: Collection[str]) -> None:
        self._names, self._known = frozenset(names), frozenset(known)
        found = {token.text for token in tokens if token.kind == "name"}
        self._alone = {name for name in found if len(parts(name)) == 1} | self._known | {"pi", "e"}
        self._latex = LATEX.search(text) is not None
        self._program = not self._latex and is_program(text, tokens)
        runs = [name for name in found if len(parts(name)) > 1]
        self._words = any(is_word(run) for run in runs)
        capitals = [run for run in runs if len(run) == 2 and run.isalpha() and run.isupper()]
        singles = self._alone & {letter for run in capitals for letter in run}
        others = {letter for run in runs if run not in capitals for letter in run}
        segments = len(capitals) > 1 and not singles and not others & {*"".join(capitals)}
        self._segments = frozenset(capitals if segments else ())
        """Lengths of geometry: AB + BC = AC."""

    def factors(self, token: Token, following: Token | None) -> tuple[str, ...]:
        """The factors of a run; one for a name."""
        run, letters = token.text, parts(token.text)
        if len(letters) < 2 or run in self._names or (run in self._known and run not in CONSTANTS):
            return (run,)
        if self._latex or self._alone.issuperset(letters):
            return letters
        applied = following is not None and following.kind == "open" and following.text in "([" and not following.gap
        named = self._program or is_word(run) or run in self._segments or (applied and len(letters) > 2)
        named |= _INDEXED.fullmatch(run) is not None
        named |= self._words and len(letters) > 2 and run.isalpha() and bool(_VOWELS & {*run[1:]})
        return (run,) if named else letters


def parts(name: str) -> tuple[str, ...]:
    """The letters of a run, with their subscripts; the whole if it is not made of such."""
    found = tuple(match[0] for match in LETTER_PATTERN.finditer(name))
    return found if sum(map(len, found)) == len(name) and name not in _GREEK else (name,)


def is_run(name: str) -> bool:
    """Whether letters are side by side in a name, so that it could be a product."""
    return len(parts(name)) > 1 or (_LETTERS.match(name) is not None and name not in _GREEK)


def is_word(run: str) -> bool:
    """Whether a run is a word rather than some letters."""
    return len(run) >= WORD and run.isalpha() and (run[1:].islower() or run.isupper())
