"""One step of the level engine: from places in the state buffers to new states, and back with their gradients."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.cells import Aggregation
from dgltree.cells.base import CellBase
from dgltree.cells.step import Children, Rows, Send, State, StepRows
from dgltree.cells.typed_linear import Linear, Segments
from dgltree.engine.accumulate import Inject, Sink, accumulating
from dgltree.engine.schedule import Schedule, Step, StepEdges
from dgltree.engine.trace import Trace


class Gathered(NamedTuple):
    """Children's states, from which the graph of a step begins."""

    part: str
    places: Tensor
    """(children,) int64: their rows in the buffers."""
    rows: Tensor
    """(children, *shape)"""


class LevelRows(StepRows):
    """The rows of a step of a schedule, whose children lie in the buffers of the whole pass.

    Args:
        buffers: part name to (R, *shape), of which the rows before the step are computed.
        edges: those that lead to the step's rows.
        step: the step.
        x_pre: (rows, widths), what the inputs add to the gates; None without inputs.
        linear_for: the maps of rows sorted by function, as segments say.
        record: whether the gathered states are to get gradients.
    """

    def __init__(
        self,
        buffers: State,
        edges: StepEdges,
        step: Step,
        x_pre: Tensor | None,
        linear_for: Callable[[Segments], Linear],
        record: bool,
    ) -> None:
        super().__init__(linear_for(step.segments), x_pre)
        self._buffers, self._edges, self._places, self._step = buffers, edges, edges.places, step
        self._linear_for, self._record = linear_for, record
        self.gathered: list[Gathered] = []
        """All that was read of the buffers."""

    def children(self) -> Children:
        assert self._step.arity is not None
        arity, h = self._step.arity, self._gather("h", self._places)
        self._i = h.view(-1, arity, h.shape[-1])  # all h of a node lie side by side
        others = [part for part in self._buffers if part != "h"]
        slots = {part: [self._gather(part, self._places[k::arity]) for k in range(arity)] for part in others}
        return {"h": self._i.unbind(1), **slots}

    def products(self, names: Sequence[str], drop: Rows | None) -> list[Tensor]:
        i = self._i.flatten(1)
        i = i if drop is None else drop(i)
        return [self.linear(name, i) for name in names]

    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        states = {part: self._gather(part, self._places) for part in self._buffers}
        _, parent, slot, ascending = self._edges
        x_edge = None if x_pre is None else x_pre.index_select(0, parent)
        count = self._step.stop - self._step.start
        slot = slots_of(parent, count) if slot is None else slot
        sent = send(states, slot, x_edge, self._linear_for(self._step.edge_segments))
        rows = {name: sent[name] for name in names}
        if ascending is not None:
            rows = {name: each.index_select(0, ascending) for name, each in rows.items()}
            parent = parent.index_select(0, ascending)
        return aggregate(rows, parent, count), sent

    def _gather(self, part: str, places: Tensor) -> Tensor:
        buffer = self._buffers[part]  # in memory (..., R, n), and so are the rows taken from it
        rows = buffer.movedim(0, -2).index_select(-2, places).movedim(-2, 0)
        rows = rows.requires_grad_() if self._record else rows
        self.gathered.append(Gathered(part, places, rows))
        return rows


def slots_of(parent: Tensor, count: int) -> Tensor:
    """(edges,) int64: the positions of children among their siblings, of edges to ``count`` rows, row after row."""
    first = torch.searchsorted(parent, torch.arange(count, device=parent.device))
    return torch.arange(len(parent), device=parent.device) - first[parent]


class Local(NamedTuple):
    """One step's own little graph, from its gathered children to its new states, which it does not keep."""

    gathered: list[Gathered]
    x_pre: list[Tensor]
    """What x adds, if anything."""
    anchor: Tensor
    """Of the products, see :class:`dgltree.engine.accumulate.Product`."""
    end: Tensor
    """A scalar, from which a backward pass begins with what ``received`` then holds, the gradient of each new state."""
    received: list[Tensor]

    @property
    def inputs(self) -> list[Tensor]:
        """What gradients are asked for."""
        return [*(gathered.rows for gathered in self.gathered), *self.x_pre, self.anchor]


def forward_step(
    cell: CellBase,
    schedule: Schedule,
    step: Step,
    buffers: State,
    weights: State,
    x_pre: Tensor | None,
    traced: Trace,
    sink: Sink | None,
) -> tuple[Local, list[Tensor]]:
    """A step on the states of the rows before it: its own graph, if there is a sink to record for, and new states.

    ``weights`` are the cell's ``map_weights`` of this pass, detached.
    """
    record = sink is not None
    anchor = buffers["h"].new_zeros(()).requires_grad_(record)
    x = [] if x_pre is None else [x_pre.detach().requires_grad_(record)]

    def linear_for(segments: Segments) -> Linear:
        return accumulating(cell, step.arity, segments, weights, anchor, sink)

    rows = LevelRows(buffers, schedule.edges(step), step, x[0] if x else None, linear_for, record)
    with torch.set_grad_enabled(record):
        computed, sent = cell.step(rows)
        traced.keep(slice(step.start, step.stop), computed, sent)
        new = [computed[part] for part in buffers]
        received: list[Tensor] = []
        end = Inject.apply(received, *new) if record else anchor
    return Local(rows.gathered, x, anchor, end, received), new


def backward_step(step: Step, local: Local, own: State, sink: Sink, state_gradients: State) -> Tensor | None:
    """Add this step's gradients to the sink and to its children's rows; returns that of what x added, if anything.

    Args:
        step: the step.
        local: its graph.
        own: the parameters that ``combine`` uses in addition to the maps.
        sink: where gradients of parameters are added up.
        state_gradients: part name to (R, *shape), of all rows.
    """
    local.received[:] = [gradients[step.start : step.stop] for gradients in state_gradients.values()]
    found = torch.autograd.grad(
        local.end,
        [*local.inputs, *own.values()],
        retain_graph=True,  # the pass itself may be repeated under retain_graph
        allow_unused=True,
        materialize_grads=True,
    )
    for gathered, d_rows in zip(local.gathered, found, strict=False):
        state_gradients[gathered.part].movedim(0, -2).index_add_(-2, gathered.places, d_rows.movedim(0, -2))
    local.received.clear()
    for name, gradient in zip(own, found[len(local.inputs) :], strict=True):
        sink.add_gradient(name, gradient)
    return found[len(local.gathered)] if local.x_pre else None
