"""One equation that is judged: its programs, and what a number of points say."""

from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from math import inf
from typing import NamedTuple

from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.breakpoints import next_to_breakpoints, on_cuts
from dgltree.equations.truth.compare import (
    BITS,
    ONE_SIDED,
    Comparison,
    PointOutcome,
    Reading,
    compare,
    compare_settled,
    counts_against,
)
from dgltree.equations.truth.counterexamples import counterexample
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.plain_constants import plain_constants
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proof import prove
from dgltree.equations.truth.proofs.line import Line, real_line
from dgltree.equations.truth.rational_functions import NoValue
from dgltree.equations.truth.region import Region
from dgltree.equations.truth.sample_points import Point, points
from dgltree.equations.truth.solutions.solutions import Solutions
from dgltree.equations.truth.solutions.solving import solve
from dgltree.equations.truth.verdict import Counterexample, Domain, Tested
from dgltree.trees.equation import Equation

FIRST_POINTS = 10
"""Points that are tried before anything is proved."""
PROOF_CHECK_POINTS = 24
"""Points at which a proof is checked."""
MIN_TESTED_POINTS = 5
"""Points at which sides must agree to be called tested."""
HOLES = 2
"""Points at which one side alone may lack a value, of an equation that holds."""
WITH_POLES = ("factorial", "binomial")
"""Functions with poles at whole numbers, which are among the points: there any number of holes is no reason."""
ON_CUTS = 320
"""Bits with which values on cuts are compared: the points are known to more."""
FINE = 4096
"""Bits with which sides are compared that agree to 60 digits."""
MOST_NAMES = 12
DOMAINS = {Domain.EVERYWHERE: "complex", Domain.REALS: "real", Domain.POSITIVE: "positive"}
ROOTS = "odd roots of negative numbers are read as real"


class Trial(NamedTuple):
    """The outcome at a number of points."""

    agreed: int
    skipped: int
    holes: int
    """Points at which exactly one side has a value of any kind."""
    apart: int
    """Points at which exactly one side is real."""
    against: tuple[Point, Comparison] | None
    """The first point that refutes."""


class JudgedEquation:
    """One equation."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation = plain_constants(equation)
        self.principal, self.school = Program(equation, school=False), Program(equation, school=True)
        self.names = sorted(self.principal.variables)
        if len(self.names) > MOST_NAMES:
            raise Unjudged(f"it has more than {MOST_NAMES} variables")
        self.roots = self.principal.odd_roots
        has_poles = any(node.function in WITH_POLES for side in equation for node in side.distinct())
        self.most_holes = inf if has_poles else HOLES

    def trial(self, kind: str, at: Iterable[Point], reading: Reading | None = None) -> Trial:
        """The outcome at points of a kind, up to the first that refutes."""
        program, reading = self.principal if kind == "complex" else self.school, reading or kind
        agreed = skipped = holes = apart = 0
        for point in at:
            found = compare(program, point, reading)
            if found.outcome in (PointOutcome.OPEN, PointOutcome.APART):
                on_axes = compare_settled(program, point, reading)
                found = on_axes if counts_against(on_axes.outcome, reading) else found
            hole = found.outcome in ONE_SIDED and self._is_hole(point, found)
            holes += hole
            apart += found.outcome in ONE_SIDED and not hole
            if counts_against(found.outcome, reading) and not (hole and holes <= self.most_holes):
                return Trial(agreed, skipped, holes, apart, (point, found))
            agreed += found.outcome is PointOutcome.AGREE
            skipped += found.outcome in (PointOutcome.OPEN, PointOutcome.BLURRED)
        return Trial(agreed, skipped, holes, apart, None)

    def next_to_breakpoints(self, kind: str) -> tuple[Point, Comparison] | None:
        """A real point next to a breakpoint that refutes what other points did not."""
        at = next_to_breakpoints(self.school, self.names)
        return self.trial(kind, (point for point in at if kind != "positive" or min(point.values()) > 0)).against

    def counterexample(self, point: Point, found: Comparison) -> Counterexample:
        """The text of a point at which the equation fails, with a complex value where a side has no real one."""
        if found.outcome is not PointOutcome.DIFFER:
            principal = compare(self.principal, point, "complex")
            found = principal if principal.outcome is PointOutcome.DIFFER else found
        return counterexample(point, found)

    def _is_hole(self, point: Point, found: Comparison) -> bool:
        """Whether the side without a value has no complex one either, as at a pole."""
        if None not in (found.left, found.right):
            return False
        principal = self.principal.at(point, BITS[0])
        return any(mine is None and other is None for mine, other in zip(found[1:], principal, strict=True))

    def against_with_more_digits(self, kind: str) -> tuple[Point, Comparison] | None:
        """A point at which sides differ that agree to 60 digits."""
        program = self.principal if kind == "complex" else self.school
        for point in islice(points(self.names, kind), PROOF_CHECK_POINTS):
            found = compare(program, point, kind, (FINE,))
            if found.outcome is PointOutcome.DIFFER:
                return point, found
        return None

    def fails_on_a_cut(self) -> bool:
        """Whether there is a point on a branch cut at which the sides differ, with principal values."""
        return any(
            compare_settled(self.principal, point, "complex", ON_CUTS).outcome is PointOutcome.DIFFER
            for point in on_cuts(self.principal, self.names)
        )

    def proved(self, kind: str) -> bool:
        """Whether it is proved at all points of a kind."""
        try:
            return prove(self.equation, self.names, Region(kind))
        except NoValue:
            return False

    def tested(self, trial: Trial, kind: str) -> Tested:
        """The text of a trial."""
        low, high = ("", "") if kind == "complex" else ("1e-6" if kind == "positive" else "-1e6", "1e6")
        return Tested(trial.agreed, trial.skipped, low, high)

    @cached_property
    def name(self) -> str:
        """Of the only variable."""
        return self.names[0]

    @cached_property
    def solutions(self) -> Solutions:
        """The real solutions, in one variable."""
        return solve(self.equation, self.name, self.line)

    @cached_property
    def line(self) -> Line | None:
        """Where on the real line it holds, in one variable, as far as that is proved."""
        return None if has_imaginary_unit(*self.equation) else real_line(self.equation, self.name)


def no_value(found: Comparison) -> str:
    """Which side has no value."""
    missing = [name for name, side in (("left", found.left), ("right", found.right)) if side is None]
    if len(missing) == 2:
        return "neither side has a value"
    return f"the {missing[0]} side has no value" if missing else ""
