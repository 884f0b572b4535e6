"""The judge gives verdicts: proofs, parts of the real line, refutations and tests, in the order of what is cheapest.

An equation of numbers is compared at once. Any other one is first tried at all complex points; if it does not hold
there, on the real line if it has one variable, and at all real or all positive points if it has several.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise
from math import ceil, floor, inf, pi
from typing import Any

from flint import acb, arb, fmpq

from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.assumed import Assumed, AssumedSpan
from dgltree.equations.truth.balls import Unjudged, ball
from dgltree.equations.truth.conditions import conditions, exceptional_points
from dgltree.equations.truth.evaluator import Fingerprint, Reach
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.identities.proof import gap, prove
from dgltree.equations.truth.identities.rational_functions import NoValue, Region
from dgltree.equations.truth.judged_equation import (
    DOMAINS,
    FIRST_POINTS,
    MIN_DIGITS,
    MIN_TESTED_POINTS,
    PROOF_CHECK_POINTS,
    ROOTS,
    JudgedEquation,
    Trial,
    counterexample,
    no_value,
    write_coordinate,
    write_number,
)
from dgltree.equations.truth.periods import period
from dgltree.equations.truth.precision import one_thread_at_a_time
from dgltree.equations.truth.program import Comparison, PointOutcome, Program, compare, compare_end, counts_against
from dgltree.equations.truth.proofs.certificates import CellState
from dgltree.equations.truth.proofs.expression import Expression, X, number
from dgltree.equations.truth.proofs.finder import have_plainly_same_domain, have_same_domain
from dgltree.equations.truth.proofs.line import (
    Line,
    Spot,
    line_along,
    line_verdict,
    place_on_reals,
    points_verdict,
    real_line,
)
from dgltree.equations.truth.proofs.place import to_fmpq
from dgltree.equations.truth.proofs.work import TooMuchWork, allowing, spend, working
from dgltree.equations.truth.sample_points import Point, angle, plain_first, points, real_lines
from dgltree.equations.truth.solutions.solutions import Solutions
from dgltree.equations.truth.verdict import (
    ZERO_END,
    Counterexample,
    Domain,
    Doubt,
    End,
    Grade,
    Interval,
    Part,
    Tested,
    Verdict,
    decimal_end,
    join_parts,
    undecided,
)
from dgltree.read.notation import number as number_leaf
from dgltree.trees.equation import Equation, share_equal_parts, substitute
from dgltree.trees.tree import Tree

WORK = 1_800_000
"""Units of work of a verdict: its proofs, solutions and intervals; 9 s of CPU time (2026-11-28)."""


class Judge:
    """Gives verdicts, and remembers them.

    Args:
        work: units of work of each verdict, whatever was judged before.
    """

    def __init__(self, work: int = WORK) -> None:
        self._work = work
        self._known: dict[Equation, Verdict] = {}
        self._fingerprint = Fingerprint()

    def reach(self, equation: Equation) -> Reach:
        """Where floating-point numbers agree: a quick guess, which a verdict may contradict."""
        return self._fingerprint.reach(equation)

    def holds(self, equation: Equation) -> bool:
        """Whether it is likely to hold at least on positive reals, and the verdict says so, too."""
        return self.reach(equation).likely and self.verdict(equation).holds

    @one_thread_at_a_time
    def verdict_within(self, equation: Equation, spans: Mapping[str, AssumedSpan]) -> Verdict:
        """The verdict on an equation whose variables have values in spans."""
        try:
            with allowing(self._work):
                return Assumed(share_equal_parts(equation), spans).verdict()
        except Unjudged as error:
            return undecided(str(error), Doubt.NOT_READ)

    @one_thread_at_a_time
    def verdict(self, equation: Equation) -> Verdict:
        """The verdict; undecided also if a function or a leaf has no value, or the equation is too large."""
        if equation not in self._known:
            try:
                with allowing(self._work):
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


# Equations of numbers alone

LARGE = 300
"""Powers of ten beyond which values are called large, or small."""


def constant(case: JudgedEquation) -> Verdict:
    """Return the verdict on an equation of numbers alone."""
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
    """Ask for the sign of the difference where values do not differ visibly: 9^9^9 is not 9^9^9 + 1."""
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


# All complex points


def everywhere(case: JudgedEquation) -> Verdict | None:
    """Return the verdict that it holds, or has no value, at all complex points; None if it does not."""
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
    """Return where it holds on the reals, if that is less: of sqrt(x)^2 = x."""
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


# One real variable

POINTS = "nothing is shown of single points at which an exponent of a negative number is whole"


def one_variable(case: JudgedEquation) -> Verdict:
    """Where on the real line an equation holds that does not hold at all complex points."""
    if (whole := _at_whole_numbers(case)) is not None:
        return whole
    line = case.line
    if line is not None:
        against = _against(case, line) if line.is_broken else None
        if line.states <= {CellState.NONE, CellState.ALONE} and (reason := _reason(case, line)):
            return undecided(reason, Doubt.NO_VALUE)
        shown = line_verdict(line, against, exceptional_points(case, line), root_notes(case, line))
        if shown is not None:
            return replace(shown, agrees=_agreeing(case, line))
    return _numeric(case, line)


WHOLE_STEPS = ("1/2", "1", "2", "3")
"""Numbers of which each whole multiple is tried where a power has a negative base."""


def _at_whole_numbers(case: JudgedEquation) -> Verdict | None:
    """The verdict on an equation with a power of a negative number, which is real at whole exponents alone."""
    if not any(map(_has_negative_base, case.equation)):
        return None
    variable = Tree("Symbol", token=case.name)
    for step in WHOLE_STEPS:
        multiple = variable if step == "1" else Tree("Mul", (number_leaf(step), variable))
        at = Equation(*(substitute(side, {variable: multiple}) for side in case.equation))
        found = Assumed(at, {case.name: AssumedSpan(whole=True)}).verdict()
        if found.domain is Domain.REALS and not found.conditions:
            size = float(Fraction(step))
            return Verdict(
                found.grade, Domain.PART, case.name, part=(Interval(ZERO_END, ZERO_END, True, True),),
                window=(-size / 2, size / 2), period=step,
            )  # fmt: skip
    return None


def _has_negative_base(side: Tree) -> bool:
    return any(
        node.function == "Pow" and variables(node.children[1]) and (exact_value(node.children[0]) or 0) < 0
        for node in side.distinct()
    )


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
    """How odd roots were read, if the other reading says something else, and single points that are left out."""
    if line.leaves_out_points:
        return (POINTS,)
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
    """Test where a proof does not reach the whole line. A claim is tried between all cuts and next to them, too."""
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
            notes = (POINTS,) if line.leaves_out_points else ()
            return replace(found, only=only, agrees=() if only else _agreeing(case, line), notes=notes)
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
    """Return the conditions that are written, and single points."""
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
        if node == size:
            return variable
        return node.replace(children=parts) if parts else node

    turn = period(Equation(*(side.fold(without_size) for side in case.equation)))
    return (WINDOW, "") if turn is None else ((-turn.value, turn.value), f"{turn} further from 0")


def _often(case: JudgedEquation, line: Line | None) -> bool:
    """Whether the sides agree at more than single points."""
    if line is not None:
        return line.agrees_often()
    outcomes = [compare(case.school, {case.name: fmpq(k, 5)}, "real").outcome for k in range(-23, 24, 2)]
    return any(a is b is PointOutcome.AGREE for a, b in pairwise(outcomes))


# Intervals that are found numerically, where no proof has their ends

WINDOW = (-20, 20)
STEPS = 4
"""Points of the grid per unit."""
NUMERIC_WORK, VALUE = 400_000, 2
"""Units of work of the intervals that are found, and of one value at a point: 13,000 points of 15 parts."""
MIN_WINDOW_POINTS = 48
"""Points of the grid in a short window."""
NARROW = 64
"""Share of the way to the next point of the grid: an interval around one point of the grid is wider."""
STEP = fmpq(1, 10**6)
"""Distance of the numbers next to one."""
WITHIN = 16
"""Further points of an interval, and of each unit of it, at which it has to hold."""
END_BITS = 320
"""Bits with which sides are compared at an end."""
LARGEST_END, CLOSE = 1000, 1e-11
"""Denominator of a plain number that an end may be, and how close to it an end is found."""
HALVED = 44
"""How often the way to an end is halved: to 1e-13."""


def numeric_part(
    name: str, program: Program, window: tuple[float, float] = WINDOW, watched: Sequence[fmpq] = ()
) -> Part:
    """The intervals between two numbers; none if the equation holds at single points only.

    Args:
        watched: further points, between those at which a sign changes.
    """

    def holds(x: Any) -> bool:
        spend(VALUE * program.size)
        return compare(program, {name: x}, "real").outcome is PointOutcome.AGREE

    found: list[Interval] = []
    with suppress(TooMuchWork), allowing(NUMERIC_WORK), working(NUMERIC_WORK):
        low, high = (fmpq(*float(end).as_integer_ratio()) for end in window)
        count = max(MIN_WINDOW_POINTS, int(STEPS * (window[1] - window[0])))
        spend(count)  # of a long period there are too many even to list
        between = (low + (high - low) * fmpq(k, count) + fmpq(1, 1000) for k in range(count))
        plain = [(x, value) for x, value in _plain_numbers(window) if holds(value)]
        grid = sorted({low, *between, high, *(x for x in watched if low < x < high), *(x for x, _ in plain)})
        inside = [holds(x) for x in grid]
        for start, stop in _intervals(grid, inside, holds):
            (first, first_in), (last, last_in) = (_numeric_end(end, program, name) for end in (start, stop))
            found.append(Interval(first, last, first_in, last_in))
        if found:
            found += _single_points(plain, list(found), holds)
    return tuple(sorted(found, key=lambda piece: piece.low.value if piece.low else -inf))


def _plain_numbers(window: tuple[float, float]) -> Iterator[tuple[fmpq, Any]]:
    """Yield whole numbers and multiples of pi/12 in a window, as far as those are small, each next to a fraction."""
    low = max(window[0], WINDOW[0])
    high = min(window[1], WINDOW[1])
    yield from ((fmpq(k), fmpq(k)) for k in range(floor(low) + 1, ceil(high)))
    for k in range(floor(low * 12 / pi) + 1, ceil(high * 12 / pi)):
        if k:
            yield fmpq(*(k * pi / 12).as_integer_ratio()), angle(k)


def _single_points(
    plain: Sequence[tuple[fmpq, Any]], found: Sequence[Interval], holds: Callable[[Any], bool]
) -> Iterator[Interval]:
    """Yield the plain numbers outside of the intervals at which it holds, and next to which it does not."""
    ends = [(piece.low.value, piece.high.value) for piece in found if piece.low and piece.high]
    for x, value in plain:
        at = _float(x)
        is_apart = not any(low - CLOSE <= at <= high + CLOSE for low, high in ends)
        if is_apart and not any(holds(x + step) for step in (STEP, -STEP)):
            end = End(_written(value), decimal_end(at).value)
            yield Interval(end, end, True, True)


def _intervals(grid: list[fmpq], inside: list[bool], holds: Callable[[Any], bool]) -> Iterator[tuple[float, float]]:
    start = None
    for k, here in enumerate(inside):
        if here and start is None:
            start = k
        if start is not None and (not here or k + 1 == len(grid)):
            last = k - 1 if not here else k
            is_wide = last > start or _holds_around(grid, start, holds)
            if is_wide and all(map(holds, _between(grid[start], grid[last]))):
                low = _float(grid[0]) if start == 0 else _end(grid[start], grid[start - 1], holds)
                high = _float(grid[-1]) if last + 1 == len(grid) else _end(grid[last], grid[last + 1], holds)
                outer = [*_towards(low, grid[start]), *_towards(high, grid[last])]
                if not all(map(holds, outer)):  # it changes faster than the grid can see
                    start = None
                    continue
                yield low, high
            start = None


def _holds_around(grid: list[fmpq], place: int, holds: Callable[[Any], bool]) -> bool:
    """Whether it holds next to a point of the grid at which alone it holds: an interval may be narrower."""
    if not 0 < place < len(grid) - 1:
        return False
    x = grid[place]
    return all(holds(x + (other - x) / NARROW) for other in (grid[place - 1], grid[place + 1]))


def _between(low: fmpq, high: fmpq) -> Iterator[fmpq]:
    """Yield points between those of the grid, at which it might fail as well."""
    draw = random.Random(f"between {low} {high}")
    count = WITHIN + int(WITHIN * (int(high.p) / int(high.q) - int(low.p) / int(low.q)))
    return (low + (high - low) * fmpq(draw.randint(1, 4095), 4096) for _ in range(count))


def _towards(end: float, inside: fmpq) -> Iterator[fmpq]:
    """Yield points between an end and the first point of the grid from there."""
    return _between(*sorted((fmpq(*end.as_integer_ratio()), inside)))


def _float(x: fmpq) -> float:
    return int(x.p) / int(x.q)


def _numeric_end(end: float, program: Program, name: str) -> tuple[End, bool]:
    """An end as the plain number or the multiple of pi/12 that it is, and whether it is part of the interval.

    Another end is taken to be: where an absolute value turns it is.
    """
    q = Fraction(end).limit_denominator(LARGEST_END)
    turns = round(12 * end / pi)
    if turns and abs(turns * pi / 12 - end) < CLOSE:
        value: Any = angle(turns)
    elif abs(float(q) - end) < CLOSE:
        value = to_fmpq(q)
    else:
        return decimal_end(end), True
    found = compare_end(program, {name: value}, END_BITS)
    are_finite = all(side is not None and ball(side).is_finite() for side in (found.left, found.right))  # at poles not
    is_part = are_finite and found.outcome in (PointOutcome.AGREE, PointOutcome.OPEN)
    return End(_written(value), decimal_end(end).value), is_part


def _written(value: Any) -> str:
    """A fraction, or a multiple of pi as an expression: 3*pi/4."""
    return re.sub(r"(?<=[0-9])pi", "*pi", write_coordinate(value))


def _end(inside: fmpq, outside: fmpq, holds: Callable[[Any], bool]) -> float:
    """Return where the equation stops to hold."""
    for _ in range(HALVED):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return int(inside.p) / int(inside.q)


# Several real variables


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
    """Yield points of some lines: where proofs find that it fails, between all cuts and next to them.

    Points at random agree wherever |A + |B|| = A + |B| holds on most of the plane; on a line it is seen where it ends.
    """
    for line in real_lines(case.names):
        letters: dict[str, Expression] = {name: ("+", number(a), ("*", number(b), X)) for name, (a, b) in line.items()}
        found = line_along(case.equation, letters, "t")
        for t in () if found is None else (*found.points_of_failure(), *found.samples()):
            point = {name: to_fmpq(a) + to_fmpq(b) * t for name, (a, b) in line.items()}
            if kind != "positive" or min(point.values()) > 0:
                yield point
