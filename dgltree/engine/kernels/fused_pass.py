"""A pass through a kernel as one node of the autograd graph."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dgltree.cells.once_differentiable import differentiable_gradients
from dgltree.engine.generator import generator_at, generator_state
from dgltree.engine.kernels.cell_pass import CellPass
from dgltree.engine.kernels.operands import operand
from dgltree.engine.kernels.threads import threads_of_torch
from dgltree.engine.plain_pass import plain_states
from dgltree.torch_internals import graph_is_kept


class FusedPass(torch.autograd.Function):
    """All steps, with a backward pass by hand."""

    @staticmethod
    def forward(
        ctx: Any, steps: CellPass, names: Sequence[str], leaf_h: Tensor, leaf_memory: Tensor, *tensors: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(R, n) and (R - base, depth, n), from the leaves, the pass's inputs, and the weights named."""
        inputs, given = tensors[: len(tensors) - len(names)], tensors[len(tensors) - len(names) :]
        weights = {name: tensor for name, tensor in zip(names, given, strict=True) if tensor is not None}
        ctx.generator = generator_state(steps.cell) if steps.record else None
        with threads_of_torch(leaf_h.device):
            states = steps.forward(leaf_h, leaf_memory, inputs, weights)
        outputs = states.h.detach(), states.memory.detach()  # the states themselves must not hold this node
        ctx.save_for_backward(leaf_h, leaf_memory, *tensors, outputs[0])  # also to notice what was changed or freed
        ctx.set_materialize_grads(False)
        ctx.steps, ctx.names, ctx.leaf_shape = steps, names, leaf_memory.shape
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

    def compute(leaf_h: Tensor, leaf_memory: Tensor, *others: Tensor | None) -> tuple[Tensor, Tensor]:
        inputs, given = others[: len(others) - len(names)], others[len(others) - len(names) :]
        weights = {name: tensor for name, tensor in zip(names, given, strict=True) if tensor is not None}
        leaf = {"h": leaf_h, steps.part: leaf_memory}
        x_pre = steps.step_inputs(inputs, weights)
        own = cell.own_parameters()
        with generator_at(generator, leaf_h.device):
            states = plain_states(cell, steps.schedule, [leaf[part] for part in cell.state], x_pre, own, weights)
        by_part = dict(zip(cell.state, states, strict=True))
        h, memory = by_part["h"], by_part[steps.part]
        return h, memory[steps.base :].reshape(len(memory) - steps.base, steps.depth, steps.n)

    return differentiable_gradients(compute, tensors, grad_outputs)
