"""How many equations of each depth and label a data set has, and which equations may be in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from typing import Literal

Part = Literal["train", "test"]
Quotas = dict[tuple[int, int], int]
"""(label, depth) -> equations."""


@dataclass(frozen=True)
class Shape:
    """Equations of each depth, and the share of them that is correct."""

    counts: Mapping[int, int]
    correct: Mapping[int, float]

    def scaled(self, total: int) -> "Shape":
        """Return the shape with ``total`` equations: proportional, the largest remainders rounded up."""
        whole = sum(self.counts.values())
        exact = {depth: count * total / whole for depth, count in self.counts.items()}
        counts = {depth: floor(count) for depth, count in exact.items()}
        by_remainder = sorted(exact, key=lambda depth: (counts[depth] - exact[depth], depth))
        for depth in by_remainder[: total - sum(counts.values())]:
            counts[depth] += 1
        return Shape(counts, self.correct)

    def quotas(self) -> Quotas:
        """Correct (label 1) and wrong (0) equations of each depth."""
        quotas: Quotas = {}
        for depth, count in self.counts.items():
            correct = round(count * self.correct[depth])
            quotas[1, depth] = correct
            quotas[0, depth] = count - correct
        return {kind: number for kind, number in quotas.items() if number}


_COUNTS = (21, 355, 2542, 7508, 9442, 7957, 6146, 3634, 1999, 1124, 677, 300, 189)
_CORRECT = (0.52, 0.57, 0.62, 0.61, 0.58, 0.56, 0.54, 0.52, 0.52, 0.49, 0.50, 0.50, 0.50)
PAPER_TRAIN = Shape(dict(enumerate(_COUNTS, 1)), dict(enumerate(_CORRECT, 1)))
"""The training equations of Arabshahi et al. 2019: 41,894, depth 1 to 13."""
PAPER_TEST = Shape({1: 300, 2: 4000, **dict.fromkeys(range(3, 20), 11_500)}, dict.fromkeys(range(1, 20), 0.5))
"""The test equations of Arabshahi et al. 2021, depth 1 to 19; of depth 1 and 2 as many as there are, up to this."""
PRESETS: dict[str, dict[Part, Shape]] = {
    "paper-train": {"train": PAPER_TRAIN},
    "paper-test": {"test": PAPER_TEST},
    "small": {"train": PAPER_TRAIN.scaled(10_000), "test": PAPER_TEST.scaled(20_000)},
    "large": {"train": PAPER_TRAIN.scaled(2_000_000)},
}


def part_of(digest: int, depth: int) -> Part:
    """Whether an equation may be trained on or tested on, by its digest alone: no set needs to know another.

    Half of the equations are for either; of the few of depth 1 and 2 three quarters are for training.
    """
    return "test" if digest % 4 < (1 if depth < 3 else 2) else "train"


def is_validation(number: int, depth: int) -> bool:
    """Whether the training equation with this number is for validation: every tenth of depth 1 to 7."""
    return depth <= 7 and number % 10 == 0
