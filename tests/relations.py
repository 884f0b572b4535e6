"""Relations that hold without knowing a result: things whole, one by one, in two parts and in another order.

A function of several things that are independent gives each the same result whatever it is computed next to: in blocks
of one nothing is padded, in two parts the second is not the first, and in another order nothing is at its old place.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

Thing = TypeVar("Thing")


def ways(number: int) -> list[list[list[int]]]:
    """Blocks of the numbers below one, in which each occurs once: of one, two of many, and one of all turned round."""
    every = [*range(number)]
    return [[[i] for i in every], [every[: number // 2], every[number // 2 :]], [every[::-1]]]


def one_alone(number: int) -> list[list[list[int]]]:
    """One way for what takes long: the second alone, and the others in another order."""
    return [[[1], [i for i in reversed(range(number)) if i != 1]]]


def check_ways(
    compute: Callable[[list[Thing]], Sequence[Any]],
    things: Sequence[Thing],
    what: str = "",
    tolerance: float = 0.0,
    ways: Callable[[int], list[list[list[int]]]] = ways,
) -> None:
    """Compare the results of ``compute``, one for each thing, for all things at once and in blocks."""
    whole = compute([*things])
    assert len(whole) == len(things), what
    for blocks in ways(len(things)):
        for block in blocks:
            found = compute([things[i] for i in block])
            assert len(found) == len(block), f"{what}, in the blocks {blocks}"
            for i, result in zip(block, found, strict=True):
                check_same(result, whole[i], f"{what}, in the blocks {blocks}, number {i}", tolerance)


def check_same(found: Any, expected: Any, what: str, tolerance: float) -> None:
    """Compare results: tensors within a tolerance, lists and dicts part by part, all else by ``==``."""
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, msg=lambda text: f"{what}: {text}")
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), what
        check_same([*found.values()], [*expected.values()], what, tolerance)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), f"{what}: {found!r} and {expected!r}"
        for a, b in zip(found, expected, strict=True):
            check_same(a, b, what, tolerance)
    else:
        assert found == expected, f"{what}: {found!r} and {expected!r}"
