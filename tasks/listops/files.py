"""Files of lines ``label TAB binarised bracketing``, as the published test set ``test_d20s.tsv``."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dgltree.read.listops import bracketed, read_words
from dgltree.read.text import read_text
from dgltree.support.files import replacing


class Expression(NamedTuple):
    """An expression as its words without brackets, with single spaces, and what it is worth."""

    text: str
    value: int

    @property
    def length(self) -> int:
        """Number of words."""
        return self.text.count(" ") + 1


@cache
def read_expressions(file: Path) -> tuple[Expression, ...]:
    """The expressions of a file, in order. A process reads a file once.

    Raises ``FileNotFoundError``, and ``ValueError`` naming file, line and what was expected: for a line that has not
    two fields, no expression, brackets at other places, a label that the expression is not worth, and for an
    empty file.
    """
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; expected lines such as 9 TAB ( ( ( [MAX 2 ) 9 ) ] )")
    lines = read_text(file).splitlines()
    if not lines:
        raise ValueError(f"{file} is empty; expected lines such as 9 TAB ( ( ( [MAX 2 ) 9 ) ] )")
    return tuple(_expression(line, f"{file}, line {number}") for number, line in enumerate(lines, 1))


def write_expressions(file: Path, expressions: Iterable[Expression]) -> None:
    """An expression as :func:`read_expressions` reads it."""
    with replacing(file) as beside:
        beside.write_text(
            "".join(f"{value}\t{bracketed(text.split())}\n" for text, value in expressions), encoding="utf-8"
        )


def _expression(line: str, where: str) -> Expression:
    fields = line.split("\t")
    if len(fields) != 2:
        raise ValueError(f"{where}: found {len(fields)} fields; expected label and expression with a tab between")
    label, text = fields
    try:
        words, value = read_words(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if text != (right := bracketed(words)):
        raise ValueError(f"{where}: the brackets are not those of the words; expected {right}")
    if label != str(value):
        raise ValueError(f"{where}: found the label {label!r}; the expression is worth {value}")
    return Expression(" ".join(words), value)
