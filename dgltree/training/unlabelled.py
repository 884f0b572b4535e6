"""An autoencoder is trained without labels, on trees or on sentences; the weights of its best epoch are kept."""

from collections.abc import Callable, Sequence
from pathlib import Path

import lightning
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from dgltree.datasets.batches import epoch_generator
from dgltree.models.autoencoder import Autoencoder, Swept
from dgltree.training.processes import shows_progress
from dgltree.training.stepping.callbacks import (
    BEST,
    VALIDATION_LOSS,
    BestSoFar,
    EpochLoss,
    EpochReport,
    check_checkpoint,
    check_finite,
)
from dgltree.training.stepping.module import seed_step
from dgltree.training.stepping.trainer import quiet, train, trainer

Sweep = Callable[[Sequence[int]], Swept]
"""Both sweeps over the examples with these numbers."""
MONITORED = VALIDATION_LOSS
"""The mean loss of the examples kept aside, without dropout; lower is better."""


def learn(
    model: Autoencoder,
    sweep: Sweep,
    training: Sequence[int],
    validation: Sequence[int],
    folder: Path,
    *,
    epochs: int = 15,
    batch_size: int = 512,
    learning_rate: float = 1e-3,
    clip: float | None = None,
    seed: int = 0,
    leave: Callable[[Autoencoder], None] = lambda model: None,
) -> None:
    """Train with Adam; at the end the model has the weights of the epoch with the least loss in validation.

    A training that was interrupted continues from its last whole epoch, to the same weights.

    Args:
        model: it is changed, and is in evaluation mode at the end.
        sweep: of the model, over examples by their numbers.
        training, validation: numbers of examples.
        folder: for checkpoints and ``epochs.jsonl``, with ``loss``, ``validation_loss`` and seconds of each epoch.
        epochs, batch_size, learning_rate: as the published networks: 15, 512, 1e-3.
        clip: the largest norm of a gradient; None: any.
        seed: of the order of the examples, and of dropout.
        leave: called with a copy of the model after each epoch that is the best so far.

    Raises ``ValueError`` for no examples to learn from or to validate on,
    :class:`dgltree.training.stepping.callbacks.DivergenceError` if the loss is not finite, and
    ``KeyboardInterrupt``.
    """
    for name, numbers in (("training", training), ("validation", validation)):
        if not len(numbers):
            raise ValueError(f"there is nothing to learn from: {name} has no examples")
    module = UnlabelledTraining(model, sweep, learning_rate, seed)
    with quiet():
        made = trainer(
            folder,
            folder,
            MONITORED,
            [EpochReport(), BestSoFar(folder / BEST, leave)],
            lower_is_better=True,
            max_epochs=epochs,
            gradient_clip_val=clip,
            accelerator="cpu",
            enable_progress_bar=shows_progress(),
        )
        train(made, module, UnlabelledBatches(training, validation, batch_size, seed))
    module.load_state_dict(check_checkpoint(folder / BEST)["state_dict"])
    model.eval()


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
        self.model = model
        self.sweep = sweep
        self.lr = lr
        self.seed = seed

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
        self.training = list(training)
        self.validation = list(validation)
        self.batch_size = batch_size
        self.seed = seed

    def train_dataloader(self) -> DataLoader[list[int]]:
        assert self.trainer is not None
        order = torch.randperm(len(self.training), generator=epoch_generator(self.seed, self.trainer.current_epoch))
        return self._loader([self.training[i] for i in order.tolist()])

    def val_dataloader(self) -> DataLoader[list[int]]:
        return self._loader(self.validation)

    def _loader(self, numbers: list[int]) -> DataLoader[list[int]]:
        batches = [numbers[i : i + self.batch_size] for i in range(0, len(numbers), self.batch_size)]
        return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]
