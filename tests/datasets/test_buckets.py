"""Batches of similar lengths: as many examples and leaves as are allowed, for any lengths."""

import random

import pytest
import torch

from dgltree.datasets.batches import buckets

MOST = 10**9


@pytest.mark.parametrize("lengths", [[3, 50, 1, 7, 7, 20, 2], [5], [9, 9, 9, 9], list(range(1, 31))])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_without_a_limit_of_words_batches_are_full_whatever_is_in_them(size: int, lengths: list[int]) -> None:
    rising = sorted(range(len(lengths)), key=lengths.__getitem__)
    assert buckets(lengths, size, MOST) == [rising[start : start + size] for start in range(0, len(rising), size)]


def test_a_limit_of_words_counts_padding() -> None:
    lengths = [2, 3, 3, 4, 12, 6]
    found = buckets(lengths, 3, 9)
    assert [[lengths[i] for i in batch] for batch in found] == [[2, 3, 3], [4], [6], [12]]


def test_an_order_depends_on_its_generator_alone() -> None:
    lengths = [random.Random(i).randrange(1, 60) for i in range(900)]
    first, again, other = (buckets(lengths, 16, 400, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert first == again != other
    assert sorted(i for rows in first for i in rows) == list(range(900))


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_buckets_hold_every_example_once_in_bounded_batches_of_similar_lengths(seed: int | None) -> None:
    lengths = [min(60, 1 + int(random.Random(i).expovariate(0.1))) for i in range(3000)]
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    made = buckets(lengths, 32, 600, generator)
    assert sorted(i for rows in made for i in rows) == list(range(3000))
    for rows in made:
        longest = max(lengths[i] for i in rows)
        assert len(rows) <= 32
        assert len(rows) * longest <= 600 or len(rows) == 1
    padded = sum(len(rows) * max(lengths[i] for i in rows) for rows in made)
    assert padded < 1.1 * sum(lengths)
    if seed is not None:
        first = [lengths[rows[0]] for rows in made]
        assert first != sorted(first)


def test_an_example_that_is_too_long_has_a_batch_of_its_own() -> None:
    assert buckets([50, 3, 3, 70], 8, 10) == [[1, 2], [0], [3]]
    assert buckets([], 8, 10) == []
