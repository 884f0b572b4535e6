"""The checker behind ``dgltree.check``: reads answers to one equation, and marks them."""

import re
from collections.abc import Sequence
from dgltree.equations.marking.answer_key import AnswerKey
from dgltree.equations.marking.marks import Checked, Mark
from dgltree.equations.marking.sentences import Cause
from dgltree.equations.marking.solution_lists import ALL, Claim
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Domain, Grade, Verdict
from dgltree.read.infix_writer import write_infix
from dgltree.equations.typed import read_typed_expression
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree
from typing import NamedTuple
from dgltree.equations.marking.marks import Lack
from dgltree.equations.marking.numerals import RoundedNumber, rounded_number
from collections.abc import Collection
from dgltree.support.arguments import nearest
from dgltree.equations.marking.answer_text import PlainText, TextRules, check_decimal
from dgltree.equations.marking.forms import FORMS, form_lack
from dgltree.equations.marking.marks import Checked, Mark, mark_of
from dgltree.equations.marking.numerals import RoundedNumber, decimal_mark
from dgltree.equations.marking.answer_key import in_degrees
from dgltree.equations.marking.sentences import Cause, checking_note, with_decimal_commas
from dgltree.equations.completion.verification import question
from dgltree.equations.completion.assumptions import check_assumptions, excludes, read_assumptions, verdict_under
from dgltree.equations.completion.lines import covers
from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.imaginary import UNITS, imaginary_unit, with_unit
from dgltree.equations.truth.solutions.solutions import NumberOutcome
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Tested, Verdict
from dgltree.equations.typed import read_noted_expression, read_question, read_typed_expression
from dgltree.trees.equation import BLANK, Equation, blank, substitute
from dgltree.equations.marking.answer_text import PlainText
from dgltree.equations.marking.marks import SEVERITY, Checked, Mark, unjudged
from dgltree.equations.marking.answer_key import COUNTERS, in_degrees, within_a_period
from dgltree.equations.marking.sentences import Cause, checking_note
from dgltree.equations.marking.solution_lists import bare, exceptions, inside, is_decimal, listings, parse_claim, split_set, thousands, with_english_words
from dgltree.equations.marking.units import in_units
from dgltree.equations.completion.assumptions import is_right_if_positive
from dgltree.equations.truth.verdict import Domain

# ---------------------------------------------------------------------------------------------------------------------
# The expressions of an answer to several blanks: ``2, 3``.


def parts(text: str, count: int) -> list[str]:
    """The expressions between semicolons or commas outside of brackets; ``1,5`` is one if one is asked for."""
    found = _split(_BETWEEN_EXPRESSIONS, text)
    return found if len(found) == count else _split(_ANY_SEPARATOR, text)


_BETWEEN_EXPRESSIONS = re.compile(r"(?<!\\)(?:;|,(?!\d)|(?<!\d),)")
_ANY_SEPARATOR = re.compile(r"(?<!\\)[;,]")


def _split(separator: re.Pattern[str], text: str) -> list[str]:
    """The parts between separators outside of brackets."""
    places, found, depth = {match.start() for match in separator.finditer(text)}, [""], 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if place in places and not depth:
            found.append("")
        else:
            found[-1] += character
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Answers that name no solution one by one: there is none, all numbers are some, or all but a few.


def mark_claim(claim: Claim, text: str, key: AnswerKey, judge: Judge) -> Checked:
    """The mark of an answer that there is no solution, or that all numbers are some.

    Raises ``ValueError`` for an equation without an unknown.
    """
    verdict = _of_the_unknown(text, key, judge)
    known = verdict.grade is not Grade.UNDECIDED
    if claim is ALL:
        if _is_all(verdict) and verdict.conditions:
            return _on_a_part(text, verdict)
        mark = Mark.RIGHT if _is_all(verdict) else Mark.WRONG if known else Mark.UNDECIDED
        return Checked(text, mark, verdict)
    if key.excludes_all:
        return Checked(text, Mark.RIGHT, verdict, cause=Cause("right-none-assumed"))
    if key.solutions is not None and key.solutions.are_none:
        basis = "proved" if key.solutions.is_proved else "digits"
        return Checked(text, Mark.RIGHT, verdict, cause=Cause("right-none", {"basis": basis}))
    if verdict.domain is not Domain.NONE and known:
        return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-claim", {"verdict": verdict.short}))
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


