"""The judge: proofs, parts of the real line, refutations and tests, in the order of what is cheapest."""

from flint import acb, arb, fmpq
from dgltree.equations.truth.balls import ball
from dgltree.equations.truth.program import Comparison, PointOutcome, compare
from dgltree.equations.truth.judged_equation import MIN_DIGITS, counterexample, write_number
from dgltree.equations.truth.judged_equation import ROOTS, JudgedEquation, no_value
from dgltree.equations.truth.identities.proof import gap, prove
from dgltree.equations.truth.identities.rational_functions import NoValue
from dgltree.equations.truth.identities.rational_functions import Region
from dgltree.equations.truth.verdict import Counterexample, Domain, Doubt, Grade, Tested, Verdict, undecided
from itertools import islice
from dgltree.equations.truth.conditions import conditions
from dgltree.equations.truth.conditions import exceptional_points
from dgltree.equations.truth.judged_equation import FIRST_POINTS, MIN_TESTED_POINTS, PROOF_CHECK_POINTS, ROOTS, JudgedEquation, Trial
from dgltree.equations.truth.proofs.finder import have_plainly_same_domain
from dgltree.equations.truth.proofs.line import place_on_reals
from dgltree.equations.truth.sample_points import points
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Verdict, undecided
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, product
from random import Random
from dgltree.equations.truth.judged_equation import DOMAINS, FIRST_POINTS, MIN_TESTED_POINTS, PROOF_CHECK_POINTS, ROOTS, JudgedEquation
from dgltree.equations.truth.proofs.finder import have_same_domain
from dgltree.equations.truth.proofs.expression import Expression, X, number
from dgltree.equations.truth.proofs.line import line_along
from dgltree.equations.truth.proofs.place import to_fmpq
from dgltree.equations.truth.sample_points import Point, plain_first, points
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from flint import fmpq
from dgltree.equations.truth.program import PointOutcome, compare
from dgltree.equations.truth.verdict import Interval, Part, decimal_end
from dgltree.equations.truth.program import Program
from dataclasses import replace
from itertools import pairwise
from dgltree.equations.truth.program import Comparison, PointOutcome, compare, counts_against
from dgltree.equations.truth.judged_equation import counterexample
from dgltree.equations.truth.judged_equation import DOMAINS, MIN_TESTED_POINTS, ROOTS, JudgedEquation, no_value
from dgltree.equations.truth.verdict import Interval, Part, join_parts
from dgltree.equations.truth.periods import period
from dgltree.equations.truth.proofs.certificates import CellState
from dgltree.equations.truth.proofs.line import Line, Spot, real_line
from dgltree.equations.truth.proofs.line import line_verdict, place_on_reals, points_verdict
from dgltree.equations.truth.sample_points import Point, points
from dgltree.equations.truth.solutions.solutions import Solutions
from dgltree.equations.truth.verdict import Counterexample, Domain, Doubt, Grade, Verdict, undecided
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree
from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.evaluator import Fingerprint, Reach
from dgltree.equations.truth.judged_equation import JudgedEquation
from dgltree.equations.truth.verdict import Doubt, Verdict, undecided
from dgltree.trees.equation import Equation, share_equal_parts

# ---------------------------------------------------------------------------------------------------------------------
# Verdicts on equations without a variable.


LARGE = 300
"""Powers of ten beyond which values are called large, or small."""


def constant(case: JudgedEquation) -> Verdict:
    """The verdict on an equation of numbers alone."""
    principal = compare(case.principal, {}, "complex")
    school = compare(case.school, {}, "complex") if case.roots else principal
    found = school if school.outcome is PointOutcome.AGREE else principal
    if found.outcome is PointOutcome.DIFFER:
        return Verdict(Grade.REFUTED, counterexample=counterexample({}, found))
    if found.outcome is not PointOutcome.AGREE:
        return _blurred(case, found)
    both = school.outcome is principal.outcome
    domain = Domain.EVERYWHERE if principal.outcome is PointOutcome.AGREE else Domain.REALS
    notes = () if both else (_constant_note(domain, principal),)
    try:
        sure = prove(case.equation, [], Region("complex" if domain is Domain.EVERYWHERE else "real"))
    except NoValue:
        sure = False
    if sure or (isinstance(found.left, fmpq) and isinstance(found.right, fmpq)):
        return Verdict(Grade.PROVED, domain, notes=notes)
    return Verdict(Grade.TESTED, domain, tested=Tested(1, 0, "", ""), notes=notes)


