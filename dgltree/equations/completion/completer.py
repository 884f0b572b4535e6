"""What may fill the blanks of an equation: searched, judged by arithmetic, ordered as a textbook would."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dgltree.equations.completion.coverage import covers
from dgltree.equations.expressions.canonical_form import restates
from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.multi_blank import MultiBlankResult, search_multi_blank
from dgltree.equations.search.search import BUDGET, Search, SearchResult
from dgltree.equations.search.verdicts import Verdicts
from dgltree.equations.truth.fingerprint import Reach
from dgltree.equations.truth.verdict import Domain, Grade, Verdict, undecided
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.trees.equation import BLANK, Equation, blank
from dgltree.trees.tree import Tree

DEEPEST = 200  # nested so deep an equation is refused
MOST_BLANKS = 12  # of different names: each further one doubles at least what is tried
JUDGED = 60  # fillers whose fingerprint is looked at
SHOWN = 6  # more fillers get a verdict than are shown: some hold on a part only
ORDERED = 400  # fillers that the network orders, the shortest
LENGTH = {Reach.EVERYWHERE: 0.0, Reach.REALS: 2.0, Reach.POSITIVE: 6.0}
"""Symbols that a filler may be longer for holding at more points: log(y) is better than log(x*y) - log(x)."""

LAST_FULL = 2  # rank of what holds on positive reals: what holds on a part only comes behind

Order = Callable[[Equation, Sequence[Tree]], Sequence[float]]
"""From an equation and fillers to numbers, lower for what a textbook would rather write."""


class Filler(NamedTuple):
    """What may stand in the blanks."""

    trees: tuple[Tree, ...]
    """One for each blank, in the equation's own names."""
    verdict: Verdict
    """Where the filled equation holds."""
    source: str
    """Where it comes from: ``search``, ``a number``, ``two expressions``, ``a fitted sum``, ``list`` ..."""
    score: float | None = None
    """The network's logit for the filled equation, where fillers of a list were ranked by it."""

    def __str__(self) -> str:
        return ", ".join(map(write_infix, self.trees))

    @property
    def remark(self) -> str:
        """The verdict, the network's score if it has one, and the source."""
        score = "" if self.score is None else f"score {self.score:+.3f}, "
        return f"{self.verdict.short}  ({score}{self.source})"


@dataclass(frozen=True)
class Completion:
    """The answer to an equation with blanks."""

    equation: Equation
    blanks: tuple[str, ...]
    fillers: tuple[Filler, ...]
    """Best first."""
    tried: int
    """Expressions whose values were looked at."""
    seconds: float
    stopped: bool
    """Whether the clock ended the search before it was through."""
    memory: int
    """Bytes of the largest table of the search."""

    @property
    def found(self) -> bool:
        """Whether any filler holds, on a part at least; else they are guesses."""
        return any(filler.verdict.grade in (Grade.PROVED, Grade.TESTED) for filler in self.fillers)

    def __str__(self) -> str:
        return "\n".join([write_equation(self.equation), *self.lines()])

    def lines(self, write: Callable[[Tree], str] = write_infix) -> list[str]:
        """The fillers as a table, and what was tried."""
        names = "" if len(self.blanks) < 2 else f"{', '.join(self.blanks)} = "
        texts = [names + ", ".join(map(write, filler.trees)) for filler in self.fillers]
        width = max(map(len, texts), default=0)
        rows = enumerate(zip(texts, self.fillers, strict=True), start=1)
        lines = [f"{place:4}  {text:{width}}  {filler.remark}" for place, (text, filler) in rows]
        if not self.found:
            lines.insert(0, f"      nothing was found that holds{'; guesses:' if self.fillers else ''}")
        return [*lines, f"      ({self._effort()})"]

    def _effort(self) -> str:
        memory = f", {self.memory / 1e6:.0f} MB" if self.memory else ""
        clock = "; stopped by the clock, there may be better ones" if self.stopped else ""
        return f"{self.tried:,} expressions tried in {self.seconds:.2f} s{memory}{clock}"


def shortest(_: Equation, fillers: Sequence[Tree]) -> list[float]:
    """The order without a network: by length."""
    return [float(symbols(filler)) for filler in fillers]


