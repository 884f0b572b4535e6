"""An answer has one line for each value, judged, in the order in which a textbook would write them.

:class:`Values` tells by their values at points which fillers are the same; :func:`covers` says whether a filler holds
wherever the rest of the equation has a real value, or on a part of that only.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from dgltree.equations.completion.result import Filler
from dgltree.equations.expressions.canonical_form import restates
from dgltree.equations.expressions.variables import count_blanks, find_blank, variables
from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.search.points import CHECK_POINTS, COMPLEX, TOLERANCE, Points, points, regions, value
from dgltree.equations.search.textbook_cost import is_plain_term, textbook_cost
from dgltree.equations.search.verdicts import Verdicts
from dgltree.equations.truth.balls import Unjudged, is_real
from dgltree.equations.truth.elementary import Array
from dgltree.equations.truth.evaluator import Reach
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.program import PointOutcome, Program, compare
from dgltree.equations.truth.sample_points import points as sample_points
from dgltree.equations.truth.verdict import Domain, Doubt, Verdict, undecided
from dgltree.read.functions import names as functions
from dgltree.read.notation import OPERATORS
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

CANDIDATES = 400  # the shortest of what was found
JUDGED = 60  # fillers whose fingerprint is looked at
SHOWN = 6  # more fillers get a verdict than are shown: some hold on a part only
FORMS = 8  # other spellings of one value
LENGTH = {Reach.EVERYWHERE: 0.0, Reach.REALS: 2.0, Reach.POSITIVE: 6.0}
"""Symbols that a filler may be longer for holding at more points: log(y) is better than log(x*y) - log(x)."""
NAMED = ("simplified", "factored", "expanded")
"""Sources whose fillers are lines of their own, if a side is the bare blank."""
KEPT = (*NAMED, "isolated", "solved")
"""Sources whose fillers are judged however long they are."""
MIN_COMMON_POINTS = 3
"""Points at which two trees must both have a value."""
WIDER = (37.0, 12345.0)
"""How many times farther out to compare values that may change if an argument is 0: abs(x - 4) and 4 - x."""
FAR_TOLERANCE = 1e-3
"""Relative difference of values farther out."""
ANALYTIC = {"Add", "Mul", *functions("exponential", "circular", "hyperbolic", inverse=False)}
BITS = 64
"""Precision of the values that decide whether a point is asked; one that may not be real is left out."""


class _Line(NamedTuple):
    """Fillers of one value, the first of which is shown."""

    trees: list[Tree]
    named: bool


class Lines:
    """The lines for one blank.

    Args:
        equation: with the blank, at one place or at several.
        verdicts: on its fillers.
    """

    def __init__(self, equation: Equation, verdicts: Verdicts) -> None:
        self._equation = equation
        self._verdicts = verdicts
        self._values = Values(variables(*equation))
        self._most = _longest(equation)
        self._plain = count_blanks(equation) == 1 and is_plain_term(find_blank(equation))
        self.is_one_sided = BLANK in equation and count_blanks(equation) == 1
        """Whether a side is the bare blank, and the other one has none."""

    def of(self, found: dict[Tree, str], top: int) -> list[Filler]:
        """At most ``top`` fillers that hold; what holds on a part only after the others."""
        shown: list[Filler] = []
        on_a_part: list[Filler] = []
        for place, line in enumerate(self._grouped(self._likely(found, top), found)):
            if len(shown) == top or (shown and place >= 2 * top + SHOWN):
                break
            filler = self._judged(line, found)
            if filler is not None:
                (shown if self._is_full(filler) else on_a_part).append(filler)
        lines = list(shown)
        for filler in on_a_part:
            if not self._is_longer_part(filler, lines):
                lines.append(filler)
        if not has_imaginary_unit(*self._equation):
            real = [filler for filler in lines if self._values.is_real(filler.trees[0])]
            lines = real or lines
        return lines[:top]

    def _is_full(self, filler: Filler) -> bool:
        """Whether it is shown, in time, that a filler holds wherever the rest of the equation has a value."""
        found = self._verdicts.clock.in_time(lambda: covers(self._equation, filler.trees[0], filler.verdict))
        return found is True

    def _is_longer_part(self, filler: Filler, shown: Sequence[Filler]) -> bool:
        """Whether what holds on a part is longer than what it is equal to there: sqrt(x^2) next to x."""
        [tree] = filler.trees
        shorter = (other.trees[0] for other in shown if textbook_cost(other.trees[0]) < textbook_cost(tree))
        return any(self._values.overlap(tree, other) for other in shorter)

    def agreed(self, found: dict[Tree, str], most: int) -> list[Tree]:
        """The fillers that agree best at points, if nothing holds: the shortest first, each value once."""
        shortest = sorted(found, key=symbols)[:JUDGED]
        best = sorted(shortest, key=lambda tree: (self._verdicts.reach(tree), symbols(tree)))
        return [line.trees[0] for line in self._grouped(best, found)][:most]

    def _likely(self, found: dict[Tree, str], top: int) -> list[Tree]:
        """The fillers that seem to hold, the best first."""
        found = {tree: source for tree, source in found.items() if source in KEPT or symbols(tree) <= self._most}
        candidates = sorted(found, key=symbols)[:CANDIDATES]
        kept = [tree for tree, source in found.items() if source in KEPT]
        costs = {tree: textbook_cost(tree, self._plain) for tree in [*candidates, *kept]}
        judged = sorted(candidates, key=costs.__getitem__)[: max(JUDGED, 2 * top)]
        # the shortest, too: the order may have them behind many that do not hold
        reaches = {tree: self._verdicts.reach(tree) for tree in dict.fromkeys([*kept, *judged, *candidates[:JUDGED]])}
        # an inverse function holds on a part only, at which points may not lie: atan(tan(2*x)), and (-8)^(2/3) = 4
        isolated = [tree for tree in kept if found[tree] == "isolated" and self._verdicts.holds_on_a_part(tree)]
        partial = [tree for tree in isolated if not reaches[tree].likely]
        likely = [
            tree
            for tree, reach in reaches.items()
            if reach.likely or any(self._values.same(tree, other) for other in partial)
        ]
        likely.sort(key=lambda tree: costs[tree] + LENGTH.get(reaches[tree], LENGTH[Reach.POSITIVE]))
        return self._copies_behind(likely, found)

    def _copies_behind(self, holding: list[Tree], found: dict[Tree, str]) -> list[Tree]:
        """Moves fillers that contain a side of the equation after all forms that are no longer than they are.

        Where a side is the bare blank, the forms that have a name come first, and copies of the other side last.
        """
        copies = [tree for tree in holding if self._is_copy(tree)]
        ordered = [tree for tree in holding if tree not in set(copies)]
        if self.is_one_sided:
            return sorted(ordered, key=lambda tree: found[tree] not in NAMED) + copies
        for copy in reversed(copies):
            behind = [place for place, tree in enumerate(ordered) if textbook_cost(tree) <= textbook_cost(copy)]
            ordered.insert(behind[-1] + 1 if behind else 0, copy)
        return ordered

    def _is_copy(self, tree: Tree) -> bool:
        return any(restates(tree, side) for side in self._equation)

    def _grouped(self, trees: Sequence[Tree], found: dict[Tree, str]) -> list[_Line]:
        """Trees of one value together, in the order of their first; what has a name leads a line."""
        lines: list[_Line] = []
        for tree in trees:
            alike = [line for line in lines if self._values.same(line.trees[0], tree)]
            named = self.is_one_sided and found[tree] in NAMED and not self._is_copy(tree)
            if alike and not named:
                alike[0].trees.append(tree)
            else:
                lines.append(_Line([tree], named))
        return lines

    def _judged(self, line: _Line, found: dict[Tree, str]) -> Filler | None:
        """The first of a line that holds, with the others; none if none of the first does."""
        for tree in line.trees[: SHOWN // 2]:
            verdict = self.verdict(tree)
            if verdict.domain is not Domain.NONE:
                forms = tuple(other for other in line.trees[: FORMS + 1] if other != tree)
                return Filler((tree,), verdict, found[tree], forms=forms)
        return None

    def verdict(self, *trees: Tree) -> Verdict:
        """The verdict on a filler for each blank; undecided, too, if there was no time to look into it."""
        return self._verdicts.of(*trees) or undecided("not judged for lack of time", Doubt.NO_TIME)


def _longest(equation: Equation) -> float:
    """Symbols of a filler at most: those of the other side, where one is the blank and no function is there."""
    sides = [side for side in equation if side != BLANK]
    if len(sides) != 1 or any(node.children and node.function not in OPERATORS for node in sides[0].distinct()):
        return inf
    return symbols(sides[0])


class Values:
    """The values of trees in these variables, remembered.

    Args:
        names: of the variables.
    """

    def __init__(self, names: Sequence[str]) -> None:
        near = [points(region, list(names), CHECK_POINTS) for region in regions()]
        self._complex = [at for at in near if at.region == COMPLEX]
        self._real = [at for at in near if at.region != COMPLEX]
        self._wide = [_wider(at, times) for times in WIDER for at in self._real]
        self._known: dict[tuple[Tree, int], Array] = {}

    def same(self, a: Tree, b: Tree) -> bool:
        """Whether two trees agree at the real points where both have values; at complex points if these are few."""
        if a == b:
            return True
        for where in (self._real, self._complex):
            first = self._of(a, where)
            second = self._of(b, where)
            both = np.isfinite(first) & np.isfinite(second)
            if np.count_nonzero(both) >= MIN_COMMON_POINTS:
                return bool(_close(first[both], second[both]).all()) and self._same_far_out(a, b)
        return False

    def _same_far_out(self, a: Tree, b: Tree) -> bool:
        if _is_analytic(a) and _is_analytic(b):
            return True
        first = self._of(a, self._wide)
        second = self._of(b, self._wide)
        both = np.isfinite(first) & np.isfinite(second)
        differ = ~_close(first[both], second[both], FAR_TOLERANCE)  # far out much may cancel
        return int(np.count_nonzero(differ)) < MIN_COMMON_POINTS

    def overlap(self, a: Tree, b: Tree) -> bool:
        """Whether two trees agree at some real points."""
        return int(np.count_nonzero(_close(self._of(a, self._real), self._of(b, self._real)))) >= MIN_COMMON_POINTS

    def is_real(self, tree: Tree) -> bool:
        """Whether it has a real value at a real point."""
        return bool(np.isfinite(self._of(tree, self._real)).any())

    def _of(self, tree: Tree, where: Sequence[Points]) -> Array:
        """The values at points, NaN at real ones if they are not real."""
        key = tree, id(where)
        if key not in self._known:
            with np.errstate(all="ignore"):
                found = [np.broadcast_to(value(tree, at, {}), (at.number,)) for at in where]
            self._known[key] = np.concatenate(found)
        return self._known[key]


def _wider(at: Points, times: float) -> Points:
    return at._replace(values={name: times * values for name, values in at.values.items()})


def _is_analytic(tree: Tree) -> bool:
    """Whether it is one formula on the whole line: it has no roots, absolute values, or inverse functions."""
    return all(
        not node.children or node.function in ANALYTIC or (node.function == "Pow" and _is_whole(node.children[1]))
        for node in tree.distinct()
    )


def _is_whole(exponent: Tree) -> bool:
    n = exact(exponent)
    return n is not None and n.denominator == 1


def _close(first: Array, second: Array, difference: float = TOLERANCE) -> Array:
    """(P,) whether numbers agree; NaN agrees with nothing."""
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(first), np.abs(second))
        close: Array = np.abs(first - second) <= difference * size + 1e-13
    return close


def covers(equation: Equation, filler: Tree, verdict: Verdict) -> bool:
    """Whether the filled equation holds at all real points where its other parts have real values.

    Args:
        equation: with one blank, at one place or at several.
        filler: what is put there.
        verdict: of the filled equation.
    """
    if verdict.domain in (Domain.EVERYWHERE, Domain.REALS, Domain.SOLVED):
        return True
    if verdict.domain not in (Domain.POSITIVE, Domain.PART):
        return False
    rest = list(_rest(equation))
    try:
        filled = Program(equation.fill(filler), school=True)
        parts = [Program(Equation(tree, tree), school=True) for tree in rest]
    except Unjudged:
        return False
    for point in sample_points(variables(*equation.fill(filler)), "real"):
        if all(_real(part.at(point, BITS)[0]) for part in parts):
            outcome = compare(filled, point, "real").outcome
            if outcome not in (PointOutcome.AGREE, PointOutcome.BLURRED, PointOutcome.OPEN, PointOutcome.NO_VALUE):
                return False
    return True


def _real(value: object) -> bool:
    return value is not None and is_real(value) is True


def _rest(equation: Equation) -> Iterator[Tree]:
    """The parts without a blank: the other side, and what is next to the path from the blank to its root."""
    if count_blanks(equation) != 1:
        yield from (side for side in equation if all(node != BLANK for node in side.distinct()))
        return
    path = find_blank(equation)
    yield equation[1 - path.side]
    for node, slot in path.steps:
        yield from (child for k, child in enumerate(node.children) if k != slot)