def _blurred(case: JudgedEquation, found: Comparison) -> Verdict:
    """Where numbers do not tell the values apart, the difference may: 9^9^9 is not 9^9^9 + 1."""
    if no_value(found):
        return undecided(no_value(found), Doubt.NO_VALUE)
    sign = gap(case.equation)
    if sign == 0:
        return Verdict(Grade.PROVED, Domain.EVERYWHERE)
    if sign is not None:
        left = write_number(found.left, MIN_DIGITS) if ball(found.left).is_finite() else "too large to write"
        right = "is more" if sign < 0 else "is less"
        return Verdict(Grade.REFUTED, counterexample=Counterexample({}, f"is {left}", right))
    balls = [ball(side) for side in (found.left, found.right) if side is not None]
    sizes = [abs(one).mid() for one in balls]
    if not all(one.is_finite() for one in balls) or max(sizes) > arb(10) ** LARGE:
        return undecided("the values are too large to be compared", Doubt.NOT_COMPARED)
    if max(sizes) < arb(10) ** -LARGE:
        return undecided("the values are too small to compare", Doubt.NOT_COMPARED)
    return undecided("the values cannot be told apart with 1,024 bits", Doubt.NOT_COMPARED)


def _constant_note(domain: Domain, principal: Comparison) -> str:
    if domain is Domain.EVERYWHERE:
        return f"by principal values; it does not hold where {ROOTS}"
    sides = [write_number(side, 6) for side in (principal.left, principal.right) if isinstance(side, fmpq | acb)]
    return f"{ROOTS}; by principal values left is {sides[0]}" if sides else ROOTS


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts that hold at all complex points.


def everywhere(case: JudgedEquation) -> Verdict | None:
    """The verdict that it holds, or has no value, at all complex points; None if it does not."""
    if case.trial("complex", islice(points(case.names, "complex"), FIRST_POINTS)).against is not None:
        return None
    sure = case.proved("complex")
    checked = case.trial("complex", islice(points(case.names, "complex"), PROOF_CHECK_POINTS if sure else None))
    # a real point is a complex one, and shows where a side has no value at all
    real = case.trial("complex", islice(points(case.names, "real"), PROOF_CHECK_POINTS if sure else None))
    if checked.against or real.against or checked.holes + real.holes > case.most_holes:
        return None
    agreed = checked.agreed + real.agreed
    if not agreed:
        return undecided("a side has no value at any point that was tried", Doubt.NO_VALUE)
    if not sure and (agreed < 2 * MIN_TESTED_POINTS or case.fails_on_a_cut()):
        return None
    if len(case.names) == 1:
        but = exceptional_points(case, case.line, everywhere=True) if conditions(case.equation) else ()
    else:
        but = conditions(case.equation)
    grade = Grade.PROVED if sure else Grade.TESTED
    both = Trial(agreed, checked.skipped + real.skipped, 0, 0, None)
    tested = None if sure else case.tested(both, "complex")
    return Verdict(grade, Domain.EVERYWHERE, conditions=but, tested=tested, notes=_notes(case))


def _notes(case: JudgedEquation) -> tuple[str, ...]:
    """Where it holds on the reals, if that is less: of sqrt(x)^2 = x."""
    if len(case.names) == 1:
        if not case.roots and have_plainly_same_domain(case.equation, case.names):
            return ()
        if case.line is None or not case.line.is_broken:
            return ()
        place = place_on_reals(case.line)
        return (f"by principal values; where {ROOTS} it {place}" if case.roots else f"on the reals it {place}",)
    if not case.roots:
        return ()
    trial = case.trial("real", islice(points(case.names, "real"), PROOF_CHECK_POINTS))
    return () if trial.against is None else (f"by principal values; it does not hold where {ROOTS}",)


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts on equations in several real variables.


