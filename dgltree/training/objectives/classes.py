"""One of some classes: cross-entropy, accuracy and macro F1."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from dgltree.batching.vocabulary import NO_LABEL
from dgltree.datasets.batches import UNSEEN, label_numbers
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.readouts import Readout
from dgltree.read.text import one_line
from dgltree.training.objectives.class_means import MIN_PROBABILITY, balanced_accuracy, macro_f1
from dgltree.training.objectives.objective import Objective, weighted_mean
from dgltree.training.objectives.threshold import Threshold

if TYPE_CHECKING:
    from torchmetrics import Metric, MetricCollection

    from dgltree.training.objectives.metrics import ClassMetrics

MAX_LOG_TEMPERATURE = 3.0
"""The highest logarithm of a temperature."""
OTHER_LABEL = 0.25
"""Examples: chosen among 0 to 2 by 24 trainings whose validation had no error, and confirmed on others (notes)."""
MOST_CELLS = 1 << 24
"""Probabilities that a temperature is fitted to."""
RARE = 0.5
"""Share of an even share of the training examples: a class with fewer is rare."""
SURE = 1e-7
"""How near to 0 and 1 a probability of 32 bits can be."""


class Classes(Objective):
    """The class of each example.

    Args:
        classes: their names.
        weights: (C,) what an example of each class weighs in losses, and in what is chosen by validation: the epoch,
            the temperature and the average; None: all the same.
        threshold: of the probability of a class; None: the most probable class is predicted.
        largest: the number of the class that most training examples have; None: not known.
        balanced: whether epochs are chosen by the balanced accuracy, as with weights, because a class is rare: always
            answering the others has a high accuracy.
    """

    labels_are_numbers = False
    monitored = "accuracy"

    def __init__(
        self,
        classes: tuple[str, ...] = (),
        weights: Tensor | None = None,
        threshold: Threshold | None = None,
        largest: int | None = None,
        balanced: bool = False,
    ) -> None:
        self.classes = tuple(classes)
        self.weights = weights
        self.threshold = threshold
        self.largest = largest
        self.balanced = balanced or weights is not None
        if self.balanced:
            self.monitored = "balanced_accuracy"

    @classmethod
    def of(
        cls, train: TreeDataset, nodes: bool, class_weights: bool, classes: Sequence[str] | None = None
    ) -> "Classes":
        if nodes and not any(map(len, _numbers_of_nodes(train))):
            raise ValueError("nodes needs trees with class labels at their nodes, such as (3 (2 The) (4 Rock))")
        there = classes_of(train, nodes)
        if len(there) < 2 and classes is None:
            which = f"nodes of the {len(train)} training examples" if nodes else f"{len(train)} training examples"
            raise ValueError(f"all {which} have the label {there[0]!r:.60}; give at least two classes")
        names = there if classes is None else list(classes)
        if strange := {label for label in train.labels if label is not None} - {*names}:
            raise ValueError(f"the label {min(strange)!r:.60} is not one of the classes {', '.join(names)}")
        counts = _counts(train, names, nodes)
        return cls(
            tuple(names),
            _weights(counts) if class_weights else None,
            largest=_largest(train, names),
            balanced=bool(counts.min() < RARE * counts.sum() / len(names)),
        )

    @classmethod
    def with_classes(cls, classes: Sequence[str]) -> "Classes":
        return cls(tuple(classes))

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.classes),)

    def nothing(self, targets: Tensor) -> float:
        """The share of the most frequent class, and half an example more, for metrics are rounded.

        Of a balanced accuracy, which is the mean over classes, that of one class.
        """
        known = targets[targets >= 0]
        if self.balanced:
            return 1 / max(1, len(known.unique())) + 0.5 / len(targets)
        return (float(known.bincount().max()) + 0.5) / len(targets) if len(known) else -math.inf

    def loss(self, found: Tensor, targets: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor | float]:
        if self.weights is not None:
            self.weights = self.weights.to(found.device)  # copied in the first step alone
        targets = targets.masked_fill(targets == UNSEEN, NO_LABEL)  # of validation
        known = targets != NO_LABEL
        if weights is not None:
            weights = weights * known * (1 if self.weights is None else self.weights[targets.clamp(min=0)])
            losses = nn.functional.cross_entropy(found, targets, ignore_index=NO_LABEL, reduction="none")
            return weighted_mean(losses, weights)
        mean = nn.functional.cross_entropy(found, targets, self.weights, ignore_index=NO_LABEL)
        return mean, (known if self.weights is None else self.weights[targets.clamp(min=0)] * known).sum()

    def finish(self, readout: Readout) -> None:
        """Logits have no scale of their own."""

    def answers(self, found: Tensor) -> Tensor:
        return found.softmax(-1)

    def answer_loss(self, answers: Tensor, targets: Tensor) -> float:
        """Return the mean loss of the examples whose class is known."""
        known = targets != UNSEEN
        right = answers[known].gather(1, targets[known].unsqueeze(1)).squeeze(1).double()
        return float(self._mean(-right.clamp(min=MIN_PROBABILITY).log(), targets[known]))

    def _mean(self, losses: Tensor, targets: Tensor) -> Tensor:
        """(), the mean of losses (E,) of examples with known classes (E,), weighted if classes are."""
        if self.weights is None:
            return losses.mean()
        return weighted_mean(losses, self.weights.to(losses)[targets])[0]

    def score(self, predicted: Tensor, targets: Tensor) -> float:
        if self.balanced:
            labels = torch.where(targets == UNSEEN, len(self.classes), targets)
            return balanced_accuracy(predicted, labels, len(self.classes) + 1)
        return float((predicted == targets).double().mean())

    def scores(self) -> dict[str, Callable[[Tensor, Tensor], float]]:
        count = len(self.classes) + 1

        def labels(targets: Tensor) -> Tensor:
            return torch.where(targets == UNSEEN, count - 1, targets)

        found: dict[str, Callable[[Tensor, Tensor], float]] = {
            "accuracy": lambda predicted, targets: float((predicted == targets).double().mean()),
            "macro_f1": lambda predicted, targets: macro_f1(predicted, labels(targets), count),
        }
        return {**found, self.monitored: self.score} if self.balanced else found

    def temperature(self, answers: Tensor, targets: Tensor) -> float:
        """Fit the temperature by the likelihood of validation labels (Guo et al. 2017, arXiv 1706.04599), with a prior.

        ``OTHER_LABEL`` more of an example has another class: where validation has no error, the likelihood alone is the
        higher the surer the answers are.
        """
        from scipy.optimize import minimize_scalar

        known = targets != UNSEEN
        rows = torch.nonzero(known).squeeze(1)
        rows = rows[:: max(1, -(-answers.shape[1] * len(rows) // MOST_CELLS))]  # of very many classes some examples
        if not len(rows):
            return 1.0
        logs = answers[rows].double().clamp(min=MIN_PROBABILITY).log()
        labels = targets[rows].unsqueeze(1)
        others = max(1, logs.shape[1] - 1)

        def lost(log: float) -> float:
            fitted = (logs / math.exp(log)).log_softmax(1).clamp(min=math.log(MIN_PROBABILITY))
            right = fitted.gather(1, labels).squeeze(1)
            other = (right - fitted.sum(1)).mean() / others
            return float(int(known.sum()) * self._mean(-right, targets[rows]) + OTHER_LABEL * other) + log * log / 2

        return math.exp(minimize_scalar(lost, bounds=(-MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE), method="bounded").x)

    def tempered(self, answers: Tensor, temperature: float) -> Tensor:
        return answers if temperature == 1 else (answers.clamp(min=MIN_PROBABILITY).log() / temperature).softmax(-1)

    def predicted(self, answers: Tensor) -> Tensor:
        return answers.argmax(1) if self.threshold is None else self.threshold.predicted(answers)

    def with_threshold(self, threshold: Threshold | None) -> "Classes":
        """Return a copy with this threshold."""
        return Classes(self.classes, self.weights, threshold, self.largest, self.balanced)

    def with_counts(self, data: Any) -> "Classes":
        """Return a copy with what :meth:`counts_to_json` gives. Raises ``ValueError`` for anything else."""
        largest, balanced = (data.get(key) for key in ("class", "balanced")) if isinstance(data, dict) else (None, None)
        if largest not in self.classes or not isinstance(balanced, bool):
            raise ValueError("expected a class of the model, and whether a class is rare")
        return Classes(self.classes, self.weights, self.threshold, self.classes.index(largest), balanced)

    def counts_to_json(self) -> dict[str, Any] | None:
        """The class that most training examples have, and whether one has few; None if it is not known."""
        return None if self.largest is None else {"class": self.classes[self.largest], "balanced": self.balanced}

    def support(self, answers: Tensor) -> Tensor:
        return answers[:, self.predicted(answers[:1])[0]]

    def evidence(self, support: Tensor) -> Tensor:
        return support.clamp(SURE, 1 - SURE).logit()

    def validation_metrics(self) -> "dict[str, Metric | MetricCollection]":
        from torchmetrics.classification import MulticlassAccuracy

        from dgltree.training.objectives.metrics import BalancedAccuracy, ClassCounts

        count = len(self.classes) + 1
        usual: dict[str, Metric | MetricCollection] = {
            "accuracy": MulticlassAccuracy(count, average="micro"),
            "macro_f1": ClassCounts(count),
        }
        return {**usual, "balanced_accuracy": BalancedAccuracy(count)} if self.balanced else usual

    def compared(self, found: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """A label that training never saw is a class of its own, which is never predicted."""
        return found.argmax(1), torch.where(targets == UNSEEN, len(self.classes), targets)

    def metrics(self) -> "ClassMetrics":
        from dgltree.training.objectives.metrics import ClassMetrics

        return ClassMetrics(self.classes, self.predicted, self.balanced, self.largest)

    def texts(self, answers: Tensor) -> list[str]:
        names = [one_line(name) for name in self.classes]
        best = [names[i] for i in self.predicted(answers).tolist()]
        return ["\t".join([name, *map("{:.6f}".format, row)]) for name, row in zip(best, answers.tolist(), strict=True)]

    def columns(self, answers: Tensor) -> dict[str, Any]:
        best = np.array(self.classes)[self.predicted(answers).numpy()]
        return {"prediction": best, **{name: answers[:, i].numpy().copy() for i, name in enumerate(self.classes)}}

    @property
    def answer_columns(self) -> list[str]:
        return list(self.classes)


def classes_of(data: TreeDataset, nodes: bool = False) -> list[str]:
    """The classes, numbers by their value and texts by their letters."""
    found = {label for label in data.labels if label is not None}
    if nodes:
        found |= _node_labels(data).keys()
    return sorted(found, key=lambda name: (0, int(name), name) if name.isdecimal() else (1, 0, name))


def _largest(train: TreeDataset, classes: Sequence[str]) -> int | None:
    """The class of most examples, the first of several; None if no example has a label, as with labels of nodes."""
    counts = Counter(train.labels)
    largest = max(classes, key=lambda name: counts[name])  # the first of equals
    return list(classes).index(largest) if counts[largest] else None


def _counts(train: TreeDataset, classes: list[str], nodes: bool) -> Tensor:
    """(C,) int64, how many examples, or nodes, have each class."""
    labels: Sequence[str | None] = train.labels
    if nodes:
        labels = list(_node_labels(train).elements())
    numbers = label_numbers(labels, classes)
    return torch.bincount(numbers[numbers >= 0], minlength=len(classes))


def _weights(counts: Tensor) -> Tensor:
    """(C,) float32, inverse to how often each class occurs, 1 on the mean of all examples."""
    counts = counts.clamp(min=1)
    return counts.sum() / (len(counts) * counts.float())


def _node_labels(data: TreeDataset) -> Counter[str]:
    """How many nodes have each label."""
    counts: Counter[int] = Counter()
    for numbers in _numbers_of_nodes(data):
        counts.update(dict(enumerate(numbers.bincount().tolist())))
    names = data.node_classes
    return Counter({str(i) if names is None else names[i]: count for i, count in counts.items() if count})


def _numbers_of_nodes(data: TreeDataset) -> Iterator[Tensor]:
    """The labels of nodes that there are, some at a time."""
    for block in data.blocks():
        yield block.trees.label[block.trees.label != NO_LABEL]
