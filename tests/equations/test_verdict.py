"""Where equations hold, and points at which they do not."""

import csv
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from flint import fmpq

from benchmarks.verdicts.mpmath_values import agrees, is_real, value
from dgltree import Equation, Tree, read_equation, verify
from dgltree.commands.main import main
from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.imaginary import imaginary_unit, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.judged_equation import JudgedEquation
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Verdict
from dgltree.equations.typed import read_typed
from dgltree.trees.equation import share_equal_parts

with (Path(__file__).parent / "verdicts.tsv").open(encoding="utf-8") as opened:
    ROWS = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))
PLACES = {row["equation"]: row["where"] for row in ROWS}
FAR = [mpmath.mpf(k) / 7 for k in range(-60, 61, 11)] + [
    mpmath.mpf(k) for k in (-5000, -101, -23, -9, 9, 31, 101, 5000)
]


def judged(text: str) -> Verdict:
    asked = read_typed(text).equation
    unit = imaginary_unit(asked)
    return Judge().verdict(asked if unit is None else with_unit(asked, unit))


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return {row["equation"]: judged(row["equation"]) for row in ROWS}


def has_real_value(side: Tree, point: dict[str, Any]) -> bool:
    found = value(side, point, school=True)
    return found is not None and is_real(found)


def claimed(verdict: Verdict, x: float) -> bool:
    """Whether a verdict of an equation in one variable says that it holds at a real point."""
    if verdict.domain in (Domain.EVERYWHERE, Domain.REALS):
        return True
    if verdict.domain is Domain.POSITIVE and not verdict.part:
        return x > 0
    return any(
        (piece.low is None or piece.low.value < x) and (piece.high is None or x < piece.high.value)
        for piece in verdict.part
        if not verdict.window or verdict.window[0] < x < verdict.window[1]
    )


def test_whole_numbers_stand_beside_the_imaginary_unit_and_other_letters_do_not() -> None:
    sum_of_turns = read_typed("e^(i k) = 1").equation
    units = [imaginary_unit(sum_of_turns, whole) for whole in ((), ("k",), ("k", "n"), ("i", "k"))]
    assert units == [None, "i", "i", None]


@pytest.mark.slow
def test_no_claim_has_a_point_at_which_values_of_90_digits_differ(verdicts: dict[str, Verdict]) -> None:
    wrong = []
    for text, verdict in verdicts.items():
        asked = read_typed(text).equation
        unit = imaginary_unit(asked)
        equation = asked if unit is None else with_unit(asked, unit)
        names = variables(*equation)
        if verdict.grade not in (Grade.PROVED, Grade.TESTED) or len(names) != 1:
            continue
        principal = verdict.domain is Domain.EVERYWHERE
        largest = 9 if "cosh" in text or "exp" in text else 10**6  # beyond, 90 digits cancel
        points = [x for x in FAR if claimed(verdict, float(x)) and abs(x) <= largest]
        if verdict.both_real:  # it claims nothing where a side is not real
            points = [x for x in points if all(has_real_value(side, {names[0]: x}) for side in equation)]
        wrong += [(text, x) for x in points if agrees(equation, {names[0]: x}, not principal, not principal) is False]
    assert wrong == []


def test_constants_and_several_variables_are_claimed_only_where_they_hold(verdicts: dict[str, Verdict]) -> None:
    wrong = []
    for text, verdict in verdicts.items():
        where = PLACES[text]
        known = {"everywhere": 0, "reals": 1, "positive": 2}.get(where, 3 if where != "none" else 5)
        asked = read_typed(text).equation
        many = len(set(variables(*asked)) - {imaginary_unit(asked)}) != 1
        if many and verdict.grade in (Grade.PROVED, Grade.TESTED) and verdict.rank < known:
            wrong.append((text, str(verdict)))
    assert wrong == []


def test_most_of_what_is_true_is_proved_and_little_is_undecided(verdicts: dict[str, Verdict]) -> None:
    everywhere = [text for text, where in PLACES.items() if where == "everywhere"]
    proved = [text for text in everywhere if verdicts[text].grade is Grade.PROVED]
    assert len(proved) >= 0.97 * len(everywhere)
    undecided = [text for text, verdict in verdicts.items() if verdict.grade is Grade.UNDECIDED]
    assert undecided == ["1/(x - x) = 1"]


