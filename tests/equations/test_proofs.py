"""Certificates of where equations hold: what the checker accepts, and that it refuses each fault."""

import json
import re
from fractions import Fraction
from pathlib import Path
from random import Random

import mpmath
import pytest

import dgltree
from benchmarks.verdicts.mpmath_values import is_real, value
from dgltree import read_equation, read_infix, verify
from dgltree.commands.main import main as command
from dgltree.equations.truth.proofs import line as lines
from dgltree.equations.truth.proofs.certificates import CellClaim, CellCut, CellState, Certificate, LemmaStep, check
from dgltree.equations.truth.proofs.enclosure import EVERYTHING, Range, enclosure, signs_by_balls
from dgltree.equations.truth.proofs.expression import ANY, POSITIVE, Expression, X, from_tree, to_text
from dgltree.equations.truth.proofs.finder import find, have_same_domain
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing
from dgltree.equations.truth.proofs.lemmas import LEMMAS, RELATIONS, lemma
from dgltree.equations.truth.proofs.line import real_line
from dgltree.equations.truth.proofs.place import CutPoint, Place
from dgltree.equations.typed import read_typed

HERE, OPEN = CellState.HOLDS, CellClaim(CellState.OPEN)


def e(text: str) -> Expression:
    return from_tree(read_infix(text), {"x": X})


def step(name: str, *arguments: str, n: int = 0) -> LemmaStep:
    return LemmaStep(name, tuple(map(e, arguments)), n)


def at(number: int | str) -> CellCut:
    return CellCut(Fraction(number), Fraction(number))


def between(low: int | str, high: int | str, zero_of: str) -> CellCut:
    return CellCut(Fraction(low), Fraction(high), e(zero_of))


def states(text: str, claims: list[CellClaim], cuts: list[CellCut]) -> list[CellState]:
    left, right = read_equation(text)
    sides = from_tree(left, {"x": X}), from_tree(right, {"x": X})
    return [shown.state for shown in check(sides, Certificate(tuple(cuts), tuple(claims)))]


def holds(*steps: LemmaStep, **more: object) -> CellClaim:
    return CellClaim(CellState.HOLDS, steps, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("sqrt(x^2*sin(x)) = x*sqrt(sin(x))", "holds for x ≥ 0 (proved)"),
        ("sqrt(x*cos(x)) = sqrt(x)*sqrt(cos(x))", "holds for x ≥ 0 (proved)"),
        ("log((x+30)*sin(x)) = log(x+30) + log(sin(x))", "holds for x > -30 (proved)"),
        ("sqrt(exp(x)-2)*(x^3-1) = sqrt((exp(x)-2)*(x^3-1)^2)", "holds for x = log(2) or x ≥ 1 (proved)"),
        ("abs(log(x)-5) = log(x)-5", "holds for x ≥ e^5 (proved)"),
        ("abs(sqrt(x)-5) = sqrt(x)-5", "holds for x ≥ 25 (proved)"),
        ("abs(sqrt(x-1)-10) = sqrt(x-1)-10", "holds for x ≥ 101 (proved)"),
        ("abs(asin(x)-1) = asin(x)-1", "holds for sin(1) ≤ x ≤ 1 (proved)"),
        ("abs(sqrt(1-x)-1/10) = 1/10-sqrt(1-x)", "holds for 99/100 ≤ x ≤ 1 (proved)"),
        ("acos(cos(x^x-2)) = x^x-2", "holds for 1.55961 ≤ x ≤ 2.1452"),
        ("abs(sqrt(x-30)-1) = sqrt(x-30)-1", "holds for x ≥ 31 (proved)"),
        ("e^(10^-80*x) = 1", "holds for x = 0 only (proved)"),
        ("cos(x/10^40) = 1", "does not hold"),
        ("acosh(cosh(x)) = x", "holds for x ≥ 0 (proved); at x = -1"),
        ("log_x(x^3) = 3", "holds for 0 < x < 1 or x > 1 (proved)"),
        ("log_b(a*b) = 1 + log_b(a)", "holds on the reals but a = 0 or b = 0 or b = 1 (tested)"),
    ],
)  # fmt: skip
def test_equations_of_which_something_false_or_too_little_was_claimed(text: str, place: str) -> None:
    assert str(verify(text)).startswith(place)


def test_a_root_that_is_real_now_and_then_holds_in_parts_of_the_window() -> None:
    found = verify("sqrt((cos(x)^3)^2*(x^2-4)) = cos(x)^3*sqrt(x^2-4)")
    assert len(found.verdict.part) > 3


