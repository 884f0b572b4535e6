"""The data of arithmetic: counts, depths, and values by Python."""

import re

import pytest

from dgltree import TreeDataset
from dgltree.read.bracket import write_unlabelled
from tasks.arithmetic.data import Arithmetic


def text(data: TreeDataset, k: int) -> str:
    written: str = write_unlabelled(data[k][0])  # type: ignore[arg-type]
    return written


@pytest.mark.slow
def test_expressions_have_the_value_that_python_gives_and_the_depth_of_their_part() -> None:
    found = Arithmetic(count=40).sets()
    test = found.tests["test"]
    assert (len(found.train), len(found.validation), len(test)) == (200 + 160, 1000, 2200)
    for data in (found.train, found.validation, test):
        for k in range(0, len(data), 41):
            expression = text(data, k).replace(" ", "")
            assert re.fullmatch(r"[0-9+*()]{5,50}", expression)
            assert data[k][1] == str(eval(expression) % 10)
    for name, rows in found.parts.items():
        depths = {_depth(text(test, k)) for k in rows}
        assert depths == ({8, 9} if name == "deeper" else {2, 3, 4, 5, 6} if name[-1] == "s" else {int(name[-1])})


def _depth(expression: str) -> int:
    levels = [0]
    for sign in expression:
        levels.append(levels[-1] + {"(": 1, ")": -1}.get(sign, 0))
    return 1 + max(levels)


@pytest.mark.slow
def test_a_seed_draws_the_same_expressions_and_another_one_others() -> None:
    one, same, other = (Arithmetic(5, seed).sets().validation for seed in (0, 0, 1))
    assert [text(one, k) for k in range(50)] == [text(same, k) for k in range(50)]
    assert [text(one, k) for k in range(50)] != [text(other, k) for k in range(50)]


def test_impossible_options_are_refused() -> None:
    with pytest.raises(ValueError, match="count is 0; it must be at least 1"):
        Arithmetic(count=0)
