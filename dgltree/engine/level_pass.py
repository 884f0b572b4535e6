"""A cell along a schedule, step by step, as one node of the autograd graph with a backward pass of its own."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.cells.base import CellBase
from dgltree.cells.once_differentiable import differentiable_gradients
from dgltree.cells.step import State
from dgltree.engine.accumulate import Sink
from dgltree.engine.generator import generator_at, generator_state
from dgltree.engine.plain_pass import plain_states, with_parameters
from dgltree.engine.schedule import Schedule
from dgltree.engine.step import Local, backward_step, forward_step
from dgltree.engine.trace import Trace


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
