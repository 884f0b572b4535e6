"""A cell along a schedule, step by step, as one node of the autograd graph with a backward pass of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dgltree.cells.cell import Cell, Children, Computed, State
from dgltree.cells.sum_cell import SumCell
from dgltree.cells.typed import Linear
from dgltree.engine.accumulate import Inject, Sink, accumulating
from dgltree.engine.schedule import Schedule, Segments, Step
from dgltree.engine.trace import Trace


def asked_arity(step: Step) -> int:
    """A cell that adds up its children is asked for arity 1: the sum is its only child."""
    return 1 if step.arity is None else step.arity


def parameters_of(cell: Cell) -> dict[str, Tensor]:
    """The parameters whose gradients the level pass makes itself: those of the products, and of ``combine``'s own."""
    maps = {f"{name}.{kind}": p for name, linear in cell.named_maps().items() for kind, p in linear.named_parameters()}
    return {name: p for name, p in (maps | cell.own_parameters()).items() if p.requires_grad}


class _Gathered(NamedTuple):
    """Children's states, from which the graph of a step begins."""

    part: str
    places: Tensor
    """(children,) int64: their rows in the schedule."""
    rows: Tensor
    """(children, *shape)"""


class Local(NamedTuple):
    """One step's own little graph, from its gathered children to its new states, which it does not keep."""

    children: list[_Gathered]
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
        return [*(gathered.rows for gathered in self.children), *self.x_pre, self.anchor]


class Run(NamedTuple):
    """What a pass is of, besides its tensors."""

    cell: Cell
    plan: Schedule
    traced: Trace
    record: bool
    """Whether there will be a backward pass."""
    recompute: bool
    """Whether it computes each step once more, from the states and what the generator of random numbers was."""
    parts: int
    """How many of the tensors are leaf states; then come the inputs' parts of the steps, then the parameters."""


class LevelPass(torch.autograd.Function):
    """All steps as one node of the autograd graph.

    Within a step autograd differentiates ``cell.compute``, except for the typed products, whose weight gradients are
    added up in one buffer each instead of in full-size tensors of zeros, one a step.
    """

    @staticmethod
    def forward(ctx: Any, run: Run, *tensors: Tensor) -> tuple[Tensor, ...]:
        cell, plan = run.cell, run.plan
        parameters = parameters_of(cell)
        x_pre = tensors[run.parts : len(tensors) - len(parameters)]
        sink = Sink()
        states = {}
        for part, rows in zip(cell.state, tensors[: run.parts], strict=True):
            states[part] = _buffer(rows, len(plan), cell.state[part])
            states[part][: plan.leaves] = rows
        kept: list[Any] = []
        for k, step in enumerate(plan.steps):
            x_step = x_pre[k] if x_pre else None
            if run.recompute:
                kept.append(generator_state(cell))
            keep = run.record and not run.recompute
            local, new = forward_step(cell, plan, step, states, x_step, run.traced, sink if keep else None)
            for buffer, rows in zip(states.values(), new, strict=True):
                buffer[step.start : step.stop] = rows.detach()
            if keep:
                kept.append(local)
        outputs = tuple(states.values())
        again = (*outputs, *x_pre) if run.recompute else ()
        ctx.save_for_backward(*parameters.values(), *again)  # the parameters only to notice that they were changed
        ctx.set_materialize_grads(False)  # of a state that the loss does not use, zeros are made here and now
        ctx.run, ctx.kept, ctx.sink = run, kept, sink
        ctx.own = {name: p for name, p in cell.own_parameters().items() if name in parameters}
        ctx.names = list(parameters)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        if all(gradient is None for gradient in grad_outputs):
            return (None,) * len(ctx.needs_input_grad)
        run: Run = ctx.run
        sink: Sink = ctx.sink  # the products of all steps hold it
        saved = ctx.saved_tensors
        sink.start(dict(zip(ctx.names, saved[: len(ctx.names)], strict=True)))
        again = saved[len(ctx.names) :]
        state_gradients = _state_gradients(run, grad_outputs)
        x_gradients: list[Tensor] = []
        for k in reversed(range(len(run.plan.steps))):
            local = _again(run, k, again, ctx.kept[k], sink) if run.recompute else ctx.kept[k]
            d_x = _backward_step(run.plan.steps[k], local, ctx.own, sink, state_gradients)
            x_gradients += [] if d_x is None else [d_x]
        leaf_gradients = [g[: run.plan.leaves] for g in state_gradients.values()]
        return None, *leaf_gradients, *x_gradients[::-1], *sink.finish()


def _buffer(like: Tensor, rows: int, shape: Sequence[int]) -> Tensor:
    """(rows, *shape), in memory (..., rows, n): what is done to one row of each stack is then done to one block."""
    *outer, n = shape
    return like.new_empty(*outer, rows, n).movedim(-2, 0)


def _rows(buffer: Tensor, index: Tensor) -> Tensor:
    """Some of a buffer's rows, in the same order of memory."""
    return buffer.movedim(0, -2).index_select(-2, index).movedim(-2, 0)


