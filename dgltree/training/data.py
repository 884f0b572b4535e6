"""The splits of a data set as Lightning reads them."""

from functools import partial
from typing import Any

import lightning
import torch
from torch.utils.data import DataLoader

from dgltree.datasets.batches import Collate, NodeBatches
from dgltree.datasets.labelled import Labelled, planned
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.loader import batch_loader, sent
from dgltree.training.module import TreeTraining
from dgltree.training.processes import own_part

SMALL = 50_000
"""Nodes up to which batches are made without a process of their own: it takes longer to begin."""
IN_MEMORY = 2_000_000
"""Nodes up to which a data set is brought to the model's vocabulary, and its equal subtrees numbered, once for all."""


class SplitsModule(lightning.LightningDataModule):
    """Batches whose order depends on (seed, epoch) alone, in the vocabulary of the model.

    Of several processes each takes its part of every batch in training, and of the batches in validation.

    Args:
        train: to train on.
        validation: to choose the epoch by.
        batch_nodes: nodes of a batch.
        seed: of the order.
    """

    def __init__(self, train: TreeDataset, validation: TreeDataset, batch_nodes: int, seed: int) -> None:
        super().__init__()
        self.train, self.validation, self.batch_nodes, self.seed = train, validation, batch_nodes, seed
        self._whole: dict[int, Labelled] = {}
        """By the identity of a data set: all of it as one batch."""
        self._validation: list[Labelled] | None = None
        """The batches of a small validation set, which are the same in every epoch, planned once."""

    def train_dataloader(self) -> DataLoader[Labelled]:
        assert self.trainer is not None
        batches = NodeBatches(self.train.sizes, self.batch_nodes, self.seed, self.trainer.current_epoch)
        return self._loader(self.train, [own_part(rows, self.trainer) for rows in batches], training=True)

    def val_dataloader(self) -> DataLoader[Labelled]:
        assert self.trainer is not None
        if self._validation is None:
            batches = list(NodeBatches(self.validation.sizes, self.batch_nodes))
            loader = self._loader(self.validation, own_part(batches, self.trainer), training=False)
            if loaders(self.validation):
                return loader
            self._validation = list(loader)
        return DataLoader(self._validation, batch_size=None)  # type: ignore[arg-type]

    def transfer_batch_to_device(self, batch: Labelled, device: torch.device, _: int) -> Labelled:
        return sent(batch, device)

    def _module(self) -> TreeTraining:
        assert self.trainer is not None
        module = self.trainer.lightning_module
        assert isinstance(module, TreeTraining)
        return module

    def _loader(self, data: TreeDataset, batches: list[list[int]], training: bool) -> DataLoader[Labelled]:
        module = self._module()
        encoder, share = module.encoder, module.shares_in(training)
        collate = Collate(module.model.classes or None, encoder, share)
        examples: Any = data
        take: Any = collate
        if data.num_nodes <= IN_MEMORY:
            whole = self._whole.get(id(data)) or self._whole.setdefault(id(data), collate.whole(data))
            examples, take = range(len(data)), partial(planned, whole, encoder, share)
        return batch_loader(examples, loaders(data), batch_sampler=batches, collate_fn=take)


def loaders(data: TreeDataset) -> int:
    """Processes that make batches of a data set while the model computes."""
    return int(data.num_nodes > SMALL)
