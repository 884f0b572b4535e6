"""What the data of all tasks have in common."""

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import lightning
import torch
from torch.utils.data import DataLoader

from dgltree import TreeBatch
from tasks.labelled import Labelled

if TYPE_CHECKING:
    from tasks.encoding import EncoderModule


class TaskData(lightning.LightningDataModule):
    """Batches whose order depends on (seed, epoch) alone."""

    seed: int

    def __init__(self) -> None:
        super().__init__()
        self._flat: dict[str, Labelled] = {}

    def epoch_generator(self) -> torch.Generator:
        """Of the order of this epoch."""
        assert self.trainer is not None
        return torch.Generator().manual_seed(self.seed * 10_000 + self.trainer.current_epoch)

    def labelled(self, examples: Any) -> Labelled:
        """The examples of an attribute such as ``train`` as trees; a subclass that uses ``loader`` says how."""
        raise NotImplementedError

    def loader(self, part: str, batches: list[list[int]]) -> DataLoader[Labelled]:
        """Batches of the examples in the attribute ``part``, flattened once, by their numbers in it.

        One worker takes them out and plans them while the model computes.
        """
        if part not in self._flat:
            self._flat[part] = self.labelled(getattr(self, part))
        examples = self._flat[part]
        rows = range(len(examples.labels))
        return DataLoader(rows, batch_sampler=batches, collate_fn=partial(self._batch, examples), num_workers=1)  # type: ignore[arg-type]

    def _batch(self, examples: Labelled, rows: list[int]) -> Labelled:
        batch = examples.select(rows)
        self.planned(batch.trees)
        return batch

    def planned(self, trees: TreeBatch) -> TreeBatch:
        """The same trees, with what the model would else do before its first product, if there is a model."""
        if self.trainer is not None:
            cast("EncoderModule", self.trainer.lightning_module).plan(trees)
        return trees

    def transfer_batch_to_device(self, batch: Any, device: torch.device, _: int) -> Any:
        return batch.to(device)
