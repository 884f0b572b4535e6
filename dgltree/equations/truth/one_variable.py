"""Verdicts on equations in one real variable."""

from dataclasses import replace
from itertools import pairwise

from flint import fmpq

from dgltree.equations.truth.compare import Comparison, PointOutcome, compare, counts_against
from dgltree.equations.truth.counterexamples import counterexample
from dgltree.equations.truth.exceptional_points import exceptional_points
from dgltree.equations.truth.judged_equation import DOMAINS, MIN_TESTED_POINTS, ROOTS, JudgedEquation, no_value
from dgltree.equations.truth.numeric_part import WINDOW, numeric_part
from dgltree.equations.truth.part import Interval, Part, join_parts
from dgltree.equations.truth.periods import period
from dgltree.equations.truth.proofs.checker import CellState
from dgltree.equations.truth.proofs.line import Line, Spot, real_line
from dgltree.equations.truth.proofs.verdicts import line_verdict, place_on_reals, points_verdict
from dgltree.equations.truth.sample_points import Point, points
from dgltree.equations.truth.solutions.solutions import Solutions
from dgltree.equations.truth.verdict import Counterexample, Domain, Doubt, Grade, Verdict, undecided
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


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
