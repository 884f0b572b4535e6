"""An equation with letters is solved at drawn values of the letters, and answers are compared with its solutions there.

An answer lists solutions if each of its real values is one wherever the equation has any. Counters, as the k of
``pi/4 + k*pi``, are whole numbers. Nothing here is a proof for all letters; what differs at one value is shown there.
"""

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from flint import acb, arb, ctx, fmpq

from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.assumed import AssumedSpan, in_order
from dgltree.equations.truth.balls import Unjudged, is_real, snap
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.work import allowing
from dgltree.equations.truth.solutions.solutions import (
    BITS,
    Number,
    NumberOutcome,
    Root,
    Solutions,
    length_of,
    same,
    value,
)
from dgltree.equations.truth.solutions.solving import solve
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import number
from dgltree.support.lazy import cached_property
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

COUNTERS = ("k", "n", "m")
"""Letters for any whole number."""
SIZES = tuple(Fraction(top, 7) for top in (5, 11, 3, 16, 2, 23, 9, 40, 1, 29, 13, 4, 19))
"""Sizes of letters: a prime number of them, so that two letters have many pairs."""
WHOLE_SIZES = (2, 3, 5, 4, 6)
"""Sizes in every third drawing: of exponents and counts."""
MOST_DRAWN, MOST_UNSOLVED, ENOUGH = 40, 4, 16
"""Drawings that are looked at, those among them at which not all solutions are known, and those with solutions."""
WORK = 300_000
"""Units of work of all drawings together; those at which it is spent are unsolved."""
FAR = 24
"""Drawing from which on letters are a thousand times larger and smaller."""
MIN_DRAWN = 3
"""Drawings with solutions that an answer has to list; it is one by chance at fewer."""
FEW_LETTERS = 4
"""Letters up to which those of a drawing have different sizes."""
COUNTS = range(-3, 4)
"""Counts whose numbers are put into the equation."""
LARGEST_FLOAT = 1e15
"""Size of a count from which on a float has no digits behind the point."""
LARGEST_COUNT, PERIODS = 40, 2
"""Size of counts in which an answer is not linear, and of periods in which solutions are looked for."""


class Drawing(NamedTuple):
    """Values of the letters, with the solutions there."""

    letters: Mapping[str, Tree]
    solutions: Solutions
    numbers: tuple[Number, ...]
    """The solutions that are as assumed; of periodic equations those of one period, or of the assumed interval."""
    is_positive: bool
    """Whether all letters are positive."""

    @property
    def text(self) -> str:
        """``a = 5/7, b = 2``"""
        return ", ".join(f"{name} = {write_infix(tree)}" for name, tree in self.letters.items())


class Survey(NamedTuple):
    """Drawings with solutions, and how many are unsolved and without a solution."""

    solved: list[Drawing]
    unsolved: int
    without: int


class Fit(enum.Enum):
    """How an answer fits the solutions at drawn letters."""

    SOLVES = "solves"
    """Wherever there are solutions, its real values are some."""
    PART = "part"
    """At some letters it is one, at others it is none where there are some."""
    DIFFERS = "differs"
    OPEN = "open"
    """Digits leave it open whether it is one."""
    NOWHERE = "nowhere"
    """It has no real value where solutions are known."""


class Fitted(NamedTuple):
    """How an answer fits, and a place where it does not."""

    fit: Fit
    drawings: int = 0
    """Drawings at which it is a solution."""
    point: str = ""
    solution: str = ""


class MissingRoot(NamedTuple):
    """A solution at drawn letters that an answer lacks."""

    drawing: Drawing
    number: Number

    @property
    def text(self) -> str:
        """The number as it is shown."""
        return number_text(self.number)


