"""A cell along a schedule, step by step, as one node of the autograd graph with a backward pass of its own."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.cells.once_differentiable import once_differentiable
from dgltree.cells.step import State
from dgltree.engine.accumulate import Sink
from dgltree.engine.generator import generator_at, generator_state
from dgltree.engine.schedule import Schedule
from dgltree.engine.step import Local, backward_step, forward_step
from dgltree.engine.trace import Trace


def parameters_of(cell: Cell) -> dict[str, Tensor]:
    """The parameters whose gradients the level pass makes itself: those of the products, and of ``combine``'s own."""
    maps = {f"{name}.{kind}": p for name, linear in cell.named_maps().items() for kind, p in linear.named_parameters()}
    return {name: p for name, p in (maps | cell.own_parameters()).items() if p.requires_grad}


class PassContext(NamedTuple):
    """What a pass is of, besides its tensors."""

    cell: Cell
    schedule: Schedule
    traced: Trace
    record: bool
    """Whether there will be a backward pass."""
    recompute: bool
    """Whether it computes each step once more, from the states and what the generator of random numbers was."""
    parts: int
    """How many of the tensors are leaf states; then come the inputs' parts of the steps, then the parameters."""


class LevelPass(torch.autograd.Function):
    """All steps as one node of the autograd graph.

    Within a step autograd differentiates ``cell.step``, except for the typed products, whose weight gradients are
    added up in one buffer each instead of in full-size tensors of zeros, one a step.
    """

    @staticmethod
    def forward(ctx: Any, run: PassContext, *tensors: Tensor) -> tuple[Tensor, ...]:
        cell, schedule = run.cell, run.schedule
        parameters = parameters_of(cell)
        x_pre = tensors[run.parts : len(tensors) - len(parameters)]
        sink = Sink()
        states = {}
        for part, rows in zip(cell.state, tensors[: run.parts], strict=True):
            states[part] = _buffer(rows, len(schedule), cell.state[part])
            states[part][: schedule.leaves] = rows
        kept: list[Any] = []
        for k, step in enumerate(schedule.steps):
            x_step = x_pre[k] if x_pre else None
            if run.recompute:
                kept.append(generator_state(cell))
            keep = run.record and not run.recompute
            local, new = forward_step(cell, schedule, step, states, x_step, run.traced, sink if keep else None)
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
        run: PassContext = ctx.run
        sink: Sink = ctx.sink  # the products of all steps hold it
        saved = ctx.saved_tensors
        sink.start(dict(zip(ctx.names, saved[: len(ctx.names)], strict=True)))
        again = saved[len(ctx.names) :]
        state_gradients = _state_gradients(run, grad_outputs)
        x_gradients: list[Tensor] = []
        for k in reversed(range(len(run.schedule.steps))):
            local = _again(run, k, again, ctx.kept[k], sink) if run.recompute else ctx.kept[k]
            d_x = backward_step(run.schedule.steps[k], local, ctx.own, sink, state_gradients)
            x_gradients += [] if d_x is None else [d_x]
        leaf_gradients = [g[: run.schedule.leaves] for g in state_gradients.values()]
        return None, *leaf_gradients, *x_gradients[::-1], *sink.finish()


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
    """A step of a pass once more, with the same masks of dropout, from its states and the inputs' parts."""
    states = {part: rows.detach() for part, rows in zip(run.cell.state, saved, strict=False)}
    x_pre = saved[run.parts :]
    nothing = Trace(run.cell, ())
    with generator_at(generator, next(iter(states.values())).device):
        step, x_step = run.schedule.steps[k], x_pre[k] if x_pre else None
        return forward_step(run.cell, run.schedule, step, states, x_step, nothing, sink)[0]
