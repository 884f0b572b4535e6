"""Batches of examples of similar lengths, none larger than memory allows."""

from collections.abc import Sequence

import torch

POOL = 50  # full batches' worth of examples that are sorted together: little padding, and yet other batches every epoch


def buckets(
    lengths: Sequence[int], batch_size: int, most_words: int, generator: torch.Generator | None = None
) -> list[list[int]]:
    """Which examples are in which batch.

    A batch has at most ``batch_size`` examples, and padded to its longest at most ``most_words`` words; an example that
    alone is longer has a batch of its own. With a generator the examples are in random order, sorted in pools, and so
    are the batches; without, they are sorted from the shortest to the longest.

    Raises ``ValueError`` for a batch size or number of words below 1.
    """
    if batch_size < 1 or most_words < 1:
        raise ValueError(f"batch_size is {batch_size} and most_words {most_words}; both must be 1 or more")
    count = len(lengths)
    order = list(range(count)) if generator is None else torch.randperm(count, generator=generator).tolist()
    pool = count if generator is None else POOL * batch_size
    batches: list[list[int]] = []
    for start in range(0, count, pool or 1):
        batches += _cut(sorted(order[start : start + pool], key=lengths.__getitem__), lengths, batch_size, most_words)
    if generator is None:
        return batches
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def _cut(rising: list[int], lengths: Sequence[int], batch_size: int, most_words: int) -> list[list[int]]:
    batches: list[list[int]] = [[]]
    for i in rising:
        room = len(batches[-1]) < batch_size and (len(batches[-1]) + 1) * lengths[i] <= most_words
        if batches[-1] and not room:
            batches.append([])
        batches[-1].append(i)
    return batches
