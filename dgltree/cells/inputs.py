"""Vectors of what a node carries: a token, a number or a vector."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from dgltree.batching.vocabulary import NO_TOKEN

Leaf = Literal["embedding", "network", "gates"]


class NumberEncoder(nn.Module):
    r""":math:`\sigma(W_2 \sigma(W_1 v + b_1) + b_2)` of a number v (Arabshahi et al. 2021, arXiv 1911.01545).

    Args:
        size: width of the vectors.
        scale: (m, s), to read :math:`asinh((v - m) / s)` in the place of v: linear near m, logarithmic far from it, so
            that numbers of any size are told apart. None: as published.
    """

    def __init__(self, size: int, scale: tuple[float, float] | None = None) -> None:
        super().__init__()
        self.scale = scale
        self.linear1 = nn.Linear(1, size)
        self.linear2 = nn.Linear(size, size)

    def forward(self, value: Tensor) -> Tensor:
        """(rows,) of any floating dtype to (rows, size)."""
        if self.scale is not None:
            middle, spread = self.scale
            value = torch.asinh((value - middle) / spread)
        v = value.to(self.linear1.weight.dtype).unsqueeze(-1)
        return torch.sigmoid(self.linear2(torch.sigmoid(self.linear1(v))))


class FunctionEmbedding(nn.Module):
    """Vectors of functions by their names: one at two arities has one vector.

    Args:
        names: of the functions, by their ids.
        size: width of the vectors.

    Initialisation: N(0, 1).
    """

    place: Tensor

    def __init__(self, names: Sequence[str], size: int) -> None:
        super().__init__()
        rows = {name: row for row, name in enumerate(dict.fromkeys(names))}
        self.register_buffer("place", torch.tensor([rows[name] for name in names], dtype=torch.long), persistent=False)
        self.weight = nn.Parameter(torch.empty(len(rows), size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the embeddings again."""
        nn.init.normal_(self.weight)

    def forward(self, function: Tensor) -> Tensor:
        """(rows, size) from function ids (rows,) int64."""
        return nn.functional.embedding(self.place[function], self.weight)


class Vectors(nn.Module):
    """Rows of a table by ids of any shape: a module of its own, so that a training can drop some."""

    def forward(self, ids: Tensor, weight: Tensor) -> Tensor:
        """(..., size) from ids (...) int64 and a table (tokens, size)."""
        return nn.functional.embedding(ids, weight)


class Embedding(nn.Module):
    """Vectors of nodes that carry a token or a number.

    Args:
        tokens: how many the vocabulary has.
        size: width of the vectors.
        network: :math:`\\sigma(W_2 \\sigma(W_1 onehot + b_1) + b_2)` for tokens, instead of a row of W_1.
        numbers: whether there is a :class:`NumberEncoder`.
        number_scale: its scale.
        parts: (tokens, P) int64, the ids of the words that a token is made of, -1 for none: the mean of their vectors
            is added to its own. See :func:`dgltree.batching.token_parts.part_table`.

    Initialisation: N(0, 1); with ``network``, W_1 and b_1 as a Linear whose fan-in is the number of tokens.
    """

    parts: Tensor | None

    def __init__(
        self,
        tokens: int,
        size: int,
        *,
        network: bool = False,
        numbers: bool = False,
        number_scale: tuple[float, float] | None = None,
        parts: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(tokens, size))
        self.vectors = Vectors()
        self.register_buffer("parts", parts, persistent=False)
        self.bias = nn.Parameter(torch.empty(size)) if network else None
        self.layer = nn.Linear(size, size) if network else None
        self.number = NumberEncoder(size, number_scale) if numbers else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the embeddings again."""
        if self.bias is None:
            nn.init.normal_(self.weight)
            return
        bound = max(len(self.weight), 1) ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, token: Tensor, value: Tensor | None) -> Tensor:
        """(rows, size) from token ids (rows,) int64 and numbers (rows,), NaN if there is none; 0 without either.

        A CPU computes the rows that have one. A GPU computes all, because to know which these are it is waited for.
        """
        known, everywhere = token != NO_TOKEN, token.device.type != "cpu"
        if everywhere:
            rows = token.new_zeros(len(token), self.weight.shape[1], dtype=self.weight.dtype)
            if len(self.weight):
                rows = self._of_tokens(token.clamp(min=0)).where(known.unsqueeze(1), rows)
        else:
            places = torch.nonzero(known).squeeze(-1)
            rows = self._of_tokens(token[places])
            if len(rows) < len(token):
                rows = rows.new_zeros(len(token), rows.shape[1]).index_copy(0, places, rows)
        if value is None or self.number is None:
            return rows
        numbered = ~value.isnan()
        if everywhere:
            return self.number(value.nan_to_num()).where(numbered.unsqueeze(1), rows)
        places = torch.nonzero(numbered).squeeze(-1)
        return rows.index_copy(0, places, self.number(value[places]))

    def _of_tokens(self, token: Tensor) -> Tensor:
        """(rows, size) of tokens that are there."""
        rows = self.vectors(token, self.weight)
        if self.parts is not None:
            parts = self.parts[token]
            there = (parts >= 0).to(rows.dtype)
            words = (self.vectors(parts.clamp(min=0), self.weight) * there.unsqueeze(-1)).sum(1)
            rows = rows + words / there.sum(1, keepdim=True).clamp(min=1)
        if self.bias is None:
            return rows
        assert self.layer is not None
        return torch.sigmoid(self.layer(torch.sigmoid(rows + self.bias)))
