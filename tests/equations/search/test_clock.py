"""One clock for reading, searching and judging."""

import time
from typing import Any

import pytest

from dgltree.commands.main import main
from dgltree.equations.completion.completer import Completer
from dgltree.equations.search.clock import FINISH, Clock
from dgltree.equations.search.verdicts import Verdicts
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.proofs.work import OutOfTime, ending
from dgltree.equations.truth.verdict import Grade
from dgltree.ranking.completion import BatchCompletion
from dgltree.read.infix import read_equation
from dgltree.trees.equation import blank


def test_the_time_of_reading_counts() -> None:
    equation = read_equation("x + _ = 1 + x")
    found = Completer(seconds=60).complete(equation, spent=29.0)
    assert (found.stopped, bool(found.fillers)) == (False, True)
    for spent in (31.0, 61.0):  # more than is left: a search would be late at its first look at the clock
        found = Completer(seconds=60).complete(equation, spent=spent)
        assert (found.stopped, found.tried, found.fillers) == (True, 0, ())


def test_complete_tells_how_long_it_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from dgltree.equations import typed

    read, spent = typed.read_question, []

    def slowly(*given: Any) -> Any:
        time.sleep(0.05)
        return read(*given)

    def answer(self: BatchCompletion, several: list[Any], seconds: float = 0.0) -> list[Any]:
        spent.append(seconds)
        raise ValueError("enough")

    monkeypatch.setattr(typed, "read_question", slowly)
    monkeypatch.setattr(BatchCompletion, "answer", answer)
    assert main(["complete", "x + _ = 1"]) == 1
    assert len(spent) == 1
    assert spent[0] >= 0.05


@pytest.mark.parametrize(("depth", "seconds", "most"), [(2, 60.0, 0.0), (150, 60.0, 2.0), (150, 0.2, 0.1)])
def test_a_search_leaves_time_for_a_verdict_but_not_more_than_half(depth: int, seconds: float, most: float) -> None:
    clock = Clock(seconds)
    Verdicts(read_equation("sin(" * depth + "x" + ")" * depth + " = _"), [blank("_")], clock)
    assert (clock.reserve == 0) == (most == 0)
    assert clock.reserve <= most
    before = clock.left
    assert clock.to_search <= before - clock.reserve
    assert most == 0 or clock.allows(clock.reserve + FINISH / 2)


def test_a_verdict_ends_with_the_time_of_its_call() -> None:
    side = "sin(x)^2 + s^2*x"
    verdicts = Verdicts(read_equation(f"{side} = _"), [blank("_")], Clock(0.1))
    takes_seven_seconds = read_equation(f"x = sqrt(({side})^2)").right  # of points on lines
    start = time.process_time()
    assert verdicts.of(takes_seven_seconds) is None
    assert time.process_time() - start < 3, "a verdict goes on when the time of the call is over"


@pytest.mark.parametrize("pieces", [1, 10, 100])
def test_a_verdict_that_was_cut_short_leaves_nothing_to_later_ones(pieces: int) -> None:
    equation = read_equation("sqrt(x^2)*exp(x) + abs(x) = x*exp(x) + x")
    left, judge = iter(range(pieces)), Judge()
    with pytest.raises(OutOfTime), ending(lambda: next(left, None) is None):
        judge.verdict(equation)
    assert judge.verdict(equation) == Judge().verdict(equation)
    assert judge.verdict(equation).grade is Grade.PROVED


def test_without_a_limit_nothing_is_late() -> None:
    clock = Clock(None, spent=100.0)
    Verdicts(read_equation("sin(x) = _"), [blank("_")], clock)
    assert not clock.late
    assert not clock.too_late_to_begin
