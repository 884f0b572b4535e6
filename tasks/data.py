"""What the data of all tasks have in common."""

from typing import TYPE_CHECKING, Any, cast

import lightning
import torch

from dgltree import TreeBatch

if TYPE_CHECKING:
    from tasks.encoding import EncoderModule


class TaskData(lightning.LightningDataModule):
    """Batches whose order depends on (seed, epoch) alone."""

    seed: int

    def epoch_generator(self) -> torch.Generator:
        """Of the order of this epoch."""
        assert self.trainer is not None
        return torch.Generator().manual_seed(self.seed * 10_000 + self.trainer.current_epoch)

    def planned(self, trees: TreeBatch) -> TreeBatch:
        """The same trees, with what the model would else do before its first product, if there is a model."""
        if self.trainer is not None:
            cast("EncoderModule", self.trainer.lightning_module).plan(trees)
        return trees

    def transfer_batch_to_device(self, batch: Any, device: torch.device, _: int) -> Any:
        return batch.to(device)