def _of_the_unknown(text: str, key: AnswerKey, judge: Judge) -> Verdict:
    if key.asked.unknown is None:
        raise ValueError(f"'{text}' answers an equation with an unknown, as x^2 = 16, x = _; this one has a blank")
    return judge.verdict(key.whole)


def _is_all(verdict: Verdict) -> bool:
    return verdict.domain in (Domain.EVERYWHERE, Domain.REALS)


def _on_a_part(text: str, verdict: Verdict) -> Checked:
    return Checked(text, Mark.PART, verdict, cause=Cause("part-claim", {"place": verdict.place}))


def _is_among(value: str, given: Sequence[Tree], judge: Judge) -> bool:
    """Whether a number is one of these; empty of a condition that is not ``x = `` and a number."""
    return bool(value) and any(judge.verdict(Equation(read_typed_expression(value, ()), tree)).holds for tree in given)


# ---------------------------------------------------------------------------------------------------------------------
# The digits that an answer has to have: any to which a value is rounded, so many places, or significant ones.


MAX_DIGITS = 30
"""To which an answer may have to be rounded."""


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
            raise ValueError("rounded and significant exclude each other; give one of them")
        if not 1 <= significant <= MAX_DIGITS:
            raise ValueError(f"significant is {significant}; expected a number of digits from 1 to {MAX_DIGITS}")
        return Rounding(digits=significant)
    if isinstance(rounded, bool):
        return Rounding() if rounded else None
    if not 0 <= rounded <= MAX_DIGITS:
        raise ValueError(f"rounded is {rounded}; expected a number of decimal places from 0 to {MAX_DIGITS}, or True")
    return Rounding(places=rounded)


# ---------------------------------------------------------------------------------------------------------------------
# The marks of single expressions: a filler of each blank, or one solution.


