"""Sequences that end at different steps, computed together without computing what comes after an end."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Self

import torch
from torch import Tensor


@dataclass
class Ragged:
    """The rows of a batch, those that end last first: a loop over the steps continues with ever fewer of the first.

    Packed tensors are (R, ...): the rows that have not ended, step after step, each in the order of the loop. Every
    method is a few operations, however many steps there are.
    """

    order: Tensor | None
    """(B,) int64, the rows; None: as they are, because all end at the last step."""
    counts: list[int]
    """How many of them have not ended before each step; the last step is the last that any has."""
    complete: list[bool]
    """Whether all of those have a word at the step."""
    places: Tensor | None = None
    """(R,) int64: where each packed row is in (B * T, ...)."""
    ends: Tensor | None = None
    """(B,) int64: the packed row of each sequence's last step, in the batch's own order."""

    @classmethod
    def of(cls, padding: Tensor) -> Self:
        """The rows of B sequences, from their padding mask (B, T). Waits for a GPU once, so that the loop need not."""
        present = ~padding
        rows, length = present.shape
        device = present.device
        steps = torch.arange(length, device=device)
        end = (present * steps).amax(1)  # (B,), the last step of each
        going = end.unsqueeze(1) >= steps  # (B, T)
        count = going.sum(0)  # (T,)
        complete = (present | ~going).all(0)
        counts_on_cpu, complete_on_cpu = torch.stack([count, complete.long()]).tolist()
        counts = [count for count in counts_on_cpu if count]

        order = end.argsort(descending=True, stable=True)
        is_packed = torch.arange(rows, device=device) < count.unsqueeze(1)  # (T, B) in the order of the loop
        first_packed = is_packed.flatten().to(torch.uint8).argsort(descending=True, stable=True)
        place = order * length + steps.unsqueeze(1)
        first_row = count.cumsum(0) - count
        rank = order.argsort()
        return cls(
            order=order,
            counts=counts,
            complete=[bool(all_) for all_ in complete_on_cpu[: len(counts)]],
            places=place.flatten()[first_packed[: sum(counts)]],
            ends=first_row[end] + rank,
        )

    @classmethod
    def none(cls, rows: int, steps: int) -> Self:
        """The rows of sequences that all have a word at every step."""
        return cls(None, [rows] * steps, [True] * steps)

    @property
    def starts(self) -> list[int]:
        """The first packed row of each step, and R."""
        return list(accumulate(self.counts, initial=0))

    def sorted(self, part: Tensor) -> Tensor:
        """(B, ...) in the order of the loop, from that of the batch."""
        if self.order is None:
            return part
        return part.index_select(0, self.order)

    def packed(self, part: Tensor) -> Tensor:
        """(R, ...) from (B, T, ...)."""
        if self.places is None:
            return part.transpose(0, 1).flatten(0, 1)
        return part.flatten(0, 1).index_select(0, self.places)

    def padded(self, packed: Tensor, length: int) -> Tensor:
        """(B, length, ...) in the batch's own order from (R, ...); 0 after an end."""
        rows = self.counts[0]
        if self.places is None:
            return packed.unflatten(0, (length, rows)).transpose(0, 1)
        zeros = packed.new_zeros(rows * length, *packed.shape[1:])
        padded = zeros.index_copy(0, self.places, packed)
        return padded.unflatten(0, (rows, length))

    def last(self, packed: Tensor) -> Tensor:
        """(B, ...) in the batch's own order: of (R, ...), what each row had at its last step."""
        if self.ends is None:
            return packed[-self.counts[-1] :]
        return packed.index_select(0, self.ends)


def front(part: Tensor, count: int) -> Tensor:
    """The first rows; no new view, whose gradient would be a copy, if these are all."""
    return part if count == len(part) else part[:count]
