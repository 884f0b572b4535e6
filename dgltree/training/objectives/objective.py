"""The contract of what is predicted: labels, loss, metrics and answers of one kind."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from dgltree.datasets.batches import label_numbers
from dgltree.datasets.labels import with_labels
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.label_scales import AS_THEY_ARE, LabelScale
from dgltree.models.readouts import Readout

if TYPE_CHECKING:
    from torchmetrics import Metric, MetricCollection

    from dgltree.training.objectives.metrics import ClassMetrics, Evaluation, NumberMetrics


class Objective(ABC):
    """The target of an example, and how it is learnt, decoded and measured.

    ``found`` is what a readout gives, ``answers`` what is made of it for people, ``targets`` what should have been.
    Metrics need the extra ``train`` (torchmetrics).
    """

    labels_are_numbers: ClassVar[bool]
    monitored: str
    """The metric by which the best epoch is chosen; higher is better."""
    classes: tuple[str, ...] = ()
    """Their names; none if there are no classes."""
    scale: LabelScale = AS_THEY_ARE
    """On which numbers are learnt."""

    @classmethod
    @abstractmethod
    def of(
        cls, train: TreeDataset, nodes: bool, class_weights: bool, classes: Sequence[str] | None = None
    ) -> "Objective":
        """Return the objective of a training set.

        Args:
            train: every example of it has a label.
            nodes: whether the labels of all nodes are learnt from.
            class_weights: whether rare classes have as much weight as frequent ones.
            classes: their names; None: those that the training set has.

        Raises ``ValueError`` for labels that cannot be learnt from.
        """

    @classmethod
    @abstractmethod
    def with_classes(cls, classes: Sequence[str]) -> "Objective":
        """Return the objective of a trained model with classes of these names, if it has classes."""

    @classmethod
    def labelled(cls, data: TreeDataset) -> TreeDataset:
        """The examples whose label is of this kind; the others are in ``bad``. Raises ``ValueError`` for none."""
        return with_labels(data, cls.labels_are_numbers)

    def targets(self, labels: Sequence[str | None]) -> Tensor:
        """(E,) int64 class numbers or float64; see :func:`dgltree.datasets.batches.label_numbers`."""
        return label_numbers(labels, self.classes or None)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the answer for one example."""

    @abstractmethod
    def nothing(self, targets: Tensor) -> float:
        """The monitored metric of these validation targets (E,) without anything learnt.

        As long as no epoch is above it, a training is neither ended nor slowed.
        """

    @abstractmethod
    def loss(self, found: Tensor, targets: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor | float]:
        """The mean, and of how many examples or nodes, or of what weight, it is one.

        ``weights`` (E,) are those of the examples; None: all count the same.
        """

    @abstractmethod
    def finish(self, readout: Readout) -> None:
        """Make a trained readout give answers of its own, without this objective's scale."""

    @abstractmethod
    def answers(self, found: Tensor) -> Tensor:
        """(E, C) probabilities, or (E,) numbers in the unit of the labels."""

    @abstractmethod
    def answer_loss(self, answers: Tensor, targets: Tensor) -> float:
        """How wrong answers are on the mean: log loss, or squared error."""

    @abstractmethod
    def score(self, predicted: Tensor, targets: Tensor) -> float:
        """The monitored metric of what :meth:`predicted` gives."""

    @abstractmethod
    def scores(self) -> "dict[str, Callable[[Tensor, Tensor], float]]":
        """The printed metrics that follow from what :meth:`predicted` gives and the targets, by their names."""

    @abstractmethod
    def temperature(self, answers: Tensor, targets: Tensor) -> float:
        """The divisor of logits by which probabilities fit validation examples; 1 if there are no logits."""

    def tempered(self, answers: Tensor, temperature: float) -> Tensor:
        """Answers whose logits are divided by a temperature; numbers are as they were."""
        return answers

    @abstractmethod
    def predicted(self, answers: Tensor) -> Tensor:
        """(E,) the numbers of the classes, or the numbers themselves."""

    @abstractmethod
    def support(self, answers: Tensor) -> Tensor:
        """(E,) the probabilities of the class that is predicted of the first example, or the numbers."""

    @abstractmethod
    def evidence(self, support: Tensor) -> Tensor:
        """(E,) the same on a scale that adds up: the log-odds of probabilities in nats, or the numbers."""

    @abstractmethod
    def validation_metrics(self) -> "dict[str, Metric | MetricCollection]":
        """The metrics computed after each epoch by :meth:`compared`."""

    @abstractmethod
    def compared(self, found: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The pair that those metrics compare."""

    @abstractmethod
    def metrics(self) -> "ClassMetrics | NumberMetrics":
        """The metrics of predictions that come some at a time."""

    def evaluation(self, answers: Tensor, targets: Tensor) -> "Evaluation":
        """The metrics of answers to all examples."""
        metrics = self.metrics()
        metrics.update(answers, targets)
        return metrics.found()

    @abstractmethod
    def texts(self, answers: Tensor) -> list[str]:
        """The columns of a table of answers, separated by tabs, one line an example."""

    @abstractmethod
    def columns(self, answers: Tensor) -> dict[str, Any]:
        """Return the answers as named arrays; the first is ``prediction``."""

    @property
    @abstractmethod
    def answer_columns(self) -> list[str]:
        """Names of the :meth:`columns` that together are the answers."""


def weighted_mean(losses: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The mean () of losses (E,) by weights (E,), and their sum; of weights that are all 0 the mean is 0."""
    total = weights.sum()
    return (losses * weights).sum() / total.clamp(min=torch.finfo(losses.dtype).tiny), total
