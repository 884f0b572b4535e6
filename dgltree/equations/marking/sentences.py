"""The sentences of marks: each is made here, from a code and values, so that another language is another table."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Union

from dgltree.equations.typed.notes import READING_NOTES, Note, fill, make_note
from dgltree.support.arguments import nearest
from dgltree.support.refusal import Refusal


class Cause(NamedTuple):
    """Why an answer has its mark: the code of a sentence, and what the sentence names."""

    code: str
    """A key of :data:`SENTENCES`."""
    values: Mapping[str, Union[str, "Cause"]] = {}

    def map(self, change: Callable[[str], str]) -> "Cause":
        """Return the cause with changed values."""
        values = {
            name: value.map(change) if isinstance(value, Cause) else change(value)
            for name, value in self.values.items()
        }
        return self._replace(values=values)

    @property
    def record(self) -> dict[str, Any]:
        """For JSON."""
        values = {name: value.record if isinstance(value, Cause) else value for name, value in self.values.items()}
        return {"code": self.code, "values": values}


CHECKING_NOTES: Mapping[str, str] = {
    "rounds": "{answer} rounds {exact}",
    "degrees": "right in degrees: write {answer}°",
    "may-have-more": "there may be more solutions",
    "periods": "so are numbers whole periods apart",
    "period": "so is {unknown} + {period}*{counter} for each whole {counter}",
    "case": "{given} is read as {letter}",
    "decimal": "{number} is a decimal: decimals have a {mark} here",
    "thousands": "{number} is {whole}: decimals have a {mark} here",
}
"""Notes on marks; those on reading are the reader's."""

SENTENCES: Mapping[str, str] = {
    "right": "right: {verdict}",
    "right-rounded": "right, rounded",
    "right-several": "right: {count} solutions",
    "right-general": "right: {solutions} for each integer {counters}",
    "right-all-general": "right: all solutions: {solutions} for each integer {counters}",
    "right-none": "right: there is no real solution ({basis})",
    "right-drawn": "right: a solution wherever there is one (tested at {count} values of the letters)",
    "right-assumed": "right where {assumptions}",
    "right-none-assumed": "right: there is no solution where it is assumed to be",
    "positive": "right for positive letters: {missing} is another solution",
    "wrong-assumed": "wrong: {assumption} is assumed",
    "right-quantity": "right: the same quantity",
    "form": "right, but not {form}: {lack}",
    "part": "right on a part only: {verdict}",
    "part-positive": "right on a part only: {verdict}",
    "part-drawn": "right on a part only: at {point} {solution} is no solution",
    "part-claim": "right on a part only: it {place}",
    "incomplete-step": "right, but not all solutions: the next one is {period} apart",
    "incomplete-every": "right, but not all solutions: every {unknown} is one",
    "incomplete-interval": "right, but not all solutions: it {place}",
    "incomplete-one": "right, but not all solutions: {missing} is missing",
    "incomplete-some": "right, but not all solutions: {missing} are missing",
    "incomplete-drawn": "right, but not all solutions: at {point} {missing} is missing",
    "incomplete-excluded": "right, but not all solutions: {solution} is one, too",
    "wrong": "wrong: {verdict}",
    "wrong-at": "wrong: at {point} left {left}, right {right}",
    "wrong-number": "wrong: left {left}, right {right}",
    "wrong-not-real": "wrong: {place}",
    "wrong-no-value": "wrong: {place} there",
    "wrong-drawn": "wrong: at {point} {solution} is no solution",
    "wrong-none-drawn": "wrong: at {point} {solution} is a solution",
    "wrong-none": "wrong: {solution} is a solution",
    "wrong-claim": "wrong: it {verdict}",
    "wrong-quantity": "wrong: another quantity",
    "wrong-unit": "wrong: another unit",
    "wrong-no-unit": "wrong: the unit is missing, or another quantity",
    "one-of-several": "{answer} is {sentence}",
    "undecided": "{verdict}",
    "undecided-drawn": "undecided: the solutions are not known at any values of the letters that were tried",
    "undecided-none": "undecided: no solution was found, but that is not proved",
    "unreadable": "unreadable: {error}",
    "empty": "no answer",
    "not-asked": "not asked: {error}",
    "out-of-time": "no mark within {seconds} s",
    "ended": "no mark: the marking process ended, probably for lack of memory",
    "side.is": "is {value}",
    "side.none": "has no value",
    "side.less": "is that less {value}",
    "side.plus": "is that plus {value}",
    "lack.decimal": "{part} is a decimal",
    "lack.multiply-out": "{part} can be multiplied out",
    "lack.add-terms": "some terms can be added",
    "lack.common-factor": "numerator and denominator have a common factor",
    "lack.common-number": "numerator and denominator have the factor {factor}",
    "lack.fraction-with-variable": "{part} has a fraction with a variable",
    "lack.too-long-to-factor": "{part} is too long to be factored",
    "lack.number": "{part} is a number",
    "lack.factor": "{part} has the factor {factor}",
    "lack.factorable": "{part} can be factored",
    "lack.nested-fraction": "there is a fraction in a sum or in a fraction",
    "lack.several-fractions": "there is more than one fraction",
    "lack.too-long-to-reduce": "it is too long to check for common factors",
    "lack.add": "{part} can be added",
    "lack.work-out": "{part} can be worked out",
    "lack.several-signs": "there is more than one minus sign",
    "lack.multiply": "some numbers can be multiplied",
    "lack.denominator-one": "the denominator is 1",
    "lack.no-decimal": "{part} is not a decimal",
    "lack.places": "{part} has {places} decimal places instead of {required}",
    "lack.digits": "{part} has {digits} significant digits instead of {required}",
    "form.expanded": "expanded",
    "form.factored": "factored",
    "form.lowest-terms": "in lowest terms",
    "form.one-fraction": "one fraction",
    "form.exact": "exact",
    "form.rounded": "rounded as asked",
    "basis.proved": "proved",
    "basis.digits": "to 60 digits",
    **{f"domain.{code}": code for code in ("everywhere", "reals", "positive", "part", "none")},
    **{f"grade.{code}": code for code in ("proved", "tested", "rounded", "refuted", "undecided")},
    **{f"note.{code}": template for code, template in {**READING_NOTES, **CHECKING_NOTES}.items()},
}
"""The English sentences by their codes, with ``{names}`` of values.

A value of ``{domain}``, ``{grade}``, ``{form}`` and ``{basis}`` is a code itself, whose word is in the table, too.
"""
_CODES = ("domain", "grade", "form", "basis")
_FIELD = re.compile(r"\{(\w+)\}")
_VALUES = {*_CODES, *_FIELD.findall(" ".join(SENTENCES.values()))}
"""The names of values in any sentence."""
_DECIMAL_POINT = re.compile(r"(?<=[0-9])\.(?=[0-9])")


