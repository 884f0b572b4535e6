"""The mean loss of an epoch, told Lightning once: its own sum, kept step by step, takes a tenth of a small step."""

from typing import Any

from lightning import Callback, LightningModule, Trainer
from torch import Tensor


class EpochLoss(Callback):
    """Logs ``loss``, the mean over the examples of the epoch, before other callbacks ask for it."""

    def __init__(self) -> None:
        self._total: Tensor | None = None
        self._examples = 0

    @classmethod
    def of(cls, trainer: Trainer) -> "EpochLoss":
        """That of a trainer, which :func:`dgltree.training.harness.prepared` gave it."""
        callbacks: list[Callback] = trainer.callbacks  # type: ignore[attr-defined]
        return next(each for each in callbacks if isinstance(each, cls))

    def add(self, mean: Tensor, examples: int) -> None:
        """A step's mean loss, (), without gradient, of so many examples."""
        share = mean.float() * examples
        self._total = share if self._total is None else self._total + share
        self._examples += examples

    def on_train_epoch_start(self, *args: Any, **kwargs: Any) -> None:
        self._total, self._examples = None, 0

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._total is not None:  # a resumed run ends the epoch of its checkpoint once more
            mean = self._total / self._examples
            pl_module.log("loss", mean, prog_bar=True, sync_dist=True, batch_size=self._examples)
