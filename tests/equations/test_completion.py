"""What ``dgltree.complete`` and ``dgltree.verify`` answer, and in which order."""

from random import Random

import mpmath
import pytest

import dgltree
from benchmarks.verdicts.mpmath_values import agrees
from dgltree import read_equation, read_infix, write_infix
from dgltree.equations.algebra.client import Algebra
from dgltree.equations.completion.completer import Completer, Guesser, Listener
from dgltree.equations.completion.result import Completion
from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.truth.verdict import Domain
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


def texts(text: str, **options: object) -> list[str]:
    return [str(filler) for filler in Completer(**options).complete(read_equation(text)).fillers]  # type: ignore[arg-type]


def test_one_line_a_value_with_its_other_forms() -> None:
    found = Completer().complete(read_equation("x^2 - 5*x + 6 = (x - 2)*_"))
    [filler] = found.fillers
    assert str(filler) == "x - 3"
    assert filler.forms and all(dgltree.verify(f"x - 3 = {write_infix(form)}").verdict.holds for form in filler.forms)
    assert found.found and not found.stopped
    assert found.tried > 1000 and found.memory > 10_000


def test_lines_are_solutions_branches_and_domains() -> None:
    assert texts("_^2 = x^4 + 2*x^2 + 1") == ["x^2 + 1", "-(x^2 + 1)"]
    assert texts("sqrt(x^2) = _") == ["abs(x)", "x"]
    assert texts("sin(_) = cos(x)")[:2] == ["pi/2 - x", "x + pi/2"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("(x - 5)^_ = x^2 - 10*x + 25", "2"),
        ("cos(_) = cos(x)*cos(y) + sin(x)*sin(y)", "x - y"),
        ("cos(x - _) = cos(x)*cos(y) + sin(x)*sin(y)", "y"),
        ("sin(3*_) = 3*sin(x) - 4*sin(x)^3", "x"),
        ("sin(_*t) = 3*sin(t) - 4*sin(t)^3", "3"),
        ("cos(_ + x) = -cos(x)", "pi"),
        ("1 + tan(u)^2 = _^2", "sec(u)"),
        ("x^2 - 6*x + 9 = _^2", "x - 3"),
        ("tan(t) + cot(t) = 2/sin(2*_)", "t"),
        ("atan(_) = 2*atan(x)", "2*x/(1 - x^2)"),
    ],
)
def test_under_a_many_to_one_function_an_expression_is_found_by_its_forward_value(text: str, first: str) -> None:
    assert texts(text)[0] == first


ADDITIONS = (
    ("cos(_)", "cos({u})*cos({v}) - sin({u})*sin({v})", "{u} + {v}"),
    ("sin(_)", "sin({u})*cos({v}) + cos({u})*sin({v})", "{u} + {v}"),
    ("_^2", "({u})^2 + 2*({u})*({v}) + ({v})^2", "{u} + {v}"),
    ("cosh(_)", "cosh({u})*cosh({v}) + sinh({u})*sinh({v})", "{u} + {v}"),
    ("abs(_)", "abs({u})*abs({v})", "({u})*({v})"),
    ("({u} + 5)^_", "(({u})^2 + 10*({u}) + 25)*({u} + 5)^({v})", "2 + {v}"),
)
"""A side with a blank, the other one, and an image, short enough for a table, of which a function loses the sign."""


@pytest.mark.parametrize("seed", range(12))
def test_a_drawn_image_is_found_in_no_longer_form(seed: int) -> None:
    random = Random(seed)
    asked, other, image = (
        text.format(u=u, v=v)
        for template in [random.choice(ADDITIONS)]
        for u, v in [random.sample(["x", "y", "2*x", "3*y"], 2)]
        for text in template
    )
    first = Completer().complete(read_equation(f"{asked} = {other}")).fillers[0].trees[0]
    assert symbols(first) <= symbols(read_infix(image)), (asked, other, write_infix(first))
    point = {name: mpmath.mpf(random.randint(1, 30)) / 17 for name in "xy"}
    filled = read_equation(f"{asked} = {other}").fill(first)
    assert agrees(filled, point, school=True, real=False) is True, (asked, other, write_infix(first))


