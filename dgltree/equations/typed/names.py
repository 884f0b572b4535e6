"""Names that are written together are taken apart: ``sinx``, ``2ab``, ``θ`` and ``\\theta``.

What they are depends on the other names of the equation. LaTeX and the style of school have products of single letters
(``ab``, ``nRT``, ``mx + b``), text in the style of programs has names (``mass*velocity``). If both are possible, the
equation decides, and how each run of letters was read is noted.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from dgltree.equations.typed.notes import Note, make_note
from dgltree.equations.typed.spelling import CONSTANTS, GREEK, GREEK_LETTERS, SPELLINGS
from dgltree.equations.typed.tokens import LATEX, Token
from dgltree.read.text import error_at

OBVIOUS = frozenset("xyz") | frozenset(GREEK) | frozenset(GREEK_LETTERS)
"""Names that are read as an argument after a function even if they occur nowhere else."""
UNKNOWNS = frozenset("xyz")
FACTORS = UNKNOWNS | frozenset("abcdkmnrABK")
"""Letters that rarely are functions, as f, g and P are."""

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

_FUNCTIONS = "|".join(sorted((s for s in SPELLINGS if s.islower() and s.isalpha()), key=len, reverse=True))
_EXPONENTIAL = re.compile(r"[^\W\d_]e")  # xe^x: nobody means a power of a variable xe
_ARGUMENT = rf"(?:{'|'.join(GREEK)}|[^\W\d_])"
# the atomic group makes a name of many functions linear
GLUED = re.compile(rf"(?:[^\W\d_])??(?:(?>{_FUNCTIONS})(?:[0-9]+)?(?:{_ARGUMENT})?)+")
_GLUED_PART = re.compile(rf"(?P<function>{_FUNCTIONS})|(?P<number>[0-9]+)|(?P<name>{_ARGUMENT})")


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
        """Notes for people, which name each run once."""
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


def split_names(
    text: str, tokens: list[Token], known: Collection[str] = (), names: Collection[str] = ()
) -> tuple[list[Token], Runs]:
    """``tokens`` with glued names taken apart, and how runs of letters were read.

    ``sinx`` is a function and its argument, ``xe^`` begins x*e^; for ``ab`` see :class:`Letters`. Raises
    ``ValueError`` if ``sint`` could be a name as well.

    Args:
        known: names of variables that are spoken of.
        names: what is read as one name.
    """
    alone = {token.text for token in tokens if token.kind == "name" and LETTER_PATTERN.fullmatch(token.text)}.union(
        known
    )
    glued = {token for token, following in zip_longest(tokens, tokens[1:]) if _is_glued(token, following)}
    words = any(token.kind == "name" and token not in glued and is_word(token.text) for token in tokens)
    unglued: list[Token] = []
    for token in tokens:
        try:
            is_glued = token in glued and token.text not in names
            unglued.extend(list(_unglued(text, token, alone)) if is_glued else [token])
        except ValueError:
            if not words:
                raise
            unglued.append(token)  # cost, next to revenue
    letters = Letters(text, unglued, known, names)
    found: list[Token] = []
    split: dict[str, tuple[str, ...]] = {}
    kept: dict[str, None] = {}
    for token, following in zip_longest(unglued, unglued[1:]):
        exponential = _EXPONENTIAL.fullmatch(token.text) and following is not None and following.kind == "^"
        if token.kind != "name" or (token.text == "of" and found and found[-1].kind == "percent"):
            found.append(token)
            continue
        factors = tuple(token.text) if exponential else letters.factors(token, following)
        if len(factors) == 1:
            if is_run(token.text):
                kept[token.text] = None
            found.append(token)
            continue
        split[token.text] = factors
        argument = bool(found) and found[-1].kind == "function" and not (following and following.kind == "^")
        found.extend(_product(token, factors, argument))
    return found, Runs(split, tuple(kept))


def _is_glued(token: Token, following: Token | None) -> bool:
    if token.kind != "name" or token.text == "sine" or not GLUED.fullmatch(token.text):
        return False
    *_, last = _GLUED_PART.finditer(token.text)
    applied = following is not None and (opens(following) or following.kind in ("^", "bar", "root", "frac"))
    return last.lastgroup != "function" or applied


def _unglued(text: str, token: Token, alone: set[str]) -> Iterator[Token]:
    place = 0
    function = ""
    while place < len(token.text):
        part = _GLUED_PART.match(token.text, place)
        if place == 0 and token.text[1:] and not (part and part["function"]):
            yield _letter(token, 0, 1)
            place = 1
            continue
        assert part is not None and part.lastgroup is not None  # GLUED is made of these parts
        said = part[0]
        if part["function"]:
            function = said
            yield token._replace(
                kind="function", text=SPELLINGS[said], start=token.start + place, gap=token.gap and place == 0
            )
        elif part["number"]:
            if function == "log":
                raise _either(text, token, f"log({said}*...)", f"log_{said}(...)")
            yield token._replace(kind="number", text=said, start=token.start + place, gap=False)
        else:
            if said not in OBVIOUS and said not in alone and said not in CONSTANTS:
                raise _either(text, token, f"{function}({said})", "one name")
            yield _letter(token, place, part.end())
        place = part.end()


def _either(text: str, token: Token, one: str, other: str) -> ValueError:
    shown = text[token.start : token.stop]
    return error_at(text, token.start, f"'{shown}' can mean {one} or {other}; write the one you mean")


def _letter(token: Token, start: int, stop: int) -> Token:
    said = token.text[start:stop]
    kind = "constant" if said in CONSTANTS else "name"
    place = token.start + start
    return Token(kind, CONSTANTS.get(said, said), place, token.start + stop, token.gap and start == 0)


class Letters:
    """Decides what the runs of letters of a text are.

    Args:
        text: the typed text.
        tokens: its tokens, in which functions and their arguments are taken apart.
        known: names of an equation that the text belongs to.
        names: what is read as one name.
    """

    def __init__(self, text: str, tokens: Sequence[Token], known: Collection[str], names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._known = frozenset(known)
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
        run = token.text
        letters = parts(token.text)
        if len(letters) < 2 or run in self._names or (run in self._known and run not in CONSTANTS):
            return (run,)
        if self._latex or self._alone.issuperset(letters):
            return letters
        applied = following is not None and following.kind == "open" and following.text in "([" and not following.gap
        named = self._program or is_word(run) or run in self._segments or (applied and len(letters) > 2)
        named |= _INDEXED.fullmatch(run) is not None
        named |= self._words and len(letters) > 2 and run.isalpha() and bool(_VOWELS & {*run[1:]})
        return (run,) if named else letters


def is_program(text: str, tokens: Sequence[Token]) -> bool:
    """Whether products are written with ``*``, and none without a sign."""
    starred = any(token.kind == "*" and text[token.start] == "*" for token in tokens) or "**" in text or "==" in text
    return starred and not any(_is_unwritten(a, b) for a, b in pairwise(tokens))


def _is_unwritten(a: Token, b: Token) -> bool:
    """Whether two tokens are factors with no sign between them."""
    return a.kind in OPERANDS and b.kind in BEGINS and not (a.kind == "name" and b.text in "([")


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


def _product(token: Token, factors: tuple[str, ...], argument: bool) -> Iterator[Token]:
    """The factors of a run; in brackets if they are a function's argument."""
    place = 0
    if argument:
        yield Token("open", "(", token.start, token.start, token.gap)
    for factor in factors:
        yield _letter(token, place, place + len(factor))
        place += len(factor)
    if argument:
        yield Token("close", ")", token.stop, token.stop, False)


