"""A pass through a kernel as one node of the autograd graph."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.engine import executor
from dgltree.engine.autograd import differentiable_gradients, generator_at, generator_state
from dgltree.engine.contract import CellContract, Computed, Fused
from dgltree.engine.kernels.kernel import Gates, Sent, States, operand
from dgltree.engine.kernels.layout import Layout, gate_maps
from dgltree.engine.kernels.threads import threads_of_torch
from dgltree.engine.schedule import Schedule
from dgltree.engine.trace import Trace
from dgltree.engine.typed_linear import Weights, product
from dgltree.support.torch_internals import graph_is_kept

if TYPE_CHECKING:
    from dgltree.engine.kernels.triton_kernel import TritonKernel

# ---------------------------------------------------------------------------------------------------------------------
# A pass of a cell through the kernels of a GPU, which read children one by one.


class BackwardResult(NamedTuple):
    """What a backward pass finds."""

    leaf_h: Tensor
    """(leaves, n)"""
    leaf_memory: Tensor
    """(leaves, depth, n), or (0, depth, n) if the leaves' memory is all zeros."""
    inputs: list[Tensor | None]
    """What :meth:`CellPass.inputs` gave, for each map; None where it gave nothing."""
    parameters: dict[str, Tensor]
    """Name of a map's weight or bias to the tensor."""