class Completer:
    """Completes equations.

    Args:
        order: which of the fillers that hold are better.
        guess: fillers for an equation for which nothing is found, best first.
        budget: how many values a search looks at, at most.
        seconds: after which a search answers with what it has; None for no limit.
        invert: whether to work out the value of the blank, where that can be done.
    """

    def __init__(
        self,
        order: Order = shortest,
        guess: Callable[[Equation], Iterable[Tree]] = lambda _: (),
        budget: int = BUDGET,
        seconds: float | None = None,
        invert: bool = True,
    ) -> None:
        if budget < 100:
            raise ValueError(f"the budget is {budget}; a search needs 100 values at least")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds is {seconds}; it must be more than 0, or None for no limit")
        self.order, self.guess, self.budget, self.seconds, self.invert = order, guess, budget, seconds, invert

    def complete(
        self,
        equation: Equation,
        blanks: Sequence[str] = ("_",),
        top: int = 10,
        told: Callable[[], bool] = lambda: False,
        found: Callable[[Completion], None] | None = None,
    ) -> Completion:
        """The ``top`` best fillers of the blanks.

        Args:
            equation: with these blanks.
            blanks: their names.
            top: how many fillers.
            told: asked again and again whether to answer at once with what there is.
            found: of one blank called with what there is by then, whenever the search finds more.

        Raises ``ValueError`` for an equation without these blanks or with more than 12, one nested more than 200 deep,
        and a function or a leaf that has no value.
        """
        self._check(equation, blanks)
        start, clock, leaves = time.monotonic(), Clock(self.seconds, told), [blank(name) for name in blanks]
        verdicts = Verdicts(equation, leaves, clock)

        def completion(fillers: Sequence[Filler], of: SearchResult | MultiBlankResult) -> Completion:
            seconds = time.monotonic() - start
            return Completion(equation, tuple(blanks), tuple(fillers), of.tried, seconds, of.stopped, of.memory)

        def ranked(by_now: SearchResult) -> Completion:
            return completion(self._ranked(equation, by_now.fillers, top, verdicts, clock), by_now)

        if len(blanks) == 1:
            tell = None if found is None else lambda search: found(ranked(search.so_far()))
            return ranked(Search(equation, self.budget, clock, self.invert, verdicts, tell).run())
        several = search_multi_blank(equation, leaves, self.budget, clock, verdicts)
        judged = [Filler(trees, _verdict(verdicts, *trees), "search") for trees in several.fillers[:top]]
        judged.sort(key=lambda filler: filler.verdict.rank > LAST_FULL)
        return completion([filler for filler in judged if filler.verdict.domain is not Domain.NONE], several)

    def _ranked(
        self, equation: Equation, found: dict[Tree, str], top: int, verdicts: Verdicts, clock: Clock
    ) -> list[Filler]:
        candidates = sorted(found, key=symbols)[:ORDERED]
        order = self.order if clock.allows(0) else shortest
        costs = dict(zip(candidates, order(equation, candidates), strict=True))
        judged = sorted(candidates, key=costs.__getitem__)[: max(JUDGED, 2 * top)]
        # the shortest, too: the order may have them behind many that do not hold
        reaches = {tree: verdicts.reach(tree) for tree in dict.fromkeys([*judged, *candidates[:JUDGED]])}
        likely = [tree for tree, reach in reaches.items() if reach.likely]
        likely.sort(key=lambda tree: costs[tree] + LENGTH[reaches[tree]])
        likely = _copies_behind(equation, likely)
        shown: list[Filler] = []
        on_a_part: list[Filler] = []
        for place, tree in enumerate(likely):
            if len(shown) == top or (shown and place >= 2 * top + SHOWN):
                break
            verdict = _verdict(verdicts, tree)
            if verdict.domain is not Domain.NONE:
                filler = Filler((tree,), verdict, found[tree])
                (shown if covers(equation, tree, verdict) else on_a_part).append(filler)
        if shown or on_a_part:
            return [*shown, *on_a_part][:top]
        agreed = sorted(reaches, key=lambda tree: (reaches[tree], symbols(tree)))[: max(1, top // 2)]
        liked = [] if clock.late else self.guess(equation)
        return self._guesses(list(dict.fromkeys([*agreed, *liked]))[:top], found, verdicts)

    def _guesses(self, guesses: list[Tree], found: dict[Tree, str], verdicts: Verdicts) -> list[Filler]:
        """Where nothing holds: what is undecided, what agreed at the points of the search, what the network likes."""
        fillers = [Filler((tree,), _verdict(verdicts, tree), found.get(tree, "a guess")) for tree in guesses]
        valued = [filler for filler in fillers if "value" not in filler.verdict.reason]
        return sorted(valued, key=lambda filler: filler.verdict.rank)

    def _check(self, equation: Equation, blanks: Sequence[str]) -> None:
        looked = [_looked_through(side) for side in equation]
        there = {leaf for _, leaves in looked for leaf in leaves}
        if not there:
            raise ValueError("the equation has no blank; write _ where something is missing")
        if there != {blank(name) for name in blanks}:
            raise ValueError(f"the equation's blanks are not {', '.join(blanks)}")
        if len(there) > MOST_BLANKS:
            raise ValueError(f"{len(there)} blanks; a search fills up to {MOST_BLANKS}")
        if max(deep for deep, _ in looked) > DEEPEST:
            raise ValueError(f"the equation is nested more than {DEEPEST} deep")


def _verdict(verdicts: Verdicts, *fillers: Tree) -> Verdict:
    """The verdict on a filler for each blank; undecided, too, where there was no time to look into it."""
    return verdicts.of(*fillers) or undecided("there was no time to judge it")


def _looked_through(tree: Tree) -> tuple[int, set[Tree]]:
    """The depth, a sum or a product of any length counted as one level, and the blanks."""
    blanks: set[Tree] = set()

    def nested(node: Tree, below: list[int]) -> int:
        if not below:
            if node.function == BLANK.function:
                blanks.add(node)
            return 0
        inside = zip(node.children, below, strict=True)
        chain = node.function if node.function in ("Add", "Mul") else None
        return max(deep + (child.function != chain) for child, deep in inside)

    return tree.fold(nested), blanks


def _copies_behind(equation: Equation, holding: list[Tree]) -> list[Tree]:
    """What has a side of the equation in it, at most rearranged, behind the forms that are no longer."""
    copies = [tree for tree in holding if any(restates(tree, side) for side in equation)]
    ordered = [tree for tree in holding if tree not in set(copies)]
    for copy in reversed(copies):
        behind = [place for place, tree in enumerate(ordered) if symbols(tree) <= symbols(copy)]
        ordered.insert(behind[-1] + 1 if behind else 0, copy)
    return ordered
