"""The marks of single expressions: a filler of each blank, or one solution."""

from collections.abc import Collection

from dgltree.arguments import nearest
from dgltree.equations.checking.answer_key import AnswerKey
from dgltree.equations.checking.answer_text import PlainText, TextRules, check_decimal
from dgltree.equations.checking.forms import FORMS, form_lack
from dgltree.equations.checking.marks import Checked, Mark, mark_of
from dgltree.equations.checking.numerals import RoundedNumber, decimal_mark
from dgltree.equations.checking.periodic import in_degrees
from dgltree.equations.checking.required_digits import rounding_of
from dgltree.equations.checking.sentences import Cause, checking_note, with_decimal_commas
from dgltree.equations.completion.answers import question
from dgltree.equations.completion.assumptions import (
    check_assumptions,
    excludes,
    read_assumptions,
    verdict_under,
)
from dgltree.equations.completion.coverage import covers
from dgltree.equations.expressions.names import variables
from dgltree.equations.truth.imaginary import UNITS, imaginary_unit, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.solutions.numbers import NumberOutcome
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Tested, Verdict
from dgltree.read.infix_writer import write_infix
from dgltree.read.typed import read_noted_expression, read_question, read_typed_expression
from dgltree.trees.equation import BLANK, Equation, blank, substitute
from dgltree.trees.tree import Tree


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
