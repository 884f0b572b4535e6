"""The nodes that beams are made of: each is computed once, and known by the numbers of its two children.

Numbers of rows and pairs are on the CPU, states and scores where the model is.
"""

import torch
from torch import Tensor, nn

from dgltree.cells.compose import Compose
from dgltree.encoders.latent.pair_table import NODE, UNBUILT, JoinedBeams, PairTable
from dgltree.encoders.latent.scorers import Score
from dgltree.encoders.latent.table import Table


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
        """As :meth:`dgltree.encoders.latent.pair_table.PairTable.join`, with all that is new composed and scored."""
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
