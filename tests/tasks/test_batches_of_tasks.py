"""Batches of similar lengths: as many examples and words as are allowed, for any lengths."""

from collections.abc import Sequence

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")
from dgltree.datasets.labelled import Labelled
from tasks.data import BucketedData
from tasks.listops import data as listops


class Lengths(BucketedData):
    """Examples that are their lengths."""

    def __init__(self, train: list[int], batch_size: int, most_words: int | None = None) -> None:
        super().__init__()
        self.train, self.batch_size, self.most_words = train, batch_size, most_words

    def length(self, example: int) -> int:
        return example

    def labelled(self, examples: Sequence[int]) -> Labelled:
        raise NotImplementedError


@pytest.mark.parametrize("lengths", [[3, 50, 1, 7, 7, 20, 2], [5], [9, 9, 9, 9], list(range(1, 31))])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_without_a_limit_of_words_batches_are_full_whatever_is_in_them(size: int, lengths: list[int]) -> None:
    found = Lengths(lengths, size)._batches("train")
    rising = sorted(range(len(lengths)), key=lengths.__getitem__)
    assert found == [rising[start : start + size] for start in range(0, len(rising), size)]


def test_a_limit_of_words_counts_padding() -> None:
    lengths = [2, 3, 3, 4, 12, 6]
    found = Lengths(lengths, 3, most_words=9)._batches("train")
    assert [[lengths[i] for i in batch] for batch in found] == [[2, 3, 3], [4], [6], [12]]
    assert Lengths([], 3)._batches("train") == []


def test_an_expression_belongs_to_the_lowest_limit_that_is_not_below_its_length() -> None:
    """The last class has all that are longer, too."""
    limits = listops.LENGTHS
    for length in range(1, limits[-1] + 5):
        [*_, expected] = [limit for limit in reversed(limits) if limit >= length] or [limits[-1]]
        assert listops._up_to(length) == expected, length
