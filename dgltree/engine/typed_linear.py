"""Affine maps of which each function has its own, or of which all functions share one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dgltree.support.lazy import cached_property
from dgltree.support.torch_internals import hooks_of, inside_transform

Segments = list[tuple[int, int, int]]
"""``(function id, start, stop)``: runs of rows with one function."""
Linear = Callable[[str, Tensor], Tensor]
"""``linear(name, v)``: the map ``name`` of rows ``v``, (rows, ..., in) to (rows, ..., out)."""
Runs = list[tuple[int, int, int]]
"""``(matrix, start, stop)``: runs of rows with one matrix."""


class Affine(NamedTuple):
    """The size of a map, and whether it has a bias."""

    fan_in: int
    fan_out: int
    bias: bool = True
    shared: bool = False
    """All functions of an arity share one map, whatever the cell's other maps do."""


class Weights(NamedTuple):
    """The tensors of K maps, as parameters, parametrizations or ``functional_call`` give them."""

    weight: Tensor
    """(K, out, in)"""
    bias: Tensor | None
    """(K, out)"""

    def unbound(self) -> "Matrices":
        """The maps one by one. All gradients of all of them are put together by one operation."""
        return Matrices(self.weight.unbind(0), None if self.bias is None else self.bias.unbind(0))


class Matrices(NamedTuple):
    """The K maps one by one.

    Whoever multiplies again and again unbinds the weights once, beforehand: the gradient of ``weight[m]`` is a tensor
    of zeros for all K maps, each time that it is written.
    """

    weight: Sequence[Tensor]
    """K of (out, in)"""
    bias: Sequence[Tensor] | None
    """K of (out,)"""


def matrices_of(names: Iterable[str], weights: Mapping[str, Tensor]) -> dict[str, Matrices]:
    """The maps of some names one by one, of those that have their tensors among some weights."""
    return {
        name: Weights(weights[f"{name}.weight"], weights.get(f"{name}.bias")).unbound()
        for name in names
        if f"{name}.weight" in weights
    }


class TypedLinear(nn.Module):
    """K affine maps in one tensor, and for each function which of them is its own.

    Initialisation: that of a torch ``Linear`` of the same fan-in m: weights and biases U(-1/sqrt(m), 1/sqrt(m)), U and
    V as well.

    Args:
        affine: the size of each map.
        position: function id to its map, 0 to K - 1; equal numbers share.
        rank: 0, or the rank of what is a map's own: its matrix is W + U_k V_k, where all share W.
    """

    def __init__(self, affine: Affine, position: Mapping[int, int], rank: int = 0) -> None:
        super().__init__()
        self.count = max(position.values()) + 1
        self.affine = affine
        self.position = dict(position)
        self.rank = rank if self.count > 1 and affine.fan_in else 0
        matrices = 1 if self.rank else self.count
        self.weight = nn.Parameter(torch.empty(matrices, affine.fan_out, affine.fan_in))
        self.bias = nn.Parameter(torch.empty(self.count, affine.fan_out)) if affine.bias else None
        if self.rank:
            self.own_out = nn.Parameter(torch.empty(self.count, affine.fan_out, self.rank))
            self.own_in = nn.Parameter(torch.empty(self.count, self.rank, affine.fan_in))
        self.reset_parameters()

    def reset_parameters(self, bound: float | None = None) -> None:
        """Draw again from U(-bound, bound), by default 1/sqrt(fan-in)."""
        if bound is None:
            bound = max(self.affine.fan_in, 1) ** -0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        rank = f", of rank {self.rank} around a shared one" if self.rank else ""
        return f"{self.count} maps, {self.affine.fan_in} to {self.affine.fan_out}{rank}"

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of what :meth:`weights` gives, and of a bias that somebody gave the map, too."""
        bias = (self.count, self.affine.fan_out)
        return {"weight": (*bias, self.affine.fan_in), "bias": bias}

    def runs(self, segments: Segments) -> Runs:
        """The runs of rows with one matrix, for rows sorted by function."""
        runs: Runs = []
        for function, start, stop in segments:
            matrix = self.position[function]
            if runs and runs[-1][0] == matrix:
                start = runs.pop()[1]
            runs.append((matrix, start, stop))
        return runs

    def forward(self, v: Tensor, segments: Segments) -> Tensor:
        """(rows, ..., in) to (rows, ..., out), for rows sorted by function; of rows of width 0 the biases."""
        return product(v, self.weights().unbound(), self.runs(segments))

    def weights(self) -> Weights:
        """The tensors of the maps; those that a parametrization computes are computed, and so are those of a rank."""
        if not self.rank:
            return Weights(self.weight, self.bias)
        own = torch.bmm(self.own_out, self.own_in)  # @ would spread one over all
        return Weights(self.weight + own, self.bias)

    def patches(self) -> tuple[object, ...]:
        """The parts that only a call of the module reaches: its hooks, and a ``forward`` that is not this class's."""
        forward = vars(self).get("forward", type(self).forward)
        hooks = hooks_of(self)
        return hooks if forward is TypedLinear.forward else (*hooks, forward)


