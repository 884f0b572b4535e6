"""What is found, where it holds, and what is tried in vain."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from dgltree import Equation, read_equation, read_infix, write_infix
from dgltree.equations.expressions.canonical_form import canonical
from dgltree.equations.search import clock, search, stages
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.points import regions
from dgltree.equations.search.search import Search, search_multi_blank
from dgltree.equations.search.table import ValueTable
from dgltree.equations.search.verdicts import Verdicts
from dgltree.equations.truth.judge import Judge
from dgltree.trees.equation import blank

FOUND = {
    "sin(x)^2 + _ = 1": "cos(x)^2",
    "x^2 - 5*x + 6 = (x - 2)*_": "x - 3",
    "3 + _ = 10": "7",
    "sqrt(x^2) = _": "abs(x)",
    "log(x*y) = log(x) + _": "log(y)",
    "(2*x - 3)*(x + 4) = _": "2*x^2 + 5*x - 12",
    "x^3 - y^3 = (x - y)*_": "x^2 + x*y + y^2",
    "cosh(x)^2 - _ = 1": "sinh(x)^2",
    "exp(x)*_ = exp(x + y)": "exp(y)",
    "asin(x) + _ = pi/2": "acos(x)",
    "sin(_) = cos(x)": "pi/2 - x",
    "sqrt(12) = _*sqrt(3)": "2",
    "2^_ = 1024": "10",
    "x^_ = x^3*x^5": "8",
    "tanh(x) = (exp(2*x) - 1)/_": "exp(2*x) + 1",
    "sqrt(x^2 - 2*x + 1) = _": "abs(x - 1)",
    "cos(asin(x)) = _": "sqrt(1 - x^2)",
    "A = P*(1 + r)^_": "log(A/P)/log(1 + r)",
    "10^190*_ = 10^191": "10",
    "0.1*10^20*_ = 1": "1/10000000000000000000",
    "v = u + a*_": "(v - u)/a",
    "_^2 + _ = x^4 + x^2": "x^2",
    "sin(x + y) = _": "sin(x)*cos(y) + cos(x)*sin(y)",
    "x^2 - 5*x + 6 = _": "(x - 2)*(x - 3)",
}


@pytest.mark.parametrize("text", FOUND)
def test_a_textbooks_answer_is_among_what_is_found(text: str) -> None:
    found = Search(read_equation(text)).run().fillers
    forms = {canonical(tree) for tree in found}
    assert canonical(read_infix(FOUND[text])) in forms, sorted(map(write_infix, found), key=len)[:10]


@pytest.mark.parametrize("text", ["sin(x)^2 + _ = 1", "x^2 - 5*x + 6 = (x - 2)*_", "exp(x)*_ = exp(x + y)"])
def test_without_walking_the_path_back_each_entry_is_put_into_the_blank(text: str) -> None:
    found = Search(read_equation(text), invert=False).run().fillers
    assert canonical(read_infix(FOUND[text])) in set(map(canonical, found))


def test_nothing_is_found_where_there_is_nothing_and_the_effort_is_told() -> None:
    found = Search(read_equation("0*_ = x"), budget=3000).run()
    assert found.fillers == {}
    assert found.tried > 3000
    assert not found.stopped


def test_every_filler_solves_what_every_filler_solves() -> None:
    judge, equation = Judge(), read_equation("0*_ = 0")
    found = Search(equation, budget=3000).run().fillers
    assert found
    assert all(judge.verdict(equation.fill(tree)).holds for tree in found)


@pytest.mark.parametrize(
    ("text", "isolated"),
    [
        ("x^5 + 3*x^4 + sin(x) + exp(y) + sqrt(z) + _ = tan(w)", "tan(w) - (x^5 + 3*x^4 + sin(x) + exp(y) + sqrt(z))"),
        ("sin(x)^2 + sin(2*x)^2 + sin(3*x)^2 + _ = cos(x)", "cos(x) - (sin(x)^2 + sin(2*x)^2 + sin(3*x)^2)"),
        ("2*exp(y*_) = tan(w) + z", "log((tan(w) + z)/2)/y"),
    ],
)
def test_what_can_be_isolated_is_never_missed(text: str, isolated: str) -> None:
    """Nor where there is no time at all, as on a slow machine."""
    for seconds in (0.05, 0.0):
        found = Search(read_equation(text), clock=Clock(seconds)).run().fillers
        assert found[read_infix(isolated)] == "isolated"


def test_the_clock_stops_a_search_that_answers_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of its own, on which a look takes a millisecond: as far on any machine."""
    equation = read_equation("_*x = sin(x)*exp(y)*cos(x + y)^3*log(x)*tan(z)^5")
    tried = []
    for seconds in (0.05, 0.05, 0.1):
        monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=count(0, 0.001).__next__))
        found = Search(equation, clock=Clock(seconds)).run()
        assert found.stopped
        tried.append(found.tried)
    assert tried[0] == tried[1] < tried[2]