class FillerChecker:
    """Marks expressions that are put into the blanks of an equation.

    Args:
        equation, form, names, rounded, mixed, units, significant, decimal, assume: as of :func:`dgltree.check`.
    """

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
            raise ValueError(f"unknown form {form!r} ({nearest(form, FORMS)}); the forms are {', '.join(FORMS)}")
        check_decimal(decimal)
        self._rounding = rounding_of(rounded, significant)
        self._one_name, self._in = frozenset(names), frozenset[str]()
        mark = decimal or (decimal_mark(equation) if isinstance(equation, str) else None)
        self._is_pointed, self.decimal = decimal == "point", mark or "point"
        self._between = "; " if mark == "comma" else ", "
        self._rules = TextRules(mixed, units, mark)
        if isinstance(equation, str):
            plain = self._rules.plain(equation)
            self.asked = read_question(plain.text, self._one_name | plain.bases)
            self._in = plain.bases
            self.asked = self.asked._replace(notes=(*plain.notes, *(() if plain.bases else self.asked.notes)))
        else:
            self.asked = question(equation)
        if not self.asked.blanks:
            raise ValueError("the equation has no blank; write _ where the answer goes, or x^2 = 16, x = _")
        self.form = form or (self.asked.form if self.asked.form in FORMS else None)
        self._names = variables(*self.asked.equation)
        self._rules = self._rules._replace(lists=self.asked.unknown is not None)
        self._judge, self._plain = Judge(), PlainText("")
        letters = [*self._names, *((self.asked.unknown,) if self.asked.unknown else ())]
        self._assumed = check_assumptions(read_assumptions(assume), letters)
        self._key = AnswerKey(self.asked, self._names, self._judge, self._assumed)

    def _one(self, texts: list[str]) -> Checked:
        """The mark of an expression for each blank, or of one solution."""
        read = [read_noted_expression(text, self._names, names=self._one_name | self._plain.bases) for text in texts]
        fillers, notes = [one.tree for one in read], tuple(note for one in read for note in one.notes)
        if any(node.function == BLANK.function for filler in fillers for node in filler.distinct()):
            raise ValueError("the answer has a blank in it; fill it in")
        if self.asked.unknown in variables(*fillers):
            raise ValueError(f"the answer has {self.asked.unknown} in it, which is the unknown")
        self._check_names(fillers)
        verdict, right = self._verdict(fillers)
        understood = self._between.join(map(write_infix, fillers))
        mark = mark_of(verdict, right)
        put = self._key.put(fillers[0]) if self.asked.unknown is not None else None
        if put is not None and put.outcome is NumberOutcome.NOT_REAL:
            cause = Cause("wrong-not-real", {"place": put.reason})
            return Checked(understood, Mark.WRONG, verdict, notes=notes, cause=cause)
        if put is not None and put.outcome is NumberOutcome.SOLVES and mark is not Mark.RIGHT:
            verdict, mark = Verdict(Grade.TESTED, Domain.EVERYWHERE, tested=Tested(1, 0, "", "")), Mark.RIGHT
        if mark is Mark.UNDECIDED and self.asked.unknown is not None and self._is_outside(fillers, verdict):
            cause = Cause("wrong-no-value", {"place": verdict.reason})
            return Checked(understood, Mark.WRONG, verdict, notes=notes, cause=cause)
        found = self._as_assumed(Checked(understood, mark, verdict, notes=notes), fillers)
        if self._rounding is not None and len(texts) == 1 and mark in (Mark.WRONG, Mark.RIGHT):
            found = self._rounded(found, texts[0])
        if found.mark is Mark.RIGHT and self.form is not None:
            return self._in_form(found, texts)
        if found.mark is Mark.WRONG and mark is not Mark.RIGHT and self._key.is_periodic and len(fillers) == 1:
            right_so = self._verdict([in_degrees(fillers[0])])[1]
            notes += (checking_note("degrees", answer=understood),) * right_so
        return found._replace(notes=notes) if found.mark is Mark.WRONG else found

    def _as_assumed(self, found: Checked, fillers: list[Tree]) -> Checked:
        """The mark of what holds where the letters are as assumed, and of a solution that is not."""
        if not self._assumed or found.mark is Mark.UNDECIDED:
            return found
        if self.asked.unknown is not None and found.mark in (Mark.RIGHT, Mark.PART):
            broken = excludes(self._assumed, self.asked.unknown, fillers[0])
            if broken is not None:
                return found._replace(mark=Mark.WRONG, cause=Cause("wrong-assumed", {"assumption": broken.text}))
        if found.mark is Mark.RIGHT or imaginary_unit(self._filled(fillers)) is not None:
            return found
        verdict, holds = verdict_under(self._judge, self._filled(fillers), self._assumed)
        if not holds:
            return found._replace(mark=mark_of(verdict, False), verdict=verdict)
        shown = " and ".join(one.text for one in self._assumed if one.name != self.asked.unknown)
        return found._replace(mark=Mark.RIGHT, cause=Cause("right-assumed", {"assumptions": shown}))

    def _rounded(self, found: Checked, text: str) -> Checked:
        """The mark of an answer if decimals are right that round the value, or if only these are what is asked for."""
        assert self._rounding is not None
        exactly, given = found.mark is Mark.RIGHT, self._number(text)
        if not exactly:
            unit = self._plain.unit
            tree = read_typed_expression(unit, names=self._one_name | self._plain.bases) if unit else None
            exact = None if given is None else self._key.rounded_root(given, tree)
            if exact is None:
                return found
            shown = with_decimal_commas(text.strip()) if self.decimal == "comma" else text.strip()
            note = [checking_note("rounds", answer=shown, exact=write_infix(exact))] * (not unit)
            found = found._replace(mark=Mark.RIGHT, notes=(*found.notes, *note), cause=Cause("right-rounded"))
        lack = self._rounding.lack(given, self._plain.numeral or text.strip(), exactly)
        return found if lack is None else found._replace(mark=Mark.FORM, lacking=lack, cause=None)

    def _number(self, text: str) -> RoundedNumber | None:
        """The decimal that an answer is, in whatever unit."""
        return None if self._rounding is None else self._rounding.number(self._plain.numeral or text)

    def _in_form(self, found: Checked, texts: list[str]) -> Checked:
        """The mark of a right answer that may not have the form."""
        assert self.form is not None
        for text in texts:
            lack = form_lack(self.form, read_typed_expression(text, self._names, True, self._one_name), text.strip())
            if lack is not None:
                shown = ", ".join(text.strip() for text in texts)  # 6/8 is not 3/4 here
                return Checked(shown, Mark.FORM, found.verdict, lack, found.notes)
        return found

    def _is_outside(self, fillers: list[Tree], verdict: Verdict) -> bool:
        """Whether an answer is a number for which the equation has no value."""
        return verdict.doubt is Doubt.NO_VALUE and all(
            self._judge.verdict(Equation(filler, filler)).holds for filler in fillers
        )

    def _check_names(self, fillers: list[Tree]) -> None:
        """Raises ``ValueError`` for a word or a unit as the answer to an equation of numbers."""
        names = (*self._names, *UNITS, *self._plain.bases)
        strange = [name for name in variables(*fillers) if name not in names]
        if strange and self._rules.units:
            raise ValueError(f"the answer has {strange[0]} in it, which is neither a unit nor a variable here")
        if strange and not self._names:
            raise ValueError(f"the answer has {strange[0]} in it, which is not a variable here; write a number alone")
        for name in strange:
            letter = name.rstrip("0123456789")
            if letter != name and letter in self._names:
                readings = f"{letter}*{name[len(letter) :]} or a variable {name}"
                raise ValueError(f"'{name}' can mean {readings}; write the one you mean")

    def _filled(self, fillers: list[Tree]) -> Equation:
        replacements = dict(zip(map(blank, self.asked.blanks), fillers, strict=True))
        return Equation(*(substitute(side, replacements) for side in self.asked.equation))

    def _verdict(self, fillers: list[Tree]) -> tuple[Verdict, bool]:
        """Of the filled equation, and whether that holds wherever the rest has a value."""
        equation, filled = self.asked.equation, self._filled(fillers)
        if any(node.function == "Infinity" for side in filled for node in side.distinct()):
            raise ValueError("infinity (oo) is not a number")
        unit = imaginary_unit(filled)
        if unit is not None:
            filled = with_unit(filled, unit)
        verdict = self._judge.verdict(filled)
        if len(fillers) > 1 or unit is not None:
            return verdict, verdict.domain in (Domain.EVERYWHERE, Domain.REALS)
        return verdict, covers(equation, fillers[0], verdict)

    def _expression(self, text: str) -> Tree:
        return read_typed_expression(text, self._names, names=self._one_name)


