"""The checker behind ``dgltree.check``: reads answers to one equation, and marks them."""

from collections.abc import Sequence
from typing import NamedTuple

from dgltree.equations.checking.answer_parts import parts
from dgltree.equations.checking.answer_text import PlainText
from dgltree.equations.checking.claims import mark_all_but, mark_claim
from dgltree.equations.checking.filler_checker import FillerChecker
from dgltree.equations.checking.marks import SEVERITY, Checked, Mark, unjudged
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
from dgltree.equations.completion.assumptions import (
    is_right_if_positive,
)
from dgltree.equations.truth.verdict import Domain
from dgltree.read.infix_writer import write_infix
from dgltree.read.typed import read_typed_expression
from dgltree.trees.tree import Tree


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
