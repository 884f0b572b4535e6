"""Batches of labelled equations and of number equations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree import Tree, TreeBatch, batch
from dgltree.batching.moving import Movable
from dgltree.datasets.labelled import Labelled
from dgltree.encoders import Planned
from dgltree.training.stepping.data import sent
from tasks.equations.store import EquationRow, read
from tasks.equations.verification.data import LabelledEquations
from tasks.equations.verification.numbers import decoded
from tasks.equations.vocabulary import vocabulary


class Decoded(NamedTuple):
    """One number equation: the side to decode, and what it should give."""

    tree: Tree
    value: float
    split: str


@dataclass
class NumberBatch(Movable):
    """A batch of number equations."""

    inputs: TreeBatch | Planned
    """F trees, to be decoded, planned where there is a model."""
    values: Tensor
    """(F,) float32, what they should give."""
    functions: Tensor
    """(F,) int64, those of the roots."""

    @property
    def device(self) -> torch.device:
        return self.values.device

    def map(self, function: Callable[[Tensor], Tensor]) -> "NumberBatch":
        return NumberBatch(self.inputs.map(function), function(self.values), function(self.functions))


class Mixed(NamedTuple):
    """A batch of both kinds; a kind of which it has none is None."""

    equations: Labelled | None
    numbers: NumberBatch | None


class EquationsAndNumbers(LabelledEquations):
    """Equations of either kind or of both, in one order (see :class:`LabelledEquations` for the rest).

    Args:
        train: as there; None: number equations alone, and those for tests are tested on without ``test``, too.
        numbers: a folder that ``python -m tasks.equations number-sets`` made. Equations with label 0 say no number and
            are dropped.
        functions: only number equations whose decoded side is one of these functions of something; all by default.

    Raises ``ValueError`` without ``train`` and ``numbers``, and where no equation has one of the functions.
    """

    def __init__(
        self,
        train: Path | None = None,
        numbers: Path | None = None,
        functions: Sequence[str] | None = None,
        **others: Any,
    ) -> None:
        if train is None and numbers is None:
            raise ValueError("no equations: give --data.train FILE, --data.numbers FOLDER, or both")
        super().__init__(train, **others)
        self.numbers, self.functions = numbers, functions
        if train is None:  # some thousand small trees are sooner flattened than a worker is started
            self.workers = 0
        self.vocabulary = vocabulary(numbers=numbers is not None)

    @cached_property
    def test_rows(self) -> list[Any]:
        return self._rows("test") if self.files["train"] is None else super().test_rows

    def _rows(self, name: str) -> list[Any]:
        rows: list[EquationRow | Decoded] = [*super()._rows(name)]
        if self.numbers is not None:
            rows += self._decoded(self.numbers / f"{name}.parquet")
        return rows

    def _decoded(self, file: Path) -> list[Decoded]:
        rows = correct(read(file))
        if self.functions is not None:
            rows = [row for row in rows if row.tree.function in self.functions]
        if not rows:
            of = f" of {', '.join(self.functions)}" if self.functions else ""
            raise ValueError(f"{file} has no number equations{of}")
        return rows

    def collate(self, rows: list[Any], training: bool = False) -> Any:
        """Rows of both kinds as a batch."""
        equations = [row for row in rows if isinstance(row, EquationRow)]
        numbers = [row for row in rows if isinstance(row, Decoded)]
        labelled = super().collate(equations, training) if equations else None
        return Mixed(labelled, self._numbers(numbers) if numbers else None)

    @property
    def _stay_as_they_are(self) -> bool:
        return self.numbers is None and super()._stay_as_they_are

    def _taken(self, flat: Labelled, examples: Sequence[int]) -> Any:
        return Mixed(super()._taken(flat, examples), None)

    def _numbers(self, numbers: list[Decoded]) -> NumberBatch:
        values = torch.tensor([number.value for number in numbers], dtype=torch.float32)
        trees = batch((number.tree for number in numbers), self.vocabulary)
        return NumberBatch(self.plan(trees) or trees, values, trees.function[trees.roots])

    def transfer_batch_to_device(self, mixed: Any, device: torch.device, _: int) -> Any:
        equations, numbers = mixed
        return Mixed(equations and sent(equations, device), numbers and sent(numbers, device))


def correct(rows: list[EquationRow]) -> list[Decoded]:
    """The number equations that are correct."""
    return [Decoded(*decoded(row.equation), row.split) for row in rows if row.label == 1]
