"""Sequences of similar lengths together, so that a few long ones do not make the padding of all."""

from collections.abc import Callable

import torch
from torch import Tensor


def in_groups(encode: Callable[..., Tensor], ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
    """(B, n) by ``encode``, called for sequences of similar lengths.

    Args:
        encode: (b, n) of what follows, for b of the B sequences.
        ids: (B, T) int64.
        lengths: (B,) int64.
        more: what else there is for each id, (B, T, ...).
    """
    groups = length_groups(lengths)
    found = []
    for rows, longest in groups:
        parts = [column[rows, :longest] for column in (ids, *more)]
        found.append(encode(parts[0], lengths[rows], *parts[1:]))
    return torch.cat(found)[torch.cat([rows for rows, _ in groups]).argsort()]


def length_groups(lengths: Tensor) -> list[tuple[Tensor, int]]:
    """Rows (b,) int64 of the sequences up to 1, 2, 4, 8, ... long, and the largest length of each group."""
    known = lengths.cpu()
    doublings = known.double().log2().ceil()
    groups = [torch.nonzero(doublings == d).squeeze(1) for d in doublings.unique().tolist()]
    return [(rows.to(lengths.device), int(known[rows].max())) for rows in groups]