def standing(tokens: list[Token]) -> set[str]:
    """The names that occur somewhere without a bracket after them."""
    return {
        token.text
        for token, following in zip_longest(tokens, tokens[1:])
        if token.kind in ("name", "word") and not opens(following)
    }


def factors_of_sums(tokens: list[Token]) -> set[str]:
    """Letters before brackets with a sum of other letters in them, which are not functions: ``a(x - h)^2``."""
    found: set[str] = set()
    for place, (token, following) in enumerate(pairwise(tokens)):
        if token.kind == "name" and token.text in FACTORS and opens(following):
            inside = _inside(tokens, place + 1)
            others = {other.text for other in inside if other.kind == "name"} - {token.text}
            is_sum = any(other.kind in "+-" for other in inside[1:])
            if is_sum and len(others) >= (1 if token.text in UNKNOWNS else 2):
                found.add(token.text)
    return found


def _inside(tokens: list[Token], opening: int) -> list[Token]:
    """The tokens between a bracket and the one that closes it."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += (tokens[place].kind == "open") - (tokens[place].kind == "close")
        if not depth:
            return tokens[opening + 1 : place]
    return []


def opens(token: Token | None) -> bool:
    """Whether a function's argument could begin here."""
    return token is not None and token.kind == "open" and token.text in "(["


