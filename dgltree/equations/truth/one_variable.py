"""Verdicts on equations in one real variable."""

from itertools import islice, pairwise
from typing import Any

from flint import ctx, fmpq

from dgltree.equations.truth.case import CHECKED, DOMAINS, NEEDED, ROOTS, Case, no_value
from dgltree.equations.truth.compare import PointOutcome, compare
from dgltree.equations.truth.counterexamples import counterexample
from dgltree.equations.truth.exceptions import exceptions
from dgltree.equations.truth.numeric_part import WINDOW, numeric_part
from dgltree.equations.truth.periods import period
from dgltree.equations.truth.real_line import CellState, Line, real_line
from dgltree.equations.truth.sample_points import Angle, Point, points
from dgltree.equations.truth.verdict import Counterexample, Domain, Grade, Verdict, undecided
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


def one_variable(case: Case) -> Verdict:
    """Where on the real line an equation holds that does not hold at all complex points."""
    name, line = case.name, case.line
    if line is not None and any(cell.state is CellState.HOLDS for cell in line.cells):
        line = _checked(case, line)
    if line is None or any(cell.state is CellState.OPEN for cell in line.cells):
        return _numeric(case, line)
    if not line.complete and all(cell.state is not CellState.HOLDS for cell in line.cells):
        return _numeric(case, line)
    notes = _root_notes(case, line)
    broken = [cell for cell in line.cells if cell.state in (CellState.FAILS, CellState.ALONE)]
    holding = any(cell.state is CellState.HOLDS for cell in line.cells)
    if holding and not broken and not line.breaks:
        but = exceptions(case, line)
        known: dict[str, Any] = {"part": line.part, "only": line.complete, "conditions": but, "notes": notes}
        return Verdict(Grade.PROVED, Domain.REALS, name, **known)
    if not line.part and not broken:
        return undecided("no side has a real value where it was tried")
    against = _against(case, line) or _complex_against(case)
    known = {"part": line.part, "only": line.complete, "counterexample": against, "notes": notes}
    if not line.part:
        if all(cell.state is CellState.ALONE and None in (cell.found.left, cell.found.right) for cell in line.cells):
            return undecided(no_value(line.cells[0].found) or "a side has no value")
        return Verdict(Grade.REFUTED, Domain.NONE, name, **known)
    right = [cell for cell in line.cells if cell.region.side > 0]
    positive = any(cell.state is CellState.HOLDS for cell in right)
    positive &= all(cell.state is not CellState.FAILS for cell in right)
    positive &= all(end.value <= 0 for end in line.breaks)
    return Verdict(Grade.PROVED, Domain.POSITIVE if positive else Domain.PART, name, **known)


def _checked(case: Case, line: Line) -> Line | None:
    """A line whose proofs no point contradicts; it would take a fault of this program that one does."""
    name = case.name
    for point in islice(points(case.names, "real"), 2 * CHECKED):
        x = point[name]
        if isinstance(x, Angle):
            continue
        number = int(x.p) / int(x.q)
        inside = any(
            (piece.low is None or piece.low.value < number) and (piece.high is None or number < piece.high.value)
            for piece in line.part
            if not piece.is_point
        )
        if inside and compare(case.school, point, "real").outcome is PointOutcome.DIFFER:
            return None
    return line


def _root_notes(case: Case, line: Line) -> tuple[str, ...]:
    if not case.roots:
        return ()
    other = real_line(case.equation, case.name, case.principal, school=False)
    if other is None or other.part == line.part:
        return ()
    place = Verdict(Grade.PROVED, Domain.PART, case.name, other.part).place if other.part else "does not hold"
    return (f"{ROOTS}; by principal values it {place}",)


def _against(case: Case, line: Line) -> Counterexample | None:
    """The counterexample of a line: in the cell where the sides differ plainly, next to one where they agree."""
    found = [(cell.sample, cell.found) for cell in line.cells if cell.state is CellState.FAILS]
    found += [(cell.sample, cell.found) for cell in line.cells if cell.state is CellState.ALONE]
    found.sort(key=lambda one: (one[1].outcome is not PointOutcome.DIFFER, one[0] < 0, abs(one[0])))
    if found:
        return counterexample({case.name: found[0][0]}, found[0][1])
    for end in line.breaks:
        with ctx.workprec(320):
            value = fmpq(*map(int, end.text.split("/"))) if end.text.lstrip("-").replace("/", "").isdigit() else None
        if value is not None:
            point = {case.name: value}
            return counterexample(point, compare(case.school, point, "real"))
    return None


def _complex_against(case: Case) -> Counterexample | None:
    """A counterexample if no real value is one: exp(ix) = cos(x) - i*sin(x)."""
    found = case.trial("complex", points(case.names, "complex")).against
    return None if found is None else counterexample(*found)


def _numeric(case: Case, line: Line | None) -> Verdict:
    """Where a proof does not reach the whole line."""
    for domain in (Domain.REALS, Domain.POSITIVE):
        kind = DOMAINS[domain]
        trial = case.trial(kind, points(case.names, kind))
        if trial.against is None and trial.agreed >= NEEDED:
            trial = trial._replace(against=case.next_to_breakpoints(kind))
        if trial.against is None and trial.agreed >= NEEDED:
            notes: tuple[str, ...] = (ROOTS,) if case.roots else ()
            return Verdict(
                Grade.TESTED, domain, case.name, tested=case.tested(trial, kind), notes=notes,
                both_real=domain is Domain.POSITIVE and trial.apart > 0,
                conditions=exceptions(case, line),
            )  # fmt: skip
    against = trial.against or case.trial("real", points(case.names, "real")).against
    if against is None:
        elsewhere = _complex_against(case)
        if elsewhere is None:
            return undecided("too few points at which both sides have a value")
        return Verdict(Grade.REFUTED, Domain.NONE, case.name, counterexample=elsewhere)
    shown = counterexample(*against)
    if line is not None and any(cell.state is CellState.HOLDS for cell in line.cells):
        return Verdict(
            Grade.PROVED, Domain.PART, case.name, part=line.part, counterexample=shown,
            notes=_root_notes(case, line),
        )  # fmt: skip
    window, turn = _window(case)
    part = numeric_part(case.name, case.school, window) if _often(case, against[0]) else ()
    if not part:
        return Verdict(Grade.REFUTED, Domain.NONE, case.name, only=case.has_no_root, counterexample=shown)
    return Verdict(
        Grade.TESTED, Domain.PART, case.name, part=part, window=window, counterexample=shown, period=turn,
        notes=(ROOTS,) if case.roots else (),
    )  # fmt: skip


def _window(case: Case) -> tuple[tuple[float, float], str]:
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


def _often(case: Case, against: Point) -> bool:
    """Whether the sides agree at more than single points."""
    outcomes = [compare(case.school, {case.name: fmpq(k, 5)}, "real").outcome for k in range(-23, 24, 2)]
    return any(a is b is PointOutcome.AGREE for a, b in pairwise(outcomes))
