"""The checker behind ``dgltree.check``: reads answers to one equation, and marks them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from dgltree.arguments import nearest
from dgltree.equations.checking.answer_key import AnswerKey
from dgltree.equations.checking.answer_parts import parts
from dgltree.equations.checking.answer_text import PlainText, TextRules, check_decimal, rounding_of
from dgltree.equations.checking.claims import mark_all_but, mark_claim
from dgltree.equations.checking.forms import FORMS, form_lack
from dgltree.equations.checking.marks import SEVERITY, Checked, Lack, Mark, mark_of, unjudged
from dgltree.equations.checking.numerals import RoundedNumber, decimal_mark
from dgltree.equations.checking.periodic import COUNTERS, in_degrees, within_a_period
from dgltree.equations.checking.sentences import Cause, checking_note
from dgltree.equations.checking.solution_lists import (
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
from dgltree.equations.checking.units import in_units
from dgltree.equations.completion.answers import question
from dgltree.equations.completion.assumptions import (
    check_assumptions,
    excludes,
    read_assumption,
    read_assumptions,
    verdict_under,
)
from dgltree.equations.completion.coverage import covers
from dgltree.equations.expressions.names import variables
from dgltree.equations.truth.imaginary import UNITS, imaginary_unit, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.solutions.numbers import NumberOutcome
from dgltree.equations.truth.verdict import Domain, Grade, Tested, Verdict
from dgltree.read.infix_writer import write_infix
from dgltree.read.typed import read_noted_expression, read_question, read_typed_expression
from dgltree.trees.equation import Equation, blank, substitute
from dgltree.trees.tree import Tree


class GivenSolution(NamedTuple):
    """One solution of an answer."""

    checked: Checked
    text: str
    """As it is typed."""


class Checker:
    """Marks many answers to one equation.

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

    def check(self, answer: str | Tree) -> Checked:
        """The mark of one answer, which has all solutions if an unknown is asked for.

        Raises ``ValueError`` for an answer that cannot be read.
        """
        if isinstance(answer, Tree):
            return self._finish(self._marked(PlainText(write_infix(answer))))
        plain = self._rules.plain(answer)
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
        readings = (self._list(*self._each(parts)) for parts in listings(text, self.asked.unknown))
        return min(readings, key=lambda found: SEVERITY.index(found.mark))

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
            raise ValueError(f"'{text.strip()}' would be right in degrees; write them with the sign °")

    def _one(self, texts: list[str]) -> Checked:
        """The mark of an expression for each blank, or of one solution."""
        read = [read_noted_expression(text, self._names, names=self._one_name | self._plain.bases) for text in texts]
        fillers, notes = [one.tree for one in read], tuple(note for one in read for note in one.notes)
        if self.asked.unknown in variables(*fillers):
            raise ValueError(f"the answer has {self.asked.unknown} in it, which is asked for")
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
        if found.mark is Mark.WRONG and self._key.is_periodic and len(fillers) == 1:
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
            shown = self._plain.numeral or found.answer
            note = [checking_note("rounds", answer=shown, exact=write_infix(exact))] * (not unit)
            found = found._replace(mark=Mark.RIGHT, notes=(*found.notes, *note), cause=Cause("right-rounded"))
        lack = self._digits_lack(given, text.strip(), exactly)
        return found if lack is None else found._replace(mark=Mark.FORM, lacking=lack, cause=None)

    def _digits_lack(self, given: RoundedNumber | None, text: str, exactly: bool) -> Lack | None:
        """The number of digits that an answer lacks; a value that has fewer of them may be written without zeros."""
        assert self._rounding is not None
        places, figures = self._rounding
        if not self._rounding.is_required:
            return None
        text = self._plain.numeral or text
        if given is None:
            return Lack("no-decimal", {"part": text}, "rounded")
        if places is not None and given.places != places and not (exactly and given.places < places):
            shown = {"part": text, "places": str(max(given.places, 0)), "required": str(places)}
            return Lack("places", shown, "rounded")
        if figures is not None and not given.digits[0] <= figures <= given.digits[1]:
            shown = {"part": text, "digits": str(given.digits[0]), "required": str(figures)}
            return Lack("digits", shown, "rounded")
        return None

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
        return verdict.reason.endswith("side has no value") and all(
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
        if missing and self._is_right_if_positive(given, missing):
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
        trees = [read_typed_expression(part.text, self._names, names=self._one_name) for part in right]
        numbers = [self._number(part.text) for part in right]
        return tuple(map(write_infix, self._key.missing(list(zip(trees, numbers, strict=True)))))

    def _is_right_if_positive(self, given: list[GivenSolution], missing: tuple[str, ...]) -> bool:
        """Whether only the sign of letters decides: where all are positive, what is given is, and the rest is not."""
        if not self._names or self.asked.unknown is None or self._assumed:
            return False
        assumed = [read_assumption(f"{name} > 0") for name in (self.asked.unknown, *self._names)]
        rest, listed = ([read_typed_expression(text, self._names, names=self._one_name) for text in texts]
                        for texts in (missing, [part.text for part in given]))  # fmt: skip
        excluded = [excludes(assumed, self.asked.unknown, tree) is not None for tree in (*rest, *listed)]
        return excluded == [True] * len(rest) + [False] * len(listed)

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
