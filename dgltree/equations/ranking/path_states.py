"""The states along paths: what a step of a path reads and leaves."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.cells.step import State
from dgltree.cells.typed_linear import Segments
from dgltree.equations.ranking.merged_paths import Context
from dgltree.equations.ranking.path_rows import PathRows


class ContextGroup(NamedTuple):
    """C contexts that are computed together: of one height, arity, slot and reach, sorted by function."""

    numbers: Sequence[int]
    """By which the contexts above name them."""
    contexts: Sequence[Context]
    siblings: Sequence[Tensor]
    """(C,) int64 each, the numbers of the trees in the other slots."""
    x: Tensor | None
    """(C, d), the nodes' inputs; None without."""

    @property
    def segments(self) -> Segments:
        """The runs of contexts with one function."""
        return segments_of(self.contexts)


def segments_of(contexts: Sequence[Context]) -> Segments:
    """The runs of contexts with one function."""
    functions = [context.function for context in contexts]
    runs = [list(run) for _, run in groupby(range(len(functions)), key=functions.__getitem__)]
    return [(functions[run[0]], run[0], run[-1] + 1) for run in runs]


class PathStates:
    """States of the contexts of the last few heights, for all fillers, by ``Cell.step``.

    Args:
        cell: in evaluation mode.
        off_path: states of the trees off the paths, part name to (trees, *shape).
        fillers: states of the fillers, part name to (F, *shape).
        held: of how many heights states are held.
    """

    def __init__(self, cell: Cell, off_path: State, fillers: State, held: int) -> None:
        self.cell, self.off_path, self.fillers = cell, off_path, fillers
        self._heights: list[dict[int, State]] = [{} for _ in range(held)]

    def begin(self, height: int) -> None:
        """Steps of this height follow; what was there of it is forgotten."""
        self._below, self._states = (self._heights[k % len(self._heights)] for k in (height - 1, height))
        self._states.clear()

    def step(self, group: ContextGroup) -> Tensor:
        """(C, F, n), the h of the contexts of a group."""
        cell, first = self.cell, group.contexts[0]

        def reached(state: State) -> State:
            return cell.reachable(state, first.above + 1)  # cells between the children's states and a root

        below = [context.below for context in group.contexts]
        children = [reached(self.fillers if number is None else self._below[number]) for number in below]
        path = {part: _stack([child[part] for child in children]) for part in cell.state}
        others = [
            reached({part: rows.index_select(0, index).unsqueeze(1) for part, rows in self.off_path.items()})
            for index in group.siblings
        ]
        slots = [*others[: first.slot], path, *others[first.slot :]]
        computed, _ = cell.step(PathRows(cell, slots, first.slot, group.segments, group.x))
        for i, (number, context) in enumerate(zip(group.numbers, group.contexts, strict=True)):
            if context.above:
                self._states[number] = {part: computed[part][i] for part in cell.state}
        h: Tensor = computed["h"]
        return h


def _stack(states: list[Tensor]) -> Tensor:
    return states[0].unsqueeze(0) if len(states) == 1 else torch.stack(states)
