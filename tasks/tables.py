"""Metrics over seeds, and tables of them."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of a measure over seeds; no deviation of a single seed."""

    mean: float
    deviation: float | None
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread | None":
        """None for no value."""
        return cls.over(values) if values else None

    @classmethod
    def over(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of one value or more."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))

    @property
    def point(self) -> tuple[float, float]:
        """Mean and standard deviation for a picture, 0 of a single seed."""
        return self.mean, self.deviation or 0.0

    def text(self, digits: int = 1) -> str:
        """Write ``81.3 ± 0.4``."""
        deviation = "" if self.deviation is None else f" ± {self.deviation:.{digits}f}"
        return f"{self.mean:.{digits}f}{deviation}"

    def percent(self, digits: int = 1) -> str:
        """Write the spread of shares in percent."""
        deviation = None if self.deviation is None else 100 * self.deviation
        return Spread(100 * self.mean, deviation, self.seeds).text(digits)


def percent(found: Spread | None) -> str:
    """Nothing if there is no value."""
    return "" if found is None else found.percent()


def table(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    rule = ["---", *(["---:"] * (len(header) - 1))]
    return [f"| {' | '.join(row)} |" for row in (header, rule, *body)]
