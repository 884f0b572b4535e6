"""Each rule of the derivative is needed: with a small mistake in it, some feature has a wrong gradient."""

from functools import cache
from typing import Any
from unittest.mock import patch

import interpreter
import pytest
from features import FEATURES, largest_difference, outcome
from test_features import COMPILED

from dgltree.engine.compiled import derivative
from dgltree.engine.compiled.catalogue import Catalogue
from dgltree.engine.compiled.values import constant, multiply, ordered

WITHOUT = {"detach", "sign", "as_float"}
"""Operations whose operands get no gradient."""


@cache
def expected(name: str) -> Any:
    return outcome(FEATURES[name], "off").gradients


@cache
def known(name: str) -> Catalogue:
    """The programs of a feature, which do not depend on how they are differentiated."""
    catalogue = outcome(FEATURES[name], "interpreter").catalogue
    assert catalogue is not None
    return catalogue


@cache
def operations(name: str) -> set[str]:
    values = (value for program in known(name).programs().values() for value in ordered(program.roots()))
    return {value.operation for value in values}


def is_wrong(operation: str) -> bool:
    for name in (name for name in COMPILED if operation in operations(name)):
        with patch.object(interpreter, "Catalogue", lambda *_, name=name: known(name)):
            found = outcome(FEATURES[name], "interpreter")
        if largest_difference(found.gradients, expected(name)) > 1e-6:
            return True
    return False


@pytest.mark.parametrize("operation", sorted(derivative.RULES.keys() - WITHOUT))
def test_a_mistake_in_the_gradient_of_an_operand_is_seen(operation: str) -> None:
    rule = derivative.RULES[operation]
    places = {"where": (0, 1), "value_of": (0,)}.get(operation, range(2 if operation in TWO else 1))
    for place in places:

        def wrong(y: Any, gradient: Any, place: int = place) -> Any:
            parts = rule(y, gradient)
            operand, part = parts[place]
            return [*parts[:place], (operand, multiply(part, constant(1.01))), *parts[place + 1 :]]

        with patch.dict(derivative.RULES, {operation: wrong}):
            assert is_wrong(operation), f"{operation}, operand {place}"


TWO = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "largest", "smallest"}


@pytest.mark.parametrize("operation", sorted(derivative.ACROSS))
def test_a_mistake_between_columns_or_edges_and_what_is_made_of_them_is_seen(operation: str) -> None:
    rule = derivative.ACROSS[operation]

    def wrong(y: Any, gradient: Any, give: Any) -> None:
        rule(y, multiply(gradient, constant(1.01)), give)

    with patch.dict(derivative.ACROSS, {operation: wrong}):
        assert is_wrong(operation)