def test_a_false_equation_has_a_point_that_shows_it(verdicts: dict[str, Verdict]) -> None:
    for text, where in PLACES.items():
        if where == "none" and verdicts[text].grade is Grade.REFUTED:
            shown = verdicts[text].counterexample
            assert shown is not None and shown.left != shown.right, text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sqrt(x^2 - 20x + 100) = 10 - x", "holds for x ≤ 10 (proved); at x = 11 left is 1, right is -1"),
        ("|x - 4| = 4 - x", "holds for x ≤ 4 (proved); at x = 5 left is 1, right is -1"),
        ("|x^2 - 16| = 16 - x^2", "holds for -4 ≤ x ≤ 4 (proved); at x = 5 left is 9, right is -9"),
        ("x^2 = 4", "holds for x = -2 and x = 2 only (proved); at x = 1 left is 1, right is 4"),
        ("sqrt(x^2) = x", "holds for x ≥ 0 (proved); at x = -1 left is 1, right is -1"),
        ("|x|(x + 2) = x(x + 2)", "holds for x = -2 or x ≥ 0 (proved); at x = -1 left is 1, right is -1"),
        ("abs(2x) = sqrt(2x)^2", "holds for x ≥ 0 (proved); at x = -1 left is 2, right is -2"),
        ("log((x-1)^2) = 2*log(x-1)", "holds for x > 1 (proved); at x = 1/2 left is -1.386, right is -1.386 + 6.283i"),
        ("(x^2 - 9)/(x + 3) = x - 3", "holds everywhere but x = -3 (proved)"),
        ("299792458x = 299792458x", "holds everywhere (proved)"),
        ("-x = 1", "holds for x = -1 only (proved); at x = 1 left is -1, right is 1"),
        ("2x + 1 = 2x + 2", "holds for no real x; at x = 1 left is 3, right is 4"),
        ("e^(i pi) + 1 = 0", "holds everywhere (proved); i is the imaginary unit"),
        ("|3 + 4i| = 5", "holds everywhere (proved); i is the imaginary unit"),
        ("(1 + i)^2 = 2i", "holds everywhere (proved); i is the imaginary unit"),
        ("sqrt(2) = 1.414213562373095", "does not hold: left is 1.4142135623730950488, right is 1.4142135623730950000"),
    ],
)  # fmt: skip
def test_the_sentence(text: str, said: str) -> None:
    assert str(verify(text)) == said


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("sqrt(x)*x/x = sqrt(x)", ("x = 0",)),  # left of 0 neither side is real
        ("sqrt(-x)*x/x = sqrt(-x)", ("x = 0",)),  # right of it
        ("log(x)*(x - 1)/(x - 1) = log(x)", ("x = 1",)),
        ("x/x = 1", ("x = 0",)),
    ],
)
def test_a_hole_is_named_on_whichever_side_of_it_the_equation_holds(text: str, conditions: tuple[str, ...]) -> None:
    found = judged(text)
    assert (found.grade, found.domain, found.conditions) == (Grade.PROVED, Domain.EVERYWHERE, conditions)


@pytest.mark.parametrize("root", ["0", "1/2"])
def test_a_point_that_denies_an_equation_denies_positive_reals_only_where_it_is_positive(root: str) -> None:
    """Both sides are real at the root and from 1 on alone; at the root they are 1 - x and x - 1."""
    both = f"sqrt((x - {root})^2*(x - 1))"
    found = judged(f"{both} + abs(x - 1) = {both} + x - 1")
    assert found.domain is (Domain.POSITIVE if root == "0" else Domain.PART)
    assert f"x = {root}" in str(found.counterexample)


def test_odd_roots_are_read_as_a_school_reads_them_and_the_other_reading_is_said() -> None:
    verdict = judged("(x^3)^(1/3) = x")
    assert (verdict.grade, verdict.domain) == (Grade.PROVED, Domain.REALS)
    assert verdict.notes == ("odd roots of negative numbers are read as real; by principal values it holds for x ≥ 0",)
    assert judged("cbrt(-8) = -2").domain is Domain.REALS


@pytest.mark.parametrize(
    "text", ["cos(x/2) = sqrt((1 + cos(x))/2)", "acos(cos(x)) = x", "x^1.000000000001 = x", "asin(sin(x)) = x"]
)
def test_what_breaks_beyond_small_numbers_is_not_said_to_hold(text: str) -> None:
    assert not judged(text).holds


def test_ends_that_are_multiples_of_pi_are_exact() -> None:
    verdict = judged("acos(cos(x)) = x")
    assert (verdict.grade, verdict.window) == (Grade.PROVED, None)
    [piece] = verdict.part
    assert [str(piece.low), str(piece.high)] == ["0", "pi"]
    assert piece.low is not None and abs(piece.low.value) < 1e-9
    assert piece.high is not None and abs(piece.high.value - 3.141592653589793) < 1e-9


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("e^(i x) = cos(x) + i sin(x)", "i"),
        ("i + j = j + i", None),
        ("x_i = i", None),
        ("V = I*R", None),
        ("i = n", None),
    ],
)
def test_i_is_the_unit_unless_an_index_or_other_letters_make_it_a_variable(text: str, unit: str | None) -> None:
    assert imaginary_unit(read_typed(text).equation) == unit


