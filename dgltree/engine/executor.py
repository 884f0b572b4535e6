"""The level engine on torch's operations: a cell along a schedule, step after step, differentiated by autograd.

A step of a schedule is the rows that a cell computes together. For each step

1. the states that its children have are **gathered** into (edges, *shape), in the order of the step's edges;
2. the cell computes new states of the step's rows from them (``Cell.step``);
3. these rows become a **block** of their own, from which later steps gather.

There is no backward pass in this file. Autograd differentiates the pass as often as anybody likes, ``torch.func``
transforms it, and hooks and patched maps get what they would get in any other module. What makes it fast enough is
that no operation has a gradient that is larger than its result:

- Rows are gathered from blocks by a plan (``gather_plan.py``), never from a tensor of all states, whose gradient would
  be another such tensor for each step.
- The matrices of a typed map are taken apart once, by ``unbind``, and not by an index for each use: the gradient of
  ``weight[m]`` is a tensor of zeros as large as ``weight``, that of ``unbind`` one ``stack`` for the whole pass.

So forward and backward cost O(N) time and memory, and a chain of 100,000 nodes is 100,000 blocks of one row.

Without a backward pass to come there is nothing to arrange: states are written into one buffer for each part and are
gathered from there (``_in_buffers``).

**Recomputation.** With ``recompute`` the steps are run in segments of some thousand rows (``_Segment``). A segment
keeps what it read of earlier segments, and its backward pass first runs it once more, by the code that ran it. Inside
it, blocks hand each other rows as without recomputation. (``torch.utils.checkpoint`` would keep the nodes of the graph,
which in narrow steps are larger than their tensors.) A segment knows the gradients of what it was given. If a function
of the cell, or a hook, closes over another tensor that requires gradients, the pass is recorded in full from there on.

**Limits.** The gradients of a matrix are added up step by step, in tensors of its size: where a step has few rows and
matrices are large, that costs more than the products themselves. A pass holds its states three times for a moment,
when blocks are joined and put into public order.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from dgltree.engine.aggregation import Aggregation
from dgltree.engine.autograd import (
    differentiable_gradients,
    generator_at,
    generator_state,
    restore_generator,
)
from dgltree.engine.contract import CellBase, Children, Computed, Map, Send, State, StepRows
from dgltree.engine.gather_plan import BlockPiece, GatherPlan
from dgltree.engine.schedule import Schedule, Step
from dgltree.engine.trace import Trace
from dgltree.engine.typed_linear import Linear, Matrices, Segments, matrices_of, product
from dgltree.support.torch_internals import inside_transform

SEGMENT_ROWS = 4096
"""Rows that are recomputed together: enough that a checkpoint costs nothing next to them, few enough that what they
keep in the meantime is small next to the states of a large batch."""


def run(
    cell: CellBase,
    schedule: Schedule,
    leaf: Computed,
    x_pre: Sequence[Tensor | None],
    weights: Mapping[str, Tensor],
    traced: Trace,
    *,
    record: bool,
    recompute: bool = False,
    matrices: Mapping[str, Matrices] | None = None,
) -> State:
    """The states of all rows of a schedule, part name to (R, *shape).

    Args:
        cell: upwards or downwards.
        schedule: of its direction.
        leaf: states of the rows that a pass begins with, part name to (leaves, *shape).
        x_pre: for each step (rows, widths), what inputs add to the gates; None without inputs.
        weights: the cell's ``map_weights``.
        traced: collects what else the cell computes.
        record: whether there may be a backward pass.
        recompute: whether that computes the steps once more, instead of keeping what it needs of them. Under
            ``torch.func``'s transforms it makes no difference.
        matrices: the maps one by one, if somebody has unbound the weights.
    """
    transformed = inside_transform()
    if not record and not transformed:
        return _in_buffers(Steps(cell, schedule, weights, traced, matrices), leaf, x_pre)
    steps = Steps(cell, schedule, weights, traced, matrices)
    return _in_blocks(steps, leaf, x_pre, recompute and record and not transformed)


class Steps:
    """The steps of one pass of a cell."""

    def __init__(
        self,
        cell: CellBase,
        schedule: Schedule,
        weights: Mapping[str, Tensor],
        traced: Trace,
        matrices: Mapping[str, Matrices] | None = None,
    ) -> None:
        self.cell = cell
        self.schedule = schedule
        self.weights = weights
        self.traced = traced
        self._maps = cell.named_maps()
        # Maps that ``weights`` lacks have hooks, or a forward of their own: they are called as modules.
        self._matrices = matrices_of(self._maps, weights) if matrices is None else matrices

    def linear_for(self, arity: int | None, segments: Segments) -> Linear:
        """The maps of rows that have this arity and are sorted by function."""
        key = self.cell.key(arity)

        def linear(name: str, v: Tensor) -> Tensor:
            name = f"{name}_{key}"
            own = self._maps[name]
            if name in self._matrices:
                return product(v, self._matrices[name], own.runs(segments))
            return cast(Tensor, own(v, segments))

        return linear

    def new_states(self, step: Step, given: State, x_pre: Tensor | None) -> State:
        """New states of a step's rows; what is traced of what else is computed is kept.

        ``given`` are the states that the step's edges carry, part name to (edges, *shape).
        """
        rows = GatheredRows(self.schedule, step, given, x_pre, self.linear_for)
        computed, sent = self.cell.step(rows)
        self.traced.keep(slice(step.start, step.stop), computed, sent)
        return {part: computed[part] for part in self.cell.state}


class GatheredRows(StepRows):
    """The rows of a step, with the states of their children as they were gathered.

    Args:
        schedule: of the pass.
        step: one of its steps.
        given: part name to (edges, *shape). In a step of one arity the children of a row lie next to each other.
        x_pre: (rows, widths), what the inputs add to the gates; None without inputs.
        linear_for: the maps of rows of an arity, or of edges, sorted as the segments say.
    """

    def __init__(
        self,
        schedule: Schedule,
        step: Step,
        given: State,
        x_pre: Tensor | None,
        linear_for: Callable[[int | None, Segments], Linear],
    ) -> None:
        super().__init__(linear_for(step.arity, step.segments), x_pre)
        self._schedule = schedule
        self._step = step
        self._given = given
        self._linear_for = linear_for
        self._count = step.stop - step.start

    def children(self) -> Children:
        assert self._step.arity is not None
        by_row = (self._count, self._step.arity)
        return {part: rows.unflatten(0, by_row).unbind(1) for part, rows in self._given.items()}

    def products(self, names: Sequence[str], drop: Map | None) -> list[Tensor]:
        i = self._given["h"].reshape(self._count, -1)  # the h of a row's children lie side by side
        if drop is not None:
            i = drop(i)
        return [self.linear(name, i) for name in names]

    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        schedule = self._schedule
        edges = self._step.edges
        parent = schedule.parent[edges]
        slot = slots_of(parent, self._count) if schedule.slot is None else schedule.slot[edges]
        x_edge = None if x_pre is None else x_pre.index_select(0, parent)
        sent = send(self._given, slot, x_edge, self._linear_for(self._step.arity, self._step.edge_segments))
        rows = {name: sent[name] for name in names}
        if schedule.ascending is not None:  # edges are sorted by matrix for ``send``, aggregations want them by parent
            ascending = schedule.ascending[edges]
            rows = {name: message.index_select(0, ascending) for name, message in rows.items()}
            parent = parent.index_select(0, ascending)
        return aggregate(rows, parent, self._count), sent


def slots_of(parent: Tensor, count: int) -> Tensor:
    """(edges,) int64: the positions of children among their siblings, of edges to ``count`` rows, row after row."""
    first = torch.searchsorted(parent, torch.arange(count, device=parent.device))
    return torch.arange(len(parent), device=parent.device) - first[parent]


def _in_buffers(steps: Steps, leaf: Computed, x_pre: Sequence[Tensor | None]) -> State:
    """The states of a pass that nobody differentiates: written in place."""
    schedule = steps.schedule
    states: State = {}
    for part, shape in steps.cell.state.items():
        states[part] = leaf[part].new_empty(len(schedule), *shape)
        states[part][: schedule.leaves] = leaf[part]
    for step, x in zip(schedule.steps, x_pre, strict=True):
        sources = schedule.sources[step.edges]
        given = {part: rows.index_select(0, sources) for part, rows in states.items()}
        for part, rows in steps.new_states(step, given, x).items():
            states[part][step.start : step.stop] = rows
    return states


def _in_blocks(steps: Steps, leaf: Computed, x_pre: Sequence[Tensor | None], recompute: bool) -> State:
    """The states of a pass that autograd records. Block 0 are the leaves, block k the rows of step k - 1."""
    plan = steps.schedule.with_gathers()
    blocks = [{part: leaf[part] for part in steps.cell.state}]
    pieces = _Pieces(plan)
    pieces.put(0, blocks[0])
    for first, stop in _segments(steps.schedule) if recompute else [(1, len(plan.blocks))]:
        read = pieces.take_for(first, stop)
        x = x_pre[first - 1 : stop - 1]
        new = _recomputed(steps, plan, first, stop, read, x) if recompute else None
        if new is None:
            recompute = False  # from here on, see "Recomputation" above
            new = _segment(steps, plan, first, stop, read, x)
        for number, block in enumerate(new, first):
            pieces.put(number, block, first=_readers_before(plan, number, stop))
        blocks += new
    states = {}
    for part in steps.cell.state:  # and the blocks of a part are let go before the next is joined
        states[part] = torch.cat([block.pop(part) for block in blocks])
    return states


class _Pieces:
    """Rows of blocks on their way to the blocks that read them, each piece until it is read."""

    def __init__(self, plan: GatherPlan, waiting: dict[BlockPiece, State] | None = None) -> None:
        self._plan = plan
        self._waiting = waiting or {}

    def put(self, number: int, block: State, first: int = 0, last: int | None = None) -> None:
        """Gather the pieces ``first:last`` of a new block."""
        count = len(self._plan.blocks[number].sizes[first:last])
        if not count:
            return
        split = {part: self._plan.split(number, rows, first, last) for part, rows in block.items()}
        for k in range(count):
            self._waiting[BlockPiece(number, first + k)] = {part: rows[k] for part, rows in split.items()}

    def take(self, number: int) -> State:
        """What a block reads: part name to (edges, *shape)."""
        pieces = [self._waiting.pop(piece) for piece in self._plan.blocks[number].pieces]
        given = {}
        for part in pieces[0]:
            given[part] = self._plan.join(number, [piece[part] for piece in pieces])
        return given

    def take_for(self, first: int, stop: int) -> dict[BlockPiece, State]:
        """The pieces that blocks ``first:stop`` read of those before them."""
        read = [piece for number in range(first, stop) for piece in self._plan.blocks[number].pieces]
        return {piece: self._waiting.pop(piece) for piece in read if piece.block < first}


def _readers_before(plan: GatherPlan, number: int, stop: int) -> int:
    """How many of the readers of a block come before the block ``stop``."""
    return bisect_left(plan.blocks[number].readers, stop)


def _segment(
    steps: Steps,
    plan: GatherPlan,
    first: int,
    stop: int,
    read: Mapping[BlockPiece, State],
    x_pre: Sequence[Tensor | None],
) -> list[State]:
    """The blocks ``first:stop``, from the pieces that they read of earlier ones."""
    blocks = []
    pieces = _Pieces(plan, dict(read))
    for number, x in zip(range(first, stop), x_pre, strict=True):
        step = steps.schedule.steps[number - 1]
        block = steps.new_states(step, pieces.take(number), x)
        pieces.put(number, block, last=_readers_before(plan, number, stop))
        blocks.append(block)
    return blocks


def _segments(schedule: Schedule) -> list[tuple[int, int]]:
    """The blocks ``first:stop`` of each segment: all but the leaves, in runs of ``SEGMENT_ROWS`` rows or more."""
    segments = []
    first = 1
    rows = 0
    for number, step in enumerate(schedule.steps, 1):
        rows += step.stop - step.start
        if rows >= SEGMENT_ROWS or number == len(schedule.steps):
            segments.append((first, number + 1))
            first = number + 1
            rows = 0
    return segments


def _recomputed(
    steps: Steps,
    plan: GatherPlan,
    first: int,
    stop: int,
    read: Mapping[BlockPiece, State],
    x_pre: Sequence[Tensor | None],
) -> list[State] | None:
    """What ``_segment`` gives, which is run once more in the backward pass instead of keeping what that needs.

    None if something closes over a tensor that requires gradients, which that would lose.
    """
    cell = steps.cell
    schedule = steps.schedule
    traced = steps.traced
    # Under torch.func.functional_call these are what it was given, which has left the cell when the segment runs again.
    parameters = dict(cell.named_parameters())
    # Names alone: ``compute`` is kept until the backward pass, and is to hold no tensor.
    parts = list(cell.state)
    pieces_read = list(read)
    has_x = [x is not None for x in x_pre]
    parameter_names = list(parameters)
    weight_names = list(steps.weights)

    def compute(*tensors: Tensor) -> tuple[Tensor, ...]:
        given = iter(tensors)
        pieces = {piece: {part: next(given) for part in parts} for piece in pieces_read}
        x = [next(given) if has else None for has in has_x]
        own = {name: next(given) for name in parameter_names}
        weights = {name: next(given) for name in weight_names}
        again = Steps(cell, schedule, weights, traced)
        blocks = with_parameters(cell, own, _segment, again, plan, first, stop, pieces, x)
        return tuple(block[part] for block in blocks for part in parts)

    states = [state[part] for state in read.values() for part in parts]
    inputs = [x for x in x_pre if x is not None]
    given = [*states, *inputs, *parameters.values(), *steps.weights.values()]
    generator = generator_state(cell)
    with torch.enable_grad():  # nothing that is given requires gradients, so nothing is recorded
        new = compute(*(tensor.detach() for tensor in given))
    if any(state.requires_grad for state in new):
        restore_generator(generator, given[0].device)
        return None
    tensors = iter(_Segment.apply(compute, generator, new, *given))
    return [{part: next(tensors) for part in parts} for _ in range(first, stop)]


class _Segment(torch.autograd.Function):
    """``new``, which ``compute`` gave, and which the backward pass computes once more instead of keeping what it needs.

    The generator's state is that from before.
    """

    @staticmethod
    def forward(
        ctx: Any,
        compute: Callable[..., tuple[Tensor, ...]],
        generator: Tensor | None,
        new: tuple[Tensor, ...],
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:
        ctx.compute = compute
        ctx.generator = generator
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return new

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        create_graph = torch.is_grad_enabled()
        if not create_graph:
            wanted = ctx.needs_input_grad[3:]
            tensors = [tensor.detach().requires_grad_(want) for tensor, want in zip(tensors, wanted, strict=True)]
        with torch.enable_grad(), generator_at(ctx.generator, tensors[0].device):
            of_tensors = differentiable_gradients(ctx.compute, tensors, gradients, create_graph=create_graph)
        return None, None, None, *of_tensors


class _Call(nn.Module):
    """A function that uses a cell as the call of a module, as ``torch.func.functional_call`` wants one."""

    def __init__(self, cell: CellBase) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, function: Callable[..., Any], *given: Any) -> Any:
        return function(*given)


def with_parameters(cell: CellBase, own: Mapping[str, Tensor], function: Callable[..., Any], *given: Any) -> Any:
    """``function(*given)`` while the cell has these parameters, by name, in the place of its own."""
    parameters = {f"cell.{name}": tensor for name, tensor in own.items()}
    return functional_call(_Call(cell), parameters, (function, *given))
