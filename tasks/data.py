"""Common parts of the data of all tasks."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import lightning
import torch

from dgltree import TreeBatch
from dgltree.datasets.batches import epoch_generator
from dgltree.encoders.encoder import Planned
from dgltree.training.stepping.data import move_batch

if TYPE_CHECKING:
    from dgltree.training.stepping.module import EncoderModule


def data_folder(name: str) -> Path:
    """The folder ``name`` in the one that DGLTREE_DATA names. Raises ``ValueError`` if that is not set."""
    data = os.environ.get("DGLTREE_DATA")
    if not data:
        raise ValueError(f"no folder of data: give --data.folder, or set DGLTREE_DATA to the folder of {name!r}")
    return Path(data) / name


class TaskData(lightning.LightningDataModule):
    """Batches whose order depends on (seed, epoch) alone.

    Of several processes each trains on its part of every batch, and tests on all examples.
    """

    seed: int

    def epoch_generator(self) -> torch.Generator:
        """Return the generator of the order of this epoch."""
        assert self.trainer is not None
        return epoch_generator(self.seed, self.trainer.current_epoch)

    def plan(self, trees: TreeBatch) -> Planned | None:
        """The model's preparation before its first product, if there is a model."""
        return None if self.trainer is None else cast("EncoderModule", self.trainer.lightning_module).plan(trees)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, _: int) -> Any:
        return move_batch(batch, device)
