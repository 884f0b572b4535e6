"""Verification of equations and evaluation of numbers by one cell."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import MeanMetric, MeanSquaredError

from dgltree import TreeBatch, Vocabulary
from dgltree.encoders.encoder import Planned
from dgltree.models import EquationModel, NumberReadout
from tasks.equations.store import NUMBER
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.number_data import Numbers

TOLERANCE = 1e-3
"""A number is correct within this share of the right one."""


class EquationAndNumberClassifier(EquationClassifier):
    """Also reads numbers from the cell's states, where the vocabulary has numbers (Arabshahi et al. 2019).

    A batch's loss is the mean over its equations of both kinds: binary cross-entropy of the labelled ones, squared
    error of the number equations. Besides the metrics of :class:`EquationClassifier` it reports ``number_accuracy``
    (within 1e-3 relative) and ``number_mse``.

    Args:
        vocabulary: that of the data.
        options: further options of the cell; with numbers in the vocabulary, ``numbers=True`` is added.
    """

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any] | None = None, **others: Any) -> None:
        numbers = NUMBER[:2] in vocabulary.functions
        super().__init__(vocabulary, options={**(options or {}), **({"numbers": True} if numbers else {})}, **others)
        self.number_readout: NumberReadout | None = None
        if numbers:
            if not isinstance(self.model, EquationModel):
                raise ValueError("numbers are read from the cell's states of single sides: whole=False")
            self.number_readout = NumberReadout(self.model.cell.hidden_size)
        self.number_accuracy, self.number_mse = MeanMetric(), MeanSquaredError()

    def decode(self, trees: TreeBatch | Planned) -> Tensor:
        """(F,), the numbers that F trees give."""
        assert self.number_readout is not None
        return self.number_readout(self.model.encoder(trees, share=self.shares))

    def losses(self, mixed: Any) -> Tensor:
        """(E + F,), cross-entropies of the labelled equations, then squared errors of the number equations."""
        equations, numbers = mixed
        losses = [super().losses(equations)] if equations else []
        if numbers:
            losses.append((self.decode(numbers.inputs) - numbers.values) ** 2)
        return torch.cat(losses)

    def validation_step(self, mixed: Any, index: int) -> None:
        equations, numbers = mixed
        if equations:
            super().validation_step(equations, index)
        if numbers:
            self._evaluate(numbers, "")

    def test_step(self, mixed: Any, index: int) -> None:
        equations, numbers = mixed
        if equations:
            super().test_step(equations, index)
        if numbers:
            self._evaluate(numbers, "test_")

    def _evaluate(self, numbers: Numbers, prefix: str) -> None:
        found = self.decode(numbers.inputs)
        self.number_accuracy.update(close(found, numbers.values).float())
        self.number_mse.update(found, numbers.values)
        for name, metric in (("number_accuracy", self.number_accuracy), ("number_mse", self.number_mse)):
            self.log(prefix + name, metric, batch_size=len(found))


def close(found: Tensor, right: Tensor) -> Tensor:
    """(F,) bool, whether numbers (F,) are within the tolerance of the right ones (F,)."""
    return (found - right).abs() <= TOLERANCE * right.abs()
