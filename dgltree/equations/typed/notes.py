"""Notes on how a text was read: a code with values, and the English sentence made of them."""

import re
from collections.abc import Mapping
from typing import Any

_FIELD = re.compile(r"\{(\w+)\}")


class Note(str):
    """A sentence that also has the code of its template, and the values in it."""

    code: str
    values: Mapping[str, str]

    def __new__(cls, text: str, code: str, values: Mapping[str, str]) -> "Note":
        made = super().__new__(cls, text)
        made.code = code
        made.values = dict(values)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:  # what str has is its text alone
        return str(self), self.code, self.values


READING_NOTES: Mapping[str, str] = {
    "logarithm": "log is the natural logarithm ln; log10 and lg have base 10",
    "products": "letters side by side are a product: {products}; --names {names} keeps names",
    "name": "{name} is one name; write * for a product",
    "names": "{names} are one name each; write * for a product",
    "factors": "before brackets {letters} is a factor, not a function",
    "radians": "{angle} in {function} is in radians; write {angle}° for degrees",
    "mixed": "{text} is {sum}",
}
"""The notes of the reader, by their codes."""


def fill(template: str, values: Mapping[str, str]) -> str:
    """A sentence of a template with ``{names}`` of values; a name without a value stays as it is."""
    return _FIELD.sub(lambda field: values.get(field[1], field[0]), template)


def make_note(code: str, table: Mapping[str, str] = READING_NOTES, **values: str) -> Note:
    """The note of a code in a table of templates."""
    return Note(fill(table[code], values), code, values)
