"""Labels as texts: which are missing, which are the same, and which are numbers in another spelling."""

import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from functools import cache

from dgltree.datasets.settings.field_texts import NUMBER

MISSING = "#N/A,#NA,<NA>,N/A,NA,NULL,NaN,NaT,None,n/a,nan,null"
"""How the tables of other programs write a value that is not there, separated by commas."""
_OTHER_SPELLINGS = re.compile(
    r"(?P<comma>[+-]?\d+,\d+([eE][+-]?\d+)?)"
    r"|(?P<percent>[+-]?(\d+[.,]?\d*|[.,]\d+)\s*%)"
    r"|(?P<thousands>[+-]?\d{1,3}([,.' \u00a0\u2009\u202f’]\d{3})+([.,]\d+)?)",
    re.ASCII,
)


@cache
def missing_texts(spellings: str) -> frozenset[str]:
    """The spellings of missing labels, as the setting ``missing`` has them."""
    return frozenset(text.strip() for text in spellings.split(",") if text.strip())


def same(label: str) -> str:
    """A label without the blanks around it, and with letters and accents composed (Unicode's NFC)."""
    return unicodedata.normalize("NFC", label.strip())


def key_of(label: str) -> Hashable:
    """Equal for labels that are the same: in any of the above, as numbers (``0`` and ``0.0``) or as true and false."""
    text = same(label)
    if NUMBER.fullmatch(text):
        return Decimal(text)
    return text.casefold() if text.casefold() in ("true", "false") else text


def class_numbers(classes: Sequence[str]) -> Callable[[str], int | None]:
    """The number of the class that a label is, None if it is none of them."""
    exact = {name: i for i, name in enumerate(classes)}
    keys = {key_of(name): i for i, name in reversed(list(enumerate(classes)))}

    @cache
    def number_of(label: str) -> int | None:
        found = exact.get(label)
        return keys.get(key_of(label)) if found is None else found

    return number_of


def other_spelling(label: str) -> str | None:
    """How a label is a number that is not written as one: with a decimal comma, in percent, with thousands apart."""
    match = _OTHER_SPELLINGS.fullmatch(label.strip())
    names = {"comma": "a decimal comma", "percent": "a percent sign", "thousands": "thousands set apart"}
    return None if match is None else names[str(match.lastgroup)]


def merge_labels(labels: Iterable[Sequence[str | None]], classes: Sequence[str] = ()) -> dict[str, str]:
    """The labels to replace, each with its replacement: a given class, or the most frequent of those that are the same.

    A label that is a given class keeps its text.
    """
    counts: dict[str, int] = {}
    for column in labels:
        for label in column:
            if label is not None:
                counts[label] = counts.get(label, 0) + 1
    chosen: dict[Hashable, str] = {}
    for label in [*classes, *sorted(counts, key=lambda each: (-counts[each], len(each), each))]:
        chosen.setdefault(key_of(label), label if label in classes else same(label))
    return {label: chosen[key_of(label)] for label in counts if label not in classes and chosen[key_of(label)] != label}
