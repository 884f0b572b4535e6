"""Points at which a search evaluates: a value for each variable, fixed by its name."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dgltree.equations.truth.elementary import Array

TABLE_POINTS = 4  # points of the big tables: with so many, different values hardly ever agree at all
CHECK_POINTS = 40  # points for what is fitted, and to check what was found

RANGES: dict[str, tuple[float, float]] = {
    "below one": (0.15, 0.92),  # where sqrt(1 - x^2), asin and atanh are real
    "above one": (1.15, 2.9),  # where log, sqrt(x - 1) and acosh are
    "negative": (-2.3, -0.2),
    "mixed": (-1.9, 1.9),
}
COMPLEX = "complex"


class Points(NamedTuple):
    """Values of variables at some points; of real points a value that is not real is NaN."""

    region: str
    values: dict[str, Array]
    """Name to (P,) float64, or complex128 of the complex points."""
    number: int
    """P"""

    def constant(self, value: float) -> Array:
        """(P,) of one value."""
        return np.full(self.number, value, complex if self.region == COMPLEX else float)


def points(region: str, variables: list[str], count: int) -> Points:
    """``count`` points of a region; the first of many are the same as when few are asked for."""
    return Points(region, {name: _values(region, name)[:count] for name in variables}, count)


def regions() -> Iterator[str]:
    """All regions: what holds anywhere mostly holds at positive points, so these come first."""
    yield from RANGES
    yield COMPLEX


def _values(region: str, name: str) -> Array:
    seed = int.from_bytes(hashlib.sha256(f"search {region} {name}".encode()).digest()[:8], "big")
    random = np.random.default_rng(seed)
    if region == COMPLEX:
        values: Array = random.uniform(0.4, 1.6, CHECK_POINTS) * np.exp(1j * random.uniform(-1.2, 1.2, CHECK_POINTS))
        return values
    return random.uniform(*RANGES[region], CHECK_POINTS)
