"""Fillers of the blanks of an equation are searched, rewritten, judged, and ordered as a textbook would."""

import time
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from dgltree.equations.algebra.client import algebra
from dgltree.equations.completion.lines import NAMED, Lines
from dgltree.equations.completion.result import Completion, Filler
from dgltree.equations.expressions.textbook_order import TextbookOrder
from dgltree.equations.expressions.variables import variables
from dgltree.equations.search import written_operations
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.root_forms import RootForms, write_period
from dgltree.equations.search.search import BUDGET, MultiBlankResult, Search, SearchResult, search_multi_blank
from dgltree.equations.search.textbook_cost import textbook_cost
from dgltree.equations.search.verdicts import Verdicts
from dgltree.equations.truth.drawn_letters import DrawnLetters
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.imaginary import UNITS, has_imaginary_unit, imaginary_unit, name_unit, with_unit
from dgltree.equations.truth.periods import period
from dgltree.equations.truth.precision import one_thread_at_a_time
from dgltree.equations.truth.solutions.solutions import Root
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Verdict
from dgltree.equations.typed import Question
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.notation import NUMBERS, number
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import BLANK, Equation, blank
from dgltree.trees.tree import Tree

MAX_DEPTH = 200  # nested so deep an equation is refused
SHOWN = 60  # characters of an equation that is shown in a message
MOST_BLANKS = 12  # of different names: each further one doubles at least what is tried


class Guesser:
    """Guesses if nothing is found; this one does not."""

    @property
    def seconds(self) -> float:
        """Seconds that the next guesses take, on an idle core."""
        return 0.0

    def guess(self, equation: Equation) -> list[Tree]:
        """Fillers, best first."""
        return []


class Listener:
    """Hears what there is while an answer is being looked for, and may stop it; this one does neither."""

    def stops(self) -> bool:
        """Asked again and again: whether to answer at once with what there is."""
        return False

    def hear(self, found: Completion) -> None:
        """Called with what there is by then, whenever the search for one blank finds more."""


