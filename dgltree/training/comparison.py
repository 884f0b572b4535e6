"""The answers that a training leaves are measured: the network's, a baseline's and their average's."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.read.text import first_of, one_line
from dgltree.training.baseline.average import Average
from dgltree.training.objectives import Objective
from dgltree.training.objectives.metrics import OTHER, Evaluation
from dgltree.training.options import FitOptions

RESAMPLES = 1000
"""Resamples of the bootstrap, drawn with seed 0."""
COVERED = (0.025, 0.975)
"""The quantiles that an interval of 95 % lies between."""
CLEAR = 0.3
"""R2 from which on numbers are better than their mean, however wide the interval."""
Interval = tuple[float, float]
BySplit = dict[str, Evaluation]


class Measured(NamedTuple):
    """Metrics of some answers, and what was predicted."""

    evaluation: Evaluation
    predicted: Tensor
    """(E,) the numbers of the classes, or the numbers themselves."""


def measure(objective: Objective, answers: Iterable[Tensor], targets: Tensor) -> Measured:
    """Compare answers to examples, some at a time and in their order, with targets (E,); one example at least.

    Of very many classes the answers do not fit into memory at once.

    Args:
        objective: the kind of answers.
        answers: (B, C) probabilities or (B,) numbers of the next examples.
        targets: of all of them.
    """
    metrics = objective.metrics()
    predicted = []
    first = 0
    for some in answers:
        metrics.update(some, targets[first : first + len(some)])
        predicted.append(objective.predicted(some))
        first += len(some)
    return Measured(metrics.found(), torch.cat(predicted))


@dataclass(frozen=True)
class Compared:
    """Metrics by who answers (``network``, and where there is a baseline ``baseline`` and ``average``) and by split."""

    metrics: dict[str, BySplit]
    intervals: dict[str, dict[str, Interval]]
    """Intervals of the metric by which the best epoch is chosen, in the bootstrap over examples."""
    differences: dict[str, Interval]
    """How much better the used answers are than the baseline on the same examples, by split; empty without one."""
    tested: dict[str, dict[str, Interval]] = field(default_factory=dict)
    """Intervals by split and metric of the used answers to tests."""

    @classmethod
    def of(
        cls, objective: Objective, answers: Mapping[str, Mapping[str, Tensor]], targets: Mapping[str, Tensor]
    ) -> "Compared":
        """Compare answers (E, ...) with targets (E,), both by split."""
        measured: dict[str, dict[str, Measured]] = {}
        for who, by_split in answers.items():
            measured[who] = {}
            for split, given in by_split.items():
                measured[who][split] = measure(objective, [given], targets[split])
        return cls.of_measured(objective, measured, targets)

    @classmethod
    def of_measured(
        cls, objective: Objective, measured: Mapping[str, Mapping[str, Measured]], targets: Mapping[str, Tensor]
    ) -> "Compared":
        """Compare answers that were measured, by who answers and by split, with targets (E,)."""

        def score(who: str, split: str) -> Callable[[Tensor], float]:
            return lambda rows: objective.score(measured[who][split].predicted[rows], targets[split][rows])

        metrics: dict[str, BySplit] = {}
        intervals: dict[str, dict[str, Interval]] = {}
        for who, by_split in measured.items():
            metrics[who] = {split: found.evaluation for split, found in by_split.items()}
            intervals[who] = {split: interval(score(who, split), len(targets[split])) for split in by_split}

        differences = {}
        for split in measured.get("average", {}):
            ours = score("average", split)
            theirs = score("baseline", split)
            differences[split] = interval(lambda rows: ours(rows) - theirs(rows), len(targets[split]))  # noqa: B023

        tested: dict[str, dict[str, Interval]] = {}
        for split, found in measured.get("average", measured["network"]).items():
            if split == "validation":
                continue
            tested[split] = {}
            for name, metric in objective.scores().items():
                of_rows = _of_rows(metric, found.predicted, targets[split])
                tested[split][name] = interval(of_rows, len(targets[split]))
        return cls(metrics, intervals, differences, tested)

    @property
    def used(self) -> BySplit:
        """The metrics of what the model answers."""
        return self.metrics.get("average", self.metrics["network"])

    def lines(self, average: Average | None, how: str) -> list[str]:
        """The lines about them; the last one says whose answers are used, and ``how`` that was chosen."""
        found = []
        for split, evaluation in self.used.items():
            found.append(f"{split}: {evaluation}")
            if split in self.tested:
                each = (f"{name} {low:.4f} to {high:.4f}" for name, (low, high) in self.tested[split].items())
                found.append(f"{split}, 95 % of resamples: {', '.join(each)}")
            if average is not None:
                found.append(f"{split}, network alone: {self.metrics['network'][split]}")
                found.append(f"{split}, baseline ({average.baseline.what}): {self.metrics['baseline'][split]}")
        return found if average is None else [*found, describe_parts(average, how)]


def _of_rows(
    metric: Callable[[Tensor, Tensor], float], predicted: Tensor, targets: Tensor
) -> Callable[[Tensor], float]:
    return lambda rows: metric(predicted[rows], targets[rows])


def interval(metric: Callable[[Tensor], float], count: int) -> Interval:
    """Within which 95 % of the values of a metric lie that resamples of ``count`` examples have.

    NaN values, such as R2 of equal labels, are left out.
    """
    random = np.random.default_rng(0)
    values = [metric(torch.from_numpy(random.integers(count, size=count))) for _ in range(RESAMPLES)]
    known = np.array(values)[~np.isnan(values)]
    low, high = np.quantile(known, COVERED) if len(known) else (np.nan, np.nan)
    return float(low), float(high)


def all_rows(compared: Compared, refused: Mapping[str, int]) -> list[str]:
    """The accuracy of each split if what the model refuses counts as an error, or how many numbers it refuses."""
    return [
        with_refused(split, compared.used[split], count)
        for split, count in refused.items()
        if split in compared.used and count
    ]


def with_refused(what: str, found: Evaluation, refused: int) -> str:
    """The line about all rows, of which some were refused because the model does not know their names."""
    rows = found.examples + refused
    line = f"{what}, all {rows} rows: {refused} are rejected for names unknown to the model"
    if "accuracy" not in found.metrics:
        return f"{line}, and have no prediction; the metrics are those of the other rows"
    return (
        f"{line}; accuracy with these rows counted as errors: {found.metrics['accuracy'] * found.examples / rows:.4f}"
    )


def never_predicted(compared: Compared, options: FitOptions) -> list[str]:
    """That classes are never predicted in validation although examples have them, if so, and what to try."""
    found = compared.used["validation"]
    if found.confusion is None:
        return []
    columns = zip(found.names, found.confusion.sum(1).tolist(), found.confusion.sum(0).tolist(), strict=True)
    missed = [name for name, actual, predicted in columns if actual and not predicted and name != OTHER]
    if not missed:
        return []
    have = "1 class is" if len(missed) == 1 else f"{len(missed):,} classes are"
    ways = [] if options.class_weights else ["--class-weights balanced gives all classes the same weight"]
    ways.append(
        f"--threshold '{one_line(missed[0])}=f1' of fit predicts this class above the probability with the best F1"
    )
    return [f"{have} never predicted in validation ({first_of(missed)}): {'; '.join(ways)}"]


def no_better(compared: Compared, objective: Objective) -> list[str]:
    """That nothing is clearly better in validation than the mean of the labels, if so, and what to try."""
    who = "average" if "average" in compared.metrics else "network"
    r2 = compared.used["validation"].metrics.get("r2", math.inf)
    low, high = compared.intervals[who]["validation"]
    if objective.classes or r2 >= CLEAR or low > 0:
        return []
    parts = "network, baseline and average are" if who == "average" else "the network is"
    return [
        f"in validation {parts} not clearly better than the mean of the labels (R2 {r2:.3f}, 95 % {low:.3f} to "
        f"{high:.3f}): try more examples, or another --label-scale or --encoder; the trees may lack what determines "
        "the labels"
    ]


def describe_parts(average: Average, how: str) -> str:
    """The message that says which parts an average consists of, and how these were chosen."""
    if average.weight == 0:
        return (
            f"the baseline alone is best {how}, so the model predicts with the baseline only; the network adds nothing"
        )
    if average.weight == 1:
        return (
            f"the network alone is best {how}, so the model predicts with the network only; the baseline adds nothing"
        )
    shares = f"{average.weight:.0%} network and {1 - average.weight:.0%} baseline"
    return f"the predictions are an average of {shares}, the best {how}"
