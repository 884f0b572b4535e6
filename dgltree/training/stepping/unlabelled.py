"""An autoencoder in training, which needs no labels, and the batches that it reads."""

from collections.abc import Callable, Sequence

import lightning
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from dgltree.datasets.batches import epoch_generator
from dgltree.models.autoencoder import Autoencoder, Swept
from dgltree.training.stepping.callbacks import EpochLoss, check_finite
from dgltree.training.stepping.module import seed_step

Sweep = Callable[[Sequence[int]], Swept]
"""Both sweeps over the examples with these numbers."""
MONITORED = "validation_loss"
"""The mean loss of the examples kept aside, without dropout; lower is better."""


class UnlabelledTraining(lightning.LightningModule):
    """The loss of an autoencoder, by Adam.

    Args:
        model: what is trained.
        sweep: of the model.
        lr: of Adam.
        seed: dropout depends on (seed, epoch, step) alone.
    """

    def __init__(self, model: Autoencoder, sweep: Sweep, lr: float, seed: int) -> None:
        super().__init__()
        self.model, self.sweep, self.lr, self.seed = model, sweep, lr, seed

    def on_train_batch_start(self, batch: list[int], index: int) -> None:
        seed_step(self, self.seed, index)

    def training_step(self, batch: list[int], index: int) -> Tensor:
        loss: Tensor = self.model(self.sweep(batch))
        check_finite(self, loss, self.lr, index)
        EpochLoss.of(self.trainer).add(loss.detach(), len(batch))
        return loss

    def validation_step(self, batch: list[int], _: int) -> None:
        self.log(MONITORED, self.model(self.sweep(batch)), prog_bar=True, batch_size=len(batch))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.model.parameters(), lr=self.lr)


class UnlabelledBatches(lightning.LightningDataModule):
    """Batches of the numbers of examples, in training in an order that depends on (seed, epoch) alone.

    Args:
        training, validation: numbers of examples.
        batch_size: examples of a batch.
        seed: of the order.
    """

    def __init__(self, training: Sequence[int], validation: Sequence[int], batch_size: int, seed: int) -> None:
        super().__init__()
        self.training, self.validation, self.batch_size, self.seed = list(training), list(validation), batch_size, seed

    def train_dataloader(self) -> DataLoader[list[int]]:
        assert self.trainer is not None
        order = torch.randperm(len(self.training), generator=epoch_generator(self.seed, self.trainer.current_epoch))
        return self._loader([self.training[i] for i in order.tolist()])

    def val_dataloader(self) -> DataLoader[list[int]]:
        return self._loader(self.validation)

    def _loader(self, numbers: list[int]) -> DataLoader[list[int]]:
        batches = [numbers[i : i + self.batch_size] for i in range(0, len(numbers), self.batch_size)]
        return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]