class GivenSolution(NamedTuple):
    """One solution of an answer."""

    checked: Checked
    text: str
    """As it is typed."""


class Checker(FillerChecker):
    """Marks many answers to one equation.

    Args:
        equation, form, names, rounded, mixed, units, significant, decimal, assume: as of :func:`dgltree.check`.
    """

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
            found = in_units(found, answer, plain.bases, self._in)
        return self._finish(found)

    def mark(self, answer: str) -> Checked:
        """The mark of an answer whatever it is: ``empty`` and ``unreadable`` are marks, too."""
        if not answer.strip():
            return unjudged(Mark.EMPTY, "")._replace(required=self._key.required, decimal=self.decimal)
        try:
            return self.check(answer)
        except ValueError as error:
            found = unjudged(Mark.UNREADABLE, answer.strip(), error=str(error))
            return found._replace(required=self._key.required)

    def read(self, understood: str) -> Tree:
        """The tree of an answer as it was understood."""
        return read_typed_expression(self._rules.plain(understood).text, self._names, names=self._one_name)

    def _in_one_line(self, answer: str) -> str:
        """``2; -2`` of two lines. Raises ``ValueError`` for several in one blank: ``2`` and ``-2`` are no 2 - 2."""
        lines = [line.strip() for line in answer.splitlines() if line.strip()]
        if len(lines) > 1 and self.asked.unknown is None and len(self.asked.blanks) == 1:
            raise ValueError(f"the answer has {len(lines)} lines, and the equation has one blank; write one of them")
        return "; ".join(lines)

    def _finish(self, found: Checked) -> Checked:
        """With the number of solutions, those that are missing, and the decimal mark of the question."""
        required = self._key.required if found.required is None else found.required
        return found._replace(required=required).with_decimal(self.decimal)

    def _marked(self, plain: PlainText) -> Checked:
        """The mark of a text without units, in which these are names of base units."""
        answer, self._plain = plain.text, plain
        if self.asked.unknown is not None:
            answer = split_set(answer, self.asked.unknown, self._names)
            answer = with_english_words(answer, (*self._names, self.asked.unknown))
            left_out = None if "R" in self._names else exceptions(answer, self.asked.unknown)  # R may be a variable
            if left_out is not None:
                every = list(map(self._one, ([text] for text in left_out)))
                return mark_all_but(every, answer.strip(), self._key, self._judge)
        text, claim = bare(answer, self.asked.unknown, self._names), parse_claim(answer)
        if claim is not None and answer.strip() not in self._names:  # R may be a variable
            return mark_claim(claim, answer.strip(), self._key, self._judge)
        if self.asked.unknown is None:
            return self._fill(text)
        if (whole := thousands(text)) is not None:
            one = self._one([whole])
            if one.mark is Mark.RIGHT or text.count(",") > 1:
                return self._list([GivenSolution(one, whole)])
            raise ValueError(f"'{text.strip()}' can mean {whole}, a decimal or two numbers; write the one you mean")
        if is_decimal(inside(text)) and not self._is_pointed:
            point = inside(text).replace(",", ".")
            if (decimal := self._one([point])).mark is Mark.RIGHT:
                return self._list([GivenSolution(decimal, point)])
        *others, last = listings(text, self.asked.unknown)
        readings = [found for parts in others if (found := self._listed(parts)) is not None]
        if not any(found.mark is Mark.RIGHT for found in readings):
            readings.append(self._list(*self._each(last)))
        return min(readings, key=lambda found: SEVERITY.index(found.mark))

    def _listed(self, parts: list[str]) -> Checked | None:
        """The mark of a list that can be read in another way, too; None if it cannot be read in this one."""
        try:
            return self._list(*self._each(parts))
        except ValueError:
            return None

    def _fill(self, text: str) -> Checked:
        """The mark of an expression for each blank."""
        blanks = len(self.asked.blanks)
        texts = parts(text, blanks)
        if len(texts) != blanks:
            expressions = f"{len(texts)} expression{'s' * (len(texts) != 1)}"
            raise ValueError(f"the equation has {blanks} blank{'s' * (blanks != 1)}, the answer {expressions}")
        return self._one(texts)

    def _each(self, texts: list[str]) -> tuple[list[GivenSolution], list[tuple[str, str]]]:
        """The marks of solutions, one by one, of ``pi/4 + k*pi`` those within a period; and those with a counter."""
        found: list[GivenSolution] = []
        general: list[tuple[str, str]] = []
        for text in texts:
            counts = any(letter in text for letter in COUNTERS if letter not in self._names)
            period = self._key.period if counts else None
            tree = None if period is None else read_typed_expression(text, self._names, names=self._one_name)
            several = None if tree is None or period is None else within_a_period(tree, period, self._names)
            if several is None or period is None or tree is None:
                self._check_degrees(text, tree, period)
                found.append(GivenSolution(self._one([text]), text))
                continue
            general.append((write_infix(tree), several.counter))
            for each in several.values:
                one = self._one([write_infix(each)])
                if several.periods > 1 and one.mark is Mark.RIGHT:
                    cause = Cause("incomplete-step", {"period": write_infix(period)})
                    one = one._replace(mark=Mark.INCOMPLETE, cause=cause)
                found.append(GivenSolution(one, write_infix(each)))
        return found, general

    def _check_degrees(self, text: str, answer: Tree | None, period: Tree | None) -> None:
        """Raises ``ValueError`` for an answer with a counter that would be right in degrees, as ``30 + 360k``."""
        found = None if answer is None or period is None else within_a_period(in_degrees(answer), period, self._names)
        if found and all(self._one([write_infix(value)]).mark is Mark.RIGHT for value in found.values):
            raise ValueError(f"'{text.strip()}' would be right in degrees; write degrees with °")

    def _list(self, given: list[GivenSolution], general: Sequence[tuple[str, str]] = ()) -> Checked:
        """The mark of several solutions, or of one; ``general`` are those with a counter, and the counter."""
        given = list({part.checked.answer: part for part in given}.values())
        several = tuple(part.checked for part in given)
        answer = self._between.join(part.answer for part in several)
        notes = tuple(dict.fromkeys(note for part in several for note in part.notes))
        worst = max(several, key=lambda part: SEVERITY.index(part.mark))
        if worst.mark is not Mark.RIGHT:
            worst = worst._replace(missing=self._missing(given, known_only=True), solutions=several)
            if len(several) == 1:
                return worst
            first = Cause("one-of-several", {"answer": worst.answer, "sentence": worst.explanation})
            return worst._replace(answer=answer, notes=notes, cause=first)
        found = Checked(answer, Mark.INCOMPLETE, worst.verdict, notes=notes, solutions=several)
        if (every := self._key.every) is not None:
            code = "every" if every.domain is Domain.EVERYWHERE else "interval"
            values = {"unknown": self.asked.unknown or "", "place": every.place}
            return found._replace(verdict=every, cause=Cause(f"incomplete-{code}", values))
        missing = self._missing(given)
        listed = [self._expression(part.text) for part in given]
        if (
            missing
            and not self._assumed
            and self.asked.unknown is not None
            and is_right_if_positive(
                self.asked.unknown, self._names, listed, [self._expression(text) for text in missing]
            )
        ):
            named = ", ".join(f"{self.asked.unknown} = {solution}" for solution in missing)
            return found._replace(mark=Mark.POSITIVE, missing=missing, cause=Cause("positive", {"missing": named}))
        if missing:
            named = ", ".join(f"{self.asked.unknown} = {solution}" for solution in missing)
            code = "one" if len(missing) == 1 else "some"
            return found._replace(missing=missing, cause=Cause(f"incomplete-{code}", {"missing": named}))
        cause = worst.cause if len(several) == 1 else Cause("right-several", {"count": str(len(several))})
        if self._key.may_have_more:
            notes = (*notes, checking_note("may-have-more"))
        elif general:
            texts, counters = zip(*general, strict=True)
            values = {"solutions": ", ".join(texts), "counters": ", ".join(dict.fromkeys(counters))}
            cause = Cause("right-all-general" if self._key.solutions is not None else "right-general", values)
        elif self._key.period is not None and self._key.in_window is None:
            period = write_infix(self._key.period)
            notes = (*notes, checking_note("period", unknown=self.asked.unknown or "", period=period))
        return found._replace(mark=Mark.RIGHT, notes=notes, cause=cause)

    def _missing(self, given: list[GivenSolution], known_only: bool = False) -> tuple[str, ...]:
        """The solutions that are not among those given; ``known_only`` looks for none that only a search shows."""
        if known_only and (self._key.solutions is None or not self._key.solutions.are_all):
            return ()
        right = [part for part in given if part.checked.mark not in (Mark.WRONG, Mark.UNDECIDED)]
        trees = [self._expression(part.text) for part in right]
        numbers = [self._number(part.text) for part in right]
        return tuple(map(write_infix, self._key.missing(list(zip(trees, numbers, strict=True)))))
