"""The step of a path: nodes above a blank that may still be anything, for all fillers at once."""

from collections.abc import Sequence

import torch
from torch import Tensor

from dgltree.cells import Aggregation, Cell
from dgltree.cells.step import Children, Rows, Send, State, StepRows
from dgltree.cells.typed_linear import Segments, TypedLinear, concatenate, product


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
