"""Values of the fields of records: texts that do not break the lines of a table, and numbers."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from dgltree.read.text import CONTROL


def text_of(fields: Mapping[str, Any], column: str) -> str | None:
    """The value of a column; ``ValueError`` if it is not text or finite number, or would break the lines of a table."""
    value = fields.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, bool | list | dict | bytes) or (isinstance(value, float) and not isfinite(value)):
        raise ValueError(f"{column}: found {_in_json(value)}; expected a text or a finite number")
    return printable(str(value), column)


def packed(values: Sequence[str | None]) -> str | None:
    """The texts of an example in all columns as one; None if it has none."""
    return None if all(value is None for value in values) else json.dumps(values)


def _in_json(value: Any) -> str:
    try:
        return json.dumps(value)
    except TypeError:  # bytes
        return repr(value)


def printable(text: str, what: str) -> str:
    """The text itself; ``ValueError`` if it would break the lines of a table, or do things to a terminal."""
    if CONTROL.search(text):
        raise ValueError(
            f"{what}: {text!r} contains a tab, a line break, another control character or half of a surrogate pair"
        )
    return text


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MAX_FLOAT32 = (2 - 2.0**-23) * 2.0**127  # torch.finfo(torch.float32).max, without waiting for torch


def number(text: str) -> float | None:
    """The finite number that a text is written as, None if it is none: ``nan``, ``inf`` and ``1_000`` are words."""
    return float(text) if NUMBER.fullmatch(text) and isfinite(float(text)) else None


DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?( ?(Z|[+-]\d\d:?\d\d))?)?", re.ASCII | re.IGNORECASE
)


def moment(text: str) -> float | None:
    """The Unix time, in seconds, of an ISO date with or without a time (ISO 8601, RFC 3339); None for other text.

    A time without an offset is one of UTC.
    """
    if not DATE.fullmatch(text):
        return None
    try:
        found = datetime.fromisoformat(text.upper().replace(" +", "+").replace(" -", "-").replace(" Z", "Z"))
    except ValueError:  # the 30th of February
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def label_number(text: str) -> float | None:
    """The same for what is to be predicted, which float32 has to hold."""
    value = number(text.strip())
    return value if value is not None and -MAX_FLOAT32 <= value <= MAX_FLOAT32 else None
