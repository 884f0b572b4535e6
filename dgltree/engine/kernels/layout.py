"""Where the gates of a pass lie: those of one matrix together, so that its weight gradient is one product."""

from itertools import chain
from typing import NamedTuple

import torch

from dgltree.cells.typed import TypedLinear
from dgltree.engine.schedule import Schedule

START, STOP, SLOT, MATRIX, EDGE = range(5)
"""Columns of a table of runs."""
Key = int | None
"""What a map belongs to: an arity, or None where the rows of a step have several."""


class MatrixRun(NamedTuple):
    """Rows ``start:stop`` of the schedule: those of one step with one matrix."""

    start: int
    stop: int
    slot: int
    """Where they begin among the gates of their map."""
    matrix: int
    edge: int
    """The first edge of the schedule that leads to them."""

    @property
    def rows(self) -> int:
        return self.stop - self.start


class Layout(NamedTuple):
    """The runs of a schedule's steps, and how many rows of gates each map has."""

    steps: list[list[MatrixRun]]
    rows: dict[Key, int]

    def table(self) -> torch.Tensor:
        """(runs, 5) int64, step after step."""
        return torch.tensor(list(chain.from_iterable(self.steps)), dtype=torch.int64).view(-1, 5)

    def sorted(self, schedule: Schedule, key: Key) -> list[MatrixRun]:
        """The runs of one map, in the order of their gates."""
        runs = (own for own, step in zip(self.steps, schedule.steps, strict=True) if step.arity == key)
        return sorted(chain.from_iterable(runs), key=lambda run: run.slot)


def layout(schedule: Schedule, maps: dict[Key, TypedLinear], keep: bool) -> Layout:
    """The layout of a pass; with ``keep`` all gates have a place, otherwise those of one step at a time."""
    runs = [
        [(matrix, k, start, stop) for matrix, start, stop in maps[step.arity].runs(step.segments)]
        for k, step in enumerate(schedule.steps)
    ]
    steps: list[list[MatrixRun]] = [[] for _ in runs]
    rows: dict[Key, int] = dict.fromkeys(maps, 0)
    for key in maps:
        own = [k for k, step in enumerate(schedule.steps) if step.arity == key]
        together = [sorted(chain.from_iterable(runs[k] for k in own))] if keep else [runs[k] for k in own]
        for part in together:
            slot = 0
            for matrix, k, start, stop in part:
                step = schedule.steps[k]
                edge = step.edges.start + start * (step.arity or 0)
                steps[k].append(MatrixRun(step.start + start, step.start + stop, slot, matrix, edge))
                slot += stop - start
            rows[key] = max(rows[key], slot)
    return Layout([sorted(step) for step in steps], rows)
