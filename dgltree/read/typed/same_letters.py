"""One name for one letter: ``θ``, ``\\theta`` and ``theta``, and subscripts however they are written."""

import re
from collections.abc import Collection, Iterable

from dgltree.read.typed.spelling import GREEK, GREEK_LETTERS
from dgltree.read.typed.token import Token

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
