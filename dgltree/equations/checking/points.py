"""Points for marks: a table of codes, part marks included."""

import math
from collections.abc import Mapping
from typing import Final

from dgltree.arguments import nearest
from dgltree.equations.checking.marks import Checked, Mark

SHARE: Final = "share"
"""Points of an answer in proportion to its right solutions: 1/2 of ``2`` for ``x^2 = 4``, 0 of ``2, 5``."""
POINTS: Mapping[str, float | str] = {"right": 1.0}
"""Points by the code of the mark; a mark that is not there has 0."""
_CODES = [mark.value for mark in Mark]


def points(checked: Checked, table: Mapping[str, float | str] = POINTS) -> float:
    """The points of a marked answer.

    Args:
        checked: of :func:`dgltree.check`.
        table: points by the codes of marks, numbers or ``share``: the points of ``right`` times the right solutions,
            less the wrong ones, among those that there are.
    """
    value = table.get(checked.mark.value, 0.0)
    if value != SHARE:
        return float(value)
    right, given, required = checked.counts
    whole = float(table.get("right", 1.0))
    return whole * max(0, 2 * right - given) / max(required, right) if required else 0.0


def read_points(text: str) -> dict[str, float | str]:
    """The table of ``right=2,incomplete=share,form=1``. Raises ``ValueError`` for what is none."""
    table: dict[str, float | str] = dict(POINTS)
    for entry in text.split(","):
        code, sign, value = (part.strip() for part in entry.partition("="))
        if code not in _CODES:
            raise ValueError(f"there is no mark {code!r} ({nearest(code, _CODES)}); write right=2,incomplete=1")
        if sign and value == SHARE and code != "right":
            table[code] = SHARE
            continue
        try:
            table[code] = float(value)
        except ValueError:
            table[code] = math.nan
        if not math.isfinite(float(table[code])):
            raise ValueError(f"the points of {code} are {value!r}; expected a number{', or share' * (code != 'right')}")
    return table
