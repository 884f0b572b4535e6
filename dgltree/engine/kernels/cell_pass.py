"""A pass of a cell through a kernel: what is the same whether children are read one by one or added up."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.cells import Cell
from dgltree.cells.kernel_options import Fused
from dgltree.cells.typed_linear import Weights, product
from dgltree.engine.kernels.kernel import Sent, States
from dgltree.engine.kernels.layout import Key, Layout, gate_maps
from dgltree.engine.kernels.operands import operand
from dgltree.engine.schedule import Schedule


class BackwardResult(NamedTuple):
    """What a backward pass finds."""

    leaf_h: Tensor
    """(leaves, n)"""
    leaf_memory: Tensor
    """(leaves, depth, n), or (0, depth, n) if the leaves' memory is all zeros."""
    inputs: list[Tensor | None]
    """Of what :meth:`CellPass.inputs` gave, if it gave something."""
    parameters: dict[str, Tensor]
    """Of the maps, by name."""


class CellPass(ABC):
    """The steps of a pass: a product for each run of rows with one matrix, and kernels for what follows from it.

    Leaves with gates are a step without children.

    What is kept for the backward pass are the states and the gates. Unless the graph is kept, that pass writes the
    gradients of the gates in their place, and those of the memories too.

    Args:
        cell: which says that it is covered.
        fused: what it says.
        schedule: the schedule, of one step at least.
        layout: of that schedule and cell.
        kernel: the class of kernels.
        record: whether a backward pass may follow.
        recompute: whether that computes the gates once more, instead of keeping them; compiled passes can.
    """

    def __init__(
        self,
        cell: Cell,
        fused: Fused,
        schedule: Schedule,
        layout: Layout,
        kernel: Any,
        record: bool,
        recompute: bool = False,
    ) -> None:
        self.cell, self.fused, self.kernel, self.record, self.recompute = cell, fused, kernel, record, recompute
        self.schedule = schedule = schedule.with_leaf_step() if cell.leaf == "gates" else schedule
        [(self.part, shape)] = [(part, shape) for part, shape in cell.state.items() if part != "h"]
        self.depth, self.n = prod(shape[:-1]), shape[-1]
        self.base = 0 if cell.leaf == "gates" else schedule.leaves
        self.layout, self.maps = layout, gate_maps(cell, schedule)
        self.keep = record or cell.input_size is not None
        """Whether all gates have a place."""
        self.weights: dict[str, Tensor]
        self.wanted: set[str]
        self.states: States
        self.pre: dict[Key, Tensor]

    def least_bytes(self) -> int:
        """Of states, and with a backward pass to come of gates, and what that pass makes for each edge."""
        schedule, n = self.schedule, self.n
        numbers = (len(schedule) + schedule.leaves) * n + (len(schedule) - self.base) * self.depth * n
        gates = sum(rows * self.maps[key].affine.fan_out for key, rows in self._slots().items())
        backward = (len(schedule) + 2 * len(schedule.sources)) * n if self.record else 0
        return (numbers + gates + backward) * next(self.cell.parameters()).element_size()

    @abstractmethod
    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        """The states of all rows, from those of the leaves and from :meth:`inputs`, whose memory it may take.

        ``weights`` are the cell's ``map_weights``; those that require gradients get them from :meth:`backward`.

        The leaves' memory is not read if it is all zeros. Of leaves with gates there are no states, (0, n).
        """

    @abstractmethod
    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool) -> BackwardResult:
        """The gradients.

        Args:
            d_h: (R, n), what the loss gives.
            d_memory: (R - base, depth, n), or (0, depth, n) for nothing.
            keep: whether there may be another backward pass.
        """

    def leaf_states(self, batch: TreeBatch) -> list[Tensor]:
        """Those that are not a step, h (leaves, n) and the memory."""
        if self.cell.leaf == "gates":
            weight = next(self.cell.parameters())
            return [weight.new_empty(0, *shape) for shape in self.cell.state.values()]
        found = self.cell.leaf_states(batch, self.schedule.node[: self.schedule.leaves], self.schedule.leaf_segments)
        return [found[part] for part in self.cell.state]

    def inputs(self, batch: TreeBatch, weights: Mapping[str, Tensor]) -> list[Tensor | None]:
        """What x adds to the gates of each map, where these lie; None if no row has an x."""
        return self.input_products(self._x(batch), weights)

    def input_products(self, x: Sequence[Tensor | None], weights: Mapping[str, Tensor]) -> list[Tensor | None]:
        """The same, of x (slots, d) of each map."""
        products: list[Tensor | None] = []
        for key, own in zip(self.maps, x, strict=True):
            if own is not None:
                own = product(own, Weights(weights[self._input_name(key)], None), self.layout.spans[key])
            products.append(own)
        return products

    def step_inputs(self, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]) -> list[Tensor | None]:
        """What x adds to the gates of each step's rows, from what :meth:`inputs` gave."""
        by_key = dict(zip(self.maps, inputs, strict=True))
        slots = torch.empty(len(self.schedule), dtype=torch.int64, device=self.schedule.device)
        for rows in self.layout.by_slot.split(list(self.layout.rows.values())):
            slots[rows] = torch.arange(len(rows), device=rows.device)
        x_pre = [(by_key[step.arity], slots[step.start : step.stop]) for step in self.schedule.steps]
        return [None if each is None else each.index_select(0, slot) for each, slot in x_pre]

    def _x(self, batch: TreeBatch) -> list[Tensor | None]:
        """(slots, d), the x of the rows of each map; None if none has one."""
        if self.cell.input_size is None:
            return [None] * len(self.maps)
        value = (
            batch.within(self.cell.vocabulary).numbers if self.cell.leaf == "gates" else None
        )  # else only leaves have some, which are not rows here
        found = []
        for rows in self.layout.by_slot.split(list(self.layout.rows.values())):
            nodes = self.schedule.node.index_select(0, rows)
            token = batch.token if self.cell.leaf == "gates" or self.schedule.tokens_inside else None
            columns = (batch.function, token, value, batch.x)
            function, token, number, x = (None if each is None else each.index_select(0, nodes) for each in columns)
            assert function is not None
            found.append(self.cell.node_inputs(function, token, number, x))
        return found

    def _input_name(self, key: Key) -> str:
        return f"input_{self.cell.key(key)}.weight"

    def _of(self, name: str, key: Key) -> Weights:
        """The tensors of a map as they were looked up for this pass."""
        name = f"{name}_{self.cell.key(key)}"
        return Weights(self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _start(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> None:
        """Makes room for states and gates; the leaves' states are there, and in the gates what x adds."""
        self.weights = {name: tensor.detach() for name, tensor in weights.items()}
        self.wanted = {name for name, tensor in weights.items() if tensor.requires_grad}
        schedule, n = self.schedule, self.n
        h = leaf_h.new_empty(len(schedule), n)
        memory = leaf_h.new_empty(len(schedule) - self.base, self.depth, n)
        h[: schedule.leaves] = leaf_h
        if not self.base:
            memory[: schedule.leaves] = leaf_memory.reshape(schedule.leaves, self.depth, n)
        self.states = States(h, memory, self.base, schedule.sources)
        self.mask = self._masks()
        self.given = dict(zip(self.maps, inputs, strict=True))

    def _gates(self) -> dict[Key, Tensor]:
        """Room for the gates of each map, or what x adds to them."""
        return {key: self._gates_for(key, slots) for key, slots in self._slots().items()}

    def _gates_for(self, key: Key, slots: int) -> Tensor:
        """Room for the gates of a map, or what x adds to them."""
        x_pre = self.given[key]
        return self._room(slots, self.maps[key].affine.fan_out) if x_pre is None else operand(x_pre.detach())

    def _room(self, slots: int, width: int) -> Tensor:
        return self.states.h.new_empty(slots, width)

    def _slots(self) -> dict[Key, int]:
        """How many rows of gates there is room for, of each map."""
        if self.keep:
            return self.layout.rows
        steps = self.schedule.steps
        return {key: max(step.stop - step.start for step in steps if step.arity == key) for key in self.maps}

    def _sent(self, d_h: Tensor, d_memory: Tensor, edge_h: Tensor, edge_gates: Tensor, row_memory: Tensor) -> Sent:
        own = self.layout
        return Sent(d_h, d_memory, own.parents, edge_h, edge_gates, row_memory, own.pointer, own.edges)

    def _leaf_gradients(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Room for them."""
        leaves = self.schedule.leaves
        return like.new_empty(leaves, self.n), like.new_empty(0 if self.base else leaves, self.depth, self.n)

    def _input_gradients(self) -> list[Tensor | None]:
        """Those of the gates, where x was added."""
        return [None if self.given[key] is None else gates for key, gates in self.pre.items()]

    def _masks(self) -> Tensor:
        """(rows of all steps, n), what dropout multiplies u by, drawn as ``combine`` would; (0, n) without dropout."""
        h, cell = self.states.h, self.cell
        if not (cell.training and cell.dropout):
            return h.new_empty(0, self.n)
        return torch.cat([cell.drop(h.new_ones(step.stop - step.start, self.n)) for step in self.schedule.steps])
