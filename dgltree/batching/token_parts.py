"""The words that tokens are made of, such as ``user`` and ``name`` of ``userName``: what unknown tokens are read by."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor

LETTERS = re.compile(r"[^\W\d_]+")
BEGIN, END = "<part:", ">"
"""A word is an entry of a vocabulary with ``parts`` as ``<part:name>``."""


def words_of(token: str) -> list[str]:
    """The words of two letters and more, in small letters, between underscores, digits, signs and capital letters.

    Examples:
        >>> words_of("getHTTPResponse_2"), words_of("x1"), words_of("well-made")
        (['get', 'http', 'response'], [], ['well', 'made'])
    """
    found = (word.casefold() for letters in LETTERS.findall(token) for word in _between_capitals(letters))
    return [word for word in found if len(word) > 1]


def _between_capitals(letters: str) -> Iterator[str]:
    """``get``, ``HTTP`` and ``Response``: a word begins with a capital letter, an abbreviation with its first."""
    large = [letter.isupper() for letter in letters]
    begun = [k for k in range(1, len(letters)) if large[k] and not (large[k - 1] and all(large[k + 1 : k + 2]))]
    return (letters[first:last] for first, last in pairwise([0, *begun, len(letters)]))


def parts_of(tokens: Iterable[str]) -> list[str]:
    """The entries of the words that two of these tokens have, one of them among others, sorted.

    Raises ``ValueError`` for a token that is written as such an entry.
    """
    counts, among = Counter[str](), set[str]()
    for token in tokens:
        if token.startswith(BEGIN) and token.endswith(END):
            raise ValueError(
                f"the token {token!r:.60} looks like a part of a token under token_parts: leave out "
                "token_parts or write the token differently"
            )
        words = words_of(token)
        counts.update(set(words))
        if len(words) > 1:
            among.update(words)
    return sorted(f"{BEGIN}{word}{END}" for word in among if counts[word] > 1)


def part_ids(tokens: Sequence[str]) -> dict[str, int]:
    """Of the words that a vocabulary's tokens have entries for: their places."""
    return {token[len(BEGIN) : -len(END)]: i for i, token in enumerate(tokens) if token.startswith(BEGIN)}


def part_table(tokens: Sequence[str]) -> Tensor | None:
    """(T, P) int64, the ids of the known words of each token, -1 for further places; None if no token has one.

    ``tokens`` are those of a vocabulary with ``parts``.
    """
    ids = part_ids(tokens)
    rows = (
        [
            [] if token.startswith(BEGIN) else [ids[word] for word in dict.fromkeys(words_of(token)) if word in ids]
            for token in tokens
        ]
        if ids
        else []
    )
    most = max(map(len, rows), default=0)
    return torch.tensor([row + [-1] * (most - len(row)) for row in rows]) if most else None
