"""Batches of labelled equations and of number equations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree import Tree, TreeBatch, batch
from dgltree.batching.pickling import PickledAsArrays
from dgltree.datasets.labelled import Labelled
from dgltree.encoders import Planned
from tasks.equations.store import Row, read
from tasks.equations.verification.data import LabelledEquations
from tasks.equations.verification.numbers import decoded
from tasks.equations.vocabulary import vocabulary


class Decoded(NamedTuple):
    """One number equation: the side to decode, and what it should give."""

    tree: Tree
    value: float
    split: str


@dataclass
class Numbers(PickledAsArrays):
    """A batch of number equations."""

    inputs: TreeBatch | Planned
    """F trees, to be decoded, planned where there is a model."""
    values: Tensor
    """(F,) float32, what they should give."""

    def to(self, device: torch.device) -> "Numbers":
        return Numbers(self.inputs.to(device), self.values.to(device))


class Mixed(NamedTuple):
    """A batch of both kinds; a kind of which it has none is None."""

    equations: Labelled | None
    numbers: Numbers | None


class EquationsAndNumbers(LabelledEquations):
    """Equations of both kinds in one order (see :class:`LabelledEquations` for the rest).

    Args:
        numbers: a folder that ``python -m tasks.equations number-sets`` made. Equations with label 0 say no number and
            are dropped.
    """

    def __init__(self, numbers: Path | None = None, **others: Any) -> None:
        super().__init__(**others)
        self.numbers = numbers
        self.vocabulary = vocabulary(numbers=numbers is not None)

    def _rows(self, name: str) -> list[Any]:
        rows: list[Row | Decoded] = [*super()._rows(name)]
        if self.numbers is not None:
            rows += correct(read(self.numbers / f"{name}.parquet"))
        return rows

    def collate(self, rows: list[Any], training: bool = False) -> Any:
        """Rows of both kinds as a batch."""
        equations = [row for row in rows if isinstance(row, Row)]
        numbers = [row for row in rows if isinstance(row, Decoded)]
        labelled = super().collate(equations, training) if equations else None
        return Mixed(labelled, self._numbers(numbers) if numbers else None)

    def _numbers(self, numbers: list[Decoded]) -> Numbers:
        values = torch.tensor([number.value for number in numbers], dtype=torch.float32)
        trees = batch((number.tree for number in numbers), self.vocabulary)
        return Numbers(self.plan(trees) or trees, values)

    def transfer_batch_to_device(self, mixed: Any, device: torch.device, _: int) -> Any:
        equations, numbers = mixed
        return Mixed(equations and equations.to(device), numbers and numbers.to(device))


def correct(rows: list[Row]) -> list[Decoded]:
    """The number equations that are correct."""
    return [Decoded(*decoded(row.equation), row.split) for row in rows if row.label == 1]
