"""Names that are written together: ``sinx``, ``2ab``. What they are depends on the other names of the equation."""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise, zip_longest

from dgltree.read.text import error_at
from dgltree.read.typed.letters import LETTER_PATTERN, Letters, Runs, is_run, is_word
from dgltree.read.typed.spelling import CONSTANTS, GREEK, GREEK_LETTERS, SPELLINGS
from dgltree.read.typed.token import Token

_FUNCTIONS = "|".join(sorted((s for s in SPELLINGS if s.islower() and s.isalpha()), key=len, reverse=True))
_EXPONENTIAL = re.compile(r"[^\W\d_]e")  # xe^x: nobody means a power of a variable xe
_ARGUMENT = rf"(?:{'|'.join(GREEK)}|[^\W\d_])"
# the atomic group makes a name of many functions linear
GLUED = re.compile(rf"(?:[^\W\d_])??(?:(?>{_FUNCTIONS})(?:[0-9]+)?(?:{_ARGUMENT})?)+")
_GLUED_PART = re.compile(rf"(?P<function>{_FUNCTIONS})|(?P<number>[0-9]+)|(?P<name>{_ARGUMENT})")
UNKNOWNS = frozenset("xyz")
FACTORS = UNKNOWNS | frozenset("abcdkmnrABK")
"""Letters that rarely are functions, as f, g and P are."""
OBVIOUS = frozenset("xyz") | frozenset(GREEK) | frozenset(GREEK_LETTERS)
"""Names that are read as an argument after a function even if they occur nowhere else."""


def split_names(
    text: str, tokens: list[Token], known: Collection[str] = (), names: Collection[str] = ()
) -> tuple[list[Token], Runs]:
    """``tokens`` with glued names taken apart, and how runs of letters were read.

    ``sinx`` is a function and its argument, ``xe^`` begins x*e^; for ``ab`` see letters.py. Raises ``ValueError`` if
    ``sint`` could be a name as well.

    Args:
        known: names of variables that are spoken of.
        names: what is read as one name.
    """
    alone = _alone(tokens).union(known)
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


def _alone(tokens: list[Token]) -> set[str]:
    return {token.text for token in tokens if token.kind == "name" and LETTER_PATTERN.fullmatch(token.text)}


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
