"""Pairs of nodes by number, and the number of each pair."""

from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.engine.kernels.choice import step_kernel

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
