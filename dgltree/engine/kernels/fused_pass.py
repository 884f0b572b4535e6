"""A pass through a kernel as one node of the autograd graph."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dgltree.cells.once_differentiable import once_differentiable
from dgltree.engine.kernels.cell_pass import CellPass
from dgltree.engine.kernels.threads import threads_of_torch
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
        with threads_of_torch(leaf_h.device):
            states = steps.forward(leaf_h, leaf_memory, inputs, weights)
        outputs = states.h.detach(), states.memory.detach()  # the states themselves must not hold this node
        ctx.save_for_backward(*given, *inputs, *outputs[:1])  # only to notice what was changed, and what was freed
        ctx.set_materialize_grads(False)
        ctx.steps, ctx.names, ctx.leaf_shape = steps, names, leaf_memory.shape
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_h: Tensor | None, d_memory: Tensor | None) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors
        if d_h is None and d_memory is None:
            return (None,) * len(ctx.needs_input_grad)
        steps: CellPass = ctx.steps
        states = steps.states
        keep = graph_is_kept()
        given_h = torch.zeros_like(states.h) if d_h is None else d_h.contiguous()
        given_memory = states.memory[:0] if d_memory is None else d_memory
        with threads_of_torch(given_h.device):
            found = steps.backward(given_h, given_memory.contiguous(), keep)
        if not keep:
            ctx.steps = None
        d_leaf = found.leaf_memory.view(ctx.leaf_shape) if len(found.leaf_memory) else None
        return None, None, found.leaf_h, d_leaf, *found.inputs, *map(found.parameters.get, ctx.names)
