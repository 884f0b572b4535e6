"""A number: squared error of standardised numbers, and R2."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from dgltree.datasets.batches import label_numbers
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.label_scales import AS_THEY_ARE, LabelScale
from dgltree.models.readouts import NumberReadout, Readout
from dgltree.support.arguments import LabelScaleName
from dgltree.training.objectives.objective import Objective, weighted_mean

if TYPE_CHECKING:
    from torchmetrics import Metric, MetricCollection

    from dgltree.training.objectives.metrics import Evaluation, NumberMetrics


MOST_WRITTEN = 1e15
"""Numbers from which on not every digit before the point is written: float64 has no more."""


@dataclass(frozen=True)
class Numbers(Objective):
    """The number of each example. A readout in training gives ``(s - mean) / deviation`` of it on a scale, s.

    Epochs are compared on that scale, too, where one number far from all others does not decide alone. The mean is
    taken off and put back in float64: 32 bits do not tell Unix times apart that differ by less than 128.
    """

    mean: float = 0.0
    deviation: float = 1.0
    scale: LabelScale = AS_THEY_ARE

    labels_are_numbers = True
    monitored = "r2"

    @classmethod
    def of(
        cls, train: TreeDataset, nodes: bool, class_weights: bool, classes: Sequence[str] | None = None
    ) -> "Numbers":
        if classes is not None:
            raise ValueError("classes are names of labels, but the labels are numbers")
        if class_weights:
            raise ValueError("class_weights are for classes, but the labels are numbers")
        if nodes:
            raise ValueError("--nodes (nodes=True) learns classes, but the labels are numbers")
        labels = label_numbers(train.labels, None)
        if len(labels) > 1 and bool((labels == labels[0]).all()):
            raise ValueError(
                f"all {len(labels)} training examples have the number {float(labels[0]):g} as their label; there is "
                "nothing to learn"
            )
        return cls().on("none", labels)

    def on(self, name: LabelScaleName, labels: Tensor) -> "Numbers":
        """Return a copy with the scale of these training labels (E,). Raises as ``LabelScale.of`` does."""
        scale = LabelScale.of(name, labels)
        numbers = scale.to(labels.double())
        return replace(self, mean=float(numbers.mean()), deviation=float(numbers.std()) or 1.0, scale=scale)

    @classmethod
    def with_classes(cls, classes: Sequence[str]) -> "Numbers":
        return cls()

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    def nothing(self, targets: Tensor) -> float:
        return 0.05  # the mean of the labels has 0, in a validation set by chance a little more

    def loss(self, found: Tensor, targets: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor | float]:
        wanted = ((self.scale.to(targets.double()) - self.mean) / self.deviation).to(found.dtype)
        if weights is not None:
            return weighted_mean((found - wanted).square(), weights)
        return nn.functional.mse_loss(found, wanted), len(targets)

    def finish(self, readout: Readout) -> None:
        readout.rescale(self.mean, self.deviation)
        if self.scale.name != "none":
            assert isinstance(readout, NumberReadout)
            readout.scaled(self.scale)

    def answers(self, found: Tensor) -> Tensor:
        return self.scale.back(self.mean + self.deviation * found.double())

    def answer_loss(self, answers: Tensor, targets: Tensor) -> float:
        return float((answers.double() - targets.double()).square().mean())

    def score(self, predicted: Tensor, targets: Tensor) -> float:
        spread = (targets.double() - targets.double().mean()).square().mean()
        return 1 - self.answer_loss(predicted, targets) / float(spread) if spread else math.nan

    def scores(self) -> dict[str, Callable[[Tensor, Tensor], float]]:
        return {
            "r2": self.score,
            "rmse": lambda predicted, targets: self.answer_loss(predicted, targets) ** 0.5,
            "mae": lambda predicted, targets: float((predicted.double() - targets.double()).abs().mean()),
        }

    def temperature(self, answers: Tensor, targets: Tensor) -> float:
        return 1.0

    def predicted(self, answers: Tensor) -> Tensor:
        return answers

    def support(self, answers: Tensor) -> Tensor:
        return answers

    def evidence(self, support: Tensor) -> Tensor:
        return support

    def validation_metrics(self) -> "dict[str, Metric | MetricCollection]":
        from torchmetrics import MeanAbsoluteError, MeanSquaredError, R2Score

        return {"r2": R2Score(), "rmse": MeanSquaredError(squared=False), "mae": MeanAbsoluteError()}

    def compared(self, found: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        centred = self.scale.to(targets.double()) - self.mean  # of which all metrics are the same
        return self.deviation * found, centred.to(found.dtype)

    def metrics(self) -> "NumberMetrics":
        from dgltree.training.objectives.metrics import NumberMetrics

        return NumberMetrics()

    def evaluation(self, answers: Tensor, targets: Tensor) -> "Evaluation":
        return replace(super().evaluation(answers, targets), answers=(answers, targets))

    def texts(self, answers: Tensor) -> list[str]:
        return [number_text(number) for number in answers.tolist()]

    def columns(self, answers: Tensor) -> dict[str, Any]:
        return {"prediction": answers.double().numpy()}

    @property
    def answer_columns(self) -> list[str]:
        return ["prediction"]


def number_text(number: float) -> str:
    """A number to six digits, or with all digits before the point and two after it if it has more than six of these."""
    return (
        f"{number:.6g}" if abs(number) < 1e6 or abs(number) >= MOST_WRITTEN else f"{number:.2f}".rstrip("0").rstrip(".")
    )
