"""Where an equation holds with its blanks filled: asked for while there is time, and remembered."""

from collections.abc import Sequence

from dgltree.equations.search.clock import Clock
from dgltree.equations.truth.evaluator import Reach
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Verdict
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

NODE = 1e-4
"""Seconds that a look at points may take for each node of an equation."""
VERDICT, VERDICT_NODE = 0.05, 4e-3
"""Seconds that a verdict may take, and further ones for each node."""
MAX_MAGNITUDE = 10**9
"""Nodes beyond which the seconds of a verdict grow no further; shared subtrees can make a tree of 2^100 nodes."""
Fillers = tuple[Tree, ...]
"""One for each blank."""


class Verdicts:
    """Where one equation holds with its fillers: at points, quickly, and by the judge.

    Args:
        equation: with these blanks.
        blanks: the leaves that are replaced.
        clock: after which nothing more is asked for.
    """

    def __init__(self, equation: Equation, blanks: Sequence[Tree], clock: Clock) -> None:
        self._equation, self._blanks, self.clock = equation, tuple(blanks), clock
        self._judge = Judge()
        self._reaches: dict[Fillers, Reach] = {}
        self._known: dict[Fillers, Verdict] = {}
        size = min(sum(side.size for side in equation), MAX_MAGNITUDE)
        self._look, self._verdict = NODE * size, VERDICT + VERDICT_NODE * size
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

    def of(self, *fillers: Tree) -> Verdict | None:
        """The verdict on a filler for each blank, None if there is no time for it, or there was not enough."""
        if fillers not in self._known:
            if not self.clock.allows(self._verdict):
                return None
            found = self.clock.in_time(lambda: self._judge.verdict(self.filled(fillers)))
            if found is None:
                return None
            self._known[fillers] = found
        return self._known[fillers]

    def holds(self, *fillers: Tree) -> bool:
        """Whether the sides agree at points, and the judge says that they do."""
        verdict = self.of(*fillers) if self.likely(*fillers) else None
        return verdict is not None and verdict.holds

    def filled(self, fillers: Fillers) -> Equation:
        """The equation with each blank replaced by its filler."""
        replacements = dict(zip(self._blanks, fillers, strict=True))
        return Equation(*(substitute(side, replacements) for side in self._equation))