def product(v: Tensor, matrices: Matrices, runs: Runs) -> Tensor:
    """(rows, ..., in) to (rows, ..., out): each run of rows through its matrix; of rows of width 0 the biases."""
    weight, bias = matrices
    if not v.shape[-1]:
        weight = [matrix[:, :0] for matrix in weight]
    in_place = not torch.is_grad_enabled() and not inside_transform()
    if len(runs) > 1 and in_place:  # neither autograd nor transforms know products that are written in place
        return _written(v, Matrices(weight, bias), runs)
    if not runs:  # DGL asks for the messages of no edges at the leaves
        return v.new_zeros(*v.shape[:-1], len(weight[0]))
    biases = [None] * len(weight) if bias is None else bias
    if len(runs) == 1:
        [(m, _, _)] = runs
        return nn.functional.linear(v, weight[m], biases[m])
    # Split, not sliced: the gradient of a slice is a tensor of zeros as large as ``v``, for each run.
    rows = v.split([stop - start for _, start, stop in runs])
    parts = [nn.functional.linear(part, weight[m], biases[m]) for part, (m, _, _) in zip(rows, runs, strict=True)]
    return torch.cat(parts)


def _written(v: Tensor, matrices: Matrices, runs: Runs) -> Tensor:
    """The product of :func:`product`, each run written where it belongs."""
    weight, bias = matrices
    out = v.new_empty(*v.shape[:-1], len(weight[0]))
    for m, start, stop in runs:
        rows = v[start:stop].flatten(0, -2)
        written = out[start:stop].flatten(0, -2)
        if bias is None:
            torch.mm(rows, weight[m].t(), out=written)
        else:
            torch.addmm(bias[m], rows, weight[m].t(), out=written)
    return out


def split(pre: Tensor, widths: Mapping[str, int]) -> dict[str, Tensor]:
    """(..., sum of widths) to name -> (..., width)."""
    return dict(zip(widths, pre.split(list(widths.values()), -1), strict=True))


def concatenate(parts: Sequence[Tensor]) -> Tensor:
    """(..., n) each, with leading sizes that broadcast, to (..., N * n)."""
    if len(parts) == 1:
        return parts[0]
    return torch.cat(torch.broadcast_tensors(*parts), -1)


def sort_rows(function: Tensor) -> tuple[Tensor, Segments, Tensor]:
    """The order that sorts rows by function, its segments, and the order that puts them back."""
    on_cpu = function.cpu()  # all that a GPU has to be waited for
    order = torch.argsort(on_cpu, stable=True)
    ids, counts = torch.unique_consecutive(on_cpu[order], return_counts=True)
    segments: Segments = []
    start = 0
    for f, rows in zip(ids.tolist(), counts.tolist(), strict=True):
        segments.append((f, start, start + rows))
        start += rows
    order = order.to(function.device, non_blocking=True)
    return order, segments, torch.argsort(order)
