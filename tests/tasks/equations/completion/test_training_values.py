"""Values for training at random points: powers as Python computes them, and what counts as equal."""

import math

import pytest
import torch

from tasks.equations.completion.arithmetic import WHOLE, _power, equal


@pytest.mark.parametrize("exponent", [*range(-WHOLE - 2, WHOLE + 3), 0.5, -0.5, 2.5])
def test_powers_are_those_of_complex_numbers(exponent: float) -> None:
    bases = [0.8 + 0.6j, -1.2 + 0.1j, -0.7 + 0j, 1.1 - 0.9j, 2 + 0j]
    found = _power(
        torch.tensor([bases], dtype=torch.complex128), torch.full((1, len(bases)), exponent, dtype=torch.complex128)
    )
    assert found[0].tolist() == pytest.approx([base**exponent for base in bases], rel=1e-9)


def test_a_power_of_zero_is_zero_where_the_exponent_is_positive() -> None:
    zero = torch.zeros(1, 2, dtype=torch.complex128)
    for exponent in (1, 2, 8, 12, 13, 0.5):
        assert _power(zero, torch.full((1, 2), exponent, dtype=torch.complex128)).tolist() == [[0, 0]]


def test_values_are_equal_where_all_points_that_both_have_agree() -> None:
    nan = math.nan
    a = torch.tensor([[1, 2, 3], [1, nan, 3], [1, nan, nan], [1, 2, 3], [nan, 2, 3]], dtype=torch.complex128)
    b = torch.tensor([[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3.1], [1, 2, 3 * (1 + 1e-9)]], dtype=torch.complex128)
    found = equal(a, b).tolist()
    assert found[:2] == [1, 1] and math.isnan(found[2]) and found[3:] == [0, 1]
