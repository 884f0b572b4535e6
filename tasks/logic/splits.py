"""Training, validation and test sets: length generalisation and the systematic splits A, B, C.

A systematic split leaves out of training every pair in which either formula contains one of its patterns of tokens
(Shen et al. 2019, arXiv 1910.13466, section 5.1), and tests on what it left out.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from tasks.logic.files import MAX_FILE_NUMBER, Pair, Part

Split = Literal["full", "A", "B", "C"]
PATTERNS: dict[Split, tuple[str, ...]] = {
    "full": (),
    "A": ("( and ( not a ) )",),
    "B": ("( and ( not",),
    "C": ("( and ( not", "( or ( not"),
}
MAX_TRAINED_OPERATORS = 6
"""The most operators of a formula to train on; tests of length generalisation have more."""
EACH = 10  # every so manieth pair is for validation

Read = Callable[[Part, int], Iterable[Pair]]
"""Part and number of a file to its pairs."""


class Known(NamedTuple):
    """The pairs that may be learned from, and those that a model is chosen by."""

    train: list[Pair]
    validation: list[Pair]


def contains(pair: Pair, split: Split) -> bool:
    """Whether a pair has a pattern of the split."""
    return any(pattern in text for pattern in PATTERNS[split] for text in (pair.left, pair.right))


def keep_pairs(read: Read, split: Split) -> list[Pair]:
    """The pairs of train0 to train6 that a split keeps, in file order."""
    return [pair for k in range(MAX_TRAINED_OPERATORS + 1) for pair in read("train", k) if not contains(pair, split)]


def divide(pairs: Sequence[Pair]) -> Known:
    """Every tenth pair is for validation, counted from 1."""
    train = [pair for number, pair in enumerate(pairs, 1) if number % EACH]
    return Known(train, list(pairs[EACH - 1 :: EACH]))


def for_test(read: Read, split: Split) -> list[Pair]:
    """The test data.

    For "full" the pairs of test7 to test12. For another split those of them that have its pattern, after the pairs
    that it dropped from train0 to train6: these have up to 6 operators, those more.
    """
    long = [pair for k in range(MAX_TRAINED_OPERATORS + 1, MAX_FILE_NUMBER + 1) for pair in read("test", k)]
    if split == "full":
        return long
    dropped = [pair for k in range(MAX_TRAINED_OPERATORS + 1) for pair in read("train", k) if contains(pair, split)]
    return dropped + [pair for pair in long if contains(pair, split)]