def test_the_tables_of_a_search_ask_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = []

    def table(*args: object) -> ValueTable:
        clocks.append(args[-1])
        return ValueTable(*args)

    ours = Clock(60)
    monkeypatch.setattr(stages, "ValueTable", table)
    Search(read_equation("sin(x)^2 + _ = 1"), clock=ours).run()
    assert clocks
    assert all(asked is ours for asked in clocks)


def test_the_same_search_finds_the_same() -> None:
    equation = read_equation("(x + y)^2 = x^2 + _ + y^2")
    first, second = (Search(equation).run() for _ in range(2))
    assert list(first.fillers.items()) == list(second.fillers.items())
    assert first.tried == second.tried


def test_a_function_without_a_value_is_named() -> None:
    with pytest.raises(ValueError, match="no value for function 'zeta'"), np.errstate(all="ignore"):
        Search(read_equation("zeta(x) + _ = 1", functions=None)).run()


SEVERAL = {
    "x^2 - 5*x + 6 = (x - _1)*(x - _2)": ("2", "3"),
    "sin(x + y) = sin(x)*_1 + cos(x)*_2": ("cos(y)", "sin(y)"),
    "x^2 + 6*x + 11 = (x + _1)^2 + _2": ("3", "2"),
    "_1*_1 + _2 = x^2 + y": ("x", "y"),
    "_1 + _1*_2 + _2 = x + x*y + y": ("x", "y"),
    "(x + _1)*(x + _2)*(x + _3) = x^3 + 6*x^2 + 11*x + 6": ("1", "2", "3"),
}


@pytest.mark.parametrize("text", SEVERAL)
def test_several_blanks_are_filled_at_once(text: str) -> None:
    equation, leaves = read_equation(text), [blank(f"_{k + 1}") for k in range(len(SEVERAL[text]))]
    found = search_multi_blank(equation, leaves, budget=20_000)
    assert tuple(map(read_infix, SEVERAL[text])) in found.fillers
    verdicts = Verdicts(equation, leaves, Clock())
    assert all(verdicts.holds(*trees) for trees in found.fillers)


@pytest.mark.parametrize("text", ["0*_1*_2 = 1", "x^2 - 5*x + 6 = (x - _1)*(x - _2)"])
def test_the_effort_for_several_blanks_is_that_of_all_regions(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[search._Combinations] = []

    class Counted(search._Combinations):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            searched.append(self)

    monkeypatch.setattr(search, "_Combinations", Counted)
    equation: Equation = read_equation(text)
    found = search_multi_blank(equation, [blank("_1"), blank("_2")], budget=1000)
    assert bool(found.fillers) == (text[0] == "x")
    assert len(searched) == (1 if found.fillers else len(list(regions())))
    assert found.tried == sum(each.tried for each in searched) > 0
    assert found.memory == max(each.table.nbytes for each in searched)
    assert not found.stopped