class DrawnLetters:
    """The solutions of an equation at drawn values of its letters.

    Args:
        equation: with its unknown.
        unknown: the variable that is looked for.
        spans: the values that variables are assumed to have.
    """

    def __init__(
        self,
        equation: Equation,
        unknown: str,
        spans: Mapping[str, AssumedSpan] | None = None,
    ) -> None:
        self.equation = equation
        self.unknown = unknown
        self.spans = spans or {}
        self.names = [name for name in variables(*equation) if name != unknown]
        ends = {name for span in self.spans.values() for name in span.letters}
        self.letters = sorted({*self.names, *ends} - {unknown})

    @property
    def is_known(self) -> bool:
        """Whether the solutions were found at enough values, all of them at each."""
        return len(self.drawings) >= MIN_DRAWN and not self._survey.unsolved

    @property
    def is_periodic(self) -> bool:
        """Whether solutions are whole periods apart, and no interval is assumed."""
        return not self._has_window and any(drawing.solutions.period is not None for drawing in self.drawings)

    @property
    def drawings(self) -> list[Drawing]:
        """Values of the letters at which there are solutions, single numbers all of which are known."""
        return self._survey.solved

    @property
    def has_none(self) -> bool:
        """Whether there was no solution at any value of the letters, which is shown at each."""
        return not self.drawings and not self._survey.unsolved and self._survey.without >= MIN_DRAWN

    @cached_property
    def _survey(self) -> Survey:
        with allowing(WORK):
            return self._surveyed()

    def _surveyed(self) -> Survey:
        solved: list[Drawing] = []
        unsolved = without = 0
        for drawing in filter(None, map(self._drawing, range(MOST_DRAWN))):
            if drawing.solutions.intervals:
                continue
            if not drawing.solutions.are_all:
                unsolved += 1
            elif drawing.numbers:
                solved.append(drawing)
            else:
                without += 1
            if len(solved) >= ENOUGH or unsolved >= MOST_UNSOLVED:
                break
        return Survey(solved, unsolved, without)

    def fitted(self, answer: Tree) -> Fitted | None:
        """How an answer fits; None of one with another letter, or with the imaginary unit."""
        values = self._values(answer)
        if values is None:
            return None
        solved = 0
        differing = None
        is_open = False
        for drawing in self.drawings:
            given = list(values.at(drawing, COUNTS))
            outcomes = [self._outcome(drawing, x) for x in given]
            solved += bool(outcomes) and all(one is NumberOutcome.SOLVES for one in outcomes)
            is_open |= NumberOutcome.OPEN in outcomes
            if differing is None:
                wrong = (x for x, one in zip(given, outcomes, strict=True) if one not in _SOLVES_OR_OPEN)
                differing = next(((drawing, x) for x in wrong), None)
        if differing is not None:
            drawing, x = differing
            return Fitted(Fit.PART if solved >= MIN_DRAWN else Fit.DIFFERS, solved, drawing.text, number_text(x))
        return Fitted(Fit.OPEN if is_open else Fit.SOLVES if solved else Fit.NOWHERE, solved)

    def missing(self, answers: Sequence[Tree]) -> list[MissingRoot]:
        """The solutions that answers do not list; of periodic equations without a counter those of one period."""
        several = [values for values in map(self._values, answers) if values is not None]
        counted = any(values.counter is not None for values in several)
        found = []
        for drawing in self.drawings:
            is_reduced = not counted and not self._has_window
            reduced = drawing.solutions.reduced if is_reduced else lambda x: x
            for target in self._targets(drawing) if counted else drawing.numbers:
                given = (reduced(x) for values in several for x in values.near(drawing, target))
                if not any(same(target, x) for x in given):
                    found.append(MissingRoot(drawing, target))
        return found

    def needed(self, answers: Sequence[Tree], given: Sequence[Tree] = ()) -> list[Tree]:
        """The answers that list a solution which others, and those given, lack, beginning with what lists most."""
        found: list[Tree] = []
        lacking = len(self.missing(given))
        while lacking and answers:
            left = [len(self.missing([*given, *found, tree])) for tree in answers]
            if min(left) == lacking:
                break
            lacking = min(left)
            found.append(answers[left.index(lacking)])
        return found

    def lists_all(self, answers: Sequence[Tree]) -> bool:
        """Whether answers list the solutions at all letters that were drawn, which are enough."""
        are_read = all(self._values(tree) is not None for tree in answers)
        return self.is_known and are_read and not self.missing(answers)

    def lists_if_positive(self, answers: Sequence[Tree], missing: Sequence[MissingRoot]) -> bool:
        """Whether only the sign decides: where all letters are positive, answers are, and what is missing is not."""
        several = [values for values in map(self._values, answers) if values is not None]
        positive = [drawing for drawing in self.drawings if drawing.is_positive]
        given = [x for drawing in positive for values in several for x in values.at(drawing, [0])]
        lacking = [arb(one.number) for one in missing if one.drawing.is_positive]
        if self.is_periodic or not self.names or not given or not lacking:
            return False
        return all(arb(x) > 0 for x in given) and all(x < 0 for x in lacking)

    def _outcome(self, drawing: Drawing, x: Number) -> NumberOutcome:
        if self._is_allowed(x, drawing.letters) is False:
            return NumberOutcome.DIFFERS
        if drawing.solutions.root_at(x) is not None:
            return NumberOutcome.SOLVES
        return drawing.solutions.put(x).outcome

    def _values(self, answer: Tree) -> "AnswerValues | None":
        strange = [name for name in variables(answer) if name not in self.letters]
        is_strange = len(strange) > 1 or any(name not in COUNTERS or name == self.unknown for name in strange)
        if is_strange or has_imaginary_unit(answer):
            return None
        try:
            return AnswerValues(Program(Equation(answer, answer), school=True), strange[0] if strange else None)
        except Unjudged:
            return None

    # Drawing letters

    def _drawing(self, index: int) -> Drawing | None:
        """Values of the letters as assumed, with the solutions there; None if there are no such values."""
        letters: dict[str, Tree] = {}
        sizes = {abs(_drawn(index, place)) for place in range(len(self.letters))}
        if len(sizes) < len(self.letters) <= FEW_LETTERS:  # b - y is y - b where both are 2
            return None
        spans = {name: self.spans.get(name, AssumedSpan()) for name in self.letters}
        for place, name in enumerate(in_order({**spans})):
            drawn = _drawn(index, place)
            span = spans[name]
            if span.whole:
                whole = span.whole_number(fmpq(drawn.numerator), _numbers(letters))
                if whole is None:
                    return None
                letters[name] = number(str(whole))
            else:
                leaves = {Tree("Symbol", token=other): tree for other, tree in letters.items()}
                written = substitute(span.parametrized(number(str(drawn))), leaves)
                exact = exact_value(written)
                letters[name] = written if exact is None else number(str(exact))
        leaves = {Tree("Symbol", token=name): tree for name, tree in letters.items()}
        solutions = solve(Equation(*(substitute(side, leaves) for side in self.equation)), self.unknown)
        numbers = [value(tree) for tree in letters.values()]
        is_positive = all(x is not None and arb(x) > 0 for x in numbers)
        return Drawing(letters, solutions, self._allowed_roots(solutions, letters), is_positive)

    def _allowed_roots(self, solutions: Solutions, letters: Mapping[str, Tree]) -> tuple[Number, ...]:
        numbers = [root.number for root in solutions.roots]
        if solutions.period is None or self._has_window:
            turns = range(1) if solutions.period is None else range(-LARGEST_COUNT, LARGEST_COUNT + 1)
            numbers = list(_turned(solutions, numbers, turns))
            return tuple(x for x in numbers if self._is_allowed(x, letters) is not False)
        return tuple(numbers)

    def _targets(self, drawing: Drawing) -> list[Number]:
        """Solutions in some periods."""
        if self._has_window or drawing.solutions.period is None:
            return list(drawing.numbers)
        return list(_turned(drawing.solutions, drawing.numbers, range(-PERIODS, PERIODS + 1)))

    @property
    def _has_window(self) -> bool:
        span = self.spans.get(self.unknown)
        return span is not None and span.low is not None and span.high is not None

    def _is_allowed(self, x: Number, letters: Mapping[str, Tree]) -> bool | None:
        """Whether a number is as the unknown is assumed to be; None if that is open."""
        span = self.spans.get(self.unknown)
        if span is None:
            return True
        if span.whole and arb(x).unique_fmpz() is None and not arb(x).contains_integer():
            return False
        leaves = {Tree("Symbol", token=name): tree for name, tree in letters.items()}
        for end, is_in, way in ((span.low, span.low_in, 1), (span.high, span.high_in, -1)):
            limit = None if end is None else value(substitute(end, leaves))
            if limit is None:
                continue
            with ctx.workprec(BITS):
                if same(x, limit):
                    if not is_in:
                        return False
                elif way * (arb(x) - arb(limit)) < 0:
                    return False
        return True


