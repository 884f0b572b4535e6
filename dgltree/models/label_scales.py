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
MOST_LABELS = 1 << 20
"""Labels of which quantiles are taken: of more, every second or third, and so on; torch has a limit of 2^24."""


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
    ends: tuple[float, ...] = field(
        default=(),
        init=False,
        repr=False,
        compare=False,
    )
    """On this scale, the lowest and the highest number, or the knots: computed once, as no trace computes them."""

    def __post_init__(self) -> None:
        if not self._is_valid():
            raise ValueError(f"the label scale {self.name!r} does not allow the values {self.values!r:.60}")
        if self.name == "none":
            return
        if self.name == "rank":
            ends = _normal_scores(len(self.values))
        else:
            lowest_and_highest = torch.tensor(self.values[:2], dtype=torch.float64, device="cpu")
            ends = self.to(lowest_and_highest)
        object.__setattr__(self, "ends", tuple(ends.tolist()))

    def _is_valid(self) -> bool:
        least_values = {"none": 0, "log": 2, "asinh": 4, "rank": 2}
        values = self.values
        if self.name not in least_values or len(values) < least_values[self.name]:
            return False
        if not all(map(math.isfinite, values)):
            return False
        if self.name == "rank":
            return all(knot < following for knot, following in pairwise(values))
        if self.name == "log":
            return 0 < values[0] <= values[1]
        if self.name == "asinh":
            deviation = values[3]
            return values[0] <= values[1] and deviation > 0
        return True

    @classmethod
    def of(cls, name: LabelScaleName, labels: Tensor) -> "LabelScale":
        """The scale of training labels (E,).

        Raises ``ValueError`` for a logarithm of numbers that are not all above 0.
        """
        labels = labels.double()
        lowest = float(labels.min())
        highest = float(labels.max())
        if name == "log":
            if lowest <= 0:
                raise ValueError(f"the scale log needs labels above 0, but the lowest is {lowest:g}")
            return cls(name, (lowest, highest))
        if name == "asinh":
            median = float(labels.median())
            return cls(name, (lowest, highest, median, spread(labels) or 1.0))
        if name == "rank":
            ranks = torch.linspace(0, 1, KNOTS).double()
            knots = torch.quantile(_some(labels), ranks).unique()
            if len(knots) == 1:  # all labels are equal
                return cls()
            return cls(name, tuple(knots.tolist()))
        return cls(name)

    def to(self, numbers: Tensor) -> Tensor:
        """Labels (...) on this scale."""
        if self.name == "log":
            return numbers.clamp(min=self.values[0]).log()
        if self.name == "asinh":
            median, deviation = self.values[2:4]
            return ((numbers - median) / deviation).asinh()
        if self.name == "rank":
            return _interpolate(numbers, self.values, self.ends)
        return numbers

    def back(self, numbers: Tensor) -> Tensor:
        """Numbers (...) on this scale in the unit of the labels."""
        if self.name == "none":
            return numbers
        if self.name == "rank":
            return _interpolate(numbers, self.ends, self.values)
        numbers = numbers.clamp(*self.ends)
        if self.name == "log":
            return numbers.exp()
        median, deviation = self.values[2:4]
        return median + deviation * numbers.sinh()

    def to_json(self) -> dict[str, Any] | None:
        """A value of JSON for :meth:`from_json`; None for numbers as they are."""
        if self.name == "none":
            return None
        return {"name": self.name, "values": list(self.values)}

    @classmethod
    def from_json(cls, data: dict[str, Any] | None) -> "LabelScale":
        """Inverse of :meth:`to_json`. Raises ``ValueError`` for anything else."""
        if data is None:
            return cls()
        return cls(data["name"], tuple(map(float, data["values"])))


AS_THEY_ARE = LabelScale()
"""The scale of numbers in their own unit."""


def spread(labels: Tensor) -> float:
    """The deviation of a normal distribution with the quartiles of labels (E,)."""
    ranks = torch.tensor([0.25, 0.75], dtype=torch.float64)
    quartiles = torch.quantile(_some(labels.double()), ranks)
    low, high = quartiles.tolist()
    return float(high - low) / SPREAD


def worth_trying(labels: Tensor) -> list[LabelScaleName]:
    """The scales that are tried for labels (E,): their own alone, unless some labels are far from all others."""
    if len(labels) < 2:
        return ["none"]
    deviation = spread(labels)
    if deviation:
        tail = float(labels.double().std()) / deviation
        if not tail > TAIL:  # also of NaN
            return ["none"]
    scales: list[LabelScaleName] = ["none", "asinh", "rank"]
    if bool((labels > 0).all()):
        scales.append("log")
    return scales


def _some(labels: Tensor) -> Tensor:
    step = len(labels) // MOST_LABELS + 1
    return labels[::step]


def _normal_scores(count: int) -> Tensor:
    """(count,) float64, normal scores of so many equally frequent ranks."""
    rank = torch.arange(count, dtype=torch.float64, device="cpu")
    return torch.special.ndtri((rank + 0.5) / count)


def _interpolate(
    numbers: Tensor,
    knots: Sequence[float],
    values: Sequence[float],
) -> Tensor:
    """Numbers by the line through the points (knots, values), both ascending; what is beyond an end is that end."""
    x = torch.tensor(knots, dtype=numbers.dtype, device=numbers.device)
    y = torch.tensor(values, dtype=numbers.dtype, device=numbers.device)
    numbers = numbers.clamp(x[0], x[-1])
    following = torch.searchsorted(x, numbers.contiguous(), right=True)
    right = following.clamp(1, len(x) - 1)
    left = right - 1
    width = x[right] - x[left]
    height = y[right] - y[left]
    share = (numbers - x[left]) / width
    return y[left] + share * height
