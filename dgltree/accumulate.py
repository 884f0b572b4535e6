"""Pieces of autograd for the level pass: products that add up the gradients of their weights in place."""

from typing import Any

import torch
from torch import Tensor

from dgltree.cells.cell import Cell
from dgltree.cells.typed import Linear, Runs, TypedLinear
from dgltree.schedule import Segments

Sink = dict[str, Tensor]
"""Parameter name to the buffer in which a backward pass adds up its gradient."""


def accumulating(cell: Cell, arity: int, segments: Segments, anchor: Tensor, sink: Sink | None) -> Linear:
    """As ``cell.linear_for``; with a sink, its gradients go there."""
    if sink is None:
        return cell.linear_for(arity, segments)
    key, maps = cell.key(arity), cell.named_maps()

    def linear(name: str, v: Tensor) -> Tensor:
        name = f"{name}_{key}"
        return Product.apply(anchor, v, name, maps[name], maps[name].runs(segments), sink)

    return linear


class Product(torch.autograd.Function):
    """A typed product whose backward adds the gradients of its weights to a sink, in place.

    The anchor is a scalar that requires gradients: through it autograd comes here even where v requires none.
    """

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, v: Tensor, name: str, linear: TypedLinear, runs: Runs, sink: Sink) -> Tensor:
        ctx.save_for_backward(v)
        ctx.name, ctx.linear, ctx.runs, ctx.sink = name, linear, runs, sink
        return linear.product(v, runs)

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        (v,) = ctx.saved_tensors
        d_weight, d_bias = (ctx.sink.get(f"{ctx.name}.{kind}") for kind in ("weight", "bias"))
        weight, d_v = ctx.linear.weight, torch.empty_like(v, memory_format=torch.contiguous_format)
        for matrix, start, stop in ctx.runs:
            d_rows = d_out[start:stop].flatten(0, -2)
            if d_weight is not None:
                d_weight[matrix].addmm_(d_rows.t(), v[start:stop].flatten(0, -2))
            if d_bias is not None:
                d_bias[matrix] += d_rows.sum(0)
            torch.mm(d_rows, weight[matrix], out=d_v[start:stop].view(-1, v.shape[-1]))
        return None, d_v, None, None, None, None


class Inject(torch.autograd.Function):
    """A scalar whose backward hands given gradients to its inputs.

    ``torch.autograd.grad(..., grad_outputs)`` would do, but it checks the shapes, at every call, by means of SymPy.
    """

    @staticmethod
    def forward(ctx: Any, gradients: list[Tensor], *outputs: Tensor) -> Tensor:
        ctx.gradients = gradients
        return outputs[0].new_zeros(())

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.gradients