class CellPass:
    """The steps of a pass on a GPU: a few launches for each, whatever the number of its rows and matrices.

    The gates are maps of ``[h_1; ...; h_N]``, which the products gather, and nobody else. Leaves with gates are a step
    without children.

    What is kept for the backward pass are the states and the gates. Unless the graph is kept, that pass writes the
    gradients of the gates in their place, and those of the memories too.

    Args:
        cell: which says that it is covered.
        fused: what it says.
        schedule: the schedule, of one step at least.
        layout: of that schedule and cell.
        kernel: the class of kernels.
        record: whether a backward pass may follow.
    """

    def __init__(
        self,
        cell: CellContract,
        fused: Fused,
        schedule: Schedule,
        layout: Layout,
        kernel: "type[TritonKernel]",
        record: bool,
    ) -> None:
        self.cell = cell
        self.fused = fused
        self.kernel = kernel
        self.record = record
        self.planned = schedule
        self.schedule = schedule = schedule.with_leaf_step() if cell.leaf == "gates" else schedule
        [(self.part, shape)] = [(part, shape) for part, shape in cell.state.items() if part != "h"]
        self.depth = prod(shape[:-1])
        self.n = shape[-1]
        self.base = 0 if cell.leaf == "gates" else schedule.leaves
        self.layout = layout
        self.maps = gate_maps(cell, schedule)
        self.arities = [step.arity for step in schedule.steps if step.arity is not None]
        """(steps,)"""
        self.keep = record or cell.input_size is not None
        """Whether all gates have a place."""
        self.weights: dict[str, Tensor]
        self.wanted: set[str]
        self.states: States
        self.pre: dict[int, Tensor]

    def least_bytes(self) -> int:
        """Bytes of states, and with a backward pass to come of gates, and what that pass makes for each edge."""
        schedule = self.schedule
        n = self.n
        numbers = (len(schedule) + schedule.leaves) * n + (len(schedule) - self.base) * self.depth * n
        gates = sum(rows * self.maps[key].affine.fan_out for key, rows in self._slots().items())
        backward = (len(schedule) + 2 * len(schedule.sources)) * n if self.record else 0
        return (numbers + gates + backward) * self.cell.first_weight.element_size()

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        """The states of all rows, from those of the leaves and from :meth:`inputs`, whose memory it may take.

        ``weights`` are the cell's ``map_weights``; those that require gradients get them from :meth:`backward`.

        The leaves' memory is not read if it is all zeros. Of leaves with gates there are no states, (0, n).
        """
        self._start(leaf_h, leaf_memory, inputs, weights)
        self.pre = self._gates()
        self.tiles = self.layout.with_tiles()
        self.precision = product_precision(leaf_h.dtype)
        with torch.cuda.device_of(self.states.h):
            kernel = self._kernel()
            gates = self._maps()
            tiles = pairwise(self.tiles.steps)
            for step, arity, (first, last) in zip(self.schedule.steps, self.arities, tiles, strict=True):
                kernel.forward(step.start, step.stop, first, last, gates[arity])
        return self.states

    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool) -> BackwardResult:
        """The gradients.

        Args:
            d_h: (R, n), what the loss gives.
            d_memory: (R - base, depth, n), or (0, depth, n) for nothing.
            keep: whether there may be another backward pass.
        """
        kept = self.pre
        schedule = self.schedule
        states = self.states
        if keep:
            self.pre = {key: gates.clone() for key, gates in kept.items()}
        row_memory = torch.empty_like(states.memory) if keep else states.memory
        edge_h, edge_gates = (d_h.new_empty(len(schedule.sources), self.n) for _ in range(2))
        leaf_h, leaf_memory = self._leaf_gradients(d_h)
        with torch.cuda.device_of(states.h):
            kernel = self._kernel()
            gates = self._maps()
            kernel.start_backward(self._sent(d_h, d_memory, edge_h, edge_gates, row_memory))
            steps = [*zip(schedule.steps, self.arities, pairwise(self.tiles.steps), strict=True)]
            for step, arity, (first, last) in reversed(steps):
                kernel.backward(step.start, step.stop, first, last, gates[arity])
            if len(leaf_h):
                kernel.leaves(leaf_h, leaf_memory)
            parameters = self._parameters(kernel, gates)
        found = BackwardResult(leaf_h, leaf_memory, self._input_gradients(), parameters)
        self.pre = kept
        return found

    def leaf_states(self, batch: TreeBatch) -> list[Tensor]:
        """The states of leaves that are not a step, h (leaves, n) and the memory."""
        if self.cell.leaf == "gates":
            weight = self.cell.first_weight
            return [weight.new_empty(0, *shape) for shape in self.cell.state.values()]
        leaves = self.schedule.node[: self.schedule.leaves]
        states = self.cell.leaf_states(batch, leaves, self.schedule.leaf_segments)
        return [states[part] for part in self.cell.state]

    def inputs(self, batch: TreeBatch, weights: Mapping[str, Tensor]) -> list[Tensor | None]:
        """What x adds to the gates of each map, where these lie; None if no row has an x."""
        return self.input_products(self._x(batch), weights)

    def input_products(self, x: Sequence[Tensor | None], weights: Mapping[str, Tensor]) -> list[Tensor | None]:
        """What the x (slots, d) of each map add to its gates; None if no row has an x."""
        products: list[Tensor | None] = []
        for key, of_map in zip(self.maps, x, strict=True):
            if of_map is None:
                products.append(None)
                continue
            matrices = Weights(weights[f"input_{self.cell.key(key)}.weight"], None).unbound()
            products.append(product(of_map, matrices, self.layout.spans[key]))
        return products

    def step_inputs(self, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]) -> list[Tensor | None]:
        """What x adds to the gates of each step's rows, from what :meth:`inputs` gave."""
        by_key = dict(zip(self.maps, inputs, strict=True))
        slots = torch.empty(len(self.schedule), dtype=torch.int64, device=self.schedule.device)
        for rows in self.layout.by_slot.split(list(self.layout.rows.values())):
            slots[rows] = torch.arange(len(rows), device=rows.device)
        steps = zip(self.schedule.steps, self.arities, strict=True)
        x_pre = [(by_key[arity], slots[step.start : step.stop]) for step, arity in steps]
        return [None if each is None else each.index_select(0, slot) for each, slot in x_pre]

    def _x(self, batch: TreeBatch) -> list[Tensor | None]:
        """(slots, d), the x of the rows of each map; None if none has one."""
        if self.cell.input_size is None:
            return [None] * len(self.maps)
        has_gates = self.cell.leaf == "gates"  # otherwise leaves are no rows here, and only they have numbers
        value = batch.within(self.cell.vocabulary).numbers if has_gates else None
        token = batch.token if has_gates or self.schedule.tokens_inside else None
        inputs = []
        for rows in self.layout.by_slot.split(list(self.layout.rows.values())):
            nodes = self.schedule.node.index_select(0, rows)
            function = batch.function.index_select(0, nodes)
            columns = [None if column is None else column.index_select(0, nodes) for column in (token, value, batch.x)]
            inputs.append(self.cell.node_inputs(function, *columns))
        return inputs

    def _start(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> None:
        """Makes room for states and gates; the leaves' states are there, and in the gates what x adds."""
        self.weights = {name: tensor.detach() for name, tensor in weights.items()}
        self.wanted = {name for name, tensor in weights.items() if tensor.requires_grad}
        schedule = self.schedule
        n = self.n
        h = leaf_h.new_empty(len(schedule), n)
        memory = leaf_h.new_empty(len(schedule) - self.base, self.depth, n)
        h[: schedule.leaves] = leaf_h
        if not self.base:
            memory[: schedule.leaves] = leaf_memory.reshape(schedule.leaves, self.depth, n)
        self.states = States(h, memory, self.base, schedule.sources)
        self.mask = self._masks()
        self.given = dict(zip(self.maps, inputs, strict=True))

    def _gates(self) -> dict[int, Tensor]:
        """Room for the gates of each map, or what x adds to them."""
        gates = {}
        for key, slots in self._slots().items():
            x_pre = self.given[key]
            room = self._room(slots, self.maps[key].affine.fan_out) if x_pre is None else operand(x_pre.detach())
            gates[key] = room
        return gates

    def _room(self, slots: int, width: int) -> Tensor:
        return self.states.h.new_empty(slots, width)

    def _slots(self) -> dict[int, int]:
        """How many rows of gates there is room for, of each map."""
        if self.keep:
            return self.layout.rows
        slots = dict.fromkeys(self.maps, 0)
        for step, arity in zip(self.schedule.steps, self.arities, strict=True):
            slots[arity] = max(slots[arity], step.stop - step.start)
        return slots

    def _sent(self, d_h: Tensor, d_memory: Tensor, edge_h: Tensor, edge_gates: Tensor, row_memory: Tensor) -> Sent:
        own = self.layout
        return Sent(d_h, d_memory, own.parents, edge_h, edge_gates, row_memory, own.pointer, own.edges)

    def _leaf_gradients(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Room for them."""
        leaves = self.schedule.leaves
        return like.new_empty(leaves, self.n), like.new_empty(0 if self.base else leaves, self.depth, self.n)

    def _input_gradients(self) -> list[Tensor | None]:
        """The gradients of the gates to which an x was added."""
        return [None if self.given[key] is None else gates for key, gates in self.pre.items()]

    def _masks(self) -> Tensor:
        """(rows of all steps, n), what dropout multiplies u by, drawn as ``combine`` would; (0, n) without dropout."""
        h = self.states.h
        cell = self.cell
        if not (cell.training and cell.dropout):
            return h.new_empty(0, self.n)
        return torch.cat([cell.drop(h.new_ones(step.stop - step.start, self.n)) for step in self.schedule.steps])

    def _kernel(self) -> "TritonKernel":
        return self.kernel(self.fused.options, self.states, self.tiles, self.mask, self.keep, self.precision)

    def _maps(self) -> dict[int, Gates]:
        """The gates of all maps where they lie now."""
        gates = {}
        for key, pre in self.pre.items():
            name = f"gates_{self.cell.key(key)}"
            weight = self.weights[f"{name}.weight"]
            bias = self.weights[f"{name}.bias"]
            gates[key] = Gates(pre, weight, bias, key, self.given[key] is not None)
        return gates

    def _parameters(self, kernel: "TritonKernel", gates: Mapping[int, Gates]) -> dict[str, Tensor]:
        """The gradients of weights and biases, of all steps at once; the inputs of the products are gathered again."""
        gradients: dict[str, Tensor] = {}
        for chunks, (key, of_map) in zip(self.tiles.maps, gates.items(), strict=True):
            name = f"gates_{self.cell.key(key)}"
            names = [f"{name}.weight", f"{name}.bias"]
            if not self.wanted.isdisjoint(names):
                gradients |= zip(names, kernel.gradients(chunks, of_map), strict=True)
        return {name: gradient for name, gradient in gradients.items() if name in self.wanted}


def product_precision(dtype: torch.dtype) -> str:
    """How kernels multiply, in Triton's words: as torch is set to (``torch.set_float32_matmul_precision``)."""
    if dtype != torch.float32:
        return "ieee"
    setting = getattr(torch.backends.cuda.matmul, "fp32_precision", None)  # to ask an older one's name is an error
    if setting is None:  # before torch 2.9
        return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"
    return "tf32" if setting == "tf32" else "ieee"


class FusedPass(torch.autograd.Function):
    """All steps, with a backward pass by hand."""

    @staticmethod
    def forward(
        ctx: Any, steps: CellPass, names: Sequence[str], leaf_h: Tensor, leaf_memory: Tensor, *tensors: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(R, n) and (R - base, depth, n), from the leaves, the pass's inputs, and the weights named."""
        inputs = tensors[: len(tensors) - len(names)]
        given = tensors[len(tensors) - len(names) :]
        weights = {name: tensor for name, tensor in zip(names, given, strict=True) if tensor is not None}
        ctx.generator = generator_state(steps.cell) if steps.record else None
        with threads_of_torch(leaf_h.device):
            states = steps.forward(leaf_h, leaf_memory, inputs, weights)
        outputs = states.h.detach(), states.memory.detach()  # the states themselves must not hold this node
        ctx.save_for_backward(leaf_h, leaf_memory, *tensors, outputs[0])  # also to notice what was changed or freed
        ctx.set_materialize_grads(False)
        ctx.steps = steps
        ctx.names = names
        ctx.leaf_shape = leaf_memory.shape
        return outputs

    @staticmethod
    def backward(ctx: Any, d_h: Tensor | None, d_memory: Tensor | None) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        if d_h is None and d_memory is None:
            return (None,) * len(ctx.needs_input_grad)
        steps: CellPass = ctx.steps
        if torch.is_grad_enabled():
            return None, None, *_differentiable(steps, ctx.names, saved[:-1], ctx.generator, (d_h, d_memory))
        states = steps.states
        keep = graph_is_kept()
        given_h = torch.zeros_like(states.h) if d_h is None else operand(d_h)
        given_memory = states.memory[:0] if d_memory is None else d_memory
        with threads_of_torch(given_h.device):
            found = steps.backward(given_h, operand(given_memory), keep)
        if not keep:
            ctx.steps = None
        d_leaf = found.leaf_memory.view(ctx.leaf_shape) if len(found.leaf_memory) else None
        return None, None, found.leaf_h, d_leaf, *found.inputs, *map(found.parameters.get, ctx.names)


def _differentiable(
    steps: CellPass,
    names: Sequence[str],
    tensors: Sequence[Tensor | None],
    generator: Tensor | None,
    grad_outputs: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """The gradients as values that autograd can differentiate, by torch's operations instead of the kernel."""
    cell = steps.cell
    schedule = steps.planned

    def compute(leaf_h: Tensor, leaf_memory: Tensor, *others: Tensor | None) -> tuple[Tensor, Tensor]:
        inputs = others[: len(others) - len(names)]
        given = others[len(others) - len(names) :]
        weights = {name: tensor for name, tensor in zip(names, given, strict=True) if tensor is not None}
        leaf: Computed = {"h": leaf_h, steps.part: leaf_memory}
        x_pre = steps.step_inputs(inputs, weights)
        traced = Trace(cell, ())
        with generator_at(generator, leaf_h.device):
            if cell.leaf == "gates":  # a step of its own to kernels
                linear = executor.Steps(cell, schedule, weights, traced).linear_for(0, schedule.leaf_segments)
                leaf = cell.leaf_gates(schedule.leaves, x_pre[0], linear)
                x_pre = x_pre[1:]
            states = executor.run(cell, schedule, leaf, x_pre, weights, traced, record=True)
        h = states["h"]
        memory = states[steps.part]
        return h, memory[steps.base :].reshape(len(memory) - steps.base, steps.depth, steps.n)

    return differentiable_gradients(compute, tensors, grad_outputs)
