"""A cell along a schedule, step by step, as one node of the autograd graph with a backward pass of its own."""

import math
from collections.abc import Mapping
from typing import Any, cast
import torch
from torch import Tensor
from dgltree.engine.contract import CellBase
from dgltree.engine.typed_linear import Linear, Runs, Segments, Weights, product
from collections.abc import Callable, Sequence
from typing import NamedTuple
from dgltree.engine.aggregation import Aggregation
from dgltree.engine.contract import Children, Rows, Send, State, StepRows
from dgltree.engine.typed_linear import Linear, Segments
from dgltree.engine.schedule import Schedule, Step, StepEdges
from dgltree.engine.trace import Trace
from typing import Any
from torch import Tensor, nn
from torch.func import functional_call
from dgltree.engine.contract import CellContract
from dgltree.engine.contract import State
from dgltree.engine.schedule import Schedule
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from dgltree.engine.autograd import differentiable_gradients
from dgltree.engine.autograd import generator_at, generator_state

# ---------------------------------------------------------------------------------------------------------------------
# Pieces of autograd for the level pass: products whose weight gradients are added up in one buffer each.


TOGETHER = 4096
"""Rows of one map whose weight gradients are computed together: more would only take memory."""
MIN_PRODUCT_ROWS = 128
"""Rows that make a good matrix product by themselves."""


class Sink:
    """Where a backward pass adds up the gradients of parameters, by name.

    A product leaves its inputs and the gradients of its outputs here. They wait for those of other steps, because a few
    rows make a poor matrix product: there is one for each matrix, not one for each matrix and step.
    """

    def __init__(self) -> None:
        self._wanted: Mapping[str, Tensor] = {}
        self._gradients: dict[str, Tensor] = {}
        self._waiting: dict[str, list[tuple[Runs, Tensor, Tensor]]] = {}
        self._rows: dict[str, int] = {}  # that wait

    def start(self, parameters: Mapping[str, Tensor]) -> None:
        """A pass begins, which wants the gradients of these parameters."""
        self._wanted, self._gradients = parameters, {}
        self._waiting, self._rows = {}, {}

    def add_gradient(self, name: str, gradient: Tensor) -> None:
        """Of a whole parameter."""
        self._buffer(name).add_(gradient)

    def add(self, name: str, runs: Runs, v: Tensor, d_out: Tensor) -> None:
        """Of the map ``name``: inputs (rows, in) and gradients of outputs (rows, out)."""
        self._waiting.setdefault(name, []).append((runs, v, d_out))
        self._rows[name] = self._rows.get(name, 0) + len(v)
        if self._rows[name] > TOGETHER:
            self._multiply(name)

    def finish(self) -> dict[str, Tensor]:
        """The gradients, of those that the pass asked for, and that it used."""
        for name in list(self._waiting):
            self._multiply(name)
        gradients, self._gradients = self._gradients, {}
        return gradients

    def _buffer(self, name: str) -> Tensor:
        if name not in self._gradients:
            self._gradients[name] = torch.zeros_like(self._wanted[name])
        return self._gradients[name]

    def _multiply(self, name: str) -> None:
        self._rows[name] = 0
        rows: dict[int, list[tuple[Tensor, Tensor]]] = {}
        for runs, v, d_out in self._waiting.pop(name):
            for matrix, start, stop in runs:
                rows.setdefault(matrix, []).append((v[start:stop], d_out[start:stop]))
        kinds = (f"{name}.weight", f"{name}.bias")
        d_weight, d_bias = (self._buffer(kind) if kind in self._wanted else None for kind in kinds)
        for matrix, parts in rows.items():
            large = [part for part in parts if len(part[0]) >= MIN_PRODUCT_ROWS]
            small = [part for part in parts if len(part[0]) < MIN_PRODUCT_ROWS]
            together = [tuple(map(torch.cat, zip(*small, strict=True)))] if len(small) > 1 else small
            for v, d_out in large + together:
                if d_weight is not None:
                    d_weight[matrix].addmm_(d_out.t(), v)
                if d_bias is not None:
                    d_bias[matrix] += d_out.sum(0)


