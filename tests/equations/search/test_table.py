"""The table of expressions: each value once, forms that have it, lookups that find it."""

import numpy as np
import pytest

from dgltree import read_equation, read_infix, write_infix
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.points import TABLE_POINTS, Points, agree, points, value
from dgltree.equations.search.search_space import search_space
from dgltree.equations.search.table import FORMS, Forms, ValueTable


def grown(text: str, budget: int, region: str = "below one") -> tuple[ValueTable, Points]:
    about = search_space(read_equation(text))
    at = points(region, [leaf.token or "" for leaf in about.variables], TABLE_POINTS)
    with np.errstate(all="ignore"):
        table = ValueTable(about.leaves(at), about.operations(every=False), budget).fill()
    return table, at


@pytest.mark.parametrize("region", ["below one", "above one", "mixed"])
@pytest.mark.parametrize("text", ["sin(x)^2 + _ = 1", "(x + y)^2 = x^2 + _", "exp(x)*_ = 2^y", "sqrt(a*b) = _*sqrt(b)"])
def test_every_form_of_an_entry_has_its_value(text: str, region: str) -> None:
    table, at = grown(text, 1500, region)
    forms = Forms(table)
    with np.errstate(all="ignore"):
        for entry in range(0, len(table), 7):
            for tree in forms.of(entry, 12):
                assert agree(value(tree, at, {}) + 0 * table.values[entry], table.values[entry]), write_infix(tree)


def test_each_value_is_there_once_and_the_budget_is_kept() -> None:
    table, _ = grown("x*y + _ = sin(x)", 3000)
    assert len(table) == 3000
    close = [table.lookup(table.values[[entry]])[1].tolist() for entry in range(0, 3000, 11)]
    assert close == [[entry] for entry in range(0, 3000, 11)]


def test_short_expressions_come_first_and_are_all_there() -> None:
    table, at = grown("x*y + _ = sin(x)", 3000)
    for text in ("x", "2", "x + y", "x*y", "sin(x)", "-x", "x/y", "x^2", "2*x", "sin(x)*y", "x - 2", "sin(x + y)"):
        entries = table.lookup(value(read_infix(text), at, {})[None] + 0.0)[1]
        assert len(entries) == 1, text
    levels = table.level
    assert (levels[1:] >= levels[:-1]).all()


def test_so_many_forms_are_kept_and_the_first_is_the_shortest() -> None:
    table, _ = grown("(x + y)^2 = x^2 + _", 2000)
    counts = [len(table.forms(entry)) for entry in range(len(table))]
    assert max(counts) == FORMS
    assert min(counts) == 1


def test_at_complex_points_the_shortest_form_has_the_value() -> None:
    table, at = grown("sin(x)*y = _ + 1", 1500, "complex")
    forms = Forms(table)
    with np.errstate(all="ignore"):
        trees = [forms.shortest(entry) for entry in range(0, 1500, 7)]
        assert all(agree(value(tree, at, {}) + 0 * at.values["x"], table.values[7 * k]) for k, tree in enumerate(trees))


def test_what_an_expression_is_made_of() -> None:
    table, at = grown("x*y + _ = sin(x)", 1000)
    [entry] = table.lookup(value(read_infix("x*y"), at, {})[None])[1]
    around, forms = table.made_of(np.array([entry])), Forms(table)
    part = read_infix("x*y")
    assert 0 < around.sum() < len(table)
    assert all((part in set(forms.shortest(k).distinct())) <= around[k] for k in range(len(table)))


def test_a_lookup_of_nothing_finds_nothing() -> None:
    table, _ = grown("x + _ = y", 500)
    for target in (
        np.full((1, TABLE_POINTS), np.nan),
        np.full((1, TABLE_POINTS), 12345.678),
        np.empty((0, TABLE_POINTS)),
    ):
        which, entries = table.lookup(target)
        assert len(which) == len(entries) == 0


def test_a_clock_stops_the_growth() -> None:
    about = search_space(read_equation("sin(x)*y + _ = z"))
    at = points("below one", ["x", "y", "z"], TABLE_POINTS)
    table = ValueTable(about.leaves(at), about.operations(every=True), 10**6, Clock(-1))
    assert not table.grow(1)
