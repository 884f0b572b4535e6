"""Figures over seeds, and tables of them."""

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
        if not values:
            return None
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))

    def percent(self, digits: int = 1) -> str:
        """As in ``81.3 ± 0.4``."""
        deviation = "" if self.deviation is None else f" ± {100 * self.deviation:.{digits}f}"
        return f"{100 * self.mean:.{digits}f}{deviation}"


def percent(found: Spread | None) -> str:
    """Nothing where there is no value."""
    return "" if found is None else found.percent()


def table(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    rule = ["---", *(["---:"] * (len(header) - 1))]
    return [f"| {' | '.join(row)} |" for row in (header, rule, *body)]
