"""Nodes of beams, and each word's vector among the nodes above it."""

from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.encoders.latent.chunked_beams import Ended
from dgltree.encoders.latent.nodes import Nodes
from dgltree.encoders.latent.parent_attention import ParentAttention
from dgltree.induction.merges import CLOSED, build_nodes


class BeamNodes(NamedTuple):
    """R beams of up to T words."""

    rows: Tensor
    """(R, 2 T - 1) int64, of the words, then of what each merge made; 0 after the last merge. On the CPU."""
    below: Tensor
    """(R, T, T - 1) bool, whether a word is below what a merge made."""
    heights: Tensor
    """(R, T - 1) int64, 1 of what is made of two words."""


def beam_nodes(nodes: Nodes, words: Tensor, orders: Tensor, lengths: Tensor) -> BeamNodes:
    """The nodes that beams are made of, which all are there.

    Args:
        nodes: of the search.
        words: (R, T) int64, their rows.
        orders: (R, T - 1) int64, the merges.
        lengths: (R,) int64. All on the CPU.
    """
    made, (count, T) = build_nodes(orders, lengths), words.shape
    rows = torch.cat([words, torch.zeros_like(orders)], 1)
    member = torch.eye(T, dtype=torch.bool).expand(count, -1, -1)
    member = torch.cat([member, torch.zeros(count, T - 1, T, dtype=torch.bool)], 1)  # of the words below each node
    for s in range(T - 1):
        at = torch.nonzero(orders[:, s] != CLOSED).squeeze(1)
        left, right = made.left[at, s], made.right[at, s]
        rows[at, T + s] = nodes.built(nodes.pairs(rows[at, left], rows[at, right]))
        member[at, T + s] = member[at, left] | member[at, right]
    return BeamNodes(rows, member[:, T:].transpose(1, 2), made.level[:, T:])


class InContext(NamedTuple):
    """The words of B sentences of up to T words among the nodes of K beams."""

    words: Tensor
    """(B, T, n), the mean over the beams of what each word becomes; 0 after a length."""
    attention: Tensor
    """(B, K, T, T - 1), of each word to what each merge of a beam made, 0 to what it is not below."""


def words_in_context(
    attention: ParentAttention, nodes: Nodes, ended: Ended, words: Tensor, lengths: Tensor
) -> InContext:
    """Each word by the nodes above it in each beam.

    Args:
        attention: to the ancestors.
        nodes: of the search.
        ended: its beams.
        words: (B, T) int64, the words' rows.
        lengths: (B,) int64.
    """
    (rows, T), beams = words.shape, ended.total.shape[1]
    orders = ended.orders.where(ended.alive.unsqueeze(2), ended.orders[:, :1])  # any for those that do not count
    found = beam_nodes(
        nodes,
        words.cpu().repeat_interleave(beams, 0),
        orders.flatten(0, 1).cpu(),
        lengths.cpu().repeat_interleave(beams),
    )
    h = nodes.cell.h(nodes.states.read(found.rows))
    below, heights = (part.to(h.device, non_blocking=True) for part in (found.below, found.heights))
    x, alpha = (part.unflatten(0, (rows, beams)) for part in attention(h[:, :T], h[:, T:], below, heights))
    mean = (ended.weights.view(rows, beams, 1, 1) * x).sum(1)
    mean = mean.masked_fill((torch.arange(T, device=h.device) >= lengths.unsqueeze(1)).unsqueeze(2), 0)
    return InContext(mean, alpha)
