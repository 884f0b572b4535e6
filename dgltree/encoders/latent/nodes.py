"""The nodes that beams are made of: each is computed once, and known by the numbers of its two children.

The words of this package:

- A **node** is a state that stands for a span of words: a word, or what two neighbouring nodes were joined to. Its
  number is its row in the table of states (:class:`Table`).
- A **pair** is a candidate for a join: two nodes that were neighbours in some beam, with the score of joining them. Its
  number is its row in the table of pairs (:class:`PairTable`), which also says which node it becomes.
- A **gap** is the split between two words at which the spans of a pair meet; joining the pair closes it. The gaps in
  the order in which they are closed are a tree.
- A **beam** is a sequence of nodes that covers the sentence, with the sum of the log probabilities of its joins.

So all beams share one chart of nodes, of which only what some beam asks for is computed. Numbers of nodes and pairs are
on the CPU, states and scores where the model is.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dgltree.cells.compose import Compose
from dgltree.encoders.latent.choice import Score, shrink, without
from dgltree.engine.autograd import once_differentiable
from dgltree.engine.kernels.dispatch import step_kernel
from dgltree.support.torch_internals import number_of_backward_pass

# ---------------------------------------------------------------------------------------------------------------------
# Rows that are written once and read many times, by number; their gradients are added up in one place.


class Table:
    """A growing table of rows of one width.

    A step that needs a few of many rows would, with plain torch, stack all rows again or have a gradient as large
    as all of them. Here a read adds its gradient into one buffer, and a write takes from it what belongs to its rows.
    Every write depends on the one before, and every read on the last write, so that autograd runs them in the reverse
    of their order.

    Args:
        width: of a row.
        like: dtype and device of the rows.
        expected: how many rows; more make it grow.
    """

    def __init__(self, width: int, like: Tensor, expected: int) -> None:
        self.store = RowStore(like.new_empty(max(expected, 1), width))
        self.count = 0
        self.order = torch.zeros((), device=like.device, dtype=like.dtype, requires_grad=torch.is_grad_enabled())

    @property
    def buffer(self) -> Tensor:
        """(N, width), of which the first ``count`` rows are written."""
        return self.store.buffer

    def write(self, values: Tensor) -> Tensor:
        """(m,) int64, the numbers of new rows (m, width); on the CPU, as all numbers of rows are."""
        start = self.count
        stop = start + len(values)
        while stop > len(self.buffer):
            more = torch.empty_like(self.buffer)
            self.store.buffer = torch.cat([self.buffer, more])
        values = values.to(self.buffer.dtype)
        self.order = _Write.apply(values, self.order, self.store, start)
        self.count = stop
        return torch.arange(start, stop)

    def read(self, numbers: Tensor) -> Tensor:
        """(..., width), the rows of numbers (...) int64."""
        numbers = numbers.to(self.buffer.device, non_blocking=True)
        return _Read.apply(self.order, self.store, numbers)


class RowStore:
    """The rows of a table and their gradient, for its reads and writes in a backward pass.

    It must not hold the table, whose order holds the graph of these: such a circle is never freed.
    """

    def __init__(self, buffer: Tensor) -> None:
        self.buffer = buffer
        self._gradient = buffer.new_empty(0)
        self._backward_pass = -1

    def gradients(self) -> Tensor:
        """(N, width), the gradient of all rows in the backward pass that is under way, to be added to.

        Each pass begins at 0. One for some inputs alone (``torch.autograd.grad``) does not run every write, so what a
        pass leaves here must not reach the next one along the same graph.
        """
        number = number_of_backward_pass()
        if self._backward_pass != number:
            self._gradient = torch.zeros_like(self.buffer)
            self._backward_pass = number
        return self._gradient


class _Write(torch.autograd.Function):
    """New rows (m, width) are put into a table; the result () is the order that later reads and writes depend on."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, order: Tensor, store: RowStore, start: int) -> Tensor:
        stop = start + len(values)
        store.buffer[start:stop] = values
        ctx.store = store
        ctx.written = slice(start, stop)
        after = torch.zeros_like(order)
        ctx.save_for_backward(after)  # once_differentiable finds by it whether values or order are differentiated again
        return after

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_order: Tensor) -> tuple[Tensor | None, ...]:
        d_values = ctx.store.gradients()[ctx.written].clone()
        return d_values, d_order, None, None


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, order: Tensor, store: RowStore, numbers: Tensor) -> Tensor:
        ctx.save_for_backward(order)
        ctx.store = store
        ctx.numbers = numbers.flatten()
        values = store.buffer.index_select(0, ctx.numbers)
        return values.view(*numbers.shape, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_values: Tensor) -> tuple[Tensor | None, ...]:
        gradient = ctx.store.gradients()
        gradient.index_add_(0, ctx.numbers, d_values.flatten(0, -2))
        d_order = d_values.new_zeros(())
        return d_order, None, None