MAX_PARALLEL, SLANTING = 9, 3
"""Lines along which an equation is tried that agrees at points."""


def several(case: JudgedEquation) -> Verdict:
    """Whether an equation holds at all real or all positive points that does not hold at all complex ones."""
    elsewhere = None
    for domain in (Domain.REALS, Domain.POSITIVE):
        kind = DOMAINS[domain]
        if case.trial(kind, islice(points(case.names, kind), FIRST_POINTS)).against is not None:
            continue
        sure = case.proved(kind)
        if domain is Domain.REALS:  # at positive points both sides have to have a value
            sure = sure and have_same_domain(case.equation, case.names)
        trial = case.trial(kind, islice(points(case.names, kind), 2 * PROOF_CHECK_POINTS if sure else None))
        if (
            trial.against is not None
            or trial.holes > case.most_holes
            or trial.agreed < (1 if sure else MIN_TESTED_POINTS)
        ):
            continue
        if not sure:
            along_lines = case.trial(kind, _points_of_lines(case, kind)).against
            elsewhere = along_lines or case.next_to_breakpoints(kind)  # which functions without rules have, too
            if elsewhere is not None:
                continue
        notes: tuple[str, ...] = (ROOTS,) if case.roots and domain is Domain.REALS else ()
        but = conditions(case.equation) if domain is Domain.REALS else ()
        against = None
        if domain is Domain.POSITIVE:
            real = case.trial("real", plain_first(case.names, "real")).against
            against = case.counterexample(*real) if real is not None else None
        return Verdict(
            Grade.PROVED if sure else Grade.TESTED, domain, conditions=but, notes=notes, counterexample=against,
            tested=None if sure else case.tested(trial, kind), both_real=domain is Domain.POSITIVE and trial.apart > 0,
        )  # fmt: skip
    for kind in ("positive", "real", "complex"):
        refuting = case.trial(kind, plain_first(case.names, kind)).against
        elsewhere = elsewhere if refuting is None else refuting
        if elsewhere is not None:
            return Verdict(Grade.REFUTED, counterexample=case.counterexample(*elsewhere))
    return undecided("too few points at which both sides have a value", Doubt.NOT_COMPARED)


def _points_of_lines(case: JudgedEquation, kind: str) -> Iterator[Point]:
    """Points of some lines: where proofs find that it fails, between all cuts and next to them.

    Points at random agree wherever |A + |B|| = A + |B| holds on most of the plane; on a line it is seen where it ends.
    """
    for line in _lines(case.names):
        letters: dict[str, Expression] = {name: ("+", number(a), ("*", number(b), X)) for name, (a, b) in line.items()}
        found = line_along(case.equation, letters, "t")
        for t in () if found is None else (*found.points_of_failure(), *found.samples()):
            point = {name: to_fmpq(a) + to_fmpq(b) * t for name, (a, b) in line.items()}
            if kind != "positive" or min(point.values()) > 0:
                yield point


def _lines(names: Sequence[str]) -> Iterator[dict[str, tuple[Fraction, Fraction]]]:
    """Start and direction by name: parallel to the axes, and some others."""
    draw = Random(f"lines of {len(names)}")
    for moving, rest in islice(product(names, (Fraction(2), Fraction(1, 3), Fraction(-3, 2))), MAX_PARALLEL):
        yield {name: (Fraction(0), Fraction(1)) if name == moving else (rest, Fraction(0)) for name in names}
    for k in range(SLANTING):
        signs = (1,) if k % 2 else (1, -1)
        ways = [draw.choice(signs) * Fraction(draw.randint(1, 9), 2) for _ in names]
        yield {name: (Fraction(draw.randint(-9, 9), 2), way) for name, way in zip(names, ways, strict=True)}