def test_points_at_which_a_term_is_too_small_are_counted_as_skipped() -> None:
    case = JudgedEquation(read_equation("1 + exp(-x) = exp(-x) + 1"))
    trial = case.trial("real", [{"x": fmpq(k)} for k in (1, 2, 1000, 2000, 3000)])
    assert (trial.agreed, trial.skipped) == (2, 3)


def test_infinity_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"infinity \(oo\) is not a number"):
        verify("1/x = oo")


def test_what_holds_at_points_at_random_and_fails_on_a_line_is_refuted() -> None:
    verdict = Judge().verdict(read_equation("abs(log(9*x - 21/8) + abs(y/x)) = log(9*x - 21/8) + y/x"))
    assert verdict.grade is Grade.REFUTED
    assert verdict.counterexample is not None
    x, y = (float(Fraction(verdict.counterexample.variables[name])) for name in "xy")
    left, right = (math.log(9 * x - 21 / 8) + part for part in (abs(y / x), y / x))
    assert abs(left) != pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("1/0 = 1", Doubt.NO_VALUE),
        ("log(x - x) = 1", Doubt.NO_VALUE),
        ("exp(exp(exp(9))) = 9^9^9^9", Doubt.NOT_COMPARED),
        ("oo = x", Doubt.NOT_READ),
        ("exp(-exp(exp(9))) = exp(-9^9^9)", Doubt.NOT_COMPARED),  # both are too small to be seen
        ("2^(-9^9^9) = 3^(-9^9^9)", Doubt.NOT_COMPARED),
        ("x = x", None),
    ],
)
def test_the_reason_of_an_undecided_verdict_is_a_value(text: str, doubt: Doubt | None) -> None:
    assert Judge().verdict(read_equation(text)).doubt is doubt


def test_a_function_without_a_value_is_undecided() -> None:
    assert Judge().verdict(read_equation("zeta(x) = zeta(x)", functions=None)).grade is Grade.UNDECIDED


def test_a_tree_of_ten_thousand_nodes_is_undecided() -> None:
    tree = Tree("Symbol", token="x")
    for _ in range(10_000):
        tree = Tree("sin", (tree,))
    assert Judge().verdict(Equation(tree, tree)).grade is Grade.UNDECIDED