# ---------------------------------------------------------------------------------------------------------------------
# Pairs of nodes by number, and the number of each pair.


SPAN = 2**31
"""More than there are rows, so that ``left * SPAN + right`` tells pairs of rows apart."""
UNBUILT, NODE = -1, 2
"""The mark of a pair that is not composed yet, and its column; the kernel has the same, and cannot be imported here."""


class BeamNumbers(NamedTuple):
    """K beams of each of b sequences, of S nodes at most, as numbers; on the CPU."""

    rows: Tensor
    """(b, K, S) int64, the nodes."""
    pairs: Tensor
    """(b, K, S - 1) int64, the pairs of neighbours."""
    gaps: Tensor
    """(b, K, S - 1) int64, the gap between the words of the two."""

    def first(self, count: int) -> "BeamNumbers":
        """The beams of the first sequences."""
        return BeamNumbers(self.rows[:count], self.pairs[:count], self.gaps[:count])


class Choice(NamedTuple):
    """The K proposals of each of b sequences that become the next beams; on the CPU."""

    at: Tensor
    """(b, K) int64, the index of the pair that each joins."""
    parent: Tensor
    """(b, K) int64, the number of the beam that it is in."""
    alive: Tensor
    """(b, K) bool"""


class JoinedBeams(NamedTuple):
    """Beams after a join each."""

    numbers: BeamNumbers
    """The beams, of S - 1 nodes; some pairs are new."""
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
        self._numbers_by_key: dict[int, int] = {}  # without a kernel
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
        numbers = torch.empty_like(left)
        self.count = self.kernel.number(self._all, self.count, left.contiguous(), right.contiguous(), numbers)
        return numbers

    def join(self, before: BeamNumbers, chosen: Choice, candidates: Tensor, next_row: int) -> JoinedBeams:
        """The beams after a join each, in which the pairs on both sides of the new node are new.

        Args:
            before: beams (b, K') of S nodes.
            chosen: the join of each beam after it.
            candidates: (b,) int64, how many pairs each beam of a sequence has.
            next_row: the number that the next node will have.
        """
        of_parent = chosen.parent.unsqueeze(2)
        rows, pairs, gaps = (part.gather(1, of_parent.expand(-1, -1, part.shape[2])) for part in before)
        joined = pairs.gather(2, chosen.at.unsqueeze(2)).squeeze(2)
        closed = gaps.gather(2, chosen.at.unsqueeze(2)).squeeze(2)
        joined_alive = joined[chosen.alive]
        nodes = self.table[:, NODE]
        missing = joined_alive[nodes[joined_alive] == UNBUILT].unique()
        nodes[missing] = torch.arange(next_row, next_row + len(missing))
        node = torch.zeros_like(joined)
        node[chosen.alive] = nodes[joined_alive]

        rows = shrink(rows, chosen.at, node)
        pairs = without(pairs, chosen.at)
        gaps = without(gaps, chosen.at)
        last = candidates.unsqueeze(1) - 1
        for left in (chosen.at - 1, chosen.at):
            is_new = chosen.alive & (left >= 0) & (left < last)
            sequence, beam = is_new.nonzero(as_tuple=True)
            index = left[is_new]
            pairs[sequence, beam, index] = self.number(rows[sequence, beam, index], rows[sequence, beam, index + 1])
        return JoinedBeams(BeamNumbers(rows, pairs, gaps), closed, missing)

    def join_by_kernel(self, before: BeamNumbers, chosen: Choice, candidates: Tensor, next_row: int) -> JoinedBeams:
        """The beams that :meth:`join` gives, by the kernel, which must be there."""
        assert self.kernel is not None
        at = chosen.at
        size = before.pairs.shape[2]
        self._reserve(2 * at.numel())
        rows = at.new_empty(*at.shape, size)
        pairs = at.new_empty(*at.shape, size - 1)
        gaps = torch.empty_like(pairs)
        closed = torch.empty_like(at)
        missing = at.new_empty(at.numel())
        made, self.count = self.kernel.join(
            tuple(part.contiguous() for part in before),
            tuple(part.contiguous() for part in (*chosen, candidates)),
            self._all,
            self.count,
            next_row,
            missing,
            (rows, pairs, gaps, closed),
        )
        return JoinedBeams(BeamNumbers(rows, pairs, gaps), closed, missing[:made])

    @property
    def _all(self) -> tuple[Tensor, Tensor, Tensor]:
        return self._keys, self._numbers, self._table

    def _look_up(self, left: Tensor, right: Tensor) -> Tensor:
        known = self._numbers_by_key
        numbers: list[int] = []
        fresh: list[int] = []
        for i, key in enumerate((left * SPAN + right).tolist()):
            if key not in known:
                known[key] = len(known)
                fresh.append(i)
            numbers.append(known[key])
        start = self.count
        self.count = len(known)
        at = torch.tensor(fresh, dtype=torch.int64)
        self.table[start:] = torch.stack([left[at], right[at], torch.full_like(at, UNBUILT)], 1)
        return torch.tensor(numbers, dtype=torch.int64)

    def _reserve(self, more: int) -> None:
        """Room for as many pairs more; half of the hash table stays empty."""
        while self.count + more > len(self._table):
            self._table = torch.cat([self._table, torch.empty_like(self._table)])
        needed = 2 * len(self._table)
        if self.kernel is None or needed <= len(self._keys):
            return
        self._keys, self._numbers = _hash_table(needed)
        left, right, nodes = self.table.clone().unbind(1)  # the kernel writes the rows as new ones
        left = left.contiguous()
        self.kernel.number(self._all, 0, left, right.contiguous(), torch.empty_like(left))
        self.table[:, NODE] = nodes