# ---------------------------------------------------------------------------------------------------------------------
# Intervals in which an equation in one variable holds, found numerically, if no proof has the ends.


WINDOW = (-20, 20)
STEPS = 4
"""Points to a unit."""
MAX_WINDOW = 10_000
"""A window, that of a longer period, in which nothing is looked for."""
MIN_WINDOW_POINTS = 48
"""Points of a short window."""
WITHIN = 16
"""Further points of an interval, and of each unit of it, at which it has to hold."""
HALVED = 44
"""How often the way to an end is halved: to 1e-13."""


def numeric_part(
    name: str, program: Program, window: tuple[float, float] = WINDOW, watched: Sequence[fmpq] = ()
) -> Part:
    """The intervals between two numbers; none if the equation holds at single points only.

    Args:
        watched: further points, between those at which a sign changes.
    """
    if window[1] - window[0] > MAX_WINDOW:
        return ()

    def holds(x: Any) -> bool:
        return compare(program, {name: x}, "real").outcome is PointOutcome.AGREE

    low, high = (fmpq(*float(end).as_integer_ratio()) for end in window)
    count = max(MIN_WINDOW_POINTS, int(STEPS * (window[1] - window[0])))
    between = (low + (high - low) * fmpq(k, count) + fmpq(1, 1000) for k in range(count))
    grid = sorted({low, *between, high, *(x for x in watched if low < x < high)})
    inside = [holds(x) for x in grid]
    return tuple(_intervals(grid, inside, holds))


def _intervals(grid: list[fmpq], inside: list[bool], holds: Callable[[Any], bool]) -> Iterator[Interval]:
    start = None
    for k, here in enumerate(inside):
        if here and start is None:
            start = k
        if start is not None and (not here or k + 1 == len(grid)):
            last = k - 1 if not here else k
            if last > start and all(map(holds, _between(grid[start], grid[last]))):
                low = None if start == 0 else _end(grid[start], grid[start - 1], holds)
                high = None if last + 1 == len(grid) else _end(grid[last], grid[last + 1], holds)
                outer = [*_towards(low, grid[start]), *_towards(high, grid[last])]
                if not all(map(holds, outer)):  # it changes faster than the grid can see
                    start = None
                    continue
                first, second = (None if end is None else decimal_end(end) for end in (low, high))
                yield Interval(first, second, True, True)
            start = None


def _between(low: fmpq, high: fmpq) -> Iterator[fmpq]:
    """Points between those of the grid, if it might fail as well."""
    draw = random.Random(f"between {low} {high}")
    count = WITHIN + int(WITHIN * (int(high.p) / int(high.q) - int(low.p) / int(low.q)))
    return (low + (high - low) * fmpq(draw.randint(1, 4095), 4096) for _ in range(count))


def _towards(end: float | None, inside: fmpq) -> Iterator[fmpq]:
    """Points between an end, if there is one, and the first point of the grid from there."""
    return iter(()) if end is None else _between(*sorted((fmpq(*end.as_integer_ratio()), inside)))


def _end(inside: fmpq, outside: fmpq, holds: Callable[[Any], bool]) -> float:
    """Where the equation stops to hold."""
    for _ in range(HALVED):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return int(inside.p) / int(inside.q)


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts on equations in one real variable.


def one_variable(case: JudgedEquation) -> Verdict:
    """Where on the real line an equation holds that does not hold at all complex points."""
    line = case.line
    if line is not None:
        against = _against(case, line) if line.is_broken else None
        if line.states <= {CellState.NONE, CellState.ALONE} and (reason := _reason(case, line)):
            return undecided(reason, Doubt.NO_VALUE)
        shown = line_verdict(line, against, exceptional_points(case, line), root_notes(case, line))
        if shown is not None:
            return replace(shown, agrees=_agreeing(case, line))
    return _numeric(case, line)