BY_NORM = CellClaim(CellState.APART, (step("sqrt^2", "x"),), times=e("sqrt(x) + x - 2"))
GOOD = {
    "sqrt(x^2) = abs(x)": ([holds(step("abs^2", "x"), step("sqrt is", "x^2", "abs(x)"))], []),
    "sqrt(x^2*sin(x)) = abs(x)*sqrt(sin(x))": (
        [
            holds(step("abs^2", "x"), step("sqrt^2", "sin(x)"), step("sqrt is", "x^2*sin(x)", "abs(x)*sqrt(sin(x))")),
            holds(),
            OPEN,
        ],
        [at(0)],
    ),
    "log(x*(x+1)) = log(x)+log(x+1)": (
        [CellClaim(CellState.ALONE), *[CellClaim(CellState.NONE)] * 3, holds(step("log*", "x", "x+1"))],
        [at(-1), at(0)],
    ),
    "abs(log(x)-5) = log(x)-5": (
        [*[CellClaim(CellState.NONE)] * 2, CellClaim(CellState.APART), *[holds(step("abs+", "log(x)-5"))] * 2],
        [at(0), between(148, 149, "log(x)-5")],
    ),
    "(x^2-1)/(x-1) = x+1": ([holds(), CellClaim(CellState.ALONE, side=1), holds()], [at(1)]),
    "sqrt(x^2*sin(x)) = x*sqrt(sin(x))": ([CellClaim(CellState.FAILS, at=Fraction(-4)), holds(), OPEN], [at(0)]),
    "abs(x^2-x-1) = x^2-x-1": (
        [*[holds(step("abs+", "x^2-x-1"))] * 2, CellClaim(CellState.APART), *[holds(step("abs+", "x^2-x-1"))] * 2],
        [between(-1, 0, "x^2-x-1"), between(1, 2, "x^2-x-1")],
    ),
    "sqrt(x) = x - 2": (
        [CellClaim(CellState.ALONE, side=1), OPEN, OPEN, OPEN, BY_NORM, holds(), BY_NORM],
        [at(0), at(1), at(4)],
    ),
    "atan(x) + atan(1/x) = pi/2": (
        [OPEN, OPEN, holds(at=Fraction(1), steps_at=(step("sin 4"), step("cos 4"), step("atan is", "1", "pi/4")))],
        [at(0)],
    ),
    "tan(x)*cos(x) = sin(x)": ([holds()], []),
}  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_certificates_by_hand_are_accepted(text: str) -> None:
    claims, cuts = GOOD[text]
    assert states(text, claims, cuts) == [claim.state for claim in claims]


