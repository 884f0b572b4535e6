"""The nodes that beams are made of: each is computed once, and known by the numbers of its two children.

Numbers of rows and pairs are on the CPU, states and scores where the model is.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dgltree.cells.compose import Compose
from dgltree.encoders.latent.choice import Score
from dgltree.engine.autograd import once_differentiable
from dgltree.engine.kernels.dispatch import step_kernel

# ---------------------------------------------------------------------------------------------------------------------
# TableRows that are written once and read many times, by number; their gradients are added up in one place.


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


# ---------------------------------------------------------------------------------------------------------------------
# Pairs of nodes by number, and the number of each pair.


SPAN = 2**31
"""More than there are rows."""
UNBUILT, NODE = -1, 2
"""The mark of a pair that is not composed yet, and its column; the kernel has the same, and cannot be imported here."""


class JoinedBeams(NamedTuple):
    """Beams after a join each: K of each of b sequences, of S - 1 nodes."""

    rows: Tensor
    """(b, K, S - 1) int64"""
    pairs: Tensor
    """(b, K, S - 2) int64, some of which are new."""
    gaps: Tensor
    """(b, K, S - 2) int64"""
    closed: Tensor
    """(b, K) int64, the gap that each closed."""
    missing: Tensor
    """(m,) int64, the pairs that have to be composed, whose nodes are numbered already."""


class PairTable:
    """A growing table of pairs, on the CPU for a model on any device.

    Args:
        rows: how many pairs are expected.
    """

    def __init__(self, rows: int) -> None:
        self.count = 0
        self._table = torch.empty(max(rows, 1), 3, dtype=torch.int64)
        self.kernel = step_kernel("pairs", (), torch.empty(0), backward=False)
        """None where Numba is not installed."""
        self._known: dict[int, int] = {}  # without a kernel
        self._keys, self._numbers = _hash_table(2 * len(self._table) if self.kernel else 0)

    @property
    def table(self) -> Tensor:
        """(count, 3) int64: the rows of the two nodes, and that of what they become, or ``UNBUILT``."""
        return self._table[: self.count]

    def number(self, left: Tensor, right: Tensor) -> Tensor:
        """(m,) int64, the numbers of pairs of rows (m,) and (m,); new ones are the last of the table."""
        self._reserve(len(left))
        if self.kernel is None:
            return self._look_up(left, right)
        found = torch.empty_like(left)
        self.count = self.kernel.number(self._all, self.count, left.contiguous(), right.contiguous(), found)
        return found

    def join(
        self,
        before: tuple[Tensor, Tensor, Tensor],
        chosen: tuple[Tensor, Tensor, Tensor, Tensor],
        next_row: int,
    ) -> JoinedBeams:
        """By the kernel, which must be there.

        Args:
            before: rows (b, K', S), pairs and gaps (b, K', S - 1) of the beams.
            chosen: places and parents (b, K) int64, which are alive (b, K) bool, and (b,) how many pairs each beam of a
                sequence has.
            next_row: the number that the next node will have.
        """
        assert self.kernel is not None
        at, size = chosen[0], before[1].shape[2]
        self._reserve(2 * at.numel())
        rows, pairs, gaps = (at.new_empty(*at.shape, width) for width in (size, size - 1, size - 1))
        closed, missing = torch.empty_like(at), at.new_empty(at.numel())
        given = tuple(part.contiguous() for part in before), tuple(part.contiguous() for part in chosen)
        made, self.count = self.kernel.join(
            *given, self._all, self.count, next_row, missing, (rows, pairs, gaps, closed)
        )
        return JoinedBeams(rows, pairs, gaps, closed, missing[:made])

    @property
    def _all(self) -> tuple[Tensor, Tensor, Tensor]:
        return self._keys, self._numbers, self._table

    def _look_up(self, left: Tensor, right: Tensor) -> Tensor:
        known, found, fresh = self._known, [], []
        for i, key in enumerate((left * SPAN + right).tolist()):
            number = known.get(key)
            if number is None:
                number = known[key] = len(known)
                fresh.append(i)
            found.append(number)
        start, self.count = self.count, len(known)
        at = torch.tensor(fresh, dtype=torch.int64)
        self.table[start:] = torch.stack([left[at], right[at], torch.full_like(at, UNBUILT)], 1)
        return torch.tensor(found, dtype=torch.int64)

    def _reserve(self, more: int) -> None:
        """Room for as many pairs more; half of the hash table stays empty."""
        while self.count + more > len(self._table):
            self._table = torch.cat([self._table, torch.empty_like(self._table)])
        if self.kernel is not None and 2 * len(self._table) > len(self._keys):
            self._keys, self._numbers = _hash_table(2 * len(self._table))
            left, right, nodes = self.table.clone().unbind(1)  # the kernel writes the rows as new ones
            self.kernel.number(self._all, 0, left.contiguous(), right.contiguous(), torch.empty_like(left))
            self.table[:, NODE] = nodes


def _hash_table(least: int) -> tuple[Tensor, Tensor]:
    """Keys, all -1, and numbers; as many as the next power of two."""
    size = 1 << max(least - 1, 0).bit_length() if least else 0
    return torch.full((size,), -1), torch.empty(size, dtype=torch.int64)


class Nodes:
    """States by row number, and pairs of rows with their scores; a pair that was asked for before is not scored again.

    Args:
        cell: what joins two states.
        norm: its LayerNorm.
        score: of a pair. One that reads what the pair becomes has every pair composed, one that reads the two states
            only those that are asked for by :meth:`built`.
        leaves: (m, D), the first rows.
    """

    def __init__(self, cell: Compose, norm: nn.Module, score: Score, leaves: Tensor) -> None:
        self.cell, self.norm, self.score = cell, norm, score
        # Per leaf, room for itself and the three compositions of one beam; with more beams the tables grow.
        self.states = Table(cell.state_size, leaves, 4 * len(leaves))
        self.scores = Table(1, leaves, 4 * len(leaves))
        self._pairs = PairTable(4 * len(leaves))
        self.states.write(leaves)

    @property
    def joins(self) -> bool:
        """Whether there is a kernel for :meth:`join`."""
        return self._pairs.kernel is not None

    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """(m,) int64, the numbers of pairs of rows (m,) and (m,)."""
        start = self._pairs.count
        found = self._pairs.number(left, right)
        self._score(start)
        return found

    def built(self, pairs: Tensor) -> Tensor:
        """The row (...) of what each pair (...) becomes, which is composed if it was not yet."""
        table = self._pairs.table
        rows = table[:, NODE][pairs]
        missing = pairs[rows == UNBUILT].unique()
        if not len(missing):
            return rows
        table[missing, NODE] = self._compose(*table[missing, :NODE].unbind(1))[0]
        return table[:, NODE][pairs]

    def join(self, before: tuple[Tensor, Tensor, Tensor], chosen: tuple[Tensor, Tensor, Tensor, Tensor]) -> JoinedBeams:
        """As :meth:`dgltree.encoders.latent.nodes.PairTable.join`, with all that is new composed and scored."""
        start = self._pairs.count
        joined = self._pairs.join(before, chosen, self.states.count)
        if len(joined.missing):
            self._compose(*self._pairs.table[joined.missing, :NODE].unbind(1))
        self._score(start)
        return joined

    def _score(self, start: int) -> None:
        """The pairs from one on, which are new."""
        fresh = self._pairs.table[start:]
        if not len(fresh):
            return
        left, right, _ = fresh.unbind(1)
        if self.score.of_children:
            scores = self.score(self.cell.h(self._children(left, right)))
        else:
            fresh[:, NODE], states = self._compose(left, right)
            scores = self.score(self.cell.h(states))
        self.scores.write(scores.unsqueeze(1))

    def _compose(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        states = self.cell(*self._children(left, right).unbind(1), self.norm)
        return self.states.write(states), states

    def _children(self, left: Tensor, right: Tensor) -> Tensor:
        """(m, 2, D)"""
        return self.states.read(torch.stack([left, right], 1))
