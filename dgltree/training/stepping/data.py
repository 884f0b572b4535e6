"""The splits of a data set as Lightning reads them, and batches made in another process."""

import ctypes
import sys
from functools import partial
from typing import Any, TypeVar

import lightning
import torch
from torch.utils.data import DataLoader

from dgltree.batching.moving import Movable
from dgltree.datasets.batches import Collate, Labelled, NodeBatches, buckets, epoch_generator, plan_examples
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.support.workers import end_with_parent
from dgltree.training.cpu_threads import loaders
from dgltree.training.options import FitOptions
from dgltree.training.processes import local_share
from dgltree.training.stepping.module import TreeTraining

IN_MEMORY = 2_000_000
"""Nodes up to which a data set is brought to the model's vocabulary, and its equal subtrees numbered, once for all."""


class SplitsModule(lightning.LightningDataModule):
    """Batches whose order depends on (seed, epoch) alone, in the vocabulary of the model.

    Of several processes each takes its part of every batch in training, and of the batches in validation.

    Args:
        train: to train on.
        validation: to choose the epoch by.
        options: of the training: the size of batches and the seed of their order.
    """

    def __init__(self, train: TreeDataset, validation: TreeDataset, options: FitOptions) -> None:
        super().__init__()
        self.train = train
        self.validation = validation
        self.options = options
        self._whole: dict[int, Labelled] = {}
        """All of a data set as one batch, by its identity."""
        self._validation: list[Labelled] | None = None
        """The batches of a small validation set, which are the same in every epoch, planned once."""

    def train_dataloader(self) -> DataLoader[Labelled]:
        assert self.trainer is not None
        batches = self._batches(self.train, self.options.seed, self.trainer.current_epoch)
        return self._loader(self.train, [local_share(rows, self.trainer) for rows in batches], training=True)

    def val_dataloader(self) -> DataLoader[Labelled]:
        assert self.trainer is not None
        if self._validation is None:
            batches = self._batches(self.validation)
            loader = self._loader(self.validation, local_share(batches, self.trainer), training=False)
            if loaders(self.validation.num_nodes):
                return loader
            self._validation = list(loader)
        return DataLoader(self._validation, batch_size=None)  # type: ignore[arg-type]

    def _batches(self, data: TreeDataset, seed: int | None = None, epoch: int = 0) -> list[list[int]]:
        """The examples of each batch, in an order of the seed and the epoch, if there is one."""
        options = self.options
        if options.batch_size is None:
            assert options.batch_nodes is not None
            return list(NodeBatches(data.sizes, options.batch_nodes, seed, epoch))
        generator = None if seed is None else epoch_generator(seed, epoch)
        if options.batch_words is None:
            count = len(data)
            order = list(range(count)) if generator is None else torch.randperm(count, generator=generator).tolist()
            return [order[i : i + options.batch_size] for i in range(0, count, options.batch_size)]
        return buckets(data.leaves.tolist(), options.batch_size, options.batch_words, generator)

    def transfer_batch_to_device(self, batch: Labelled, device: torch.device, _: int) -> Labelled:
        return move_batch(batch, device)

    def _module(self) -> TreeTraining:
        assert self.trainer is not None
        module = self.trainer.lightning_module
        assert isinstance(module, TreeTraining)
        return module

    def _loader(self, data: TreeDataset, batches: list[list[int]], training: bool) -> DataLoader[Labelled]:
        module = self._module()
        encoder = module.encoder
        share = module.shares_in(training)
        collate = Collate(module.model.classes or None, encoder, share)
        examples: Any = data
        take: Any = collate
        if data.num_nodes <= IN_MEMORY:
            whole = self._whole.get(id(data)) or self._whole.setdefault(id(data), collate.whole(data))
            examples = range(len(data))
            take = partial(plan_examples, whole, encoder, share)
        return batch_loader(examples, loaders(data.num_nodes), batch_sampler=batches, collate_fn=take)


M = TypeVar("M", bound=Movable)


def move_batch(batch: M, device: torch.device) -> M:
    """A batch on a device; to a GPU by pinned memory, so that the copy runs while Python continues."""
    return batch.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else batch.to(device)


def batch_loader(examples: Any, workers: int = 1, **options: Any) -> DataLoader[Any]:
    """Batches of examples, made by other processes while the model computes.

    Args:
        examples: a data set, or the numbers of its examples.
        workers: processes; 0: none.
        options: of torch's ``DataLoader``.
    """
    return DataLoader(examples, num_workers=workers, worker_init_fn=begin_loading, **options)


def begin_loading(worker: int) -> None:
    """In a worker: end with the training process, and give what that had freed back to the system (Linux with glibc).

    Until it is used again, freed memory stays in the heap, of which a fork has a copy. The training process soon writes
    there again, and from then on the memory would be held twice, by a worker that never reads it.
    """
    end_with_parent()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