ABS, PARABOLA = "sqrt(x^2) = abs(x)", "abs(x^2-x-1) = x^2-x-1"
LOGS, LINE = "log(x*(x+1)) = log(x)+log(x+1)", "(x^2-1)/(x-1) = x+1"
FIVE = "abs(log(x)-5) = log(x)-5"
BAD = {
    "a certificate of another equation": ("sqrt(x^2) = x", *GOOD[ABS], "not shown to be equal"),
    "a wrong sign": ("abs(x) = x", [holds(step("abs+", "x")), OPEN, OPEN], [at(0)], "abs+: a condition is not shown"),
    "a cell left out": (LOGS, GOOD[LOGS][0][1:], GOOD[LOGS][1], "do not cover the line"),
    "no such lemma": (ABS, [holds(step("sqrt*", "x", "x"))], [], "no such lemma"),
    "another lemma": (
        LOGS, [*GOOD[LOGS][0][:4], holds(step("log*", "x", "x+2"))], GOOD[LOGS][1], "not shown to be equal",
    ),
    "none where one has a value": (
        LOGS, [CellClaim(CellState.NONE), *GOOD[LOGS][0][1:]], GOOD[LOGS][1], "a side may have a value",
    ),
    "holds where one has none": (LOGS, [holds(), *[OPEN] * 4], GOOD[LOGS][1], "where the other has none"),
    "a bracket without a zero": (FIVE, [OPEN] * 3, [between(149, 150, "log(x)-5")], "without a change of sign"),
    "a bracket the wrong way around": (FIVE, [OPEN] * 3, [between(149, 148, "log(x)-5")], "ends before it begins"),
    "a zero where there may be no value": (FIVE, [OPEN] * 3, [between(-1, 149, "log(x)-5")], "may have no value"),
    "a zero where there may be no slope": ("x = 0", [OPEN] * 3, [between(-1, 2, "abs(x)-1")], "may have no slope"),
    "two zeros in a bracket": (PARABOLA, [OPEN] * 3, [between(-1, 2, "x^2-x-1")], "a slope of either sign"),
    "cuts out of order": (LOGS, [OPEN] * 5, [at(0), at(-1)], "not in order"),
    "too many cuts": ("x = x", [OPEN] * 63, [at(k) for k in range(31)], "too many cuts"),
    "a cut beside the change of sign": (FIVE, [OPEN] * 4 + [holds(step("abs+", "log(x)-5"))], [at(0), at(140)], "abs+"),
    "apart where they touch": (
        PARABOLA, [OPEN, CellClaim(CellState.APART), *[OPEN] * 3], GOOD[PARABOLA][1], "may be equal",
    ),
    "apart where neither has a value": (
        "sqrt(x) = sqrt(x)+1", [CellClaim(CellState.APART), OPEN, OPEN], [at(0)], "may have no value",
    ),
    "a factor that may have no value": (
        "x = x + 1", [CellClaim(CellState.APART, times=e("sqrt(x)"))], [], "factor that may have",
    ),
    "a product that may be 0": ("x = 2*x", [CellClaim(CellState.APART, times=e("x"))], [], "the product may be 0"),
    "alone where both have values": (
        "sqrt(x) = x", [OPEN, OPEN, CellClaim(CellState.ALONE)], [at(0)], "other side may have a value",
    ),
    "alone where it has none": (
        "sqrt(x) = log(x)", [CellClaim(CellState.ALONE), OPEN, OPEN], [at(0)], "may have no value",
    ),
    "a point where they agree": ("x = x", [CellClaim(CellState.FAILS, at=Fraction(1))], [], "values that may be equal"),
    "a point left of the cell": (
        "x = 1", [OPEN, OPEN, CellClaim(CellState.FAILS, at=Fraction(-1))], [at(0)], "left of the cell",
    ),
    "a point right of the cell": (
        "x = 1", [CellClaim(CellState.FAILS, at=Fraction(2)), OPEN, OPEN], [at(0)], "right of the cell",
    ),
    "no point": ("x = 1", [CellClaim(CellState.FAILS)], [], "no point"),
    "a hole as a failure": ("x/x = 1", [CellClaim(CellState.FAILS, at=Fraction(0))], [], "no difference"),
    "a hole that holds": (LINE, [holds(), holds(), holds()], GOOD[LINE][1], "contradict the signs"),
    "a power of a negative number": ("x^x = x^x", [holds()], [], "a power of what may not be positive"),
    "not a number of times": (ABS, [holds(step("log^", "x", n=1))], [], "not a number of times"),
    "an even root": (ABS, [holds(step("root is", "x^2", "x", n=2))], [], "an even root"),
    "a lemma without a value": ("x = x+1", [holds(step("log 1"), step("sqrt^2", "x-7"))], [], "sqrt^2"),
    "a condition without a value": ("x = x+1", [holds(step("same sin", "1/x", "1/x"))], [], "may have no value"),
    "slopes that differ": ("x^2 = x", [holds(at=Fraction(0))], [], "slopes that are not shown"),
    "a constant that is not 0": ("x+1 = x", [holds(at=Fraction(0))], [], "not equal at the point"),
    "a constant at a point outside": (
        "atan(x) + atan(1/x) = pi/2", [holds(at=Fraction(1)), OPEN, OPEN], [at(0)], "point at which",
    ),
    "a constant with a pole": ("1/x = 1/x", [holds(at=Fraction(1))], [], "a side may have no value"),
    "a state that is none": ("x = x", [CellClaim("true")], [], "no state"),  # type: ignore[arg-type]
    "a step that is none": (ABS, [CellClaim(CellState.HOLDS, (5,))], [], "AttributeError"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_certificate_is_refused_for_its_fault(name: str) -> None:
    text, claims, cuts, reason = BAD[name]
    with pytest.raises(Refused, match=re.escape(reason)):
        states(text, claims, cuts)


@pytest.mark.parametrize("name", LEMMAS)
def test_a_lemma_is_true_at_400_rationals(name: str) -> None:
    random, tried = Random(name), 0
    with mpmath.workdps(60):
        for _ in range(400):
            a, b = (mpmath.mpf(random.randint(-300, 300)) / 100 for _ in range(2))
            n = random.choice((3, 5))
            if name.startswith("same"):
                b = a
            if name == "zero":
                a = mpmath.mpf(0)
            if name == "sqrt is":
                a = b * b
            if name == "root is":
                a = b**n
            if name.endswith("n is"):
                a = getattr(mpmath, {"asin": "sin", "acos": "cos", "atan": "tan"}[name.split()[0]])(b)
            if name == "acos is":
                a = mpmath.cos(b)
            rule = lemma(name, str(n))
            numbers = {"A": a, "B": b}
            fine = True
            for relation, first, second in rule.conditions:
                difference = _number(first, numbers) - _number(second, numbers)
                sign = 0 if abs(difference) < mpmath.mpf(10) ** -40 else int(mpmath.sign(difference.real))
                fine &= sign in RELATIONS[relation]
            values = [_number(side, numbers) for side in (rule.left, rule.right)] if fine else []
            if fine and None not in values and all(map(is_real, values)):
                tried += 1
                assert abs(values[0] - values[1]) < mpmath.mpf(10) ** -40 * (1 + abs(values[0])), (a, b)
    assert tried > 20


def _number(tree: dgltree.Tree, numbers: dict[str, object]) -> mpmath.mpc | None:
    return value(tree, numbers, True)


def cell(low: int | None, high: int | None) -> Place:
    ring = ValueRing()
    ends = [None if q is None else CutPoint.at(ring, Fraction(q)) for q in (low, high)]
    return Place(ring, *ends)


def test_rising_from_0_at_an_end_says_nothing_across_a_pole() -> None:
    assert cell(-1, None).signs(e("x - 1/x")) == ANY
    assert cell(1, None).signs(e("x - 1/x")) == POSITIVE


def test_an_infinite_end_stays_infinite_and_what_is_not_a_number_is_everything() -> None:
    assert enclosure(e("x^3"), EVERYTHING)[:2] == EVERYTHING[:2]
    assert enclosure(e("x^3 - x^2"), EVERYTHING).signs == ANY
    assert Range(EVERYTHING.high - EVERYTHING.high, EVERYTHING.high, False).signs == ANY
    assert signs_by_balls(e("exp(x)"), EVERYTHING) == POSITIVE


def test_where_defined_is_not_defined() -> None:
    place = cell(None, 0)
    assert place.signs(e("sqrt(x) + 1")) == POSITIVE  # where it has a value
    assert not place.defines(e("sqrt(x) + 1"))


def test_signs_that_contradict_each_other_are_refused_and_prove_nothing() -> None:
    with pytest.raises(Refused, match="contradict"):
        cell(1, 2).assuming(((X, frozenset({-1})),))


def test_a_zero_of_a_bracket_is_told_from_a_root_next_to_it() -> None:
    ring = ValueRing()
    end = CutPoint(ring, e("x^2 - 2"), Fraction(1), Fraction(2))
    assert Place(ring, end, None).signs(e("x^2 - 2")) == POSITIVE
    assert Place(ring, end, None).signs(e("x^2 - 2 - 10^(-30)")) == ANY


def test_conditions_of_which_one_contradicts_a_place_are_refused() -> None:
    ring = ValueRing()
    beyond_2 = Place(ring, CutPoint.at(ring, Fraction(2)), None)
    true, false = (e("x - 1"), POSITIVE), (e("1 - x"), POSITIVE)
    assert beyond_2.assuming((true, (e("x - 3"), POSITIVE))).signs(e("x - 3")) == POSITIVE
    for conditions in ((true, false), (false, true)):
        with pytest.raises(Refused, match="contradict"):
            beyond_2.assuming(conditions)


def test_a_high_degree_and_a_long_product_are_refused_in_little_memory() -> None:
    power = "x"
    for _ in range(60):
        power = f"({power})^2"
    with pytest.raises(Refused, match="a high degree"):
        ValueRing().quotient(e(power))
    with pytest.raises(Refused, match="a large power"):
        ValueRing().quotient(e("(sin(x) + cos(x) + exp(x) + log(x) + x)^150"))


@pytest.mark.parametrize("text", ["x^2 + x*sin(x)/2 - 3", "1/(x + 1)^2 - log(x)", "-(x - 1)*sqrt(2)", "x^(1/3)"])
def test_an_expression_is_read_as_it_is_written(text: str) -> None:
    assert ValueRing().quotient(e(to_text(e(text)))) == ValueRing().quotient(e(text))
    ring = ValueRing()
    assert ring.quotient(e(to_text(e(text)))) == ring.quotient(e(text))


@pytest.mark.slow
def test_a_found_certificate_with_any_change_is_refused_or_true() -> None:
    """Of the changed ones that are accepted, no cell is contradicted: what is changed is a state, a cut, or a step."""
    random = Random(5)
    texts = [*GOOD, "log(exp(x)*(x^2+1)) = x + log(x^2+1)", "sqrt(x)*sqrt(x-1) = sqrt(x*(x-1))"]
    found = {}
    for text in texts:
        left, right = (from_tree(side, {"x": X}) for side in read_equation(text))
        found[text] = (left, right), find((left, right)).certificate
    refused = 0
    for text in texts * 6:
        sides, certificate = found[text]
        truth = check(sides, certificate)
        claims = list(certificate.claims)
        k = random.randrange(len(claims))
        change = random.choice(("state", "swap", "steps"))
        if change == "state":
            claims[k] = claims[k]._replace(
                state=random.choice([CellState.HOLDS, CellState.NONE, CellState.ALONE, CellState.APART])
            )
        elif change == "swap":
            other = random.randrange(len(claims))
            claims[k], claims[other] = claims[other], claims[k]
        else:
            claims[k] = claims[k]._replace(steps=claims[k].steps[1:])
        try:
            shown = check(sides, certificate._replace(claims=tuple(claims)))
        except Refused:
            refused += 1
            continue
        allowed = [
            {one.state, CellState.OPEN} | ({CellState.FAILS} if one.state is CellState.APART else set())
            for one in truth
        ]
        assert all(one.state in states for one, states in zip(shown, allowed, strict=True))
    assert refused > 20


def test_what_is_refused_is_in_the_log_and_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    equation = read_typed("abs(x) = x").equation

    def lying(sides: tuple[Expression, Expression]) -> lines.Proof:
        return find(sides)._replace(certificate=Certificate((), (holds(step("abs+", "x")),)), zeros=())

    monkeypatch.setattr(lines, "find", lying)
    logged: list[str] = []
    monkeypatch.setattr(lines.LOG, "debug", lambda text, *values: logged.append(text % values))
    line = real_line(equation, "x")
    assert line is not None and line.states == {CellState.OPEN}
    assert logged == ["a certificate is refused: abs+: a condition is not shown"]


def test_proved_is_said_where_a_certificate_or_an_identity_shows_it_alone() -> None:
    root = Path(dgltree.__file__).parent
    makers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if any("Verdict(" in line or "grade = " in line for line in path.read_text(encoding="utf-8").splitlines())
        and "Grade.PROVED" in path.read_text(encoding="utf-8")
    }
    assert makers == {
        "equations/truth/verdict.py",
        "equations/truth/assumed.py",
        "equations/truth/judge.py",
        "equations/truth/proofs/line.py",
    }


WHY = {
    "sqrt(x^2) = |x|": ["x < 0: the sides are equal\n    sqrt(x^2) = abs(x), as abs(x)^2 = x^2 and abs(x) ≥ 0"],
    "log(x^2) = 2 log(x)": [
        "x < 0: only the left side has a value\n    log(x) (right) has no value, as x < 0",
        "x > 0: the sides are equal\n    log(x^2) = 2*log(x), as x > 0",
    ],
    "|log(x) - 5| = log(x) - 5": [
        "0 < x < e^5: the sides are nowhere equal\n    abs(log(x) - 5) > log(x) - 5",
        "x > e^5: the sides are equal\n    abs(log(x) - 5) = log(x) - 5, as log(x) - 5 ≥ 0",
    ],
    "(x^2-1)/(x-1) = x+1": ["x = 1: only the right side has a value\n    1/(x - 1) (left) has no value, as x - 1 = 0"],
    "sqrt(x^2*sin(x)) = x*sqrt(sin(x))": ["x < 0: the equation fails at x = -5\n    the left side is 4.8962339"],
    "sin(2x) = 2 sin x cos x": ["all real x: the sides are equal\n    sin(x + x) = sin(x)*cos(x) + cos(x)*sin(x)"],
    "tan(x) = sin(x)/cos(x)": ["all real x: the sides are equal where cos(x) ≠ 0\n    both are sin(x)/cos(x)"],
    "2 log(cos x) = log(cos x) + log(cos x)": ["all real x: the sides are equal where cos(x) > 0\n"],
    "atan(x) + atan(1/x) = pi/2": ["x > 0: the sides are equal\n    the slopes of both sides are equal\n    at x = 1"],
    "2^x = 8": ["x < 3: the sides are nowhere equal\n    2^x < 8", "x = 3: the sides are equal\n    both are 8"],
    "sqrt(x) = x - 2": ["1 < x < 4: the sides are nowhere equal\n    sqrt(x) > x - 2", "x = 4: the sides are equal"],
    "|sin(x)| = sin(x)": ["the equation fails at x ="],
}


@pytest.mark.parametrize("text", WHY)
def test_a_proof_is_written_as_a_person_would(text: str) -> None:
    written = "\n".join(map(str, verify(text).why))
    for part in WHY[text]:
        assert part in written, written


def test_there_is_no_written_proof_in_several_variables() -> None:
    assert verify("x + y = y + x").why == []
    assert verify("e^(i x) = cos(x) + i sin(x)").why == []


def test_the_command_prints_proofs_and_puts_them_into_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["verify", "--why", "x/x = 1", "x + y = y + x"]) == 0
    printed = capsys.readouterr().out
    assert "      on the real line:\n      x < 0: the sides are equal\n          x/x is 1, rearranged\n" in printed
    assert "(proofs are printed only for equations in one real variable whose functions have rules)" in printed
    assert command(["verify", "--why", "--json", "x/x = 1"]) == 0
    why = json.loads(capsys.readouterr().out)["why"]
    assert why[1] == {
        "where": "x = 0",
        "state": "only the right side has a value",
        "because": ["1/x (left) has no value, as x = 0"],
    }


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("sqrt(x^2*y^2) = abs(x*y)", True),
        ("x/y = x*y^(-1)", True),
        ("x*y/y = x", True),  # but y = 0
        ("log(exp(x)*exp(y)) = x + y", True),
        ("log(x*y) = log(x) + log(y)", False),
        ("sqrt(x*y)^2 = x*y", False),
        ("zeta(x) = zeta(x)", False),
    ],
)
def test_domains_in_several_variables_are_the_same_if_signs_show_it(text: str, same: bool) -> None:
    assert have_same_domain(read_equation(text, functions=None), ["x", "y"]) is same