_NAMES = "|".join(sorted(GREEK, key=len, reverse=True))
_VARIANTS = {
    **{f"var{name}": name for name in ("phi", "theta", "epsilon", "rho", "sigma")},
    **dict(zip("ϕϑϵϱς", ("phi", "theta", "epsilon", "rho", "sigma"), strict=True)),
}
"""Other shapes of Greek letters."""
_SPELLINGS = {**GREEK_LETTERS, **{name: name for name in (*GREEK, *GREEK_LETTERS.values())}, **_VARIANTS}
_PARTS = re.compile(
    rf"(?P<letter>var(?:phi|theta|epsilon|rho|sigma)|{_NAMES}|{'|'.join(map(str.capitalize, GREEK))}|[^\W\d_])"
    r"(?:_?(?P<below>[0-9]+)|_(?P<word>\w+))?"
)


# One name for one letter, however it is spelled and its subscript is written


def other_spellings(names: Collection[str]) -> frozenset[str]:
    """The names, and those of the same Greek letters."""
    keys = {key for name in names if (key := letter_key(name)) is not None and not key[1]}
    return frozenset(names).union(spelling for spelling, letter in _SPELLINGS.items() if (letter, "") in keys)


def with_one_name(tokens: list[Token], known: Iterable[str] = ()) -> list[Token]:
    """Tokens in which each letter has the name that it has first: among those that are known, or in the text.

    Two shapes of a Greek letter in one text, as ``\\phi`` and ``\\varphi``, are two letters. A Latin letter with a
    subscript, ``x1`` and ``x_1``, has one name if it is known.
    """
    texts = [token.text for token in tokens if token.kind in ("name", "word")]
    known = list(known)
    first: dict[tuple[str, str], str] = {}
    for name in (*known, *texts):
        key = letter_key(name)
        if key is not None and (name in known or key[0] in GREEK_LETTERS.values()):
            first.setdefault(key, name)
    apart = _two_shapes(known) | _two_shapes(texts)

    def renamed(token: Token) -> Token:
        key = letter_key(token.text) if token.kind in ("name", "word") else None
        if key is None or key not in first or key[0] in apart or token.text in known:
            return token
        return token._replace(text=first[key])

    return [renamed(token) for token in tokens]


def letter_key(name: str) -> tuple[str, str] | None:
    """The letter and the subscript of a name; None of a name of several letters."""
    found = _PARTS.fullmatch(name)
    if found is None:
        return None
    letter = found["letter"]
    return _SPELLINGS.get(letter, letter), found["below"] or found["word"] or ""


def _two_shapes(names: Collection[str]) -> frozenset[str]:
    """The Greek letters of which there are two shapes."""
    letters = [found["letter"] for name in names if (found := _PARTS.fullmatch(name)) is not None]
    variants = {_VARIANTS[letter] for letter in letters if letter in _VARIANTS}
    return frozenset(variants & {_SPELLINGS[one] for one in letters if one in _SPELLINGS and one not in _VARIANTS})