def accumulating(
    cell: CellBase,
    arity: int | None,
    segments: Segments,
    weights: Mapping[str, Tensor],
    anchor: Tensor,
    sink: Sink | None,
) -> Linear:
    """As ``cell.linear_for``, of tensors that were looked up (``map_weights``); with a sink, their gradients go there.

    A map that they lack is called.
    """
    key, maps = cell.key(arity), cell.named_maps()

    def linear(name: str, v: Tensor) -> Tensor:
        name = f"{name}_{key}"
        if f"{name}.weight" not in weights:
            return cast(Tensor, maps[name](v, segments))
        own, runs = Weights(weights[f"{name}.weight"], weights.get(f"{name}.bias")), maps[name].runs(segments)
        return product(v, own, runs) if sink is None else Product.apply(anchor, v, name, own, runs, sink)

    return linear


class Product(torch.autograd.Function):
    """A typed product whose backward leaves the gradients of its weights to a sink.

    The anchor is a scalar that requires gradients: through it autograd comes here even if v requires none.
    """

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, v: Tensor, name: str, weights: Weights, runs: Runs, sink: Sink) -> Tensor:
        ctx.save_for_backward(v)
        ctx.name, ctx.weight, ctx.runs, ctx.sink = name, weights.weight, runs, sink
        return product(v, weights, runs)

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        (v,) = ctx.saved_tensors
        weight, d_v = ctx.weight, torch.empty_like(v, memory_format=torch.contiguous_format)
        for matrix, start, stop in ctx.runs:
            d_rows = d_out[start:stop].flatten(0, -2)
            torch.mm(d_rows, weight[matrix], out=d_v[start:stop].view(-1, v.shape[-1]))
        inner = math.prod(v.shape[1:-1])  # rows that each row has, such as those of a stack
        runs = [(matrix, start * inner, stop * inner) for matrix, start, stop in ctx.runs]
        ctx.sink.add(ctx.name, runs, v.flatten(0, -2), d_out.flatten(0, -2))
        return None, d_v, None, None, None, None


class Inject(torch.autograd.Function):
    """A scalar whose backward hands its inputs the gradients that a list then holds.

    ``torch.autograd.grad(..., grad_outputs)`` would do, but it checks the shapes, at every call, by means of SymPy.
    """

    @staticmethod
    def forward(ctx: Any, gradients: list[Tensor], *outputs: Tensor) -> Tensor:
        ctx.gradients = gradients
        return outputs[0].new_zeros(())

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.gradients


# ---------------------------------------------------------------------------------------------------------------------
# One step of the level engine: from places in the state buffers to new states, and back with their gradients.


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
    """Of the products, see :class:`dgltree.engine.level_pass.Product`."""
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


# ---------------------------------------------------------------------------------------------------------------------
# A pass by operations that autograd knows, from which gradients of gradients are computed.


def plain_states(
    cell: CellBase,
    schedule: Schedule,
    leaf: Sequence[Tensor],
    x_pre: Sequence[Tensor | None],
    own: State,
    weights: State,
) -> list[Tensor]:
    """The states of all rows, (R, *shape) for each part, which autograd can differentiate as often as one likes.

    The states so far are joined again for each step, so time grows with steps times rows. Passes whose backward pass is
    made by hand are linear, and leave derivatives of derivatives to this.

    Args:
        cell: the cell.
        schedule: of the pass.
        leaf: states of its leaves, (leaves, *shape) for each part.
        x_pre: for each step, what x adds to the gates.
        own: by name, the parameters that steps use in addition to the maps.
        weights: the maps' tensors.
    """
    states = dict(zip(cell.state, leaf, strict=True))
    anchor = leaf[0].new_zeros(())
    for step, x in zip(schedule.steps, x_pre, strict=True):

        def linear_for(segments: Any, arity: int | None = step.arity) -> Any:
            return accumulating(cell, arity, segments, weights, anchor, None)

        if step.edges.stop == step.edges.start:
            assert isinstance(cell, CellContract)
            new = cell.leaf_gates(step.stop - step.start, x, linear_for(step.segments))
        else:
            rows = LevelRows(states, schedule.edges(step), step, x, linear_for, record=False)
            new, _ = with_parameters(cell, own, lambda cell, rows: cell.step(rows), rows)
        states = {part: torch.cat([before, new[part]]) for part, before in states.items()}
    return list(states.values())


