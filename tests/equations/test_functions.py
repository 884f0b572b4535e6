"""The table of functions is true: every record against mpmath, which has functions of its own."""

import mpmath
import numpy as np
import pytest
from flint import acb, fmpq

from dgltree.equations.expressions.definitions import X, expression
from dgltree.equations.search.inverse import inverses
from dgltree.equations.truth.balls import OPERATIONS
from dgltree.equations.truth.elementary import ELEMENTARY, apply, finite
from dgltree.read.functions import INVERSE, RECORDS, MathFunction, kind_of
from dgltree.trees.equation import BLANK
from dgltree.trees.tree import Tree

CALLED = [record for record in RECORDS if record.name in ELEMENTARY]
by_name = pytest.mark.parametrize("record", CALLED, ids=lambda record: record.name)
POINTS = np.array([0.3 + 0.2j, -1.7 + 0.6j, 2.4 - 1.1j, -0.4 - 2.2j, 0.9 + 1.4j])


def exact(record: MathFunction, z: complex) -> complex:
    return complex({"abs": mpmath.fabs}.get(record.name, getattr(mpmath, record.name, None))(z))


def value(tree: Tree, z: complex, unknown: Tree = X) -> complex:
    """An expression of the table at one point."""
    known = {unknown: np.array([z]), Tree("Symbol", token="i"): np.array([1j])}

    def combine(node: Tree, children: list[np.ndarray]) -> np.ndarray:
        if children:
            return apply(node.function, children)
        return known[node] if node in known else np.array([finite(node) + 0j])

    with np.errstate(all="ignore"):
        return complex(tree.fold(combine)[0])


@by_name
def test_values_are_those_of_another_library(record: MathFunction) -> None:
    expected = [exact(record, z) for z in POINTS]
    assert ELEMENTARY[record.name](POINTS) == pytest.approx(np.array(expected), rel=1e-12)
    for z, number in zip(POINTS.tolist(), expected, strict=True):
        ball = OPERATIONS[record.name](acb(z.real, z.imag))
        assert abs(complex(ball) - number) < 1e-12 * max(1, abs(number))
        for text in filter(None, (record.definition, record.exponential)):
            assert value(expression(text), z) == pytest.approx(number, rel=1e-10)


@by_name
def test_what_the_table_says_of_signs_slopes_and_zeros(record: MathFunction) -> None:
    z, step = 0.37 + 0.21j, 1e-6
    number = exact(record, z)
    if record.parity:
        assert exact(record, -z) == pytest.approx(number if record.parity == "even" else -number)
    if record.derivative:
        slope = (exact(record, z + step) - exact(record, z - step)) / (2 * step)
        assert abs(value(expression(record.derivative), z)) == pytest.approx(abs(slope), rel=1e-6)
    if record.never_zero:
        assert all(exact(record, x) != 0 for x in (-3.0, -1.0, 0.0, 0.5, 2.0))
    for argument, known in record.at.items():
        assert OPERATIONS[record.name](fmpq(argument)) == (None if known is None else fmpq(known))


@by_name
def test_every_branch_of_an_inverse_has_the_value(record: MathFunction) -> None:
    target = 0.7 if record.name == "abs" else 0.4 + 0.1j
    assert inverses(record.name)
    for branch in inverses(record.name):
        assert exact(record, value(branch, target, BLANK)) == pytest.approx(target)


def test_names_in_the_table_are_in_the_table() -> None:
    names = {record.name for record in RECORDS}
    assert len(names) == len(RECORDS)
    for record in RECORDS:
        assert {*record.relatives, *filter(None, (record.partner, record.inverts))} <= names
        assert kind_of(record) or not record.inverts
    assert INVERSE["sin"] == "asin" and INVERSE["exp"] == "log"
