"""Sequences that end at different steps, computed together without computing what comes after an end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass
class Ragged:
    """The rows of a batch, those that end last first: a loop over the steps continues with ever fewer of the first."""

    order: Tensor | None
    """(B,) int64, the rows; None: as they are, because all end at the last step."""
    counts: list[int]
    """How many of them have not ended before each step; the last step is the last that any has."""
    complete: list[bool]
    """Whether all of those have a word at the step."""

    @classmethod
    def of(cls, padding: Tensor) -> Self:
        """Of B sequences, from their padding mask (B, T). Waits for a GPU once, so that the loop need not."""
        present = ~padding
        steps = torch.arange(present.shape[1], device=present.device)
        end = (present * steps).amax(1)
        going = end.unsqueeze(1) >= steps
        facts = torch.stack([going.sum(0), (present | ~going).all(0).long()]).tolist()
        counts = [count for count in facts[0] if count]
        return cls(end.argsort(descending=True, stable=True), counts, [bool(all_) for all_ in facts[1][: len(counts)]])

    @classmethod
    def none(cls, rows: int, steps: int) -> Self:
        """Of sequences that all have a word at every step."""
        return cls(None, [rows] * steps, [True] * steps)

    def sorted(self, part: Tensor) -> Tensor:
        """(B, ...) in the order of the loop, from that of the batch."""
        return part if self.order is None else part.index_select(0, self.order)

    def packed(self, part: Tensor) -> Tensor:
        """(R, ...) from (B, T, ...): the rows that have not ended, step after step, each in the order of the loop."""
        return torch.cat(list(map(front, self.sorted(part).unbind(1), self.counts)))

    def padded(self, steps: Sequence[Tensor], length: int) -> Tensor:
        """(B, length, ...) in the batch's own order from (count, ...) of each step; 0 after an end."""
        if self.order is None:
            return torch.stack(list(steps), 1)
        whole = torch.stack([pad(step, (0, 0, 0, len(self.order) - len(step))) for step in steps], 1)
        return pad(whole, (0, 0, 0, length - len(steps))).index_select(0, self.order.argsort())

    def last(self, steps: Sequence[Tensor]) -> Tensor:
        """(B, ...) in the batch's own order: of (count, ...) of each step, what each row had at its last."""
        if self.order is None:
            return steps[-1]
        after = [*self.counts[1:], 0]
        ended = [step[more:] for step, more in zip(steps, after, strict=True)]
        return torch.cat(ended[::-1]).index_select(0, self.order.argsort())


def front(part: Tensor, count: int) -> Tensor:
    """The first rows; no new view, whose gradient would be a copy, if these are all."""
    return part if count == len(part) else part[:count]
