"""The level engine: a cell along a schedule, step by step, with its own backward pass."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dgltree.accumulate import Inject, Sink, accumulating
from dgltree.batch import TreeBatch
from dgltree.cells.cell import Cell, Children, Computed, State
from dgltree.cells.check import check_batch, check_finite
from dgltree.cells.sum_cell import SumCell
from dgltree.cells.typed import Linear
from dgltree.schedule import Schedule, Segments, Step, schedule
from dgltree.trace import Trace

if TYPE_CHECKING:
    import dgl


def propagate(
    batch: "TreeBatch | dgl.DGLGraph",
    cell: Cell,
    share: bool = False,
    trace: Sequence[str] = (),
    check: bool = False,
    recompute: bool = False,
) -> State:
    """States of all nodes, leaves first, each node after its children.

    Args:
        batch: a TreeBatch, or any DAG as a DGLGraph with ``ndata["function"]``, ``ndata["token"]`` and
            ``edata["slot"]``. Without a vocabulary of its own it is taken to use the cell's.
        cell: gives the mathematics and the weights.
        share: compute equal subtrees once. States and gradients are unchanged; every occurrence still has its state.
        trace: names of what else to return, of all that the cell computes on the way: gates, actions, stacks ("in",
            "o", "f", "push", ...). An unknown name is an error that lists them.
        check: whether to look for states that are not finite.
        recompute: whether the backward pass computes each step once more, instead of keeping what it needs of the
            forward pass: the same gradients for a fraction of the memory and a third more time.

    Returns part name to (N, *shape) in public numbering, dtype and device of the cell's weights; under the names of
    ``trace`` (N, *shape), or for what belongs to a child (forget gates) (E, *shape), one row an edge in the order of
    ``batch.child_index``: detached, and NaN at nodes that do not compute it, such as embedded leaves.

    Raises ``ValueError`` where the cell cannot run on the batch, for a cyclic graph, for sharing with dropout in
    training (equal subtrees would get equal masks), for sharing with an ``x`` that requires gradients (only one of
    the equal rows would receive them), and with ``check`` naming the first node whose state is not finite.

    The backward pass adds up the gradients of the weights in place, one buffer for each, and costs O(N) memory. It can
    be repeated under ``retain_graph`` and is once differentiable; weights changed in place in between are noticed.
    """
    if not isinstance(batch, TreeBatch):
        batch = TreeBatch.from_graph(batch)
    traced = Trace(cell, trace)
    plan, states = _planned_states(cell, batch, share, traced, recompute)
    states = {part: tensor.index_select(0, plan.row) for part, tensor in states.items()}
    if check:
        check_finite(cell, batch, states)
    return states | traced.results(plan, batch)


def root_states(batch: TreeBatch, cell: Cell, share: bool = False, recompute: bool = False) -> Tensor:
    """(B, n), the hidden states of the roots alone, as :func:`propagate` gives them; no other state is copied."""
    plan, states = _planned_states(cell, batch, share, Trace(cell, ()), recompute)
    return states["h"].index_select(0, plan.row[batch.roots])


def plan_for(cell: Cell, batch: TreeBatch, share: bool = False) -> Schedule:
    """The schedule by which a cell runs a batch; a data loader's worker calls it to have it made beforehand."""
    return schedule(batch, share, by_arity=not isinstance(cell, SumCell))


def _planned_states(
    cell: Cell, batch: TreeBatch, share: bool, traced: Trace, recompute: bool
) -> tuple[Schedule, State]:
    """States in the order of the schedule, for a batch that the cell can run on."""
    check_batch(cell, batch)
    if share and cell.training and cell.dropout > 0:
        raise ValueError("share=True with dropout in training: equal subtrees would share one dropout mask")
    if share and batch.x is not None and batch.x.requires_grad:
        raise ValueError("share=True with an x that requires gradients: use share=False, or let the cell embed tokens")
    plan = plan_for(cell, batch, share)
    return plan, run_schedule(cell, plan, batch, traced, recompute)