def write_sentence(explanation: Cause, table: Mapping[str, str] = SENTENCES) -> str:
    """The sentence of an explanation; a code that a table lacks has the English one."""

    def written(name: str, value: str | Cause) -> str:
        if isinstance(value, Cause):
            return write_sentence(value, table)
        return _template(f"{name}.{value}", table) if name in _CODES else value

    values = {name: written(name, value) for name, value in explanation.values.items()}
    return fill(_template(explanation.code, table), values)


def write_note(note: str, table: Mapping[str, str] = SENTENCES) -> str:
    """A note by the template of a table."""
    if isinstance(note, Note) and f"note.{note.code}" in table:
        return fill(table[f"note.{note.code}"], note.values)
    return str(note)


def checking_note(code: str, **values: str) -> Note:
    """A note on a mark."""
    return make_note(code, CHECKING_NOTES, **values)


def check_sentences(table: Mapping[str, Any]) -> dict[str, str]:
    """A table of sentences as a person writes one. Raises ``ValueError`` for a code that there is not, and for
    a sentence that is not text.
    """
    for code, template in table.items():
        if code not in SENTENCES:
            raise Refusal(f"there is no sentence {code!r} ({nearest(code, SENTENCES)})")
        if not isinstance(template, str):
            raise Refusal(f"the sentence {code!r} is {template!r:.60}; it must be a string")
        for name in _FIELD.findall(template):
            if name not in _VALUES:
                raise Refusal(
                    f"the sentence {code!r} has {{{name}}}, and no value has that name ({nearest(name, _VALUES)})"
                )
    return dict(table)


def with_decimal_commas(text: str) -> str:
    """``0,5`` of ``0.5``."""
    return _DECIMAL_POINT.sub(",", text)


def _template(code: str, table: Mapping[str, str]) -> str:
    return table.get(code) or SENTENCES.get(code, code)
