"""The checker behind ``dgltree.check`` reads answers to one equation, and marks them.

:class:`Checker` reads a text as a claim ("no solution"), as a list of solutions, or as one expression per blank.
:class:`FillerChecker` marks one expression of it, and :class:`Rounding` compares its digits with those asked for.
These objects hold the question and nothing of an answer, so threads may share them: what is known of an answer
(:class:`~dgltree.equations.marking.answer_text.PlainText`) is an argument.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from dgltree.equations.completion.assumptions import (
    Assumption,
    check_assumptions,
    excludes,
    read_assumptions,
    verdict_under,
    whole_letters,
)
from dgltree.equations.completion.lines import covers
from dgltree.equations.completion.verification import question
from dgltree.equations.expressions.variables import variables
from dgltree.equations.marking.answer_key import COUNTERS, AnswerKey, in_degrees, within_a_period
from dgltree.equations.marking.answer_text import PlainText, TextRules, check_decimal, undressed
from dgltree.equations.marking.forms import FORMS, form_lack
from dgltree.equations.marking.interval_answers import mark_intervals, read_intervals
from dgltree.equations.marking.marks import SEVERITY, Checked, Lack, Mark, mark_of, unjudged
from dgltree.equations.marking.numerals import RoundedNumber, decimal_mark, rounded_number
from dgltree.equations.marking.sentences import Cause, checking_note, with_decimal_commas
from dgltree.equations.marking.solution_lists import (
    ALL,
    Claim,
    bare,
    exceptions,
    inside,
    is_decimal,
    listings,
    parse_claim,
    split_set,
    thousands,
    with_english_words,
)
from dgltree.equations.marking.units import in_units
from dgltree.equations.truth.drawn_letters import Fit, MissingRoot, number_text, unused_counter
from dgltree.equations.truth.imaginary import UNITS, imaginary_unit, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.precision import one_thread_at_a_time
from dgltree.equations.truth.solutions.solutions import NumberOutcome
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Tested, Verdict, undecided
from dgltree.equations.typed import Question, read_question, read_typed_expression
from dgltree.equations.typed.reader import TypedExpression, read_noted_expression
from dgltree.read.infix_writer import write_infix
from dgltree.support.arguments import nearest
from dgltree.support.refusal import InternalError, Refusal, attempt
from dgltree.trees.equation import BLANK, Equation, blank, substitute
from dgltree.trees.tree import Tree

WORK = 200_000
"""Units of work that a verdict takes in marking: 1 s of CPU time (2026-11-28); what is not proved then is tested."""
MAX_DIGITS = 30
"""Digits to which an answer may have to be rounded."""
_BETWEEN_EXPRESSIONS = re.compile(r"(?<!\\)(?:;|,(?!\d)|(?<!\d),)")
_ANY_SEPARATOR = re.compile(r"(?<!\\)[;,]")


class GivenSolution(NamedTuple):
    """One solution of an answer."""

    checked: Checked
    text: str
    """The text as it is typed."""


class Lacking(NamedTuple):
    """The mark of a list that lacks solutions."""

    mark: Mark
    missing: tuple[str, ...]
    """Their expressions, as far as they are known."""
    cause: Cause


class Checker:
    """Marks many answers to one equation; threads may share it.

    Args:
        equation, form, names, rounded, mixed, units, significant, decimal, assume: as of :func:`dgltree.check`.
    """

    @one_thread_at_a_time
    def __init__(
        self,
        equation: str | Equation,
        form: str | None = None,
        names: Collection[str] = (),
        rounded: bool | int = False,
        mixed: bool = False,
        units: bool = False,
        significant: int | None = None,
        decimal: str | None = None,
        assume: Collection[str] = (),
    ) -> None:
        if form is not None and form not in FORMS:
            raise Refusal(f"unknown form {form!r} ({nearest(form, FORMS)}); the forms are {', '.join(FORMS)}")
        check_decimal(decimal)
        rounding = rounding_of(rounded, significant)
        mark = decimal or (decimal_mark(equation) if isinstance(equation, str) else None)
        self._is_pointed = decimal == "point"
        self.decimal = mark or "point"
        self._between = "; " if mark == "comma" else ", "
        self._one_name = frozenset(names)
        self._units = frozenset[str]()  # the base units in the question
        self._rules = TextRules(mixed, units, mark)
        if isinstance(equation, str):
            plain = self._rules.plain(equation)
            self.asked = read_question(plain.text, self._one_name | plain.bases)
            self._units = plain.bases
            self.asked = self.asked._replace(notes=(*plain.notes, *(() if plain.bases else self.asked.notes)))
        else:
            self.asked = question(equation)
        if not self.asked.blanks:
            raise Refusal("the equation has no blank; write _ in the place of the answer, or x^2 = 16, x = _")
        self.form = form or (self.asked.form if self.asked.form in FORMS else None)
        self._names = variables(*self.asked.equation)
        self._rules = self._rules._replace(lists=self.asked.unknown is not None)
        self._judge = Judge(WORK)
        self._letters = [*self._names, *((self.asked.unknown,) if self.asked.unknown else ())]
        self._assumed = check_assumptions(read_assumptions(assume), self._letters)
        self._key = AnswerKey(self.asked, self._names, self._judge, self._assumed)
        self._fillers = FillerChecker(
            asked=self.asked,
            names=self._names,
            one_name=self._one_name,
            units=units,
            decimal=self.decimal,
            between=self._between,
            rounding=rounding,
            form=self.form,
            assumed=self._assumed,
            key=self._key,
            judge=self._judge,
        )

    @one_thread_at_a_time
    def check(self, answer: str | Tree) -> Checked:
        """The mark of one answer, which has all solutions if an unknown is asked for.

        Raises ``ValueError`` for an answer that cannot be read.
        """
        if isinstance(answer, Tree):
            return self._finish(self._marked(PlainText(write_infix(answer))))
        plain = self._rules.plain(self._in_one_line(answer))
        found = self._marked(plain)
        found = found._replace(notes=tuple(dict.fromkeys((*plain.notes, *found.notes))))
        if self._rules.units:
            found = in_units(found, answer, plain.bases, self._units)
        return self._finish(found)

    @one_thread_at_a_time
    def mark(self, answer: str) -> Checked:
        """The mark of an answer whatever it is: ``empty`` and ``unreadable`` are marks, too.

        An internal error is ``undecided``, and names the fault of this program.
        """
        if not answer.strip():
            found = unjudged(Mark.EMPTY, "")._replace(decimal=self.decimal)
        else:
            checked = attempt(self.check, answer)
            if isinstance(checked, Checked):
                return checked
            if isinstance(checked, InternalError):
                verdict = undecided(checked.name, Doubt.FAULT)
                return Checked(answer.strip(), Mark.UNDECIDED, verdict, decimal=self.decimal)
            found = unjudged(Mark.UNREADABLE, answer.strip(), error=str(checked))
        required = attempt(lambda: self._key.required)
        return found._replace(required=required if isinstance(required, int) else None)

    def read(self, understood: str) -> Tree:
        """The tree of an answer as it was understood."""
        return self._expression(self._rules.plain(understood).text)

    def _expression(self, text: str) -> Tree:
        return self._fillers.read(text).tree

    def _in_one_line(self, answer: str) -> str:
        """``2; -2`` of two lines. Raises ``ValueError`` for several in one blank: ``2`` and ``-2`` are no 2 - 2."""
        lines = [undressed(line) for line in undressed(answer).splitlines() if line.strip()]
        if len(lines) > 1 and self.asked.unknown is None and len(self.asked.blanks) == 1:
            raise Refusal(f"the answer has {len(lines)} lines, but the equation has one blank; write a single line")
        return "; ".join(lines)

    def _finish(self, found: Checked) -> Checked:
        """The mark with the number of solutions that there are, and with the decimal mark of the question."""
        required = self._key.required if found.required is None else found.required
        return found._replace(required=required).with_decimal(self.decimal)

    def _marked(self, plain: PlainText) -> Checked:
        """The mark of an answer: a claim, an expression for each blank, or a list of solutions in its best reading."""
        answer = plain.text
        if self.asked.unknown is not None:
            answer = split_set(answer, self.asked.unknown, self._names)
            answer = with_english_words(answer, (*self._names, self.asked.unknown))
            left_out = None if "R" in self._names else exceptions(answer, self.asked.unknown)  # R may be a variable
            if left_out is not None:
                every = [self._fillers.mark([text], plain) for text in left_out]
                return mark_all_but(every, answer.strip(), self._key, self._judge)
            intervals = read_intervals(answer, self.asked.unknown, may_be_bare=self._key.every is not None)
            if intervals is not None:
                if self._key.solutions is None:
                    raise Refusal(
                        f"'{answer.strip()}' names an interval; express {self.asked.unknown} in terms of the other "
                        "letters"
                    )
                about = [one for one in self._assumed if one.name == self.asked.unknown]
                return mark_intervals(intervals, answer.strip(), self._key.solutions, about)
        text = bare(answer, self.asked.unknown, self._names)
        claim = parse_claim(answer)
        if claim is not None and answer.strip() not in self._names:  # R may be a variable
            return mark_claim(claim, answer.strip(), self._key, self._judge)
        if self.asked.unknown is None:
            return self._fill(text, plain)
        if (whole := thousands(text)) is not None:
            one = self._fillers.mark([whole], plain)
            if one.mark is Mark.RIGHT or text.count(",") > 1:
                return self._list([GivenSolution(one, whole)], plain)
            raise Refusal(f"'{text.strip()}' can mean {whole}, a decimal or two numbers; write the one you mean")
        if is_decimal(inside(text)) and not self._is_pointed:
            point = inside(text).replace(",", ".")
            if (decimal := self._fillers.mark([point], plain)).mark is Mark.RIGHT:
                return self._list([GivenSolution(decimal, point)], plain)
        *others, last = listings(text, self.asked.unknown)
        readings: list[Checked] = []
        for texts in others:
            with suppress(Refusal):  # what cannot be read as this list can be read as another one
                readings.append(self._listed(texts, plain))
        if not any(found.mark is Mark.RIGHT for found in readings):
            readings.append(self._listed(last, plain))
        return min(readings, key=lambda found: SEVERITY.index(found.mark))

    def _fill(self, text: str, plain: PlainText) -> Checked:
        """The mark of an expression for each blank; ``1,5`` is one expression if one is asked for."""
        blanks = len(self.asked.blanks)
        texts = _split(_BETWEEN_EXPRESSIONS, text)
        if len(texts) != blanks:
            texts = _split(_ANY_SEPARATOR, text)
        if len(texts) != blanks:
            expressions = f"{len(texts)} expression{'s' * (len(texts) != 1)}"
            raise Refusal(f"the equation has {blanks} blank{'s' * (blanks != 1)}, but the answer has {expressions}")
        return self._fillers.mark(texts, plain)

    def _listed(self, texts: list[str], plain: PlainText) -> Checked:
        """The mark of a list of solutions; of ``pi/4 + k*pi`` it has those within a period."""
        found: list[GivenSolution] = []
        general: list[tuple[str, str]] = []
        letters = self._letters
        for text in texts:
            counts = any(letter in text for letter in COUNTERS if letter not in letters)
            if counts and self._key.drawn is not None:
                given = self._expression(text)
                counters = [name for name in variables(given) if name in COUNTERS and name not in letters]
                if len(counters) > 1:
                    named = " and ".join(counters)
                    raise Refusal(
                        f"'{text.strip()}' uses {named} for whole numbers; write a single letter for whole numbers"
                    )
                general += [(write_infix(given), name) for name in counters]
                found.append(GivenSolution(self._fillers.mark([text], plain), text))
                continue
            period = self._key.period if counts else None
            tree = None if period is None else self._expression(text)
            several = None if tree is None or period is None else within_a_period(tree, period, letters)
            if several is None or period is None or tree is None:
                self._check_degrees(text, tree, period, plain)
                found.append(GivenSolution(self._fillers.mark([text], plain), text))
                continue
            general.append((write_infix(tree), several.counter))
            for value in several.values:
                one = self._fillers.mark([write_infix(value)], plain)
                if several.periods > 1 and one.mark is Mark.RIGHT:
                    cause = Cause("incomplete-step", {"period": write_infix(period)})
                    one = one._replace(mark=Mark.INCOMPLETE, cause=cause)
                found.append(GivenSolution(one, write_infix(value)))
        return self._list(found, plain, general)

    def _check_degrees(self, text: str, answer: Tree | None, period: Tree | None, plain: PlainText) -> None:
        """Raises ``ValueError`` for an answer with a counter that would be right in degrees, as ``30 + 360k``."""
        found = None if answer is None or period is None else within_a_period(in_degrees(answer), period, self._letters)
        if found and all(self._fillers.mark([write_infix(one)], plain).mark is Mark.RIGHT for one in found.values):
            raise Refusal(f"'{text.strip()}' would be right in degrees; write degrees with °")

    def _list(self, given: list[GivenSolution], plain: PlainText, general: Sequence[tuple[str, str]] = ()) -> Checked:
        """The mark of several solutions, or of one; ``general`` are those with a counter, and the counter."""
        given = list({part.checked.answer: part for part in given}.values())
        several = tuple(part.checked for part in given)
        answer = self._between.join(part.answer for part in several)
        notes = tuple(dict.fromkeys(note for part in several for note in part.notes))
        worst = max(several, key=lambda part: SEVERITY.index(part.mark))
        if worst.mark is not Mark.RIGHT:
            worst = worst._replace(missing=self._missing(given, plain, known_only=True), solutions=several)
            if len(several) == 1:
                return worst
            first = Cause("one-of-several", {"answer": worst.answer, "sentence": worst.explanation})
            return worst._replace(answer=answer, notes=notes, cause=first)
        found = Checked(answer, Mark.INCOMPLETE, worst.verdict, notes=notes, solutions=several)
        if (every := self._key.every) is not None:
            code = "interval" if _lacks_points(every) else "every"
            values = {"unknown": self.asked.unknown or "", "place": every.place}
            return found._replace(verdict=every, cause=Cause(f"incomplete-{code}", values))
        lacking = self._lacking(given, plain)
        if lacking is not None:
            return found._replace(mark=lacking.mark, missing=lacking.missing, cause=lacking.cause)
        cause = worst.cause if len(several) == 1 else Cause("right-several", {"count": str(len(several))})
        if self._key.may_have_more:
            notes = (*notes, checking_note("may-have-more"))
        elif general:
            texts, counters = zip(*general, strict=True)
            values = {"solutions": ", ".join(texts), "counters": ", ".join(dict.fromkeys(counters))}
            is_all = self._key.solutions is not None or self._key.drawn is not None
            cause = Cause("right-all-general" if is_all else "right-general", values)
        elif self._key.period is not None and self._key.in_window is None:
            named = {"period": write_infix(self._key.period), "counter": unused_counter(self._letters)}
            notes = (*notes, checking_note("period", unknown=self.asked.unknown or "", **named))
        elif self._key.drawn is not None and self._key.drawn.is_periodic:
            notes = (*notes, checking_note("periods"))
        return found._replace(mark=Mark.RIGHT, notes=notes, cause=cause)

    def _lacking(self, given: list[GivenSolution], plain: PlainText) -> "Lacking | None":
        """The solutions that a list lacks; None if it has all that are known."""
        drawn = self._key.drawn
        answers = [] if drawn is None else [self._exact(part, plain) for part in given]
        if drawn is None or any(drawn.fitted(tree) is None for tree in answers):
            missing = self._missing(given, plain)
            return self._lacking_of(missing) if missing else None
        absent = drawn.missing(answers)
        if not absent:
            return None
        missing = tuple(map(write_infix, self._key.named(answers)))
        if missing and not self._assumed and drawn.lists_if_positive(answers, absent):
            return Lacking(Mark.POSITIVE, missing, Cause("positive", {"missing": self._solutions_text(missing)}))
        return self._lacking_of(missing) if missing else self._lacking_at(absent[0])

    def _lacking_of(self, missing: tuple[str, ...]) -> "Lacking":
        code = "one" if len(missing) == 1 else "some"
        return Lacking(
            Mark.INCOMPLETE, missing, Cause(f"incomplete-{code}", {"missing": self._solutions_text(missing)})
        )

    def _lacking_at(self, absent: MissingRoot) -> "Lacking":
        values = {"point": absent.drawing.text, "missing": self._solutions_text([absent.text])}
        return Lacking(Mark.INCOMPLETE, (), Cause("incomplete-drawn", values))

    def _solutions_text(self, solutions: Sequence[str]) -> str:
        return ", ".join(f"{self.asked.unknown} = {solution}" for solution in solutions)

    def _exact(self, part: GivenSolution, plain: PlainText) -> Tree:
        """A listed solution, of a decimal that rounds one the exact one."""
        number = self._fillers.number(part.text, plain)
        rounded = None if number is None else self._key.rounded_root(number)
        return self._expression(part.text) if rounded is None else rounded

    def _missing(self, given: list[GivenSolution], plain: PlainText, known_only: bool = False) -> tuple[str, ...]:
        """The solutions that are not among those given; ``known_only`` looks for none that only a search shows."""
        if known_only and (self._key.solutions is None or not self._key.solutions.are_all):
            return ()
        right = [part for part in given if part.checked.mark not in (Mark.WRONG, Mark.UNDECIDED)]
        pairs = [(self._expression(part.text), self._fillers.number(part.text, plain)) for part in right]
        return tuple(map(write_infix, self._key.missing(pairs)))


def _split(separator: re.Pattern[str], text: str) -> list[str]:
    """The parts of a text between separators outside of brackets."""
    separators = {match.start() for match in separator.finditer(text)}
    found = [""]
    depth = 0
    for index, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if index in separators and not depth:
            found.append("")
        else:
            found[-1] += character
    return found


class Rounding(NamedTuple):
    """The decimals that are right for a value, next to the exact one.

    Args:
        places: behind the point; None for any number of them.
        digits: significant ones; None for any number of them.
    """

    places: int | None = None
    digits: int | None = None

    @property
    def is_required(self) -> bool:
        """Whether only a decimal of so many places or digits is what was asked for."""
        return self.places is not None or self.digits is not None

    def number(self, text: str) -> RoundedNumber | None:
        """The decimal that a text is, if people round to it."""
        found = rounded_number(text.replace(",", ".") if text.count(",") == 1 else text)
        if found is None or (found.is_digit and not self.is_required):
            return None
        return found if self.digits is None else found.with_digits(self.digits)

    def lack(self, given: RoundedNumber | None, text: str, exactly: bool) -> Lack | None:
        """The digits that a right answer lacks; a value that has fewer places may be written without zeros.

        Args:
            given: the decimal that it is; None if it is none.
            text: as it is shown.
            exactly: whether it is the value itself.
        """
        if not self.is_required:
            return None
        if given is None:
            return Lack("no-decimal", {"part": text}, "rounded")
        if self.places is not None and given.places != self.places and not (exactly and given.places < self.places):
            values = {"part": text, "places": str(max(given.places, 0)), "required": str(self.places)}
            return Lack("places", values, "rounded")
        if self.digits is not None and not given.digits[0] <= self.digits <= given.digits[1]:
            values = {"part": text, "digits": str(given.digits[0]), "required": str(self.digits)}
            return Lack("digits", values, "rounded")
        return None


def rounding_of(rounded: bool | int, significant: int | None) -> Rounding | None:
    """The rule of the options ``rounded`` and ``significant``; None for exact answers only.

    Raises ``ValueError`` for both, and for numbers that are none of digits.
    """
    if significant is not None:
        if rounded is not False:
            raise Refusal("rounded and significant exclude each other; give only one of the two")
        if not 1 <= significant <= MAX_DIGITS:
            raise Refusal(f"significant is {significant}; expected a number of digits from 1 to {MAX_DIGITS}")
        return Rounding(digits=significant)
    if isinstance(rounded, bool):
        return Rounding() if rounded else None
    if not 0 <= rounded <= MAX_DIGITS:
        raise Refusal(f"rounded is {rounded}; expected a number of decimal places from 0 to {MAX_DIGITS}, or True")
    return Rounding(places=rounded)


@dataclass(frozen=True, kw_only=True)
class FillerChecker:
    """Marks expressions that are put into the blanks of an equation, one solution for an unknown included.

    Args:
        asked: the question.
        names: its variables, without the unknown.
        one_name: runs of letters that are one name.
        units: whether names after numbers are units.
        decimal: the mark of decimals in what is shown.
        between: what separates expressions in what is shown.
        rounding: the decimals that are right, too; None for exact answers only.
        form: a key of ``FORMS``, or None for any.
        assumed: what is assumed of the letters.
        key: the solutions.
        judge: of claims.
    """

    asked: Question
    names: Collection[str]
    one_name: frozenset[str]
    units: bool
    decimal: str
    between: str
    rounding: Rounding | None
    form: str | None
    assumed: Sequence[Assumption]
    key: AnswerKey
    judge: Judge

    def read(self, text: str, bases: frozenset[str] = frozenset()) -> TypedExpression:
        """An answer with the letters of the question: one that differs from them in case alone is that letter."""
        read = read_noted_expression(text, self.names, names=self.one_name | bases)
        there = variables(read.tree)
        letters = {*self.names, *filter(None, [self.asked.unknown])}
        changed = {
            name: name.swapcase()
            for name in there
            if name not in letters and name.swapcase() in letters and name.swapcase() not in there
        }
        if self.units or (self.asked.unknown is not None and changed.keys() & set(COUNTERS)):
            return read
        leaves = {Tree("Symbol", token=given): Tree("Symbol", token=letter) for given, letter in changed.items()}
        notes = (checking_note("case", given=given, letter=letter) for given, letter in changed.items())
        return TypedExpression(substitute(read.tree, leaves), (*read.notes, *notes))

    def mark(self, texts: list[str], plain: PlainText) -> Checked:
        """The mark of an expression for each blank, or of one solution."""
        read = [self.read(text, plain.bases) for text in texts]
        fillers = [one.tree for one in read]
        notes = tuple(note for one in read for note in one.notes)
        if any(node.function == BLANK.function for filler in fillers for node in filler.distinct()):
            raise Refusal("the answer contains a blank; fill in the blank")
        if self.asked.unknown in variables(*fillers):
            raise Refusal(f"the answer contains {self.asked.unknown}, which is the unknown")
        self._check_names(fillers, plain)
        verdict, right = self._verdict(fillers)
        understood = self.between.join(map(write_infix, fillers))
        mark = mark_of(verdict, right)
        put = self.key.put(fillers[0]) if self.asked.unknown is not None else None
        if put is not None and put.outcome is NumberOutcome.NOT_REAL:
            cause = Cause("wrong-not-real", {"place": put.reason})
            return Checked(understood, Mark.WRONG, verdict, notes=notes, cause=cause)
        if put is not None and put.outcome is NumberOutcome.SOLVES and mark is not Mark.RIGHT:
            verdict = Verdict(Grade.TESTED, Domain.EVERYWHERE, tested=Tested(1, 0, "", ""))
            mark = Mark.RIGHT
        if mark is Mark.UNDECIDED and self.asked.unknown is not None and self._is_outside(fillers, verdict):
            cause = Cause("wrong-no-value", {"place": verdict.reason})
            return Checked(understood, Mark.WRONG, verdict, notes=notes, cause=cause)
        found = self._at_letters(self._as_assumed(Checked(understood, mark, verdict, notes=notes), fillers), fillers[0])
        if self.rounding is not None and len(texts) == 1 and mark in (Mark.WRONG, Mark.RIGHT):
            found = self._rounded(found, texts[0], plain)
        if found.mark is Mark.RIGHT and self.form is not None:
            return self._in_form(found, texts)
        if found.mark is Mark.WRONG and mark is not Mark.RIGHT and self.key.is_periodic and len(fillers) == 1:
            _, is_right_in_degrees = self._verdict([in_degrees(fillers[0])])
            if is_right_in_degrees:
                notes = (*notes, checking_note("degrees", answer=understood))
        return found._replace(notes=notes) if found.mark is Mark.WRONG else found

    def _as_assumed(self, found: Checked, fillers: list[Tree]) -> Checked:
        """The mark of what holds where the letters are as assumed, and of a solution that is not."""
        if not self.assumed or found.mark is Mark.UNDECIDED:
            return found
        if self.asked.unknown is not None and found.mark in (Mark.RIGHT, Mark.PART):
            broken = excludes(self.assumed, self.asked.unknown, fillers[0])
            if broken is not None:
                return found._replace(mark=Mark.WRONG, cause=Cause("wrong-assumed", {"assumption": broken.text}))
        filled = self._filled(fillers)
        unit = imaginary_unit(filled, whole_letters(self.assumed))
        if found.mark is Mark.RIGHT or imaginary_unit(filled) is not None:
            return found
        filled = filled if unit is None else with_unit(filled, unit)
        verdict, holds = verdict_under(self.judge, filled, self.assumed)
        if not holds:
            return found._replace(mark=mark_of(verdict, False), verdict=verdict)
        shown = " and ".join(one.text for one in self.assumed if one.name != self.asked.unknown)
        return found._replace(mark=Mark.RIGHT, cause=Cause("right-assumed", {"assumptions": shown}))

    def _at_letters(self, found: Checked, answer: Tree) -> Checked:
        """The mark of a solution by the solutions at drawn letters, if these settle it."""
        drawn = self.key.drawn
        if drawn is None or (fitted := drawn.fitted(answer)) is None:
            return found
        mark = _FITTED.get(fitted.fit)
        is_unknown = not drawn.drawings and not drawn.has_none
        if (fitted.fit is Fit.OPEN or is_unknown) and found.mark in (Mark.WRONG, Mark.PART):
            return found._replace(mark=Mark.UNDECIDED, cause=Cause("undecided-drawn"))
        holds_on_a_part = found.mark is Mark.PART and fitted.drawings > 0
        if mark is None or found.mark is mark or (mark is Mark.WRONG and holds_on_a_part):
            return found
        if mark is Mark.RIGHT:
            return found._replace(mark=mark, cause=Cause("right-drawn", {"count": str(fitted.drawings)}))
        solution = f"{self.asked.unknown} = {fitted.solution}"
        cause = Cause(f"{mark.value}-drawn", {"point": fitted.point, "solution": solution})
        return found._replace(mark=mark, cause=cause)

    def _rounded(self, found: Checked, text: str, plain: PlainText) -> Checked:
        """The mark of an answer if decimals are right that round the value, or if only these are what is asked for."""
        assert self.rounding is not None
        exactly = found.mark is Mark.RIGHT
        given = self.number(text, plain)
        if not exactly:
            unit = plain.unit
            tree = read_typed_expression(unit, names=self.one_name | plain.bases) if unit else None
            exact = None if given is None else self.key.rounded_root(given, tree)
            if exact is None:
                return found
            shown = with_decimal_commas(text.strip()) if self.decimal == "comma" else text.strip()
            notes = found.notes
            if not unit:
                notes = (*notes, checking_note("rounds", answer=shown, exact=write_infix(exact)))
            found = found._replace(mark=Mark.RIGHT, notes=notes, cause=Cause("right-rounded"))
        lack = self.rounding.lack(given, plain.numeral or text.strip(), exactly)
        return found if lack is None else found._replace(mark=Mark.FORM, lacking=lack, cause=None)

    def number(self, text: str, plain: PlainText) -> RoundedNumber | None:
        """The decimal that an answer is, in whatever unit."""
        return None if self.rounding is None else self.rounding.number(plain.numeral or text)

    def _in_form(self, found: Checked, texts: list[str]) -> Checked:
        """The mark of a right answer that may not have the form."""
        assert self.form is not None
        for text in texts:
            lack = form_lack(self.form, read_typed_expression(text, self.names, True, self.one_name), text.strip())
            if lack is not None:
                shown = ", ".join(text.strip() for text in texts)  # 6/8 is not 3/4 here
                return Checked(shown, Mark.FORM, found.verdict, lack, found.notes)
        return found

    def _is_outside(self, fillers: list[Tree], verdict: Verdict) -> bool:
        """Whether an answer is a number for which the equation has no value."""
        return verdict.doubt is Doubt.NO_VALUE and all(
            self.judge.verdict(Equation(filler, filler)).holds for filler in fillers
        )

    def _check_names(self, fillers: list[Tree], plain: PlainText) -> None:
        """Raises ``ValueError`` for a word or a unit as the answer to an equation of numbers."""
        names = (*self.names, *UNITS, *plain.bases)
        strange = [name for name in variables(*fillers) if name not in names]
        if strange and self.units:
            raise Refusal(f"the answer contains {strange[0]}, which is neither a unit nor a variable here")
        if strange and not self.names:
            raise Refusal(f"the answer contains {strange[0]}, which is not a variable here; write only a number")
        for name in strange:
            letter = name.rstrip("0123456789")
            if letter != name and letter in self.names:
                readings = f"{letter}*{name[len(letter) :]} or a variable {name}"
                raise Refusal(f"'{name}' can mean {readings}; write the one you mean")

    def _filled(self, fillers: list[Tree]) -> Equation:
        replacements = dict(zip(map(blank, self.asked.blanks), fillers, strict=True))
        return Equation(*(substitute(side, replacements) for side in self.asked.equation))

    def _verdict(self, fillers: list[Tree]) -> tuple[Verdict, bool]:
        """The verdict on the filled equation, and whether that holds wherever the rest has a value."""
        equation = self.asked.equation
        filled = self._filled(fillers)
        if any(node.function == "Infinity" for side in filled for node in side.distinct()):
            raise Refusal("infinity (oo) is not a number")
        unit = imaginary_unit(filled)
        if unit is not None:
            filled = with_unit(filled, unit)
        verdict = self.judge.verdict(filled)
        if len(fillers) > 1 or unit is not None:
            return verdict, verdict.domain in (Domain.EVERYWHERE, Domain.REALS)
        return verdict, covers(equation, fillers[0], verdict)


_FITTED = {Fit.SOLVES: Mark.RIGHT, Fit.PART: Mark.PART, Fit.DIFFERS: Mark.WRONG}


def mark_claim(claim: Claim, text: str, key: AnswerKey, judge: Judge) -> Checked:
    """The mark of an answer that there is no solution, or that all numbers are some.

    Raises ``ValueError`` for an equation without an unknown.
    """
    verdict = _of_the_unknown(text, key, judge)
    known = verdict.grade is not Grade.UNDECIDED
    if claim is ALL:
        if any(not one.is_isolated for one in key.exceptions):
            return _wrong_somewhere(text, verdict, key)
        if _is_all(verdict) and (verdict.conditions or key.exceptions or _lacks_points(key.every)):
            return _on_a_part(text, key.every if key.every is not None and not verdict.conditions else verdict)
        mark = Mark.RIGHT if _is_all(verdict) else Mark.WRONG if known else Mark.UNDECIDED
        return Checked(text, mark, verdict)
    if key.excludes_all:
        return Checked(text, Mark.RIGHT, verdict, cause=Cause("right-none-assumed"))
    if key.solutions is not None and key.solutions.are_none:
        basis = "proved" if key.solutions.is_proved else "digits"
        return Checked(text, Mark.RIGHT, verdict, cause=Cause("right-none", {"basis": basis}))
    if verdict.domain is not Domain.NONE and known:
        return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-claim", {"verdict": verdict.short}))
    if key.drawn is not None and key.drawn.drawings:
        drawing = key.drawn.drawings[0]
        solution = f"{key.asked.unknown} = {number_text(drawing.numbers[0])}"
        values = {"point": drawing.text, "solution": solution}
        return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-none-drawn", values))
    if key.solutions is None and verdict.domain is Domain.NONE and verdict.only:
        return Checked(text, Mark.RIGHT, verdict, cause=Cause("right-none", {"basis": "proved"}))
    if (solved := key.a_real_one) is not None:
        solution = f"{key.asked.unknown} = {write_infix(solved)}"
        return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-none", {"solution": solution}))
    return Checked(text, Mark.UNDECIDED, verdict, cause=Cause("undecided-none"))


def mark_all_but(left_out: Sequence[Checked], text: str, key: AnswerKey, judge: Judge) -> Checked:
    """The mark of an answer that all numbers are solutions but these, whose marks as solutions are given.

    Raises ``ValueError`` for an equation without an unknown.
    """
    verdict = _of_the_unknown(text, key, judge)
    if any(not one.is_isolated for one in key.exceptions):
        return _wrong_somewhere(text, verdict, key)
    if not _is_all(verdict):
        return Checked(text, Mark.WRONG if verdict.grade is not Grade.UNDECIDED else Mark.UNDECIDED, verdict)
    unknown = key.asked.unknown
    if solved := next((one for one in left_out if one.mark is Mark.RIGHT), None):
        solution = f"{unknown} = {solved.answer}"
        cause = Cause("incomplete-excluded", {"solution": solution})
        return Checked(text, Mark.INCOMPLETE, verdict, cause=cause, missing=(solution,))
    given = [read_typed_expression(one.answer, ()) for one in left_out]
    if all(_is_among(condition.partition(f"{unknown} = ")[2], given, judge) for condition in verdict.conditions):
        return Checked(text, Mark.RIGHT, verdict)
    return _on_a_part(text, verdict)


def _lacks_points(every: Verdict | None) -> bool:
    """Whether a part of an equation that holds on intervals has no real value at some points."""
    return every is not None and (every.domain is not Domain.REALS or bool(every.conditions))


def _wrong_somewhere(text: str, verdict: Verdict, key: AnswerKey) -> Checked:
    """The mark of a claim about all numbers that is false at one, and next to it."""
    one = next(one for one in key.exceptions if not one.is_isolated)
    place = f"{key.asked.unknown} = {one.number} is no solution" + (f": {one.reason}" if one.reason else "")
    return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-not-real", {"place": place}))


def _of_the_unknown(text: str, key: AnswerKey, judge: Judge) -> Verdict:
    if key.asked.unknown is None:
        raise Refusal(
            f"'{text}' answers an equation with an unknown, as in x^2 = 16, x = _, but this equation has a blank"
        )
    return judge.verdict(key.whole)


def _is_all(verdict: Verdict) -> bool:
    return verdict.domain in (Domain.EVERYWHERE, Domain.REALS)


def _on_a_part(text: str, verdict: Verdict) -> Checked:
    return Checked(text, Mark.PART, verdict, cause=Cause("part-claim", {"place": verdict.place}))


def _is_among(value: str, given: Sequence[Tree], judge: Judge) -> bool:
    """Whether a number is one of these; empty of a condition that is not ``x = `` and a number."""
    return bool(value) and any(judge.verdict(Equation(read_typed_expression(value, ()), tree)).holds for tree in given)