def run_schedule(cell: Cell, plan: Schedule, batch: TreeBatch, traced: Trace, recompute: bool = False) -> State:
    """States in the schedule's own order, part name to (R, *shape)."""
    leaf = cell.leaf_states(batch, plan.node[: plan.leaves])
    traced.keep(slice(0, plan.leaves), leaf)
    inputs = _inner_inputs(cell, plan, batch)
    x_pre = []
    if inputs is not None:
        for step in plan.steps:
            rows = inputs[step.start - plan.leaves : step.stop - plan.leaves]
            x_pre.append(cell.linear_for(_arity(step), step.segments)("input", rows))
    parameters = list(_parameters(cell).values())
    leaf_states = [leaf[part] for part in cell.state]
    record = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (*leaf_states, *x_pre, *parameters))
    run = _Run(cell, plan, traced, record, record and recompute, len(leaf_states))
    outputs = _LevelPass.apply(run, *leaf_states, *x_pre, *parameters)
    return dict(zip(cell.state, outputs, strict=True))


def _inner_inputs(cell: Cell, plan: Schedule, batch: TreeBatch) -> Tensor | None:
    inner = plan.node[plan.leaves :]
    return cell.node_inputs(batch.token[inner], None, None if batch.x is None else batch.x[inner])


def _arity(step: Step) -> int:
    """A cell that adds up its children is asked for arity 1: the sum is its only child."""
    return 1 if step.arity is None else step.arity


def _parameters(cell: Cell) -> dict[str, Tensor]:
    """The parameters whose gradients the level pass makes itself: those of the products, and of ``combine``'s own."""
    maps = {f"{name}.{kind}": p for name, linear in cell.named_maps().items() for kind, p in linear.named_parameters()}
    return {name: p for name, p in (maps | cell.own_parameters()).items() if p.requires_grad}


class _Local(NamedTuple):
    """One step's own little graph, from its gathered children to its new states."""

    inputs: list[Tensor]
    """What gradients are asked for: the children's states, what x adds, the anchor of the products."""
    outputs: State


class _Run(NamedTuple):
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


class _LevelPass(torch.autograd.Function):
    """All steps as one node of the autograd graph.

    Within a step autograd differentiates ``cell.compute``, except for the typed products, whose weight gradients are
    added up in one buffer each instead of in full-size tensors of zeros, one a step.
    """

    @staticmethod
    def forward(ctx: Any, run: _Run, *tensors: Tensor) -> tuple[Tensor, ...]:
        cell, plan = run.cell, run.plan
        parameters = _parameters(cell)
        x_pre = tensors[run.parts : len(tensors) - len(parameters)]
        sink = Sink()
        states = {}
        for part, rows in zip(cell.state, tensors[: run.parts], strict=True):
            states[part] = rows.new_empty(len(plan), *rows.shape[1:])
            states[part][: plan.leaves] = rows
        kept: list[Any] = []
        for k, step in enumerate(plan.steps):
            x_step = x_pre[k] if x_pre else None
            if run.recompute:
                kept.append(_generator_state(cell))
            keep = run.record and not run.recompute
            local = _forward_step(cell, plan, step, states, x_step, run.traced, sink if keep else None)
            for part, buffer in states.items():
                buffer[step.start : step.stop] = local.outputs[part].detach()
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
        run: _Run = ctx.run
        sink: Sink = ctx.sink  # the products of all steps hold it
        saved = ctx.saved_tensors
        sink.start(dict(zip(ctx.names, saved[: len(ctx.names)], strict=True)))
        again = saved[len(ctx.names) :]
        state_gradients = _state_gradients(run, grad_outputs)
        x_gradients: list[Tensor] = []
        for k in reversed(range(len(run.plan.steps))):
            local = _again(run, k, again, ctx.kept[k], sink) if run.recompute else ctx.kept[k]
            d_x = _backward_step(run.plan, run.plan.steps[k], local, ctx.own, sink, state_gradients)
            x_gradients += [] if d_x is None else [d_x]
        leaf_gradients = [g[: run.plan.leaves] for g in state_gradients.values()]
        return None, *leaf_gradients, *x_gradients[::-1], *sink.finish()