def test_an_answer_that_holds_at_more_points_may_be_a_little_longer() -> None:
    assert texts("sqrt(x^2) = _")[0] == "abs(x)"
    assert texts("log(x*y) = log(x) + _")[0] == "log(y)"


def test_what_restates_a_side_comes_behind_what_is_no_longer() -> None:
    assert texts("x^2 - 1 = (x - 1)*_") == ["x + 1"]
    assert texts("_ = x + x") == ["2*x"]


def test_where_nothing_holds_nothing_refuted_is_listed() -> None:
    class Fixed(Guesser):
        def guess(self, equation: Equation) -> list[Tree]:
            return [read_infix("x"), read_infix("5")]

    found = Completer(Fixed(), budget=500).complete(read_equation("0*_ = x^2 + 1"))
    assert not found.found and found.fillers == ()
    assert "nothing was found that holds" in str(found)


def test_guesses_that_take_longer_than_there_is_time_are_not_begun() -> None:
    class Slow(Guesser):
        seconds = 60.0

        def guess(self, equation: Equation) -> list[Tree]:
            raise AssertionError("it is asked")

    found = Completer(Slow(), budget=500, seconds=30).complete(read_equation("0*_ = x^2 + 1"))
    assert found.stopped and not found.found


@pytest.mark.parametrize(
    ("text", "answers", "said"),
    [
        ("abs(x) + 1 = 0", [], "there is no real solution (proved)"),
        ("1/x = 0", [], "there is no real solution (proved)"),
        ("sqrt(2x + 7) = -6", [], "there is no real solution (proved)"),
        ("e^x + x^2 = -1", [], "there is no real solution (proved)"),
        ("2(x - 3) = 5x - 3(x + 2)", [], "every x is a solution: holds on the reals (proved)"),
        ("x - sqrt(x^2) = 0", [], "not single numbers: holds for x ≥ 0 (proved)"),
        ("x^5 - x - 1 = 0", ["1.16730397826"], "holds to 12 digits"),
        ("x^2 = 2^x", ["2", "4", "-0.766664695962"], "holds to 12 digits"),
        ("x^(2/3) = 4", ["8", "-8"], "holds on the reals"),
        ("x^4 + 4 = 0", ["1 + i", "1 - i", "-1 + i", "-1 - i"], "holds everywhere"),
        ("cos(x) = x", ["0.739085133215"], "holds to 12 digits"),
        ("e^x = 3x", ["0.619061286736", "1.51213455166"], "holds to 12 digits"),
    ],
)
def test_what_has_no_solution_or_no_form_is_said_as_such(text: str, answers: list[str], said: str) -> None:
    found = dgltree.complete(f"{text}, x = _")
    assert [str(filler) for filler in found.fillers] == answers
    assert said in str(found)


@pytest.mark.slow
def test_an_answer_on_a_part_of_the_reals_is_shown_with_the_part() -> None:
    found = Completer().complete(read_equation("sqrt(1 - _) = cos(x)"))
    assert str(found.fillers[0]) == "sin(x)^2"
    assert found.fillers[0].verdict.domain is Domain.PART


@pytest.mark.parametrize("text", ["abs(x - 4) = _", "abs(x - 2000) = _", "sqrt(x^2) = _"])
def test_what_holds_on_a_part_never_comes_before_what_holds_wherever_the_other_side_has_a_value(text: str) -> None:
    domains = [filler.verdict.domain for filler in Completer().complete(read_equation(text)).fillers]
    full = [domain in (Domain.EVERYWHERE, Domain.REALS) for domain in domains]
    assert full == sorted(full, reverse=True)
    assert full[0]


