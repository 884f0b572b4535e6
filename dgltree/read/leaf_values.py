"""Texts that are numbers or dates: what a leaf may be read as."""

import re
from datetime import UTC, datetime
from math import isfinite

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?( ?(Z|[+-]\d\d:?\d\d))?)?", re.ASCII | re.IGNORECASE
)


def number(text: str) -> float | None:
    """The finite number that a text is written as, None if it is none: ``nan``, ``inf`` and ``1_000`` are words."""
    return float(text) if NUMBER.fullmatch(text) and isfinite(float(text)) else None


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


def date_text(seconds: float) -> str:
    """The ISO date of a Unix time in seconds; with its time, in UTC, unless that is midnight."""
    found = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    is_midnight = (found.hour, found.minute, found.second, found.microsecond) == (0, 0, 0, 0)
    return found.date().isoformat() if is_midnight else f"{found.isoformat()}Z"