class AnswerValues(NamedTuple):
    """The real values of an answer at drawn letters.

    Args:
        program: of the answer.
        counter: its letter for whole numbers, if it has one.
    """

    program: Program
    counter: str | None

    def at(self, drawing: Drawing, counts: Iterable[int]) -> Iterator[Number]:
        """The values for some counts; nothing where they are not real."""
        point = _numbers(drawing.letters)
        for count in counts if self.counter is not None else [0]:
            if self.counter is not None:
                point[self.counter] = fmpq(count)
            found = self.program.at(point, BITS, snap)[0]
            if isinstance(found, fmpq):
                yield found
            elif found is not None and is_real(found) and found.is_finite():
                yield found.real

    def near(self, drawing: Drawing, target: Number) -> Iterator[Number]:
        """The values that a number may be: of what is linear in its counter the nearest one."""
        first = [] if self.counter is None else list(self.at(drawing, range(3)))
        if len(first) < 3:
            return self.at(drawing, range(-LARGEST_COUNT, LARGEST_COUNT + 1))
        with ctx.workprec(BITS):
            step, following = (arb(b) - arb(a) for a, b in pairwise(first))
            if step.contains(0) or not same(step, following):
                return self.at(drawing, range(-LARGEST_COUNT, LARGEST_COUNT + 1))
            count = float((arb(target) - arb(first[0])) / step)
            return self.at(drawing, [round(count)] if abs(count) < LARGEST_FLOAT else [])


