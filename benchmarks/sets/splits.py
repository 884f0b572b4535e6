"""Splits that keep groups together: three parts by chance."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

TEST_SHARE, VALIDATION_SHARE, MAX_UNTRAINED_GROUP = 0.2, 0.1, 0.05
"""Shares of the rows: tested on, validated on, and of the largest group that is not trained on."""
Row = TypeVar("Row")


def split_groups(rows: Sequence[Row], group: Callable[[Row], str], seed: int) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows to train on, to validate on and to test on: groups in an order by chance, the first ones to test on.

    A large group is trained on: as a test set it would be a set of one kind.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    order = sorted(groups)
    Random(seed).shuffle(order)
    train: list[Row] = []
    validation: list[Row] = []
    test: list[Row] = []
    for name in order:
        of_name = groups[name]
        if len(of_name) > MAX_UNTRAINED_GROUP * len(rows):
            part = train
        elif len(test) < TEST_SHARE * len(rows):
            part = test
        elif len(validation) < VALIDATION_SHARE * len(rows):
            part = validation
        else:
            part = train
        part.extend(of_name)
    return train, validation, test