def test_a_claim_on_the_reals_in_several_variables_needs_more_than_points() -> None:
    assert str(verify("sqrt(x^2*y^2) = |x*y|")) == "holds on the reals (proved)"
    assert str(verify("log(x/y) = log(x) - log(y)")).startswith("holds on positive reals (proved)")


def test_a_part_names_the_points_at_which_one_side_has_no_value() -> None:
    found = verify("|x|*tan(x)*cos(x) = x*sin(x)").verdict
    assert found.place == "holds for x ≥ 0 but cos(x) = 0" and found.conditions == ("cos(x) = 0",)
    assert verify("atan(tan(x)) = x").verdict.place == "holds for -pi/2 < x < pi/2"


@pytest.mark.slow
def test_what_is_only_tested_next_to_a_proved_part_is_said() -> None:
    found = verify("sqrt((x - sin(x) - log(x+2))^2) = x - sin(x) - log(x+2)").verdict
    assert found.short == "holds for -2 < x ≤ -1.27028 or x = 2.23195 (proved)" and not found.only
    [beyond] = found.agrees
    assert beyond.written("x") == "x ≥ 2.23195"
    assert "; for x ≥ 2.23195 the sides agree at every point tried (tested);" in str(found)
    assert found.described["agrees"] == [{"from": "2.23195", "to": None, "from_included": True, "to_included": False}]
    assert not verify("abs(log(x) - 5) = log(x) - 5").verdict.agrees, "all of it is proved"


@pytest.mark.parametrize(
    "exponent", ["sqrt(4)", "pi/pi + 1", "2x/x", "2 + x - x", "log(e^2)", "2(sin(x)^2 + cos(x)^2)"]
)
def test_a_whole_exponent_in_other_words_has_a_value_at_negative_numbers(exponent: str) -> None:
    """The real line never says that one side alone has a value at -1, where both are 1."""
    verification = verify(f"x^({exponent}) = x^2")
    assert str(verification).startswith("holds everywhere") and "does not hold" not in str(verification)
    assert "x > 0" not in verification.verdict.short
    assert not any("fails" in reason.state for reason in verification.why)
