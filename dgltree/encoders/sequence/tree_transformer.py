"""Transformer encoder over the nodes of a tree, which reads their places in the tree."""

from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from dgltree.batching.batch import TreeBatch, place
from dgltree.batching.vocabulary import ANY_ARITY, Vocabulary
from dgltree.encoders.sequence.core import SequenceCore
from dgltree.encoders.sequence.linearization import PADDING, Order, Unfolded, sequences_of, unfold
from dgltree.encoders.sequence.padding import padding_mask
from dgltree.encoders.sequence.transformer import OutputMap, SelfAttention
from dgltree.support.arguments import check_size


class TreePositions(nn.Module):
    r"""Tree positional encodings (Shiv & Quirk 2019, *Novel positional encodings to enable tree-based transformers*).

    The branch choices on the path from a node up to the root are one-hots of width b, nearest first, cut at k; past the
    root they are 0. There are :math:`\lfloor d / (k b) \rfloor` copies; one-hot i (from 0) of copy q is multiplied by

    .. math:: \tanh(p_q)^i \sqrt{(1 - \tanh^2 p_q) \, d / 2}

    with a learned p_q. What remains of the d columns is 0. So the root's encoding is 0.

    Args:
        size: d, the width.
        branching: b.
        path_length: k.

    Initialisation: p_q is drawn from U(0.7, 0.999).

    Raises ``ValueError`` if d has no room for one copy.
    """

    def __init__(self, size: int, branching: int, path_length: int) -> None:
        super().__init__()
        check_size("branching", branching)
        check_size("path_length", path_length)
        if size < branching * path_length:
            raise ValueError(
                f"hidden_size is {size}, but the branch choices of {path_length} edges (path_length) with {branching} "
                f"branches each need {branching * path_length} columns"
            )
        self.size = size
        self.branching = branching
        self.path_length = path_length
        copies = size // (branching * path_length)
        self.p = nn.Parameter(torch.empty(copies).uniform_(0.7, 0.999))

    def forward(self, path: Tensor) -> Tensor:
        """(..., d) from branch choices (..., k) int64, nearest first, -1 past the root; columns by (i, branch, q)."""
        p = self.p.tanh()
        i = torch.arange(self.path_length, device=p.device).unsqueeze(1)
        scale = ((1 - p**2) * self.size / 2).sqrt()
        weights = p**i * scale  # (k, copies)
        chosen = path.unsqueeze(-1) == torch.arange(self.branching, device=path.device)  # (..., k, b)
        encoding = (chosen.unsqueeze(-1) * weights.unsqueeze(1)).flatten(-3)
        rest = self.size - encoding.shape[-1]
        return nn.functional.pad(encoding, (0, rest))


class TreeTransformer(SequenceCore):
    """The state of the first node, the root, of a Transformer encoder over nodes in preorder (Shiv & Quirk 2019).

    Embedding plus :class:`TreePositions`, dropout, :class:`SelfAttention`, then :class:`OutputMap`. A call takes
    ids (B, T), lengths (B,) and paths (B, T, k).

    Args:
        size: the number of ids.
        hidden_size: n.
        branching: b, the most children of a node.
        path_length: k, the nearest edges on the path to the root that a node's position tells.
        num_layers, num_heads, feedforward_size, dropout, pre_norm: as in :class:`SelfAttention`.
        max_length: nodes of a tree; None: any. Time and memory grow with its square.

    Initialisation: embeddings N(0, 1); torch's of the layers.

    Raises ``ValueError`` as :class:`SelfAttention` and :class:`TreePositions` do.
    """

    place_options: ClassVar[tuple[str, ...]] = ("branching", "path_length")

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        branching: int,
        path_length: int = 16,
        num_layers: int = 2,
        num_heads: int = 4,
        feedforward_size: int | None = None,
        dropout: float = 0.0,
        pre_norm: bool = False,
        max_length: int | None = None,
    ) -> None:
        own = {
            "num_layers": num_layers,
            "num_heads": num_heads,
            "feedforward_size": feedforward_size,
            "dropout": dropout,
            "pre_norm": pre_norm,
        }
        tree = {"branching": branching, "path_length": path_length}
        super().__init__(size, max_length, hidden_size=hidden_size, **tree, **own)
        self.attention = SelfAttention(hidden_size, num_layers, num_heads, feedforward_size, dropout, pre_norm)
        self.embedding = nn.Embedding(size, hidden_size, padding_idx=PADDING)
        self.positions = TreePositions(hidden_size, branching, path_length)
        self.output = OutputMap(hidden_size)
        self.dropout = nn.Dropout(dropout)

    @classmethod
    def for_vocabulary(
        cls, vocabulary: Vocabulary, size: int, hidden_size: int, *, branching: int | None = None, **options: Any
    ) -> Self:
        """``branching`` is by default the vocabulary's largest arity.

        Raises ``ValueError`` if functions of any arity leave it open.
        """
        if branching is None:
            if vocabulary.at_arity(ANY_ARITY):
                raise ValueError(
                    "the vocabulary has functions of any arity: set branching to the maximum number of children"
                )
            branching = max([1, *vocabulary.arities])
        return cls(size, hidden_size, branching=branching, **options)

    def linearized(self, batch: TreeBatch, order: Order, vocabulary: Vocabulary) -> tuple[Tensor, ...]:
        """Ids (B, T), lengths (B,) and paths (B, T, k), as in :class:`TreePositions`, of the nodes in preorder.

        Raises ``ValueError`` for a node with more children than ``branching``, and as
        :func:`dgltree.encoders.linearize` does.
        """
        flat = batch.to("cpu")
        b = self.positions.branching
        is_wide = flat.arity > b
        if is_wide.any():
            j = int(torch.nonzero(is_wide)[0])
            raise ValueError(f"{place(flat, j)} has {int(flat.arity[j])} children; this encoder takes branching={b}")
        trees = unfold(flat)
        ids, lengths = sequences_of(flat, trees, order, vocabulary)
        path = paths(trees, self.positions.path_length).split(trees.sizes.tolist())
        padded = pad_sequence(path, batch_first=True, padding_value=-1)
        return tuple(tensor.to(batch.device) for tensor in (ids, lengths, padded))

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n) from the ids of nodes in preorder and their paths, (B, T, k), as in :class:`TreePositions`."""
        [path] = more
        states = self.dropout(self.embedding(ids) + self.positions(path))
        states = self.attention(states, padding_mask(ids, lengths))
        root = self.attention.normalized(states[:, 0])
        return self.output(root)


def paths(trees: Unfolded, length: int) -> Tensor:
    """(M, length) int64: the positions among siblings of a node, its parent and so on up to the root, then -1."""
    at = torch.arange(len(trees.node))
    columns: list[Tensor] = []
    for _ in range(length):
        is_node = at >= 0
        columns.append(torch.where(is_node, trees.slot[at], -1))
        at = torch.where(is_node, trees.parent[at], -1)
    return torch.stack(columns, 1)