def _state_gradients(run: Run, given: Sequence[Tensor | None]) -> State:
    """Part name to (R, *shape), to which the steps add."""
    like = next(gradient for gradient in given if gradient is not None)
    gradients = {part: _buffer(like, len(run.plan), shape) for part, shape in run.cell.state.items()}
    for buffer, gradient in zip(gradients.values(), given, strict=True):
        buffer.copy_(gradient) if gradient is not None else buffer.zero_()
    return gradients


def _again(run: Run, k: int, saved: Sequence[Tensor], generator: Tensor | None, sink: Sink) -> Local:
    """A step of a pass once more, with the same masks of dropout, from its states and the inputs' parts."""
    states = {part: rows.detach() for part, rows in zip(run.cell.state, saved, strict=False)}
    x_pre = saved[run.parts :]
    nothing = Trace(run.cell, ())
    with generator_at(generator, next(iter(states.values())).device):
        step, x_step = run.plan.steps[k], x_pre[k] if x_pre else None
        return forward_step(run.cell, run.plan, step, states, x_step, nothing, sink)[0]


def generator_state(cell: Cell) -> Tensor | None:
    """What the generator of random numbers is, where a step draws from it."""
    if not (cell.training and cell.dropout):
        return None
    device = next(cell.parameters()).device
    return torch.get_rng_state() if device.type == "cpu" else torch.cuda.get_rng_state(device)


@contextmanager
def generator_at(state: Tensor | None, device: torch.device) -> Iterator[None]:
    """The generator as it was; afterwards it goes on as if nothing had been drawn."""
    if state is None:
        yield
        return
    with torch.random.fork_rng([] if device.type == "cpu" else [device]):
        if device.type == "cpu":
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, device)
        yield


def forward_step(
    cell: Cell, plan: Schedule, step: Step, states: State, x_pre: Tensor | None, traced: Trace, sink: Sink | None
) -> tuple[Local, list[Tensor]]:
    """A step on the states of the rows before it: its own graph, if there is a sink to record for, and new states."""
    edges, arity = plan.children[step.edges], asked_arity(step)
    slots = 1 if isinstance(cell, SumCell) else arity
    children = [
        _Gathered(part, places, _rows(buffer, places))
        for part, buffer in states.items()
        for places in ([edges] if part == "h" else [edges[k::slots] for k in range(slots)])  # i_j is all h of a node
    ]
    anchor = states["h"].new_zeros(())
    local = Local(children, [] if x_pre is None else [x_pre.detach()], anchor, anchor, [])
    record = sink is not None

    def linear(segments: Segments) -> Linear:
        return accumulating(cell, arity, segments, anchor, sink)

    with torch.set_grad_enabled(record):
        for tensor in local.inputs:
            tensor.requires_grad_(record)
        x_pre = local.x_pre[0] if local.x_pre else None
        gathered: dict[str, list[Tensor]] = {part: [g.rows for g in children if g.part == part] for part in states}
        if isinstance(cell, SumCell):
            computed, sent = _add_up(cell, plan, step, {part: rows for part, [rows] in gathered.items()}, x_pre, linear)
            traced.keep(slice(step.start, step.stop), computed, sent)
        else:
            [h] = gathered["h"]
            h = h.view(-1, arity, h.shape[-1])
            computed = cell.compute(h.flatten(1), x_pre, {**gathered, "h": h.unbind(1)}, linear(step.segments))
            traced.keep(slice(step.start, step.stop), computed)
        new = [computed[part] for part in states]
        return local._replace(end=Inject.apply(local.received, *new)) if record else local, new


def _add_up(
    cell: SumCell,
    plan: Schedule,
    step: Step,
    gathered: State,
    x_pre: Tensor | None,
    linear: Callable[[Segments], Linear],
) -> tuple[Computed, State]:
    """New states of nodes of any arity, and what their children sent."""
    parent = plan.parent[step.edges]
    x_node, x_message = cell.split_inputs(x_pre)
    x_edge = None if x_message is None else x_message.index_select(0, parent)
    sent = cell.send(gathered, x_edge, linear(step.edge_segments))
    sums: Children = {
        name: [sent[name].new_zeros(step.stop - step.start, *shape).index_add(0, parent, sent[name])]
        for name, shape in cell.messages.items()
    }
    return cell.compute(sums["h"][0], x_node, sums, linear(step.segments)), sent


def _backward_step(
    step: Step, local: Local, own: dict[str, Tensor], sink: Sink, state_gradients: State
) -> Tensor | None:
    """Add this step's gradients to the sink and to its children's rows; returns that of what x added, if anything."""
    local.received[:] = [gradients[step.start : step.stop] for gradients in state_gradients.values()]
    found = torch.autograd.grad(
        local.end,
        [*local.inputs, *own.values()],
        retain_graph=True,  # the pass itself may be repeated under retain_graph
        allow_unused=True,
        materialize_grads=True,
    )
    for gathered, d_rows in zip(local.children, found, strict=False):
        state_gradients[gathered.part].movedim(0, -2).index_add_(-2, gathered.places, d_rows.movedim(0, -2))
    local.received.clear()
    for name, gradient in zip(own, found[len(local.inputs) :], strict=True):
        sink.gradients[name] += gradient
    return found[len(local.children)] if local.x_pre else None