def _state_gradients(run: _Run, given: Sequence[Tensor | None]) -> State:
    """Part name to (R, *shape), to which the steps add."""
    like = next(gradient for gradient in given if gradient is not None)
    return {
        part: like.new_zeros(len(run.plan), *shape) if gradient is None else gradient.clone()
        for (part, shape), gradient in zip(run.cell.state.items(), given, strict=True)
    }


def _again(run: _Run, k: int, saved: Sequence[Tensor], generator: Tensor | None, sink: Sink) -> _Local:
    """A step of a pass once more, with the same masks of dropout, from its states and the inputs' parts."""
    states = {part: rows.detach() for part, rows in zip(run.cell.state, saved, strict=False)}
    x_pre = saved[run.parts :]
    nothing = Trace(run.cell, ())
    with _generator_at(generator, next(iter(states.values())).device):
        return _forward_step(run.cell, run.plan, run.plan.steps[k], states, x_pre[k] if x_pre else None, nothing, sink)


def _generator_state(cell: Cell) -> Tensor | None:
    """What the generator of random numbers is, where a step draws from it."""
    if not (cell.training and cell.dropout):
        return None
    device = next(cell.parameters()).device
    return torch.get_rng_state() if device.type == "cpu" else torch.cuda.get_rng_state(device)


@contextmanager
def _generator_at(state: Tensor | None, device: torch.device) -> Iterator[None]:
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


def _forward_step(
    cell: Cell, plan: Schedule, step: Step, states: State, x_pre: Tensor | None, traced: Trace, sink: Sink | None
) -> _Local:
    record = sink is not None
    children = plan.children[step.edges]
    gathered = {part: buffer.index_select(0, children) for part, buffer in states.items()}
    x_pre = None if x_pre is None else x_pre.detach()
    anchor = next(iter(gathered.values())).new_zeros(())
    inputs = [*gathered.values(), *([] if x_pre is None else [x_pre]), anchor]
    arity = _arity(step)

    def linear(segments: Segments) -> Linear:
        return accumulating(cell, arity, segments, anchor, sink)

    with torch.set_grad_enabled(record):
        for tensor in inputs:
            tensor.requires_grad_(record)
        if isinstance(cell, SumCell):
            computed, sent = _add_up(cell, plan, step, gathered, x_pre, linear)
            traced.keep(slice(step.start, step.stop), computed, sent)
        else:
            rows = {part: tensor.unflatten(0, (-1, arity)) for part, tensor in gathered.items()}
            slots = {part: tensor.unbind(1) for part, tensor in rows.items()}
            computed = cell.compute(rows["h"].flatten(1), x_pre, slots, linear(step.segments))
            traced.keep(slice(step.start, step.stop), computed)
    return _Local(inputs, {part: computed[part] for part in states})


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
    plan: Schedule, step: Step, local: _Local, own: dict[str, Tensor], sink: Sink, state_gradients: State
) -> Tensor | None:
    """Add this step's gradients to the sink and to its children's rows; returns that of what x added, if anything."""
    received = [state_gradients[part][step.start : step.stop] for part in local.outputs]
    with torch.enable_grad():
        scalar = Inject.apply(received, *local.outputs.values())
    found = torch.autograd.grad(
        scalar,
        [*local.inputs, *own.values()],
        retain_graph=True,  # the pass itself may be repeated under retain_graph
        allow_unused=True,
        materialize_grads=True,
    )
    children = plan.children[step.edges]
    for part, d_child in zip(local.outputs, found, strict=False):
        state_gradients[part].index_add_(0, children, d_child)
    for name, gradient in zip(own, found[len(local.inputs) :], strict=True):
        sink.gradients[name] += gradient
    return found[len(local.outputs)] if len(local.inputs) > len(local.outputs) + 1 else None
