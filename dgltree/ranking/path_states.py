"""The states along paths: what a step of a path reads and leaves."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.cells import Aggregation, Cell
from dgltree.cells.step import Children, Rows, Send, State, StepRows
from dgltree.cells.typed_linear import Segments, TypedLinear, concatenate, product
from dgltree.ranking.merged_paths import Context


# The step of a path: nodes above a blank that may still be anything, for all fillers at once.
class PathRows(StepRows):
    """C path nodes of one arity for F fillers. Only the child on the path differs from filler to filler.

    So the part of every product that the other children make is computed once for all fillers.

    Args:
        cell: in evaluation mode.
        slots: the states of the children in each slot, part name to (C, 1, *shape), except for the one on the path,
            (C, F, *shape).
        moving: the slot of the child on the path.
        segments: the runs of nodes with one function.
        x: (C, d), the nodes' inputs; None without.
    """

    def __init__(self, cell: Cell, slots: Sequence[State], moving: int, segments: Segments, x: Tensor | None) -> None:
        linear = cell.linear_for(len(slots), segments)
        super().__init__(linear, None if x is None else linear("input", x).unsqueeze(1))
        self._slots, self._moving, self._segments = slots, moving, segments
        self._maps, self._key, self._called = cell.named_maps(), cell.key(len(slots)), cell.called_maps()

    def children(self) -> Children:
        return {part: [slot[part] for slot in self._slots] for part in self._slots[0]}

    def products(self, names: Sequence[str], drop: Rows | None) -> list[Tensor]:
        names = [f"{name}_{self._key}" for name in names]
        return [(self._whole if name in self._called else self._split_product)(self._maps[name]) for name in names]

    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        places = self._slots[0]["h"].new_tensor(range(len(self._slots)), dtype=torch.int64)
        sent = [send(state, place, x_pre, self.linear) for state, place in zip(self._slots, places, strict=True)]
        return aggregate.of_slots([{name: messages[name] for name in names} for messages in sent]), {}

    def _whole(self, gate: TypedLinear) -> Tensor:
        """(C, F, out): the map of all children's h, for each filler, because the map is more than a product."""
        out: Tensor = gate(concatenate([state["h"] for state in self._slots]), self._segments)
        return out

    def _split_product(self, gate: TypedLinear) -> Tensor:
        """(C, F, out): the map of all children's h, what is off the path multiplied once for all fillers."""
        h, slot = [state["h"] for state in self._slots], self._moving
        off = [torch.zeros_like(state[:, :1]) if k == slot else state for k, state in enumerate(h)]
        weights, runs = gate.weights(), gate.runs(self._segments)
        constant = product(concatenate(off), weights, runs)
        n = h[slot].shape[-1]
        weight = weights.weight[:, :, slot * n : (slot + 1) * n].mT
        out = constant.new_empty(*h[slot].shape[:-1], constant.shape[-1])
        for matrix, start, stop in runs:
            for i in range(start, stop):
                torch.addmm(constant[i, 0], h[slot][i], weight[matrix], out=out[i])
        return out


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