def _agreeing(case: JudgedEquation, line: Line) -> Part:
    """Where nothing is shown and no number that was tried refutes: a sample proves nothing, so this is no ``part``."""
    found = []
    for cell, numbers in line.open_cells():
        trial = case.trial("real", ({case.name: x} for x in numbers))
        if trial.against is None and trial.agreed >= MIN_TESTED_POINTS:
            found.append(cell)
    return join_parts(found)


def _reason(case: JudgedEquation, line: Line) -> str:
    """Why an equation of which no part holds or fails says nothing: a side has no value, not even a complex one."""
    if line.states == {CellState.NONE}:
        return "no side has a real value where it was tried"
    return no_value(compare(case.principal, {case.name: next(line.samples())}, "complex"))


def root_notes(case: JudgedEquation, line: Line) -> tuple[str, ...]:
    """How odd roots were read, if the other reading says something else."""
    if not case.roots:
        return ()
    other = real_line(case.equation, case.name, school=False)
    if other is None or other.part == line.part:
        return ()
    return (f"{ROOTS}; by principal values it {place_on_reals(other)}",)


def _against(case: JudgedEquation, line: Line) -> Counterexample | None:
    """A point at which the equation fails: in a cell where the sides differ plainly, if there is one."""
    for numbers in (line.points_of_failure(), line.failing_spots()):
        found = [(x, compare(case.school, {case.name: x}, "real")) for x in numbers]
        found = [(x, one) for x, one in found if counts_against(one.outcome, "real")]
        found.sort(key=lambda one: (one[1].outcome is not PointOutcome.DIFFER, one[0] < 0, abs(one[0])))
        if found:
            return case.counterexample({case.name: found[0][0]}, found[0][1])
    return _complex_against(case)


def _complex_against(case: JudgedEquation) -> Counterexample | None:
    """A counterexample if no real value is one: exp(ix) = cos(x) - i*sin(x)."""
    found = case.trial("complex", points(case.names, "complex")).against
    return None if found is None else counterexample(*found)


def _numeric(case: JudgedEquation, line: Line | None) -> Verdict:
    """Where a proof does not reach the whole line. A claim is tried between all cuts and next to them, too."""
    on_reals = None
    single = [] if line is None else line.exceptions  # the grid misses x = 13/2
    named = {spot.value for spot in single if isinstance(spot.value, fmpq)}
    for domain in (Domain.REALS, Domain.POSITIVE):
        kind = DOMAINS[domain]
        exceptions = single if domain is Domain.REALS else []
        at = (point for point in points(case.names, kind) if not exceptions or point[case.name] not in named)
        trial = case.trial(kind, at)
        if trial.against is None and trial.agreed >= MIN_TESTED_POINTS:
            trial = trial._replace(against=_closer(case, line, kind))
        if trial.against is None and trial.agreed >= MIN_TESTED_POINTS:
            notes: tuple[str, ...] = (ROOTS,) if case.roots else ()
            return Verdict(
                Grade.TESTED, domain, case.name, tested=case.tested(trial, kind), notes=notes,
                both_real=domain is Domain.POSITIVE and trial.apart > 0,
                conditions=_conditions(case, line, exceptions),
                counterexample=on_reals and case.counterexample(*on_reals),
            )  # fmt: skip
        on_reals = trial.against
    against = trial.against or case.trial("real", points(case.names, "real")).against
    if against is None:
        elsewhere = _complex_against(case)
        if elsewhere is None:
            return undecided("too few points at which both sides have a value", Doubt.NOT_COMPARED)
        return Verdict(Grade.REFUTED, Domain.NONE, case.name, counterexample=elsewhere)
    shown = case.counterexample(*against)
    window, turn = _window(case)
    part = numeric_part(case.name, case.school, window, _watched(line)) if _often(case, line) else ()
    if not part:
        solutions = case.solutions
        if line is not None and line.part:
            found = points_verdict(line, shown)
            only = found.only or _are_all(found.part, solutions)
            return replace(found, only=only, agrees=() if only else _agreeing(case, line))
        if solutions.roots and solutions.are_all and solutions.period is None:
            part = tuple(Interval(root.end, root.end, True, True) for root in solutions.roots)
            return Verdict(Grade.TESTED, Domain.PART, case.name, part=part, only=True, counterexample=shown)
        return Verdict(
            Grade.REFUTED, Domain.NONE, case.name, only=solutions.are_none and solutions.is_proved, counterexample=shown
        )
    return Verdict(
        Grade.TESTED, Domain.PART, case.name, part=part, window=window, counterexample=shown, period=turn,
        notes=(ROOTS,) if case.roots else (),
    )  # fmt: skip


