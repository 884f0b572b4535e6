"""What an equation is about, and when it is worth to ask for a verdict."""

import pytest

from dgltree import read_equation, read_infix, write_infix
from dgltree.equations.search.clock import FINISH, Clock
from dgltree.equations.search.search import Search
from dgltree.equations.search.search_space import search_space
from dgltree.equations.search.verdicts import NODE, VERDICT, Verdicts
from dgltree.equations.truth.evaluator import Reach
from dgltree.trees.equation import BLANK


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("x^(3/2) = _", {"sqrt"}),
        ("x^(-1/2)*y = _", {"sqrt"}),
        ("x^(1/3) + x^2 = _", set()),
        ("sqrt(x) = sin(_)", {"sqrt", "sin", "asin"}),
        ("exp(_) = cosh(x) + 2^y", {"exp", "log", "cosh"}),
        ("2^_ = 8", {"log"}),
    ],
)
def test_functions_are_those_written_their_roots_and_what_undoes_those_over_the_blank(
    text: str, functions: set[str]
) -> None:
    assert search_space(read_equation(text)).functions == functions


def test_parts_numbers_and_variables_are_those_without_the_blank_the_smallest_first() -> None:
    found = search_space(read_equation("sin(x + 1)^2 + 3*_ = (x + 1)/y - sin(_)"))
    assert [write_infix(tree) for tree in found.variables] == ["x", "y"]
    assert {write_infix(tree) for tree in found.numbers} == {"1", "2", "3"}
    parts = list(map(write_infix, found.parts))
    assert parts == ["x + 1", "sin(x + 1)", "sin(x + 1)^2", "(x + 1)/y"]
    assert not found.powers
    assert search_space(read_equation("2^x = _")).powers and search_space(read_equation("2^_ = 8")).powers


def test_pi_and_e_are_numbers_of_an_equation() -> None:
    assert [write_infix(tree) for tree in search_space(read_equation("pi*x + 7 = _ + e")).numbers] == ["7", "pi", "e"]


def test_a_filler_is_said_to_come_from_where_it_was_found_first() -> None:
    search = Search(read_equation("x + _ = y"), 10)
    tree, other = read_infix("y - x"), read_infix("y")
    search._take("first", [tree])
    search._take("second", [other, tree])
    assert search.so_far().fillers == {tree: "first", other: "second"}


class Left(Clock):
    """A clock that has so many seconds, always."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    @property
    def left(self) -> float:
        return self.seconds - FINISH


def test_a_verdict_is_asked_for_only_where_there_is_time_for_it_and_a_look_at_points_sooner() -> None:
    equation = read_equation("x + _ = 2*x")
    look = NODE * sum(side.size for side in equation)
    x = read_infix("x")
    for seconds, looked, judged in ((look, False, False), (2 * look, True, False), (look + 2 * VERDICT, True, True)):
        verdicts = Verdicts(equation, [BLANK], Left(seconds))
        assert (verdicts.reach(x) is not Reach.OPEN) == looked
        assert (verdicts.of(x) is not None) == judged == verdicts.holds(x)