def _hash_table(least: int) -> tuple[Tensor, Tensor]:
    """Keys, all -1, and numbers; as many as the next power of two."""
    size = 0
    if least:
        size = 1 << (least - 1).bit_length()
    keys = torch.full((size,), -1)
    return keys, torch.empty(size, dtype=torch.int64)


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
        self.cell = cell
        self.norm = norm
        self.score = score
        expected = 4 * len(leaves)  # one beam of T words has T leaves and at most 3 T compositions
        self.states = Table(cell.state_size, leaves, expected)
        self.scores = Table(1, leaves, expected)
        self._pairs = PairTable(expected)
        self.states.write(leaves)

    @property
    def joins_by_kernel(self) -> bool:
        """Whether a kernel computes :meth:`join`."""
        return self._pairs.kernel is not None

    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """(m,) int64, the numbers of pairs of rows (m,) and (m,)."""
        first_new = self._pairs.count
        numbers = self._pairs.number(left, right)
        self._score(first_new)
        return numbers

    def built(self, pairs: Tensor) -> Tensor:
        """The row (...) of what each pair (...) becomes, which is composed if it was not yet."""
        nodes = self._pairs.table[:, NODE]
        missing = pairs[nodes[pairs] == UNBUILT].unique()
        if len(missing):
            nodes[missing] = self.states.write(self._compose(missing))
        return nodes[pairs]

    def join(self, before: BeamNumbers, chosen: Choice, candidates: Tensor) -> JoinedBeams:
        """The beams after a join each, as :meth:`PairTable.join` has them, with all that is new composed and scored."""
        first_new = self._pairs.count
        join = self._pairs.join_by_kernel if self.joins_by_kernel else self._pairs.join
        joined = join(before, chosen, candidates, self.states.count)
        if len(joined.missing):
            self.states.write(self._compose(joined.missing))
        self._score(first_new)
        return joined

    def _score(self, first_new: int) -> None:
        """Score the pairs from number ``first_new`` on."""
        new = torch.arange(first_new, self._pairs.count)
        if not len(new):
            return
        if self.score.of_children:
            h = self.cell.h(self._children(new))
        else:
            states = self._compose(new)
            self._pairs.table[first_new:, NODE] = self.states.write(states)
            h = self.cell.h(states)
        s = self.score(h)  # (2) of SequenceBeamTree
        self.scores.write(s.unsqueeze(1))

    def _compose(self, pairs: Tensor) -> Tensor:
        """(m, D), the states that pairs (m,) become."""
        left, right = self._children(pairs).unbind(1)
        return self.cell(left, right, self.norm)  # (1) of SequenceBeamTree

    def _children(self, pairs: Tensor) -> Tensor:
        """(m, 2, D), the states of both nodes of pairs (m,)."""
        rows = self._pairs.table[pairs, :NODE]
        return self.states.read(rows)
