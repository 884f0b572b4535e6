"""What the networks that join neighbours until one is left have in common."""

from typing import Any

import torch
from torch import Tensor, nn

from dgltree.arguments import check_dropout, check_size
from dgltree.cells.compose import composition_named
from dgltree.encoders.latent.nodes import Nodes
from dgltree.encoders.latent.scorers import Score
from dgltree.encoders.sequence.core import InducingCore
from dgltree.encoders.sequence.linearization import PADDING


class JoiningCore(InducingCore):
    r"""Leaves and a composition of two states: :math:`h_t = LN(W_0 \, drop(x_t) + b_0)`, without LN for a cell that has
    none.

    Args:
        size: the number of ids.
        hidden_size: n.
        cell: whose equations join two states: "grc", "tree_cell", "tree_rnn" or "tree_lstm".
        embedding_size: of the ids; None: n.
        dropout: probability, in training only, on the embeddings.
        cell_dropout: probability, in training only, inside the cell; one mask for each node.
        max_length: of a sequence; None: any.
        options: the subclass's other options, for ``config``.
        forget_bias: of "tree_lstm".
        one_norm: whether leaves and cell have one LayerNorm.

    Raises ``ValueError`` for a size below 1, a dropout outside of 0 to below 1, and another cell.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        cell: str,
        embedding_size: int | None,
        dropout: float,
        cell_dropout: float,
        max_length: int | None,
        options: dict[str, Any],
        forget_bias: float | None = None,
        one_norm: bool = False,
    ) -> None:
        shared = {"embedding_size": embedding_size, "dropout": dropout, "cell_dropout": cell_dropout}
        super().__init__(size, max_length, hidden_size=hidden_size, cell=cell, **shared, **options)
        check_size("hidden_size", hidden_size)
        self.width = hidden_size if embedding_size is None else embedding_size
        check_size("embedding_size", self.width)
        for p in (dropout, cell_dropout):
            check_dropout(p)
        self.embedding = nn.Embedding(size, self.width, padding_idx=PADDING)
        self.dropout = nn.Dropout(dropout)
        made, raised = composition_named(cell), {} if forget_bias is None else {"forget_bias": forget_bias}
        self.cell = made(hidden_size, cell_dropout, **(raised if cell == "tree_lstm" else {}))
        self.leaf = nn.Linear(self.width, self.cell.state_size)
        self.norm: nn.Module = nn.LayerNorm(hidden_size) if self.cell.normed else nn.Identity()
        self.leaf_norm = None if one_norm or not self.cell.normed else nn.LayerNorm(hidden_size)
        self.drops = bool(dropout or cell_dropout)

    def leaves(self, x: Tensor) -> Tensor:
        """(..., D) of embeddings (..., width) that the dropout has acted on."""
        return (self.leaf_norm or self.norm)(self.leaf(x))

    def words(self, ids: Tensor) -> Tensor:
        """(..., D) of ids (...)."""
        return self.leaves(self.dropout(self.embedding(ids)))

    def nodes(self, ids: Tensor, lengths: Tensor, score: Score) -> tuple[Nodes, Tensor]:
        """A table of nodes, and the rows (B, T) of the words in it: one for equal words, unless dropout differs."""
        present = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)
        if self.training and self.drops:
            rows = torch.zeros_like(ids)
            rows[present] = torch.arange(int(lengths.sum()), device=ids.device)
            return Nodes(self.cell, self.norm, score, self.words(ids[present])), rows
        distinct, rows = ids.masked_fill(~present, PADDING).unique(return_inverse=True)
        return Nodes(self.cell, self.norm, score, self.words(distinct)), rows


def longest_first(lengths: Tensor) -> Tensor:
    """(B,) int64, the sequences in the order of falling lengths."""
    return lengths.argsort(descending=True, stable=True)
