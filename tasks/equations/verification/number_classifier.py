"""Verification of equations and evaluation of numbers by one cell."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import MeanMetric, MeanSquaredError

from dgltree import TreeBatch, Vocabulary
from dgltree.encoders.encoder import Planned
from dgltree.models import EquationModel, NumberReadout, TreeModel
from tasks.equations.store import NUMBER
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.number_figures import close, figures


class EquationAndNumberClassifier(EquationClassifier):
    """Also reads numbers from the cell's states, where the vocabulary has numbers (Arabshahi et al. 2019).

    A batch's loss is the mean over its equations of both kinds: binary cross-entropy of the labelled ones, squared
    error of the number equations. It adds to the metrics of :class:`EquationClassifier` ``number_accuracy``
    (within 1e-3 relative) and ``number_mse``, and in tests the metrics of :func:`figures`.

    Args:
        vocabulary: that of the data.
        options: further options of the cell; with numbers in the vocabulary, ``numbers=True`` is added.
        decay: whether the rate falls from ``lr`` to nothing, by a cosine over all steps.
    """

    def __init__(
        self, vocabulary: Vocabulary, options: dict[str, Any] | None = None, decay: bool = False, **others: Any
    ) -> None:
        numbers = NUMBER[:2] in vocabulary.functions
        super().__init__(vocabulary, options={**(options or {}), **({"numbers": True} if numbers else {})}, **others)
        self.decay, self.functions = decay, [name for name, _ in vocabulary.functions]
        self.number_readout: NumberReadout | None = None
        if numbers:
            if not isinstance(self.model, EquationModel):
                raise ValueError("numbers are read from the cell's states of single sides: whole=False")
            self.number_readout = NumberReadout(self.hidden_size)
        self.number_accuracy, self.number_mse = MeanMetric(), MeanSquaredError()

    @property
    def evaluator(self) -> TreeModel:
        """The readout of the numbers."""
        assert self.number_readout is not None
        return TreeModel(self.encoder, self.number_readout)

    def decode(self, trees: TreeBatch | Planned) -> Tensor:
        """(F,), the numbers that F trees give."""
        return self.evaluator(trees, share=self.shares)

    def losses(self, mixed: Any) -> Tensor:
        """(E + F,), cross-entropies of the labelled equations, then squared errors of the number equations."""
        equations, numbers = mixed
        losses = [super().losses(equations)] if equations else []
        if numbers:
            losses.append((self.decode(numbers.inputs) - numbers.values) ** 2)
        return torch.cat(losses)

    def configure_optimizers(self) -> Any:
        optimizer = super().configure_optimizers()
        if not self.decay:
            return optimizer
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def validation_step(self, mixed: Any, index: int) -> None:
        equations, numbers = mixed
        if equations:
            super().validation_step(equations, index)
        if numbers:
            found = self.decode(numbers.inputs)
            self.number_accuracy.update(close(found, numbers.values).float())
            self.number_mse.update(found, numbers.values)
            for name in ("number_accuracy", "number_mse"):
                self.log(name, getattr(self, name), batch_size=len(found))

    def on_test_epoch_start(self) -> None:
        super().on_test_epoch_start()
        self._decoded: list[tuple[Tensor, Tensor, Tensor]] = []

    def test_step(self, mixed: Any, index: int) -> None:
        equations, numbers = mixed
        if equations:
            super().test_step(equations, index)
        if numbers:
            self._decoded.append((self.decode(numbers.inputs), numbers.values, numbers.functions))

    def on_test_epoch_end(self) -> None:
        super().on_test_epoch_end()
        if self._decoded:
            found, right, functions = map(torch.cat, zip(*self._decoded, strict=True))
            for name, figure in figures(found, right, functions, self.functions).items():
                self.log(f"test_{name}", figure, sync_dist=True)
