"""Affine maps of which each function has its own, or of which all functions share one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

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


class TypedLinear(nn.Module):
    """K affine maps in one tensor, and for each function which of them is its own.

    Initialisation: that of a torch ``Linear`` of the same fan-in m: weights and biases U(-1/sqrt(m), 1/sqrt(m)).

    Args:
        affine: the size of each map.
        position: function id to its map, 0 to K - 1; equal numbers share.
    """

    def __init__(self, affine: Affine, position: Mapping[int, int]) -> None:
        super().__init__()
        count = max(position.values()) + 1
        self.affine = affine
        self.position = dict(position)
        self.weight = nn.Parameter(torch.empty(count, affine.fan_out, affine.fan_in))
        self.bias = nn.Parameter(torch.empty(count, affine.fan_out)) if affine.bias else None
        self.reset_parameters()

    def reset_parameters(self, bound: float | None = None) -> None:
        """Draw anew from U(-bound, bound), by default 1/sqrt(fan-in)."""
        bound = max(self.affine.fan_in, 1) ** -0.5 if bound is None else bound
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        return f"{len(self.weight)} maps, {self.affine.fan_in} to {self.affine.fan_out}"

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
        return self.product(v, self.runs(segments))

    def product(self, v: Tensor, runs: Runs) -> Tensor:
        """The same for runs that are known."""
        weight = self.weight if v.shape[-1] else self.weight[..., :0]
        if len(runs) > 1 and not torch.is_grad_enabled():  # autograd does not know products that are written in place
            return self._written(v, weight, runs)
        biases = [None] * len(weight) if self.bias is None else self.bias
        parts = [nn.functional.linear(v[start:stop], weight[m], biases[m]) for m, start, stop in runs]
        if not parts:  # DGL asks for the messages of no edges at the leaves
            return v.new_zeros(*v.shape[:-1], self.affine.fan_out)
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _written(self, v: Tensor, weight: Tensor, runs: Runs) -> Tensor:
        """The same, each product where it belongs."""
        out = v.new_empty(*v.shape[:-1], self.affine.fan_out)
        for m, start, stop in runs:
            rows, written = v[start:stop].flatten(0, -2), out[start:stop].flatten(0, -2)
            if self.bias is None:
                torch.mm(rows, weight[m].t(), out=written)
            else:
                torch.addmm(self.bias[m], rows, weight[m].t(), out=written)
        return out


def split(pre: Tensor, widths: Mapping[str, int]) -> dict[str, Tensor]:
    """(..., sum of widths) to name -> (..., width)."""
    return dict(zip(widths, pre.split(list(widths.values()), -1), strict=True))


def concatenate(parts: Sequence[Tensor]) -> Tensor:
    """(..., n) each, with leading sizes that broadcast, to (..., N * n)."""
    if len(parts) == 1:
        return parts[0]
    return torch.cat(torch.broadcast_tensors(*parts), -1)


def sorted_by(function: Tensor) -> tuple[Tensor, Segments, Tensor]:
    """The order that sorts rows by function, its segments, and the order that puts them back."""
    order = torch.argsort(function, stable=True)
    ids, counts = torch.unique_consecutive(function[order], return_counts=True)
    return order, list(_segments(ids.tolist(), counts.tolist())), torch.argsort(order)


def _segments(ids: list[int], counts: list[int]) -> Iterator[tuple[int, int, int]]:
    start = 0
    for function, count in zip(ids, counts, strict=True):
        yield function, start, start + count
        start += count
