"""Sequences of similar lengths together, so that a few long ones do not make the padding of all."""

from collections.abc import Callable

import torch
from torch import Tensor


def in_groups(
    encode: Callable[..., Tensor], ids: Tensor, lengths: Tensor, *more: Tensor, known: Tensor | None = None
) -> Tensor:
    """(B, n) by ``encode``, called for sequences of similar lengths.

    Args:
        encode: (b, n) of what follows, for b of the B sequences.
        ids: (B, T) int64.
        lengths: (B,) int64.
        more: what else there is for each id, (B, T, ...).
        known: the lengths on the CPU, if they are there.
    """
    groups = length_groups(lengths if known is None else known, ids.device)
    found = []
    for rows, longest in groups:
        parts = [column[rows, :longest] for column in (ids, *more)]
        found.append(encode(parts[0], lengths[rows], *parts[1:]))
    return torch.cat(found)[torch.cat([rows for rows, _ in groups]).argsort()]


def length_groups(lengths: Tensor, device: torch.device) -> list[tuple[Tensor, int]]:
    """Rows (b,) int64 on a device of the sequences up to 1, 2, 4, 8, ... long, and the largest length of each group."""
    known = lengths.cpu()
    doublings = known.double().log2().ceil()
    groups = [torch.nonzero(doublings == d).squeeze(1) for d in doublings.unique().tolist()]
    every = torch.cat(groups).to(device, non_blocking=True).split(list(map(len, groups)))  # one copy for all groups
    return [(rows, int(known[own].max())) for rows, own in zip(every, groups, strict=True)]
