"""Common parts of the data of all tasks."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import lightning
import torch
from torch.utils.data import DataLoader

from dgltree import TreeBatch
from dgltree.datasets.batches import epoch_generator
from dgltree.datasets.labelled import Labelled
from dgltree.encoders.encoder import Planned
from dgltree.training.loader import batch_loader, sent
from dgltree.training.processes import own_part
from tasks.buckets import buckets

if TYPE_CHECKING:
    from dgltree.training.encoding import EncoderModule


def data_folder(name: str) -> Path:
    """The folder ``name`` in the one that DGLTREE_DATA names. Raises ``ValueError`` where that is not set."""
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
        """Of the order of this epoch."""
        assert self.trainer is not None
        return epoch_generator(self.seed, self.trainer.current_epoch)

    def plan(self, trees: TreeBatch) -> Planned | None:
        """The model's preparation before its first product, if there is a model."""
        return None if self.trainer is None else cast("EncoderModule", self.trainer.lightning_module).plan(trees)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, _: int) -> Any:
        return sent(batch, device)


class BucketedData(TaskData, ABC):
    """Examples in the attributes ``train``, ``validation`` and ``test``, in batches of similar lengths.

    The examples of a part are flattened once; one worker takes the batches out of them and plans them while the model
    computes.
    """

    batch_size: int
    most_words: int | None = None
    """Of a batch, padding included; None: any."""

    def __init__(self) -> None:
        super().__init__()
        self._flat: dict[str, Labelled] = {}

    @abstractmethod
    def length(self, example: Any) -> int:
        """The sort key of the examples."""

    @abstractmethod
    def labelled(self, examples: Sequence[Any]) -> Labelled:
        """Examples as trees, with their labels and groups."""

    def setup(self, stage: str) -> None:
        """Read or make what the stage needs, so that a file that is wrong is known before the first step."""
        for part in ("train", "test") if stage == "fit" else ("test",):
            getattr(self, part)

    def train_dataloader(self) -> DataLoader[Labelled]:
        assert self.trainer is not None
        batches = self._batches("train", self.epoch_generator())
        return self._loader("train", [own_part(rows, self.trainer) for rows in batches])

    def val_dataloader(self) -> DataLoader[Labelled]:
        assert self.trainer is not None
        return self._loader("validation", own_part(self._batches("validation"), self.trainer))

    def test_dataloader(self) -> DataLoader[Labelled]:
        return self._loader("test", self._batches("test"))

    def _batches(self, part: str, generator: torch.Generator | None = None) -> list[list[int]]:
        lengths = list(map(self.length, getattr(self, part)))
        most = self.batch_size * max(lengths, default=1) if self.most_words is None else self.most_words
        return buckets(lengths, self.batch_size, most, generator)

    def _loader(self, part: str, batches: list[list[int]]) -> DataLoader[Labelled]:
        examples = getattr(self, part)
        if part not in self._flat:
            self._flat[part] = self.labelled(examples)
        take = partial(self._batch, self._flat[part])
        return batch_loader(range(len(examples)), batch_sampler=batches, collate_fn=take)

    def _batch(self, examples: Labelled, rows: list[int]) -> Labelled:
        batch = examples.select(rows)
        return replace(batch, planned=self.plan(batch.trees))