class Call(nn.Module):
    """A function of a cell as the call of a module, as ``torch.func.functional_call`` wants one."""

    def __init__(self, cell: CellBase) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, function: Callable[..., Any], *given: Any) -> Any:
        return function(self.cell, *given)


def with_parameters(cell: CellBase, own: State, function: Callable[..., Any], *given: Any) -> Any:
    """``function(cell, *given)`` while the cell has these parameters, by name, in the place of its own."""
    return functional_call(Call(cell), {f"cell.{name}": tensor for name, tensor in own.items()}, (function, *given))


# Tensors that a step uses and that are none of the cell's: their gradients would be lost, so they are refused.
def check_known(cell: CellBase, local: Local, own: Iterable[Tensor]) -> None:
    """``ValueError`` if functions or hooks of a patched cell read a tensor that wants gradients and is not its own.

    The gradients of a pass are those of the tensors that it names. Only cells that were patched are looked at
    (``Cell.patches``): what a hook or a function closes over, no class declares.
    """
    if not cell.patches():
        return
    known = [*local.inputs, *own]
    leaves = {id(tensor) for tensor in known}
    for tensor in _leaves(local.end, {tensor.grad_fn for tensor in known if tensor.grad_fn is not None}):
        if id(tensor) not in leaves:
            raise ValueError(
                f"a hook or function on this {type(cell).__name__} uses a tensor of shape "
                f"{tuple(tensor.shape)} that requires gradients and is not a parameter of the cell: its gradient would "
                "be lost; make it one, by cell.register_parameter or as part of a module of the cell"
            )


def _leaves(end: Tensor, known: set[object]) -> Iterator[Tensor]:
    """The leaves that a graph begins with, looking no further than the nodes that are known."""
    open_, seen = [end.grad_fn], set(known)
    while open_:
        node = open_.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        open_ += [function for function, _ in node.next_functions]


class PassContext(NamedTuple):
    """The parts of a pass other than its tensors."""

    cell: CellBase
    schedule: Schedule
    traced: Trace
    record: bool
    """Whether there will be a backward pass."""
    recompute: bool
    """Whether it computes each step once more, from the states and what the generator of random numbers was."""
    weights: list[str]
    """Names of the maps' tensors, which come last of all, before them those of ``own``."""
    own: list[str]
    """Names of the other tensors that steps use, which come after leaf states and the inputs' parts of the steps."""

    def named(self, tensors: Sequence[Tensor]) -> tuple[Sequence[Tensor], State, State]:
        """The inputs' parts of the steps, if any; by name, what else steps use, and the maps' tensors."""
        parts, weights = len(self.cell.state), len(tensors) - len(self.weights)
        own = weights - len(self.own)
        by_name = dict(zip(self.own, tensors[own:weights], strict=True))
        return tensors[parts:own], by_name, dict(zip(self.weights, tensors[weights:], strict=True))