def test_equal_parts_of_a_long_equation_are_one_object_and_huge_powers_take_little_memory() -> None:
    side = " + ".join(f"x^{k % 7 + 1}*y" for k in range(600))
    equation = share_equal_parts(read_equation(f"{side} + z = {side} + z"))
    assert equation.left is equation.right, "comparing them node by node takes the square of their number"
    assert Judge().verdict(equation).grade is Grade.PROVED
    power = "x"
    for _ in range(60):
        power = f"({power})^2"
    assert all(piece.is_point for piece in Judge().verdict(read_equation(f"{power} = x")).part)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2^x = -1", "holds for no real x"),
        ("e^x = -x^2 - 1", "holds for no real x"),
        ("sin(x) = 2", "holds for no real x"),
        ("cos(x) = 3/2", "holds for no real x"),
        ("9^9^9 = 9^9^9 + 1", "does not hold: left is 4.281e+369693099, right is more"),
        ("9^9^9^9 + 1 = 9^9^9^9", "does not hold: left is too large to write, right is less"),
        ("9^9^9^9 = 9^9^9^8", "undecided: the values are too large to be compared"),
        ("sin(pi/2) + cos(pi/2) = 1", "holds everywhere (proved)"),
        ("e^x = x", "holds for no real x"),
        ("1 + 1e-400 = 1", "does not hold: left is 1, right is that less 1.000e-400"),
        ("sin(x)^1000 + cos(x)^2 = cos(x)^2", "does not hold"),
        ("e^(i*k*x) = cos(k*x) + i*sin(k*x)", "holds everywhere (proved); i is the imaginary unit"),
        ("(u + i*v)*(u - i*v) = u^2 + v^2", "holds everywhere (proved); i is the imaginary unit"),
        ("V = I*R", "does not hold: at I = 1, R = 2, V = 3 left is 3, right is 2; I is a variable here"),
        ("0.24999999999999 = 1/4", "does not hold: left is 0.2499999999999900, right is 1/4"),
        ("1 + 1e-300 = 1", "does not hold: left is 1, right is that less 1e-300"),
        ("5e6 = 5000000", "holds everywhere (proved)"),
    ],
)
def test_extremes_and_units_are_judged_and_said(text: str, said: str) -> None:
    assert str(verify(text)).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("abs(sin(x)) = sin(x)", "holds for x from 0 to pi, and so in each period of 2*pi (tested)"),
        ("sqrt(1 - sin(x)^2) = cos(x)", "holds for x from -pi/2 to pi/2, and so in each period of 2*pi (tested)"),
        ("abs(tan(2*x)) = tan(2*x)", "holds for x from 0 to pi/4, and so in each period of pi/2 (tested)"),
        ("abs(cos(pi*x)) = -cos(pi*x)", "holds for x from -1 to -1/2 and from 1/2 to 1, and so in each period of 2"),
        ("abs(sin(x)) = sin(abs(x))",
         "holds for x from -pi to pi, and so in each period of 2*pi further from 0 (tested)"),
        ("asin(cos(sin(x))) = pi/2 - sin(x)", "holds for x from 0 to pi, and so in each period of 2*pi (tested)"),
        ("asin(2*sin(x)*sqrt(1 - sin(x)^2)) = 2*asin(sin(x))",
         "holds for x from -pi to -3*pi/4 and from -pi/4 to pi/4 and from 3*pi/4 to pi, and so in each period"),
        ("asin(sin(x)) = x", "holds for -pi/2 ≤ x ≤ pi/2 (proved)"),
    ],
)  # fmt: skip
def test_the_part_of_a_periodic_equation_is_that_of_one_period(text: str, said: str) -> None:
    assert str(verify(text)).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cot(x)*tan(x) = 1", "but sin(x) = 0 or cos(x) = 0 (proved)"),
        ("cot(x) = 1/tan(x)", "but cos(x) = 0 (proved)"),
        ("tan(2x) = 2*tan(x)/(1 - tan(x)^2)", "but cos(x) = 0 (proved)"),  # at pi/4 neither side has a value
        ("tan(x) = sin(x)/cos(x)", "holds everywhere (proved)"),
        ("tan(x/2) = (1 - cos(x))/sin(x)", "but sin(x) = 0 (proved)"),
        ("tan(5x)*cot(5x) = 1", "but cos(5*x) = 0 or sin(5*x) = 0 (proved)"),
        ("x^2*sin(x)/(x*sin(x)) = x", "but sin(x) = 0 (proved)"),
        ("(x^2 - 1)*sin(x)/((x - 1)*sin(x)) = x + 1", "but x = 1 or sin(x) = 0 (proved)"),
        ("sqrt(tan(x)^2)*cot(x)^2 = abs(cot(x))", "but cos(x) = 0 (tested)"),
    ],
)
def test_exceptions_that_occur_in_every_period_are_named_by_what_is_0_there(text: str, said: str) -> None:
    assert said in str(verify(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(a + b)^2 = a^2 + b^2", "at a = 1, b = 2 left is 9, right is 5"),
        ("a*b*c = 6", "at a = 2, b = 3, c = 4 left is 24, right is 6"),
        ("abs(x*y) = x*y", "at x = 1, y = -2 left is 2, right is -2"),
        ("a + b = 3 + (a - 1)*(b - 1)*(a*b - 2)", "at a = 2, b = 3 left is 5, right is 11"),
    ],
)
def test_counterexamples_have_small_numbers(text: str, said: str) -> None:
    assert said in str(verify(text))


def test_one_side_that_is_not_real_is_said() -> None:
    assert "on positive reals where both sides are real (tested)" in str(verify("log((x - y)^2) = 2log(x - y)"))
    assert "on positive reals (proved)" in str(verify("log(x*y) = log(x) + log(y)"))


@pytest.mark.parametrize(("zero", "named"), [("13/2", "13/2"), ("6", "6")])
def test_a_single_point_between_those_that_are_tried_is_an_exception(zero: str, named: str) -> None:
    """Where the right side is sqrt(0) and the left is not real; all else below 8 is tested alone."""
    verdict = judged(f"sqrt(asinh(x - 8))*(x - {zero}) = sqrt(asinh(x - 8)*(x - {zero})^2)")
    assert (verdict.grade, verdict.domain, verdict.conditions) == (Grade.TESTED, Domain.REALS, (f"x = {named}",))


@pytest.mark.parametrize("exponent", ["1/3", "1 - 2/3", "1*3^(-1)", "2/6"])
def test_an_exponent_is_the_number_that_it_is_worth(exponent: str) -> None:
    verdict = judged(f"x = (x^3)^({exponent})")
    assert (verdict.domain, verdict.grade) == (Domain.REALS, Grade.PROVED)
    values = Program(read_typed(f"x = (x^3)^({exponent})").equation, school=True).at({"x": fmpq(-2)}, 100)
    assert values == (-2, -2)


@pytest.mark.parametrize(("text", "but"), [("x^0 = 1", "x = 0"), ("x*x^(1 - 1) = x", "x = 0"), ("2^0*x = x", None)])
def test_a_power_of_nothing_has_no_value_at_0(text: str, but: str | None) -> None:
    verdict = judged(text)
    assert verdict.domain is Domain.EVERYWHERE
    assert verdict.conditions == (() if but is None else (but,))


def test_json_says_what_is_a_variable(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "V = I*R", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == ["I is a variable here"]
