"""Work is counted: what is not shown within it is open, and it is the same each time."""

import threading

import pytest

from dgltree import check, read_equation
from dgltree.equations.marking import checker
from dgltree.equations.truth import drawn_letters
from dgltree.equations.truth.drawn_letters import DrawnLetters
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.proofs import line, work
from dgltree.equations.truth.proofs.work import TooMuchWork, allowing, spend, working
from dgltree.equations.truth.solutions import solving
from dgltree.equations.truth.solutions.solving import solve
from dgltree.equations.truth.verdict import Domain, Grade

EQUATIONS = [
    "asin(sin(x)) = x",
    "sqrt(x^2)*exp(x) = x*exp(x)",
    "abs(x^3 - x) = x^3 - x",
    "sqrt((x^2 - 1)^2) + abs(x) = x^2 - 1 + x",
]


def units(text: str) -> int:
    """The units that a verdict takes."""
    with working(10**9):
        Judge().verdict(read_equation(text))
        return 10**9 - work._blocks.working[-1]


@pytest.mark.parametrize("text", EQUATIONS)
def test_a_verdict_takes_the_same_work_each_time(text: str) -> None:
    assert units(text) == units(text) > 100


@pytest.mark.parametrize("text", EQUATIONS)
def test_what_is_not_shown_within_its_work_is_tested(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proved = Judge().verdict(read_equation(text))
    monkeypatch.setattr(line, "WORK", 100)
    tested = Judge().verdict(read_equation(text))
    assert (
        proved.grade is Grade.PROVED
        and tested.grade is Grade.TESTED
        and tested.domain in (Domain.PART, Domain.POSITIVE)
    )


@pytest.mark.parametrize("text", EQUATIONS)
def test_a_proof_with_part_of_its_work_claims_nothing_else(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Judge().verdict(read_equation(text))
    for share in (2, 4, 8, 16, 32):
        monkeypatch.setattr(line, "WORK", max(units(text) // share, 1))
        found = Judge().verdict(read_equation(text))
        if found.grade is Grade.PROVED:
            assert not found.only or found.part == whole.part


def test_solutions_that_take_too_much_work_may_have_others(monkeypatch: pytest.MonkeyPatch) -> None:
    equation = read_equation("exp(x) + sin(x) = x^2 + 3")
    assert solve(equation, "x").are_all
    monkeypatch.setattr(solving, "WORK", 100)
    assert not solve(equation, "x").are_all


def test_drawings_that_take_too_much_work_are_unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    equation = read_equation("exp(x) + sin(x) = x^2 + 3*a^2")
    assert DrawnLetters(equation, "x").is_known
    monkeypatch.setattr(drawn_letters, "WORK", 100)
    assert not DrawnLetters(equation, "x").is_known


def test_a_mark_that_takes_too_much_work_is_not_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    for question, answer in [
        ("x^2 = a, x = _", "±sqrt(a)"),
        ("sqrt(x^2)*e^x = _", "|x|e^x"),
        ("x e^x = 1, x = _", "7"),
    ]:
        whole = check(question, answer)
        monkeypatch.setattr(checker, "WORK", 1)
        part = check(question, answer)
        monkeypatch.undo()
        assert part.mark is whole.mark or part.mark.value == "undecided"


def test_a_verdict_of_a_mark_has_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check("asin(sin(x)) = _", "x").verdict.grade is Grade.PROVED
    monkeypatch.setattr(checker, "WORK", 100)
    assert check("asin(sin(x)) = _", "x").verdict.grade is Grade.TESTED


def test_blocks_of_work_share_what_is_left() -> None:
    with allowing(10), working(8):
        spend(3)
        with working(100):
            spend(5)
            with pytest.raises(TooMuchWork):
                spend(1)
        with pytest.raises(TooMuchWork):
            spend(1)
    with allowing(10):
        with working(8):
            spend(6)
        with working(8):
            spend(4)
            with pytest.raises(TooMuchWork):
                spend(1)
    spend(10**9)


def test_threads_count_their_work_apart() -> None:
    left: list[str] = []

    def spent() -> None:
        spend(10**6)
        left.append("nothing was left to spend, and nothing raised")

    with working(1):
        thread = threading.Thread(target=spent)
        thread.start()
        thread.join()
    assert left


def test_intervals_have_work_of_their_own() -> None:
    """A proof that takes all work leaves the mark a part, not wrong."""
    text = "sqrt((sqrt(abs(x^3 - 4*x)))^2) + sqrt((exp(x) - 2)^2) = sqrt(((sqrt(abs(x^3 - 4*x))) + (exp(x) - 2))^2)"
    verdict = Judge(1000).verdict(read_equation(text))
    assert verdict.grade is Grade.TESTED and verdict.domain is Domain.PART


def test_a_verdict_does_not_depend_on_what_was_judged_before() -> None:
    judge, alone = Judge(20_000), [Judge(20_000).verdict(read_equation(text)) for text in EQUATIONS]
    assert [judge.verdict(read_equation(text)) for text in EQUATIONS] == alone