def _conditions(case: JudgedEquation, line: Line | None, exceptions: list[Spot]) -> tuple[str, ...]:
    """Those that are written, and single points."""
    single = (f"{case.name} = {spot.end}" for spot in exceptions)
    return tuple(dict.fromkeys([*exceptional_points(case, line), *single]))


def _are_all(part: Part, solutions: Solutions) -> bool:
    """Whether the points of a part are all solutions."""
    return solutions.are_all and len(part) == len(solutions.roots) and all(piece.is_point for piece in part)


def _closer(case: JudgedEquation, line: Line | None, kind: str) -> tuple[Point, Comparison] | None:
    """A point that refutes what agreed at a grid: between cuts, next to one, or with many more digits."""
    watched = ({case.name: x} for x in _watched(line) if kind != "positive" or x > 0)
    return case.next_to_breakpoints(kind) or case.trial(kind, watched).against or case.against_with_more_digits(kind)


def _watched(line: Line | None) -> list[fmpq]:
    return [] if line is None else list(line.samples())


def _window(case: JudgedEquation) -> tuple[tuple[float, float], str]:
    """Where the parts are looked for, and the period if that is one; sin(abs(x)) has one on either side of 0."""
    turn = period(case.equation)
    if turn is not None:
        return (-turn.value / 2, turn.value / 2), str(turn)
    variable = Tree("Symbol", token=case.name)
    size = Tree("abs", (variable,))

    def without_size(node: Tree, parts: list[Tree]) -> Tree:
        return variable if node == size else node.replace(children=parts) if parts else node

    turn = period(Equation(*(side.fold(without_size) for side in case.equation)))
    return (WINDOW, "") if turn is None else ((-turn.value, turn.value), f"{turn} further from 0")


def _often(case: JudgedEquation, line: Line | None) -> bool:
    """Whether the sides agree at more than single points."""
    if line is not None:
        return line.agrees_often()
    outcomes = [compare(case.school, {case.name: fmpq(k, 5)}, "real").outcome for k in range(-23, 24, 2)]
    return any(a is b is PointOutcome.AGREE for a, b in pairwise(outcomes))


class Judge:
    """Gives verdicts, and remembers them."""

    def __init__(self) -> None:
        self._known: dict[Equation, Verdict] = {}
        self._fingerprint = Fingerprint()

    def reach(self, equation: Equation) -> Reach:
        """Where floating-point numbers agree: a quick guess, which a verdict may contradict."""
        return self._fingerprint.reach(equation)

    def holds(self, equation: Equation) -> bool:
        """Whether it is likely to hold at least on positive reals, and the verdict says so, too."""
        return self.reach(equation).likely and self.verdict(equation).holds

    def verdict(self, equation: Equation) -> Verdict:
        """The verdict; undecided also if a function or a leaf has no value, or the equation is too large."""
        if equation not in self._known:
            try:
                self._known[equation] = _verdict(JudgedEquation(share_equal_parts(equation)))
            except Unjudged as error:
                self._known[equation] = undecided(str(error), Doubt.NOT_READ)
            except RecursionError:
                self._known[equation] = undecided("it is too large", Doubt.NOT_READ)
        return self._known[equation]


def _verdict(case: JudgedEquation) -> Verdict:
    if not case.names:
        return constant(case)
    found = everywhere(case)
    if found is not None:
        return found
    return one_variable(case) if len(case.names) == 1 else several(case)