class Completer:
    """Completes equations.

    Args:
        guesser: of fillers for an equation for which nothing is found.
        budget: how many values a search looks at, at most.
        seconds: after which a search answers with what it has; None for no limit.
        invert: whether to work out the value of the blank, if that can be done.
    """

    def __init__(
        self,
        guesser: Guesser | None = None,
        budget: int = BUDGET,
        seconds: float | None = None,
        invert: bool = True,
    ) -> None:
        if budget < 100:
            raise Refusal(f"the budget is {budget}; it must be at least 100 values")
        if seconds is not None and not seconds > 0:
            raise Refusal(f"seconds is {seconds}; it must be more than 0, or None for no limit")
        self.guesser = guesser or Guesser()
        self.budget = budget
        self.seconds = seconds
        self.invert = invert

    def answer(
        self, asked: Question, top: int = 10, listener: Listener | None = None, spent: float = 0.0
    ) -> Completion:
        """The answer to a question as it was read; see :meth:`complete`."""
        return self.complete(asked.equation, asked.blanks, top, listener, asked.form, asked.unknown, spent)

    @one_thread_at_a_time
    def complete(
        self,
        equation: Equation,
        blanks: Sequence[str] = ("_",),
        top: int = 10,
        listener: Listener | None = None,
        form: str = "",
        unknown: str | None = None,
        spent: float = 0.0,
    ) -> Completion:
        """The ``top`` best fillers of the blanks.

        Args:
            equation: with these blanks.
            blanks: their names.
            top: how many fillers.
            listener: who hears what is found on the way.
            form: ``expanded``, ``factored`` or ``simplified``: this form alone of the side without the blank.
            unknown: the variable that the blank replaces.
            spent: seconds that reading the equation took, which count; nothing is searched if as many are not left.

        Raises ``ValueError`` for an equation without these blanks or with more than 12, one nested more than 200 deep,
        and a function or a leaf that has no value.
        """
        clock = Clock(self.seconds, (listener or Listener()).stops, spent)
        _check(equation, blanks)
        asked = _Asked(equation, tuple(blanks), unknown, clock)
        if clock.too_late_to_begin:
            clock.end()
            return asked.completion([], SearchResult({}, 0, True, 0))
        if len(blanks) > 1:
            return self._several(asked, top)
        lines = Lines(asked.equation, asked.verdicts)
        if form:
            rewritten = _rewritten(asked, (form,))
            return asked.completion(lines.of(rewritten, top), SearchResult(rewritten, 0, asked.clock.late, 0))
        if lines.is_one_sided and variables(*equation):
            algebra().start()  # while the search is running
        search = Search(asked.equation, self.budget, clock, self.invert, asked.verdicts, unknown)
        heard = 0
        with np.errstate(all="ignore"):
            for _ in search.steps():
                if listener is not None and len(search.fillers) > heard:
                    heard = len(search.fillers)
                    listener.hear(asked.completion(lines.of(search.fillers, top), search.so_far()))
        if lines.is_one_sided and not _has_number(asked, search.fillers):
            search.fillers.update(_rewritten(asked, NAMED))
        if search.roots and unknown is not None:
            fillers, left_out = _roots(asked, search, top)
            return asked.completion(fillers, search.so_far(), left_out)
        if search.solutions is not None and search.roots:
            forms = RootForms(search.solutions, asked.equation)
            search.fillers.update((tree, "solved") for root in search.roots for tree in forms.of(root))
        fillers = lines.of(search.fillers, top)
        if search.roots and not fillers:
            fillers, _ = _roots(asked, search, top)
        if not fillers and not search.reason:
            fillers = self._guesses(asked, lines, search.fillers, top)
        if fillers and asked.verdicts.drawn is not None:
            return asked.formulas(fillers, search.so_far(), asked.verdicts.drawn)
        return asked.completion(fillers, search.so_far())

    def _several(self, asked: "_Asked", top: int) -> Completion:
        """The fillers of several blanks."""
        several = search_multi_blank(asked.equation, asked.leaves, self.budget, asked.clock, asked.verdicts)
        lines = Lines(asked.equation, asked.verdicts)
        judged = [Filler(trees, lines.verdict(*trees), "search") for trees in several.fillers[:top]]
        judged.sort(key=lambda filler: not filler.verdict.holds)
        return asked.completion([filler for filler in judged if filler.verdict.domain is not Domain.NONE], several)

    def _guesses(self, asked: "_Asked", lines: Lines, found: dict[Tree, str], top: int) -> list[Filler]:
        """Guesses, if nothing holds: what is undecided, what agreed at points of the search, what the network likes."""
        has_time = not asked.clock.late and asked.clock.allows(self.guesser.seconds)
        liked = self.guesser.guess(asked.equation) if has_time else []
        guesses = dict.fromkeys([*lines.agreed(found, max(1, top // 2)), *liked])
        fillers = [Filler((tree,), lines.verdict(tree), found.get(tree, "a guess")) for tree in list(guesses)[:top]]
        valued = [filler for filler in fillers if filler.verdict.doubt in (None, Doubt.NO_TIME)]
        kept = [filler for filler in valued if filler.verdict.grade is not Grade.REFUTED]
        if not has_time:
            asked.clock.end()
        return sorted(kept, key=lambda filler: filler.verdict.rank)


class _Asked:
    """A question on its way to the answer, with sqrt(-1) for the imaginary unit."""

    def __init__(self, equation: Equation, blanks: tuple[str, ...], unknown: str | None, clock: Clock) -> None:
        self._shown = equation
        self._blanks = blanks
        self._unknown = unknown
        self._unit = imaginary_unit(equation)
        self._start = time.monotonic()
        self.clock = clock
        self.leaves = [blank(name) for name in blanks]
        self.equation = equation if self._unit is None else with_unit(equation, self._unit)
        self.verdicts = Verdicts(self.equation, self.leaves, clock, unknown)

    def formulas(self, fillers: Sequence[Filler], found: SearchResult, drawn: DrawnLetters) -> Completion:
        """The answer for an unknown next to letters, with the period, and whether solutions may be lacking.

        Fillers whose values others have at all drawn letters are left out: ``sqrt(a^2)`` next to ``a`` and ``-a``.
        """
        turn = period(drawn.equation, drawn.unknown)
        plain = None if self.clock.late else self.clock.in_time(lambda: self._plainest(fillers, drawn))
        fillers = plain or fillers
        trees = [filler.trees[0] for filler in fillers]

        def lists_all() -> bool:
            return drawn.lists_all(trees) and (turn is not None or not drawn.is_periodic)

        more = self.clock.late or not self.clock.in_time(lists_all)
        return self.completion(fillers, found._replace(period=None if turn is None else write_period(turn), more=more))

    def _plainest(self, fillers: Sequence[Filler], drawn: DrawnLetters) -> list[Filler]:
        """The fillers that are needed, each in its plainest form; none if the solutions are not known."""
        if not drawn.is_known:
            return []
        order = TextbookOrder(self.equation)
        found: dict[Tree, Filler] = {}
        for filler in fillers:
            plain = self._spelled(filler, drawn)
            found[plain.trees[0]] = plain
        for tree, filler in list(found.items()):  # SymPy finds sqrt(a^3) for a*x^(1/3) = x, and not its negative
            negative = order(written_operations.negate(tree))
            if self.verdicts.holds_on_a_part(negative):
                found.setdefault(negative, self._with_tree(filler, negative, ()))
        needed = drawn.needed(sorted(found, key=textbook_cost))
        return [filler for tree, filler in found.items() if tree in needed]

    def _spelled(self, filler: Filler, drawn: DrawnLetters) -> Filler:
        """A filler with that of its forms in front that lists the most solutions, the plainest of equal ones."""
        [first] = filler.trees
        forms = [first, *filler.forms]
        for tree in sorted(forms, key=lambda form: (len(drawn.missing([form])), textbook_cost(form))):
            if tree == first:
                return filler
            if self.verdicts.holds_on_a_part(tree):
                return self._with_tree(filler, tree, tuple(form for form in forms if form != tree))
        return filler

    def _with_tree(self, filler: Filler, tree: Tree, forms: tuple[Tree, ...]) -> Filler:
        verdict = self.verdicts.of(tree)
        assert verdict is not None
        return filler._replace(trees=(tree,), verdict=verdict, forms=forms)

    def completion(
        self, fillers: Sequence[Filler], of: SearchResult | MultiBlankResult, left_out: int = 0
    ) -> Completion:
        """The answer, in the names of the question."""
        taken = {node.token for side in self._shown for node in side.distinct()}
        name = self._unit or next((name for name in UNITS if name not in taken), None)
        has_unit = any(has_imaginary_unit(*filler.trees) for filler in fillers)
        if has_unit and name is not None:
            fillers = [_named(filler, name) for filler in fillers]
        return Completion(
            self._shown,
            self._blanks,
            tuple(fillers),
            of.tried,
            time.monotonic() - self._start,
            self.clock.late,
            of.memory,
            self._unknown,
            name if has_unit or self._unit else None,
            *((of.reason, of.period, of.more, of.extraneous, left_out) if isinstance(of, SearchResult) else ()),
        )


def _check(equation: Equation, blanks: Sequence[str]) -> None:
    looked = [_looked_through(side) for side in equation]
    there = {leaf for _, leaves in looked for leaf in leaves}
    if not there:
        raise Refusal(
            f"the equation has no blank; write _ for a missing part, or {_asked(equation)} to solve the equation"
        )
    if there != {blank(name) for name in blanks}:
        raise Refusal(f"the equation's blanks are not {', '.join(blanks)}")
    if len(there) > MOST_BLANKS:
        raise Refusal(f"the equation has {len(there)} blanks; a search fills at most {MOST_BLANKS}")
    if max(deep for deep, _ in looked) > MAX_DEPTH:
        raise Refusal(f"the equation is nested more than {MAX_DEPTH} deep")


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


def _asked(equation: Equation) -> str:
    """The question for the first variable of an equation, if that is short."""
    written = write_equation(equation)
    names = variables(*equation)
    return f"{written}, {names[0]} = _" if names and len(written) < SHOWN else "solve EQUATION"


def _roots(asked: _Asked, search: Search, top: int) -> tuple[list[Filler], int]:
    """The real solutions, exact ones first, and how many are not among them: those farthest from 0."""
    assert search.solutions is not None
    nearest = sorted(search.roots, key=lambda root: (abs(float(root)), -float(root)))[:top]
    forms = RootForms(search.solutions, asked.equation, search.isolated)
    fillers = [(root, _solution(asked, root, forms.of(root))) for root in nearest]

    def place(pair: tuple[Root, Filler]) -> tuple[Any, ...]:
        x = float(pair[0])
        [tree] = pair[1].trees
        if pair[1].verdict.grade is Grade.ROUNDED:
            return 1, x
        text = "" if tree.function in NUMBERS else write_infix(tree)
        return 0, textbook_cost(tree), bool(text), text, abs(x), -x

    return [filler for _, filler in sorted(fillers, key=place)], len(search.roots) - len(nearest)


def _solution(asked: _Asked, root: Root, forms: list[Tree]) -> Filler:
    """A root by the plainest expression that is judged to hold, or by 12 digits."""
    for tree in forms:
        verdict = asked.verdicts.of(tree)
        if verdict is not None and verdict.holds:
            source = "a number" if isinstance(root.number, fmpq) else "solved"
            return Filler((tree,), verdict, source, forms=tuple(other for other in forms if other != tree))
    return Filler((number(root.decimal),), Verdict(Grade.ROUNDED, Domain.EVERYWHERE), f"a root of {root.source}")


def _named(filler: Filler, unit: str) -> Filler:
    trees, forms = (tuple(name_unit(tree, unit) for tree in several) for several in (filler.trees, filler.forms))
    return filler._replace(trees=trees, forms=forms)


def _has_number(asked: _Asked, found: Iterable[Tree]) -> bool:
    """Whether a number was found that is the value: it has no other form."""
    verdicts = (asked.verdicts.of(tree) for tree in found if tree.function in NUMBERS and asked.verdicts.likely(tree))
    return any(verdict is not None and verdict.holds for verdict in verdicts)


def _rewritten(asked: _Asked, names: Sequence[str]) -> dict[Tree, str]:
    """The forms of these names of the side without the blank, of each the plainest that seems to hold."""
    side = asked.equation.left if asked.equation.right == BLANK else asked.equation.right
    order = TextbookOrder(asked.equation)
    found: dict[Tree, str] = {}
    forms = algebra().forms(side, asked.clock.to_search)
    for name in names:
        written = sorted(map(order, forms.get(name, [])), key=textbook_cost)
        best = next(filter(asked.verdicts.likely, written), None)
        sizes = [order(_with_absolute_values(tree)) for tree in [side, *written]]
        size = next(
            (tree for tree in sizes if tree not in (*written, order(side)) and asked.verdicts.likely(tree)), None
        )
        if size is not None and name == "simplified":
            found.setdefault(size, name)
        if best is not None and order(_with_absolute_values(best)) != size:
            found.setdefault(best, name)
    return found


def _with_absolute_values(tree: Tree) -> Tree:
    """The tree with ``abs(x - 1)`` for ``sqrt((x - 1)^2)`` and other roots of even powers.

    SymPy does so only for real symbols.
    """

    def rewrite(node: Tree, parts: list[Tree]) -> Tree:
        node = node.replace(children=parts) if parts else node
        if node.function != "Pow":
            return node
        base = _as_power(node.children[0])
        n = exact(node.children[1])
        if base is None or n is None or n.denominator % 2 == 1:
            return node
        inside, m = base
        exponent = m * n
        if exponent.denominator == 1 and exponent % 2 == 0:
            return written_operations.power(inside, written_operations.fraction(exponent))
        size = Tree("abs", (inside,))
        return size if exponent == 1 else written_operations.power(size, written_operations.fraction(exponent))

    return tree.fold(rewrite)


def _as_power(tree: Tree) -> tuple[Tree, Fraction] | None:
    """The base and the exponent of an even power, a product of equal factors being one."""
    if tree.function == "Mul" and len(set(tree.children)) == 1:
        base = tree.children[0]
        exponent = Fraction(len(tree.children))
    elif tree.function == "Pow" and (n := exact(tree.children[1])) is not None:
        base = tree.children[0]
        exponent = n
    else:
        return None
    return (base, exponent) if exponent.denominator == 1 and exponent % 2 == 0 and exponent > 0 else None
