"""Batches of labelled equations."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from dgltree.batching.subtrees import number_subtrees
from dgltree.datasets.batches import Labelled
from dgltree.support.lazy import cached_property
from dgltree.training.processes import local_share
from dgltree.training.stepping.data import IN_MEMORY, batch_loader
from tasks.data import TaskData
from tasks.equations.preorders import Batcher
from tasks.equations.store import EquationRow, read
from tasks.equations.verification.node_values import NodeValues
from tasks.equations.vocabulary import vocabulary
from tasks.equations.words import Word


@lru_cache(maxsize=2)
def _read(file: Path) -> list[EquationRow]:
    """A process that trains more than once reads its training and its test set once."""
    return read(file)


class LabelledEquations(TaskData):
    """Sets that ``python -m tasks.equations generate`` made; the order of training depends on (seed, epoch) alone.

    Of several processes each trains on its part of every batch, and each validates and tests on all equations.

    Args:
        train: the set to train and validate on, ``train.parquet``.
        test: the set to test on, ``test.parquet``; without it, the validation equations.
        batch_size: equations a step.
        train_depths: lowest and highest depth to train and validate on; all by default.
        test_depths: lowest and highest depth to test on; all by default.
        seed: of the order, and of what a smaller share holds.
        train_share: share of the training equations to train on; a larger share holds every smaller one of its seed.
        commute: in training, swap the children of half of all sums and products, others in every epoch.

    Raises ``ValueError`` for a batch size below 1 and a share outside of above 0 to 1.
    """

    workers = 1
    """Processes that flatten and plan the next batches while the model computes."""

    def __init__(
        self,
        train: Path,
        test: Path | None = None,
        batch_size: int = 32,
        train_depths: tuple[int, int] | None = None,
        test_depths: tuple[int, int] | None = None,
        seed: int = 0,
        train_share: float = 1.0,
        commute: bool = False,
    ) -> None:
        super().__init__()
        if not 0 < train_share <= 1:
            raise ValueError(f"train_share is {train_share}; it must be above 0 and at most 1")
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be 1 or more")
        self.files = {"train": train, "test": test}
        self.batch_size = batch_size
        self.seed = seed
        self.train_share = train_share
        self.commute = commute
        self.depths = {"train": train_depths, "test": test_depths}
        self.vocabulary = vocabulary()
        self._flat: Labelled | None = None

    @cached_property
    def _batcher(self) -> Batcher:
        return Batcher(self.vocabulary)

    @cached_property
    def _known(self) -> list[EquationRow]:
        return self._rows("train")

    @cached_property
    def train_rows(self) -> list[EquationRow]:
        """The training data: the training equations, or the given share of them, at least one."""
        rows = self._split("train")
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(self.seed)).tolist()
        kept = set(order[: max(1, round(self.train_share * len(rows)))])
        return [row for number, row in enumerate(rows) if number in kept]

    @cached_property
    def test_rows(self) -> list[EquationRow]:
        """The test data."""
        return self._rows("test") if self.files["test"] else self._split("validation")

    @cached_property
    def _values(self) -> NodeValues:
        return NodeValues(self.train_rows)

    def _rows(self, name: str) -> list[EquationRow]:
        file = self.files[name]
        depths = self.depths[name]
        if file is None:
            return []
        rows = [row for row in _read(file) if depths is None or depths[0] <= row.depth <= depths[1]]
        if not rows:
            raise ValueError(
                f"{file} has no equations of depth {depths[0]} to {depths[1]}" if depths else f"{file} is empty"
            )
        return rows

    def _split(self, name: str) -> list[EquationRow]:
        return [row for row in self._known if row.split == name]

    def setup(self, stage: str) -> None:
        """Read what the stage needs, so that a file that is wrong is known before the first step."""
        _ = (self._known, self.test_rows) if stage == "fit" else self.test_rows
        if stage == "fit" and self._learns_values:
            _ = self._values

    def train_dataloader(self) -> DataLoader[Labelled]:
        assert self.trainer is not None
        rows = self.train_rows
        order = torch.randperm(len(rows), generator=self.epoch_generator()).tolist()
        batches = [local_share(batch, self.trainer) for batch in _cut(order, self.batch_size)]
        return self._loader(rows, batches, training=True)

    def val_dataloader(self) -> DataLoader[Labelled]:
        return self._in_order(self._split("validation"))

    def test_dataloader(self) -> DataLoader[Labelled]:
        return self._in_order(self.test_rows)

    def _in_order(self, rows: list[EquationRow]) -> DataLoader[Labelled]:
        return self._loader(rows, _cut(range(len(rows)), 512))

    def _loader(
        self, rows: list[EquationRow], batches: Sequence[Sequence[int]], training: bool = False
    ) -> DataLoader[Labelled]:
        examples: Any = rows
        collate: Any = partial(self.collate, training=training)
        if training and self._stay_as_they_are:
            if self._flat is None:
                flat = self._flattened(rows)
                self._flat = replace(flat, trees=number_subtrees(flat.trees))
            examples = range(len(rows))
            collate = partial(self._taken, self._flat)
        return batch_loader(examples, self.workers, batch_sampler=batches, collate_fn=collate)

    @property
    def _stay_as_they_are(self) -> bool:
        """Whether what is trained on may be flattened once for all epochs, and its equal subtrees numbered."""
        nodes = sum(len(row.left) + len(row.right) for row in self.train_rows)
        return nodes <= IN_MEMORY and not self.commute and not self._learns_values

    def _taken(self, flat: Labelled, examples: Sequence[int]) -> Any:
        """Some of what was flattened as a batch, as :meth:`collate` makes it of rows."""
        batch = flat.select(examples)
        return replace(batch, planned=self.plan(batch.trees))

    def collate(self, rows: list[EquationRow], training: bool = False) -> Labelled:
        """Rows as a batch, planned for the model."""
        random = self._random(rows[0]) if training and self.commute else None
        flat = self._flattened(rows, random)
        labelled = replace(flat, planned=self.plan(flat.trees))
        return self._values.beside(labelled, _sides(rows)) if training and self._learns_values else labelled

    def _flattened(self, rows: list[EquationRow], random: np.random.Generator | None = None) -> Labelled:
        labels = torch.tensor([float(row.label) for row in rows])
        depths = torch.tensor([row.depth for row in rows])
        return Labelled(self._batcher.words(_sides(rows), random), labels, depths)

    @property
    def _learns_values(self) -> bool:
        return self.trainer is not None and getattr(self.trainer.lightning_module, "value_weight", 0) > 0

    def _random(self, first: EquationRow) -> np.random.Generator:
        """Return the generator for the batch of an epoch that begins with an equation."""
        assert self.trainer is not None
        return np.random.default_rng([self.seed, self.trainer.current_epoch, *first.left, *first.right])


def _sides(rows: list[EquationRow]) -> list[Word]:
    return [side for row in rows for side in (row.left, row.right)]


def _cut(order: Sequence[int], batch_size: int) -> list[list[int]]:
    return [list(order[start : start + batch_size]) for start in range(0, len(order), batch_size)]
