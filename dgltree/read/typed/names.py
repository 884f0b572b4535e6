"""Names that are written together: ``sinx``, ``2ab``. What they are depends on the other names of the equation."""

import re
from collections.abc import Collection, Iterator
from itertools import zip_longest

from dgltree.read.text import error_at
from dgltree.read.typed.spelling import CONSTANTS, GREEK, GREEK_LETTERS, SPELLINGS
from dgltree.read.typed.token import Token

_FUNCTIONS = "|".join(sorted((s for s in SPELLINGS if s.islower() and s.isalpha()), key=len, reverse=True))
_PART = re.compile(r"pi|[^\W\d_](?:_?[0-9]+)?")
_EXPONENTIAL = re.compile(r"[^\W\d_]e")  # xe^x: nobody means a power of a variable xe
_ARGUMENT = rf"(?:{'|'.join(GREEK)}|[^\W\d_])"
# the atomic group makes a name of many functions linear
GLUED = re.compile(rf"(?:[^\W\d_])??(?:(?>{_FUNCTIONS})(?:[0-9]+)?(?:{_ARGUMENT})?)+")
_GLUED_PART = re.compile(rf"(?P<function>{_FUNCTIONS})|(?P<number>[0-9]+)|(?P<name>{_ARGUMENT})")
OBVIOUS = frozenset("xyz") | frozenset(GREEK) | frozenset(GREEK_LETTERS)
"""Names that are read as an argument after a function even if they occur nowhere else."""


def split_names(text: str, tokens: list[Token], known: Collection[str] = ()) -> list[Token]:
    """``tokens`` with glued names taken apart; ``known`` are names of variables that are spoken of.

    ``sinx`` is a function and its argument, ``xe^`` begins x*e^; ``ab`` is a product where ``a`` and ``b`` each occur
    alone elsewhere.
    Raises ``ValueError`` where ``sint`` could be a name as well.
    """
    alone = _alone(tokens).union(known)
    unglued: list[Token] = []
    for token, following in zip_longest(tokens, tokens[1:]):
        unglued.extend(_unglued(text, token, alone) if _is_glued(token, following) else [token])
    alone = _alone(unglued).union(known)
    found: list[Token] = []
    for token, following in zip_longest(unglued, unglued[1:]):
        if token.kind == "name" and _EXPONENTIAL.fullmatch(token.text) and following and following.kind == "^":
            found.extend((_letter(token, 0, 1), _letter(token, 1, 2)))
        else:
            found.extend(_product(token, alone) if token.kind == "name" else [token])
    return found


def _alone(tokens: list[Token]) -> set[str]:
    return {token.text for token in tokens if token.kind == "name" and _PART.fullmatch(token.text)}


def standing(tokens: list[Token]) -> set[str]:
    """The names that occur somewhere without a bracket after them."""
    return {
        token.text
        for token, following in zip_longest(tokens, tokens[1:])
        if token.kind in ("name", "word") and not opens(following)
    }


def opens(token: Token | None) -> bool:
    """Whether a function's argument could begin here."""
    return token is not None and token.kind == "open" and token.text in "(["


def _is_glued(token: Token, following: Token | None) -> bool:
    if token.kind != "name" or token.text == "sine" or not GLUED.fullmatch(token.text):
        return False
    *_, last = _GLUED_PART.finditer(token.text)
    applied = following is not None and (opens(following) or following.kind in ("^", "bar", "root", "frac"))
    return last.lastgroup != "function" or applied


def _unglued(text: str, token: Token, alone: set[str]) -> Iterator[Token]:
    place, function = 0, ""
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
                kind="function", text=SPELLINGS[said], start=token.start + place, gap=_gap(token, place)
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


def _letter(token: Token, start: int, stop: int) -> Token:
    said = token.text[start:stop]
    kind = "constant" if said in CONSTANTS else "name"
    place = token.start + start
    return Token(kind, CONSTANTS.get(said, said), place, token.start + stop, _gap(token, start))


def _gap(token: Token, place: int) -> bool:
    return token.gap if place == 0 else False


def _either(text: str, token: Token, one: str, other: str) -> ValueError:
    shown = text[token.start : token.stop]
    return error_at(text, token.start, f"'{shown}' can mean {one} or {other}; write the one you mean")


def _product(token: Token, alone: set[str]) -> Iterator[Token]:
    parts = list(_PART.finditer(token.text))
    whole = sum(len(part[0]) for part in parts) == len(token.text)
    said = [part[0] for part in parts]
    if whole and any(part in alone for part in said) and all(part in alone or part in CONSTANTS for part in said):
        for part in parts:
            yield _letter(token, part.start(), part.end())
    else:
        yield token
