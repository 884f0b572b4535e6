"""TableRows that are written once and read many times, by number; their gradients are added up in one place."""

from typing import Any

import torch
from torch import Tensor

from dgltree.cells.once_differentiable import once_differentiable


class Table:
    """A growing table of rows of one width.

    A step that needs a few of many rows would, with plain torch, stack all rows again or have a gradient as large
    as all of them. Here a read adds its gradient into one buffer, and a write takes from it what belongs to its rows.
    Every write depends on the one before, and every read on the last write, so that autograd runs them in the reverse
    of their order.

    Args:
        width: of a row.
        like: dtype and device of the rows.
        rows: how many are expected; more make it grow.
    """

    def __init__(self, width: int, like: Tensor, rows: int) -> None:
        self.rows = TableRows(like.new_empty(max(rows, 1), width))
        self.count = 0
        self.order = torch.zeros((), device=like.device, dtype=like.dtype, requires_grad=torch.is_grad_enabled())

    @property
    def buffer(self) -> Tensor:
        """(N, width), of which the first ``count`` rows are written."""
        return self.rows.buffer

    def write(self, values: Tensor) -> Tensor:
        """(m,) int64, the numbers of new rows (m, width); on the CPU, as all numbers of rows are."""
        start, stop = self.count, self.count + len(values)
        while stop > len(self.buffer):
            self.rows.buffer = torch.cat([self.buffer, torch.empty_like(self.buffer)])
        self.order = _Write.apply(values.to(self.buffer.dtype), self.order, self.rows, start)
        self.count = stop
        return torch.arange(start, stop)

    def read(self, rows: Tensor) -> Tensor:
        """(..., width) of numbers (...) int64."""
        return _Read.apply(self.order, self.rows, rows.to(self.buffer.device, non_blocking=True))


class TableRows:
    """The parts of a table that its passes need.

    They must not hold the table, whose order holds their graph: such a circle is never freed.
    """

    def __init__(self, buffer: Tensor) -> None:
        self.buffer = buffer
        self.gradient: Tensor | None = None

    def gradients(self) -> Tensor:
        """The gradient, to be added to, of all rows that there are."""
        if self.gradient is None or len(self.gradient) < len(self.buffer):
            self.gradient = torch.zeros_like(self.buffer)
        return self.gradient


class _Write(torch.autograd.Function):
    """TableRows into the table; what it gives is the order that later reads and writes depend on."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, order: Tensor, table: TableRows, start: int) -> Tensor:
        table.buffer[start : start + len(values)] = values
        ctx.table, ctx.start, ctx.rows = table, start, len(values)
        after = torch.zeros_like(order)
        ctx.save_for_backward(after)  # it depends on all that an error of a second derivative must lie on the way to
        return after

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_order: Tensor) -> tuple[Tensor | None, ...]:
        gradient = ctx.table.gradient
        if gradient is None:  # nobody read a row
            return None, d_order, None, None
        own = gradient[ctx.start : ctx.start + ctx.rows]
        d_values = own.clone()
        own.zero_()  # for another backward pass
        return d_values, d_order, None, None


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, order: Tensor, table: TableRows, rows: Tensor) -> Tensor:
        ctx.save_for_backward(order)
        ctx.table, ctx.rows = table, rows
        return table.buffer.index_select(0, rows.flatten()).view(*rows.shape, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_values: Tensor) -> tuple[Tensor | None, ...]:
        ctx.table.gradients().index_add_(0, ctx.rows.flatten(), d_values.flatten(0, -2))
        return d_values.new_zeros(()), None, None