class LevelPass(torch.autograd.Function):
    """All steps as one node of the autograd graph.

    Within a step autograd differentiates ``cell.step``, except for the typed products, whose weight gradients are
    added up in one buffer each instead of in full-size tensors of zeros, one per step.
    """

    @staticmethod
    def forward(ctx: Any, run: PassContext, *tensors: Tensor) -> tuple[Tensor, ...]:
        cell, schedule = run.cell, run.schedule
        x_pre, own, weights = run.named(tensors)
        looked_up = {name: tensor.detach() for name, tensor in weights.items()}
        sink = Sink()
        states = {}
        for part, rows in zip(cell.state, tensors, strict=False):
            states[part] = _buffer(rows, len(schedule), cell.state[part])
            states[part][: schedule.leaves] = rows
        kept: list[Any] = []
        generator = generator_state(cell) if run.record else None
        for k, step in enumerate(schedule.steps):
            x_step = x_pre[k] if x_pre else None
            if run.recompute:
                kept.append(generator_state(cell))
            keep = run.record and not run.recompute
            where = sink if keep else None
            local, new = forward_step(cell, schedule, step, states, looked_up, x_step, run.traced, where)
            for buffer, rows in zip(states.values(), new, strict=True):
                buffer[step.start : step.stop] = rows.detach()
            if keep:
                check_known(cell, local, own.values())
                kept.append(local)
        outputs = tuple(states.values())
        again = outputs if run.recompute else ()
        ctx.save_for_backward(*again, *tensors)  # which also notices that they were changed
        ctx.set_materialize_grads(False)  # of a state that the loss does not use, zeros are made here and now
        ctx.run, ctx.kept, ctx.sink, ctx.generator = run, kept, sink, generator
        names = [*run.own, *run.weights]
        wanted = ctx.needs_input_grad[len(ctx.needs_input_grad) - len(names) :]
        ctx.wanted = {name for name, needed in zip(names, wanted, strict=True) if needed}
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        if all(gradient is None for gradient in grad_outputs):
            return (None,) * len(ctx.needs_input_grad)
        run: PassContext = ctx.run
        if torch.is_grad_enabled():
            return None, *_differentiable(run, ctx.saved_tensors, ctx.generator, grad_outputs)
        sink: Sink = ctx.sink  # the products of all steps hold it
        saved = ctx.saved_tensors
        names = [*run.own, *run.weights]
        tensors = dict(zip(names, saved[len(saved) - len(names) :], strict=True))
        sink.start({name: tensor for name, tensor in tensors.items() if name in ctx.wanted})
        own = {name: tensors[name] for name in run.own if name in ctx.wanted}
        state_gradients = _state_gradients(run, grad_outputs)
        x_gradients: list[Tensor] = []
        for k in reversed(range(len(run.schedule.steps))):
            local = _again(run, k, saved, ctx.kept[k], sink) if run.recompute else ctx.kept[k]
            d_x = backward_step(run.schedule.steps[k], local, own, sink, state_gradients)
            x_gradients += [] if d_x is None else [d_x]
        leaf_gradients = [g[: run.schedule.leaves] for g in state_gradients.values()]
        found = sink.finish()
        return None, *leaf_gradients, *x_gradients[::-1], *map(found.get, names)


def _differentiable(
    run: PassContext, saved: Sequence[Tensor], generator: Tensor | None, grad_outputs: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The gradients as values that autograd can differentiate."""
    tensors = saved[len(run.cell.state) :] if run.recompute else saved

    def compute(*tensors: Tensor) -> list[Tensor]:
        x_pre, own, weights = run.named(tensors)
        by_step: Sequence[Tensor | None] = x_pre or [None] * len(run.schedule.steps)
        with generator_at(generator, tensors[0].device):
            return plain_states(run.cell, run.schedule, tensors[: len(run.cell.state)], by_step, own, weights)

    return differentiable_gradients(compute, tensors, grad_outputs)


def _buffer(like: Tensor, rows: int, shape: Sequence[int]) -> Tensor:
    """(rows, *shape), in memory (..., rows, n): what is done to one row of each stack is then done to one block."""
    *outer, n = shape
    return like.new_empty(*outer, rows, n).movedim(-2, 0)


def _state_gradients(run: PassContext, given: Sequence[Tensor | None]) -> State:
    """Part name to (R, *shape), to which the steps add."""
    like = next(gradient for gradient in given if gradient is not None)
    gradients = {part: _buffer(like, len(run.schedule), shape) for part, shape in run.cell.state.items()}
    for buffer, gradient in zip(gradients.values(), given, strict=True):
        buffer.copy_(gradient) if gradient is not None else buffer.zero_()
    return gradients


def _again(run: PassContext, k: int, saved: Sequence[Tensor], generator: Tensor | None, sink: Sink) -> Local:
    """A step of a pass once more, with the same masks of dropout, from the states, inputs' parts and weights saved."""
    states = {part: rows.detach() for part, rows in zip(run.cell.state, saved, strict=False)}
    x_pre, own, weights = run.named(saved[len(states) :])
    looked_up = {name: tensor.detach() for name, tensor in weights.items()}
    step, x_step = run.schedule.steps[k], x_pre[k] if x_pre else None
    given = run.schedule, step, states, looked_up, x_step, Trace(run.cell, ()), sink
    with generator_at(generator, next(iter(states.values())).device):
        local, _ = with_parameters(run.cell, own, forward_step, *given)
    check_known(run.cell, local, own.values())
    return local
