"""``dgltree.check``: whether an answer to an equation with a blank is right, and in the form that was asked for."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from dgltree.arguments import nearest
from dgltree.equations.checking.answer_key import AnswerKey
from dgltree.equations.checking.answer_parts import parts
from dgltree.equations.checking.claims import mark_all_but, mark_claim
from dgltree.equations.checking.forms import FORMS, NAMES
from dgltree.equations.checking.marks import SEVERITY, Checked, Mark, mark_of
from dgltree.equations.checking.periodic import COUNTERS, in_degrees, within_a_period
from dgltree.equations.checking.solution_lists import (
    bare,
    exceptions,
    inside,
    is_decimal,
    listings,
    parse_claim,
    split_set,
    thousands,
)
from dgltree.equations.checking.units import WithUnits, in_units, with_units
from dgltree.equations.completion.answers import question
from dgltree.equations.completion.coverage import covers
from dgltree.equations.expressions.names import variables
from dgltree.equations.truth.imaginary import UNITS, imaginary_unit, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.solutions.numbers import NumberOutcome
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Tested, Verdict
from dgltree.read.infix_writer import write_infix
from dgltree.read.typed import read_noted_expression, read_question, read_typed_expression
from dgltree.read.typed.mixed_numbers import with_mixed_numbers
from dgltree.trees.equation import Equation, blank, substitute
from dgltree.trees.tree import Tree


def check(
    equation: str | Equation,
    answer: str | Tree,
    form: str | None = None,
    names: Collection[str] = (),
    rounded: bool = False,
    mixed: bool = False,
    units: bool = False,
) -> Checked:
    """Mark an answer: ``check("x^2 - 9 = _", "(x - 3)(x + 3)", form="factored")``.

    Examples:
        >>> import dgltree
        >>> print(dgltree.check("x^2 - 9 = _", "(x - 3)(x + 3)", form="factored"))
        right: holds everywhere (proved)
        >>> dgltree.check("x^2 - 9 = _", "(x - 3)^2").mark
        <Mark.WRONG: 'wrong'>

    Args:
        equation: with a blank or several, or with an unknown (``x^2 = 16, x = _``), as a person types it; or read
            already.
        answer: what is put into the blank; for several blanks ``"2, 3"``, in the order of the blanks.
        form: ``expanded``, ``factored``, ``lowest-terms``, ``one-fraction``, ``exact``, or None for any.
        names: runs of letters that are one name; others are products, as :func:`dgltree.complete` has it.
        rounded: whether a decimal is right that is the value rounded to its digits.
        mixed: whether ``2 1/2`` is 2 + 1/2; else it is refused, as it can be a product.
        units: whether names after numbers are units, compared by pint (the extra ``units``); else they are refused.

    An answer is right if it makes the equation true wherever the rest of the equation has a real value. If an
    unknown is asked for, it lists all real solutions: ``"2, 3"``, ``"x = 2 or x = 3"``, ``"±2"``, ``"no solution"``.

    Raises ``ValueError`` for a text that cannot be read, for an equation without a blank, and for an unknown form.

    See also: :func:`dgltree.complete` for the answer, :func:`dgltree.distractors` for wrong ones.
    """
    return Checker(equation, form, names, rounded, mixed, units).check(answer)


class PlainText(NamedTuple):
    """A text without mixed numbers and units."""

    text: str
    bases: frozenset[str]
    """The base units in it."""
    notes: tuple[str, ...]


class Checker:
    """Marks many answers to one equation.

    Args:
        equation, form, names, rounded, mixed, units: as of :func:`check`.
    """

    def __init__(
        self,
        equation: str | Equation,
        form: str | None = None,
        names: Collection[str] = (),
        rounded: bool = False,
        mixed: bool = False,
        units: bool = False,
    ) -> None:
        if form is not None and form not in FORMS:
            raise ValueError(f"unknown form {form!r} ({nearest(form, FORMS)}); the forms are {', '.join(FORMS)}")
        self._mixed, self._units, self._one_name, self._in = mixed, units, frozenset(names), frozenset[str]()
        if isinstance(equation, str):
            plain = self._plain(equation)
            self.asked = read_question(plain.text, self._one_name | plain.bases)
            self._in = plain.bases
            self.asked = self.asked._replace(notes=(*plain.notes, *(() if plain.bases else self.asked.notes)))
        else:
            self.asked = question(equation)
        if not self.asked.blanks:
            raise ValueError("the equation has no blank; write _ where the answer goes, or x^2 = 16, x = _")
        self.form = form or (self.asked.form if self.asked.form in FORMS else None)
        self._names = variables(*self.asked.equation)
        self.rounded = rounded
        self._judge, self._bases = Judge(), frozenset[str]()
        self._key = AnswerKey(self.asked, self._names, self._judge, rounded)

    def check(self, answer: str | Tree) -> Checked:
        """The mark of one answer, which has all solutions if an unknown is asked for."""
        if isinstance(answer, Tree):
            return self._marked(write_infix(answer), frozenset())
        plain = self._plain(answer)
        found = self._marked(plain.text, plain.bases)
        notes = (*plain.notes, *found.notes)
        return in_units(found, answer, plain.bases, self._in) if self._units else found._replace(notes=notes)

    def _plain(self, text: str) -> PlainText:
        """A text without mixed numbers and units, if these are read."""
        text, notes = with_mixed_numbers(text) if self._mixed else (text, ())
        found = with_units(text) if self._units else WithUnits(text, frozenset())
        return PlainText(found.text, found.bases, notes)

    def _marked(self, answer: str, bases: frozenset[str]) -> Checked:
        """The mark of a text without units, in which these are names of base units."""
        self._bases = bases
        if self.asked.unknown is not None:
            answer = split_set(answer, self.asked.unknown, self._names)
            left_out = None if "R" in self._names else exceptions(answer, self.asked.unknown)  # R may be a variable
            if left_out is not None:
                every = list(map(self._one, ([text] for text in left_out)))
                return mark_all_but(every, answer.strip(), self._key, self._judge)
        text, claim = bare(answer, self.asked.unknown, self._names), parse_claim(answer)
        if claim is not None and answer.strip() not in self._names:  # R may be a variable
            return mark_claim(claim, answer.strip(), self._key, self._judge)
        if self.asked.unknown is None:
            blanks = len(self.asked.blanks)
            texts = parts(text, blanks)
            if len(texts) != blanks:
                expressions = f"{len(texts)} expression{'s' * (len(texts) != 1)}"
                raise ValueError(f"the equation has {blanks} blank{'s' * (blanks != 1)}, the answer {expressions}")
            return self._one(texts)
        if (whole := thousands(text)) is not None:
            one = self._one([whole])
            if one.mark is Mark.RIGHT or text.count(",") > 1:
                return self._list([one])
            raise ValueError(f"'{text.strip()}' can mean {whole}, a decimal or two numbers; write the one you mean")
        if is_decimal(inside(text)) and (decimal := self._one([inside(text)])).mark is Mark.RIGHT:
            return self._list([decimal])
        readings = (self._list(*self._each(parts)) for parts in listings(text, self.asked.unknown))
        return min(readings, key=lambda found: SEVERITY.index(found.mark))

    def _each(self, texts: list[str]) -> tuple[list[Checked], list[tuple[str, str]]]:
        """The marks of solutions, one by one, of ``pi/4 + k*pi`` those within a period; and those with a counter."""
        found: list[Checked] = []
        general: list[tuple[str, str]] = []
        for text in texts:
            counts = any(letter in text for letter in COUNTERS if letter not in self._names)
            period = self._key.period if counts else None
            tree = None if period is None else read_typed_expression(text, self._names, names=self._one_name)
            several = None if tree is None or period is None else within_a_period(tree, period, self._names)
            if several is None or period is None or tree is None:
                self._check_degrees(text, tree, period)
                found.append(self._one([text]))
                continue
            general.append((write_infix(tree), several.counter))
            for each in several.values:
                one = self._one([write_infix(each)])
                if several.periods > 1 and one.mark is Mark.RIGHT:
                    said = f"right, but not all solutions: the next one is {write_infix(period)} apart"
                    one = one._replace(mark=Mark.INCOMPLETE, said=said)
                found.append(one)
        return found, general

    def _check_degrees(self, text: str, answer: Tree | None, period: Tree | None) -> None:
        """Raises ``ValueError`` for an answer with a counter that would be right in degrees, as ``30 + 360k``."""
        found = None if answer is None or period is None else within_a_period(in_degrees(answer), period, self._names)
        if found and all(self._one([write_infix(value)]).mark is Mark.RIGHT for value in found.values):
            raise ValueError(f"'{text.strip()}' would be right in degrees; write them with the sign °")

    def _one(self, texts: list[str]) -> Checked:
        """The mark of an expression for each blank."""
        read = [read_noted_expression(text, self._names, names=self._one_name | self._bases) for text in texts]
        fillers, notes = [one.tree for one in read], tuple(note for one in read for note in one.notes)
        if self.asked.unknown in variables(*fillers):
            raise ValueError(f"the answer has {self.asked.unknown} in it, which is asked for")
        self._check_names(fillers)
        verdict, right = self._verdict(fillers)
        understood = ", ".join(map(write_infix, fillers))
        mark = mark_of(verdict, right)
        put = self._key.put(fillers[0]) if self.asked.unknown is not None else None
        if put is not None and put.outcome is NumberOutcome.NOT_REAL:
            return Checked(understood, Mark.WRONG, verdict, notes=notes, said=f"wrong: {put.reason}")
        if put is not None and put.outcome is NumberOutcome.SOLVES and mark is not Mark.RIGHT:
            verdict, mark = Verdict(Grade.TESTED, Domain.EVERYWHERE, tested=Tested(1, 0, "", "")), Mark.RIGHT
        if mark is Mark.UNDECIDED and self.asked.unknown is not None and self._is_outside(fillers, verdict):
            return Checked(understood, Mark.WRONG, verdict, notes=notes, said=f"wrong: {verdict.reason} there")
        if mark is Mark.WRONG and self.rounded and len(fillers) == 1:
            exact = self._key.rounded_root(fillers[0])
            if exact is not None:
                notes = (*notes, f"{understood} rounds {write_infix(exact)}")
                return Checked(understood, Mark.RIGHT, verdict, notes=notes, said="right, rounded")
        if mark is Mark.RIGHT and self.form is not None:
            written = (read_typed_expression(text, self._names, True, self._one_name) for text in texts)
            lacks = [FORMS[self.form](tree) for tree in written]
            lack = next((f"not {NAMES[self.form]}: {lack}" for lack in lacks if lack is not None), "")
            shown = ", ".join(text.strip() for text in texts) if lack else understood  # 6/8 is not 3/4 here
            return Checked(shown, Mark.FORM if lack else mark, verdict, lack, notes)
        if mark is Mark.WRONG and self._key.is_periodic and len(fillers) == 1:
            right_so = self._verdict([in_degrees(fillers[0])])[1]
            notes += (f"right in degrees: write {understood}°",) * right_so
        return Checked(understood, mark, verdict, notes=notes)

    def _is_outside(self, fillers: list[Tree], verdict: Verdict) -> bool:
        """Whether an answer is a number for which the equation has no value."""
        return verdict.doubt is Doubt.NO_VALUE and all(
            self._judge.verdict(Equation(filler, filler)).holds for filler in fillers
        )

    def _check_names(self, fillers: list[Tree]) -> None:
        """Raises ``ValueError`` for a word or a unit as the answer to an equation of numbers."""
        strange = [name for name in variables(*fillers) if name not in (*self._names, *UNITS, *self._bases)]
        if strange and self._units:
            raise ValueError(f"the answer has {strange[0]} in it, which is neither a unit nor a variable here")
        if strange and not self._names:
            raise ValueError(f"the answer has {strange[0]} in it, which is not a variable here; write a number alone")
        for name in strange:
            letter = name.rstrip("0123456789")
            if letter != name and letter in self._names:
                readings = f"{letter}*{name[len(letter) :]} or a variable {name}"
                raise ValueError(f"'{name}' can mean {readings}; write the one you mean")

    def _list(self, several: list[Checked], general: Sequence[tuple[str, str]] = ()) -> Checked:
        """The mark of several solutions, or of one; ``general`` are those with a counter, and the counter."""
        several = list({part.answer: part for part in several}.values())
        answer = ", ".join(part.answer for part in several)
        notes = tuple(dict.fromkeys(note for part in several for note in part.notes))
        worst = max(several, key=lambda part: SEVERITY.index(part.mark))
        if len(several) == 1 and worst.mark is not Mark.RIGHT:
            return worst
        if worst.mark is not Mark.RIGHT:
            said = f"{worst.answer} is {worst}"
            return worst._replace(answer=answer, notes=notes, said=said)
        if self._key.every is not None:
            all_of = (
                f"every {self.asked.unknown} is one"
                if self._key.every.domain is Domain.EVERYWHERE
                else f"it {self._key.every.place}"
            )
            said = f"right, but not all solutions: {all_of}"
            return Checked(answer, Mark.INCOMPLETE, self._key.every, notes=notes, said=said)
        missing = self._key.missing([read_typed_expression(part.answer, self._names) for part in several])
        if missing:
            named = ", ".join(f"{self.asked.unknown} = {write_infix(tree)}" for tree in missing)
            said = f"right, but not all solutions: {named} {'is' if len(missing) == 1 else 'are'} missing"
            return Checked(answer, Mark.INCOMPLETE, worst.verdict, notes=notes, said=said)
        said = worst.said if len(several) == 1 else f"right: {len(several)} solutions"
        if self._key.may_have_more:
            notes = (*notes, "there may be more solutions")
        elif general:
            texts, counters = zip(*general, strict=True)
            all_ = "all solutions: " if self._key.solutions is not None else ""
            said = f"right: {all_}{', '.join(texts)} for each integer {', '.join(dict.fromkeys(counters))}"
        elif self._key.period is not None:
            notes = (*notes, f"so is {self.asked.unknown} + {write_infix(self._key.period)}*k for each whole k")
        return Checked(answer, Mark.RIGHT, worst.verdict, notes=notes, said=said)

    def _verdict(self, fillers: list[Tree]) -> tuple[Verdict, bool]:
        """Of the filled equation, and whether that holds wherever the rest has a value."""
        equation = self.asked.equation
        replacements = dict(zip(map(blank, self.asked.blanks), fillers, strict=True))
        filled = Equation(*(substitute(side, replacements) for side in equation))
        if any(node.function == "Infinity" for side in filled for node in side.distinct()):
            raise ValueError("infinity (oo) is not a number")
        unit = imaginary_unit(filled)
        if unit is not None:
            filled = with_unit(filled, unit)
        verdict = self._judge.verdict(filled)
        if len(fillers) > 1 or unit is not None:
            return verdict, verdict.domain in (Domain.EVERYWHERE, Domain.REALS)
        return verdict, covers(equation, fillers[0], verdict)