_SOLVES_OR_OPEN = (NumberOutcome.SOLVES, NumberOutcome.OPEN)


def unused_counter(letters: Collection[str]) -> str:
    """A letter for any whole number that is none of these; the last one if all are taken."""
    return next((letter for letter in COUNTERS if letter not in letters), COUNTERS[-1])


def number_text(x: Number) -> str:
    """A number as it is shown: a fraction, or 12 digits."""
    return str(x) if isinstance(x, fmpq) else Root(x).decimal


def _numbers(letters: Mapping[str, Tree]) -> dict[str, Number]:
    found = {name: value(tree) for name, tree in letters.items()}
    return {name: x if isinstance(x, fmpq) else acb(x) for name, x in found.items() if x is not None}


def _drawn(index: int, place: int) -> Fraction:
    """A value of a letter: in even drawings all are positive, in odd ones each pattern of signs occurs."""
    if index % 3 == 2:
        size = Fraction(WHOLE_SIZES[(index // 3 * (place + 1) + place) % len(WHOLE_SIZES)])
    else:
        size = SIZES[(index * (place + 1) + 5 * place) % len(SIZES)]
    if index >= FAR:
        size = size * 1000 if (index + place) % 2 else size / 1000
    is_negative = index % 2 == 1 and not (index // 2 >> place) % 2
    return -size if is_negative else size


def _turned(solutions: Solutions, numbers: Collection[Number], turns: range) -> Iterator[Number]:
    """Numbers with whole multiples of the period added."""
    if solutions.period is None:
        yield from numbers
        return
    with ctx.workprec(BITS):
        length = length_of(solutions.period)
        yield from (arb(x) + k * length if k else x for x in numbers for k in turns)
