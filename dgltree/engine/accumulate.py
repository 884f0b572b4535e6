"""Pieces of autograd for the level pass: products whose weight gradients are added up in one buffer each."""

import math
from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor

from dgltree.cells.base import CellBase
from dgltree.cells.typed_linear import Linear, Runs, Segments, Weights, product

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
