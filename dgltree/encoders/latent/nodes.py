"""The nodes that beams are made of: each is computed once, and known by the numbers of its two children.

Numbers of rows and pairs are on the CPU, states and scores where the model is.
"""

import torch
from torch import Tensor, nn

from dgltree.cells.compose import Compose
from dgltree.encoders.latent.scorers import Score
from dgltree.encoders.latent.table import Table

SPAN = 2**31
"""More than there are rows."""
UNBUILT = -1
LEFT, RIGHT, NODE = range(3)


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
        self._known: dict[int, int] = {}
        self._pairs = torch.empty(4 * len(leaves), 3, dtype=torch.int64)
        self.states.write(leaves)

    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """(m,) int64, the numbers of pairs of rows (m,) and (m,)."""
        known, found, fresh = self._known, [], []
        for i, key in enumerate((left * SPAN + right).tolist()):
            number = known.get(key)
            if number is None:
                number = known[key] = len(known)
                fresh.append(i)
            found.append(number)
        if fresh:
            at = torch.tensor(fresh)
            self._add(left[at], right[at])
        return torch.tensor(found, dtype=torch.int64)

    def built(self, pairs: Tensor) -> Tensor:
        """The row (...) of what each pair (...) becomes, which is composed if it was not yet."""
        rows = self._pairs[:, NODE][pairs]
        missing = pairs[rows == UNBUILT].unique()
        if not len(missing):
            return rows
        self._pairs[missing, NODE] = self._compose(*self._pairs[missing, :NODE].unbind(1))[0]
        return self._pairs[:, NODE][pairs]

    def _add(self, left: Tensor, right: Tensor) -> None:
        """New pairs, after the others."""
        start, stop = self.scores.count, self.scores.count + len(left)
        while stop > len(self._pairs):
            self._pairs = torch.cat([self._pairs, torch.empty_like(self._pairs)])
        node = torch.full_like(left, UNBUILT)
        if self.score.of_children:
            scores = self.score(*(self.cell.h(state) for state in self._children(left, right)))
        else:
            node, states = self._compose(left, right)
            scores = self.score(self.cell.h(states))
        self.scores.write(scores.unsqueeze(1))
        self._pairs[start:stop] = torch.stack([left, right, node], 1)

    def _compose(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        states = self.cell(*self._children(left, right), self.norm)
        return self.states.write(states), states

    def _children(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        both = self.states.read(torch.cat([left, right]))
        return both[: len(left)], both[len(left) :]