@pytest.mark.parametrize(
    ("text", "blanks", "message"),
    [
        ("x = 1", ["_"], "has no blank"),
        ("x = _", ["_1"], "blanks are not _1"),
        ("1/0 = _", ["_"], "1/0 has no value"),
        (f"{'sin(' * 250}x{')' * 250} = _", ["_"], "nested more than 200 deep"),
        ("oo = _", ["_"], "no numeric value"),
    ],
)
def test_what_is_refused(text: str, blanks: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Completer().complete(read_equation(text), blanks)


@pytest.mark.parametrize("options", [{"budget": 1}, {"seconds": 0}, {"seconds": float("nan")}, {"seconds": -1.0}])
def test_bad_limits_are_refused(options: dict) -> None:
    with pytest.raises(ValueError, match=r"the budget is 1|seconds is"):
        Completer(**options)


def test_complete_takes_text_and_gives_back_its_names() -> None:
    found = dgltree.complete("sin²α + ? = 1", top=1)
    assert write_infix(found.fillers[0].trees[0]) == "cos(α)^2"
    assert str(found).splitlines()[0] == "sin(α)^2 + _ = 1"


def test_complete_takes_equations_and_several_blanks() -> None:
    assert str(dgltree.complete(read_equation("x + _ = x"), top=1).fillers[0]) == "0"
    found = dgltree.complete("x^2 + 6x + 11 = (x + _1)^2 + _2", top=1)
    assert found.blanks == ("_1", "_2")
    assert str(found.fillers[0]) == "3, 2"


def test_verify_says_where_it_holds_and_where_not() -> None:
    assert dgltree.verify("sqrt(x^2) = x").verdict.domain is Domain.POSITIVE
    wrong = dgltree.verify("sin(2x) = 2 sin(x)")
    assert wrong.counterexample is not None
    assert str(wrong).startswith("does not hold: at x = ")
    with pytest.raises(ValueError, match="has a blank"):
        dgltree.verify("x + _ = 1")


def test_too_many_blanks_are_refused() -> None:
    names = [f"_{number}" for number in range(1, 14)]
    with pytest.raises(ValueError, match="13 blanks; a search fills at most 12"):
        Completer().complete(read_equation(f"{' + '.join(names)} = x"), names)
    most = Completer(budget=2000).complete(read_equation(f"{' + '.join(names[:12])} = x"), names[:12])
    assert len(most.blanks) == 12


def test_a_search_says_what_it_has_and_stops_when_told() -> None:
    class Heard(Listener):
        def hear(self, found: Completion) -> None:
            said.append(found)

    class Hurried(Listener):
        def stops(self) -> bool:
            return True

    said: list[Completion] = []
    whole = Completer().complete(read_equation("x^3 + _ = sin(x)*y + tan(x*y)"), listener=Heard())
    assert [found.found for found in said] == [True] * len(said) != []
    assert said[-1].fillers == whole.fillers
    hard = read_equation("_*x = sin(x)*exp(y)*cos(x + y)^3*log(x)*tan(z)^5")
    assert Completer().complete(hard, listener=Hurried()).stopped


def test_a_guess_that_holds_on_a_part_is_shown_once_and_without_those_that_do_not_hold() -> None:
    found = dgltree.complete("sqrt(1 - _) = cos(x)", budget=2000).fillers
    assert str(found[0]) == "sin(x)^2"
    assert {filler.verdict.domain for filler in found} == {Domain.PART}
    assert not {"sin(abs(x))^2", "abs(sin(x))^2"} & {str(filler) for filler in found}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (r"\sqrt[3]{-8} = _", "-2"),
        ("3x = _", "3*x"),
        ("x^3 = _", "x^3"),
        (r"\frac a b ÷ \frac c d = _", "a*d/(b*c)"),
        ("(x + 1)^3 = _", "x^3 + 3*x^2 + 3*x + 1"),
    ],
)
def test_what_is_worked_out_is_no_longer_than_what_was_asked(text: str, first: str) -> None:
    assert [str(filler) for filler in dgltree.complete(text).fillers] == [first]


def test_sympy_is_asked_only_for_complex_solutions_of_a_higher_degree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots and their expressions are functions of the equation, whatever SymPy answers in time."""
    asked: list[Equation] = []
    monkeypatch.setattr(Algebra, "solutions", lambda self, equation, seconds: asked.append(equation) or [])
    for text in ("x^5 - x - 1 = 0", "2sin(x)^2 + 3sin(x) = 1", "x*(x^2 - x - 3) = 0", "x^4 - 10x^2 + 1 = 0"):
        assert dgltree.complete(f"{text}, x = _").fillers
    assert not asked
    assert dgltree.complete("x^2 + 2x + 5 = 0, x = _").fillers
    assert not asked
    dgltree.complete("x^4 + x + 1 = 0, x = _")
    assert asked
