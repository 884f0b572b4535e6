"""Scales on which numbers are learnt: monotone functions of labels, and their inverses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from dgltree.support.arguments import LabelScaleName

KNOTS = 65
"""Quantiles that the scale of ranks goes through."""
SPREAD = 1.349
"""Deviations of a normal distribution between its quartiles."""
TAIL = 1.5
"""Deviation of the labels, over that of a normal distribution with their quartiles, above which scales are tried."""


@dataclass(frozen=True)
class LabelScale:
    """A scale: ``log(v)``, ``asinh((v - m) / s)``, or the normal score of a number's rank among those of training.

    What :meth:`back` gives is within the numbers that it was made of, so that no exponential runs away.

    Args:
        name: "none" leaves numbers as they are.
        values: of "log" the lowest and the highest number; of "asinh" the same, followed by the median m and the spread
            s; of "rank" the knots, ascending.
    """

    name: LabelScaleName = "none"
    values: tuple[float, ...] = ()
    ends: tuple[float, ...] = field(default=(), init=False, repr=False, compare=False)
    """On this scale, the lowest and the highest number, or the knots: computed once, as no trace computes them."""

    def __post_init__(self) -> None:
        least = {"none": 0, "log": 2, "asinh": 4, "rank": 2}
        values = self.values
        fits = self.name in least and len(values) >= least[self.name] and all(map(math.isfinite, values))
        if fits and self.name in ("log", "asinh"):
            fits = values[0] <= values[1] and (values[0] > 0 if self.name == "log" else values[3] > 0)
        if not fits or (self.name == "rank" and any(a >= b for a, b in pairwise(values))):
            raise ValueError(f"not a scale of numbers: {self.name!r} with {values!r:.60}")
        if self.name == "rank":
            object.__setattr__(self, "ends", _scores(len(values)))
        elif self.name != "none":
            ends = self.to(torch.tensor(values[:2], dtype=torch.float64, device="cpu"))
            object.__setattr__(self, "ends", tuple(ends.tolist()))

    @classmethod
    def of(cls, name: LabelScaleName, labels: Tensor) -> "LabelScale":
        """That of training labels (E,). Raises ``ValueError`` for a logarithm of numbers that are not all above 0."""
        labels = labels.double()
        ends = (float(labels.min()), float(labels.max()))
        if name == "log" and ends[0] <= 0:
            raise ValueError(f"the scale log needs labels above 0; the lowest is {ends[0]:g}")
        if name == "asinh":
            return cls(name, (*ends, float(labels.median()), spread(labels) or 1.0))
        if name == "rank":
            knots = torch.quantile(_some(labels), torch.linspace(0, 1, KNOTS).double()).unique()
            return cls(name, tuple(knots.tolist())) if len(knots) > 1 else cls()
        return cls() if name == "none" else cls(name, ends)

    def to(self, numbers: Tensor) -> Tensor:
        """Labels (...) on this scale."""
        if self.name == "log":
            return numbers.clamp(min=self.values[0]).log()
        if self.name == "asinh":
            return ((numbers - self.values[2]) / self.values[3]).asinh()
        return _through(numbers, self.values, self.ends) if self.name == "rank" else numbers

    def back(self, numbers: Tensor) -> Tensor:
        """Numbers (...) on this scale in the unit of the labels."""
        if self.name == "none":
            return numbers
        if self.name == "rank":
            return _through(numbers, self.ends, self.values)
        numbers = numbers.clamp(*self.ends)
        return numbers.exp() if self.name == "log" else self.values[2] + self.values[3] * numbers.sinh()

    def to_json(self) -> dict[str, Any] | None:
        """For :meth:`from_json`; None for numbers as they are."""
        return None if self.name == "none" else {"name": self.name, "values": list(self.values)}

    @classmethod
    def from_json(cls, data: dict[str, Any] | None) -> "LabelScale":
        return cls() if data is None else cls(data["name"], tuple(map(float, data["values"])))


AS_THEY_ARE = LabelScale()
"""The scale of numbers in their own unit."""


def spread(labels: Tensor) -> float:
    """The deviation of a normal distribution with the quartiles of labels (E,)."""
    low, high = torch.quantile(_some(labels.double()), torch.tensor([0.25, 0.75]).double()).tolist()
    return float(high - low) / SPREAD


def worth_trying(labels: Tensor) -> list[LabelScaleName]:
    """The scales that are tried for labels (E,): their own alone, unless some labels are far from all others."""
    between = spread(labels) if len(labels) > 1 else 0.0
    far = float(labels.double().std()) / between if between else math.inf
    if len(labels) < 2 or not far > TAIL:
        return ["none"]
    return ["none", "asinh", "rank", "log"] if bool((labels > 0).all()) else ["none", "asinh", "rank"]


def _some(labels: Tensor) -> Tensor:
    return labels[:: len(labels) // (1 << 20) + 1]


def _scores(count: int) -> tuple[float, ...]:
    """Normal scores of so many equally frequent ranks."""
    places = (torch.arange(count, dtype=torch.float64, device="cpu") + 0.5) / count
    return tuple(torch.special.ndtri(places).tolist())


def _through(numbers: Tensor, first: Sequence[float], second: Sequence[float]) -> Tensor:
    """Numbers by the line through the points (first, second), both ascending; what is beyond an end is that end."""
    x, y = (torch.tensor(each, dtype=numbers.dtype, device=numbers.device) for each in (first, second))
    numbers = numbers.clamp(x[0], x[-1])
    place = torch.searchsorted(x, numbers.contiguous(), right=True).clamp(1, len(x) - 1)
    share = (numbers - x[place - 1]) / (x[place] - x[place - 1])
    return y[place - 1] + share * (y[place] - y[place - 1])
