"""Where an equation holds with its blanks filled: asked for while there is time, and remembered."""

from collections.abc import Sequence
from itertools import islice

from dgltree.equations.expressions.variables import variables
from dgltree.equations.search.clock import Clock
from dgltree.equations.truth.drawn_letters import MIN_DRAWN, DrawnLetters, Fit
from dgltree.equations.truth.evaluator import Reach
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.program import PointOutcome, Program, compare
from dgltree.equations.truth.sample_points import points
from dgltree.equations.truth.verdict import Domain, Grade, Tested, Verdict
from dgltree.support.lazy import cached_property
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

NODE = 1e-4
"""Seconds that a look at points may take for each node of an equation."""
VERDICT, VERDICT_NODE = 0.05, 4e-3
"""Seconds that a verdict may take, and further ones for each node."""
MAX_MAGNITUDE = 10**9
"""Nodes beyond which the seconds of a verdict grow no further; shared subtrees can make a tree of 2^100 nodes."""
TRIED = 200
"""Values of the letters at which a formula is tried that does not hold at all of them."""
Fillers = tuple[Tree, ...]
"""One for each blank."""


class Verdicts:
    """Where one equation holds with its fillers: at points, quickly, and by the judge.

    Args:
        equation: with these blanks.
        blanks: the leaves that are replaced.
        clock: after which nothing more is asked for.
        unknown: the variable that the blank replaces.
    """

    def __init__(self, equation: Equation, blanks: Sequence[Tree], clock: Clock, unknown: str | None = None) -> None:
        self._equation = equation
        self._blanks = tuple(blanks)
        self.clock = clock
        self._unknown = unknown
        self._judge = Judge()
        self._reaches: dict[Fillers, Reach] = {}
        self._known: dict[Fillers, Verdict] = {}
        size = min(sum(side.size for side in equation), MAX_MAGNITUDE)
        self._look = NODE * size
        self._verdict = VERDICT + VERDICT_NODE * size
        clock.keep(self._verdict)

    def reach(self, *fillers: Tree) -> Reach:
        """At which points the sides agree with a filler for each blank; OPEN if there is no time for it."""
        if fillers not in self._reaches:
            if not self.clock.allows(self._look):
                return Reach.OPEN
            self._reaches[fillers] = self._judge.reach(self.filled(fillers))
        return self._reaches[fillers]

    def likely(self, *fillers: Tree) -> bool:
        """Whether the sides agree at least at positive points."""
        return self.reach(*fillers).likely

    @cached_property
    def drawn(self) -> DrawnLetters | None:
        """The solutions at drawn values of the letters next to an unknown; None without both."""
        if self._unknown is None or not variables(*self._equation) or has_imaginary_unit(*self._equation):
            return None
        return DrawnLetters(self.filled((Tree("Symbol", token=self._unknown),)), self._unknown)

    def of(self, *fillers: Tree) -> Verdict | None:
        """The verdict on a filler for each blank, None if there is no time for it, or there was not enough."""
        if fillers not in self._known:
            if not self.clock.allows(self._verdict):
                return None
            found = self.clock.in_time(lambda: self._found(fillers))
            if found is None:
                return None
            self._known[fillers] = found
        return self._known[fillers]

    def _found(self, fillers: Fillers) -> Verdict:
        """The verdict of the judge; of a formula that it refutes that of the solutions at drawn letters.

        atan(k*t) = h is solved by tan(h)/k although it does not hold where h is 2, for which there is no solution.
        """
        verdict = self._judge.verdict(self.filled(fillers))
        fitted = None if verdict.domain is not Domain.NONE or self.drawn is None else self.drawn.fitted(fillers[0])
        if fitted is None or fitted.fit is not Fit.SOLVES or fitted.drawings < MIN_DRAWN:
            return verdict
        return Verdict(Grade.TESTED, Domain.SOLVED, tested=Tested(fitted.drawings, 0, "", ""))

    def holds(self, *fillers: Tree) -> bool:
        """Whether the sides agree at points, and the judge says that they do."""
        verdict = self.of(*fillers) if self.likely(*fillers) else None
        return verdict is not None and verdict.holds

    def holds_on_a_part(self, filler: Tree) -> bool:
        """Whether the sides are equal somewhere; of a formula that is also tried at some values of the letters."""
        verdict = self.of(filler)
        if verdict is None or verdict.grade is not Grade.REFUTED or self.drawn is None:
            return verdict is not None and verdict.domain is not Domain.NONE
        agreed = self.clock.in_time(lambda: self._agreeing(filler)) or 0
        if agreed >= MIN_DRAWN:
            self._known[(filler,)] = Verdict(Grade.TESTED, Domain.PART, tested=Tested(agreed, 0, "", ""))
        return agreed >= MIN_DRAWN

    def _agreeing(self, filler: Tree) -> int:
        """Return at how many values of the letters, of those that are tried, the sides agree to 60 digits."""
        equation = self.filled((filler,))
        program = Program(equation, school=True)
        values = islice(points(variables(*equation), "real"), TRIED)
        return sum(compare(program, point, "real").outcome is PointOutcome.AGREE for point in values)

    def filled(self, fillers: Fillers) -> Equation:
        """The equation with each blank replaced by its filler."""
        replacements = dict(zip(self._blanks, fillers, strict=True))
        return Equation(*(substitute(side, replacements) for side in self._equation))
