"""``dgltree check --table`` marks the answers of a class, row by row, with points.

Tables are CSV, TSV and Parquet; every row is read, and none is written as a formula of a spreadsheet.
"""

import csv
import io
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dgltree.equations.marking.check import MarkingTask, end_marking, mark_within
from dgltree.equations.marking.marks import Checked, Mark, points
from dgltree.equations.marking.numerals import decimal_mark
from dgltree.read.json_text import write_json
from dgltree.read.text import decode, one_line
from dgltree.support.arguments import nearest
from dgltree.support.files import replacing
from dgltree.support.workers import cores

SECONDS = 20.0
"""Seconds that an answer may take."""
MAX_PROCESSES = 4
"""Unless more are asked for: each takes some 100 MB."""
MAX_WARNINGS = 5
DELIMITERS = ",;\t"
_SEPARATOR = re.compile(r"sep=([,;\t])\r?\n")
"""A first line that names for spreadsheets what separates columns."""
_MARKS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_NUMBER = re.compile(r"[-+−]?[0-9]*[.,]?[0-9]+")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class MarkedRow(NamedTuple):
    """A row of the table."""

    number: int
    """The number of the row, from 1, without the header."""
    name: str
    """The name of the pupil; empty without such a column."""
    task: MarkingTask
    checked: Checked


def mark_table(options: Namespace, settings: Mapping[str, Any], table_of_points: Mapping[str, float | str]) -> int:
    """Mark the answers of a table and write it; the exit code is 1 if a question or an answer cannot be read.

    Raises ``ValueError`` for a table or a column that does not exist.
    """
    table = read_table(options.table, options.encoding)
    answers = list(map(without_apostrophe, table.column(options.answer_column, "give it as --answer-column NAME")))
    if options.equation is None:
        questions = table.column(options.question_column, "give it as --question-column NAME, or a question for all")
        questions = list(map(without_apostrophe, questions))
    else:
        questions = [options.equation] * len(answers)
    names = [""] * len(answers)
    if options.id_column is not None:
        names = table.column(options.id_column, "give it as --id-column NAME")
    tasks = [MarkingTask(*pair, tuple(settings.items())) for pair in zip(questions, answers, strict=True)]
    marked = mark_tasks(tasks, options.processes or min(MAX_PROCESSES, cores()), options.seconds or SECONDS)
    rows = [MarkedRow(*row) for row in zip(range(1, len(tasks) + 1), names, tasks, marked, strict=True)]
    if options.json:
        for row in rows:
            print(write_json({**_record(row, table_of_points), "sentence": row.checked.sentence(options.sentences)}))
    else:
        write_table(table, _columns(rows, table_of_points, options.sentences), options.to)
    _warn(rows)
    return 0 if all(row.checked.is_judged for row in rows) else 1


def mark_tasks(tasks: Sequence[MarkingTask], processes: int, seconds: float) -> list[Checked]:
    """The marks in order; what occurs several times is judged once."""
    different = list(dict.fromkeys(tasks))
    with ThreadPoolExecutor(processes) as pool:
        try:
            found = dict(zip(different, pool.map(lambda task: mark_within(task, seconds), different), strict=True))
        except BaseException:  # a signal, which does not wait for twenty seconds of an answer
            pool.shutdown(wait=False, cancel_futures=True)
            end_marking()
            raise
    return [found[task] for task in tasks]


def _columns(
    rows: Sequence[MarkedRow], table_of_points: Mapping[str, float | str], sentences: Mapping[str, str]
) -> dict[str, list[Any]]:
    marked = [row.checked for row in rows]
    return {
        "mark": [one.mark.value for one in marked],
        "points": [points(one, table_of_points) for one in marked],
        "right": [one.counts.right for one in marked],
        "given": [one.counts.given for one in marked],
        "required": [one.counts.required for one in marked],
        "missing": ["; ".join(one.missing) for one in marked],
        "understood": [one.answer for one in marked],
        "code": [one.explanation.code for one in marked],
        "sentence": [one.sentence(sentences) for one in marked],
        "notes": ["; ".join(one.noted(sentences)) for one in marked],
    }


def _record(row: MarkedRow, table_of_points: Mapping[str, float | str]) -> dict[str, Any]:
    name = {"id": row.name} if row.name else {}
    given = {"row": row.number, **name, "question": row.task.question, "given": row.task.answer}
    return {**given, "points": points(row.checked, table_of_points), **row.checked.record}


def _warn(rows: Sequence[MarkedRow]) -> None:
    """Say on the standard error which rows have no mark, and where answers have other decimals than their question."""
    unasked = [row for row in rows if row.checked.mark is Mark.NOT_ASKED]
    for question in dict.fromkeys(row.task.question for row in unasked):
        same = [row for row in unasked if row.task.question == question]
        also = f" and {len(same) - 1} more" if len(same) > 1 else ""
        print(f"dgltree: {_place(same[0], question)}{also}: {one_line(str(same[0].checked))}", file=sys.stderr)
    bad = [row for row in rows if not row.checked.is_judged and row.checked.mark is not Mark.NOT_ASKED]
    for row in bad[:MAX_WARNINGS]:
        print(f"dgltree: {_place(row, row.task.answer)}: {one_line(str(row.checked))}", file=sys.stderr)
    if more := len(bad[MAX_WARNINGS:]):
        print(f"dgltree: {more} more row{'s have' if more > 1 else ' has'} no mark", file=sys.stderr)
    for question, others, count in _other_decimals(rows):
        mark = decimal_mark(question)
        print(
            f"dgltree: {one_line(question, 60)!r} writes decimals with a {mark}, but {others} of {count} answers use "
            "the other mark",
            file=sys.stderr,
        )


def _place(row: MarkedRow, text: str) -> str:
    """``row 3 (anna), 'x + ='``."""
    name = f" ({one_line(row.name, 60)})" if row.name else ""
    return f"row {row.number}{name}, {one_line(text, 60)!r}"


def _other_decimals(rows: Sequence[MarkedRow]) -> Iterator[tuple[str, int, int]]:
    """The questions whose answers mostly have the other decimal mark, how many have it, and how many have one."""
    for question in dict.fromkeys(row.task.question for row in rows):
        mark = decimal_mark(question)
        marks = [decimal_mark(row.task.answer) for row in rows if row.task.question == question]
        given = [other for other in marks if other is not None]
        others = sum(other != mark for other in given)
        if mark is not None and 2 * others > len(given):
            yield question, others, len(given)


class AnswerTable(NamedTuple):
    """A table as texts."""

    columns: list[str]
    rows: list[list[str]]
    delimiter: str = ","
    parquet: Any = None
    """The table of PyArrow, if it is one."""
    marked: bool = False
    """Whether the file begins with a byte order mark, by which spreadsheets know its encoding."""

    def column(self, name: str, option: str) -> list[str]:
        """The texts of a column. Raises ``ValueError`` if there is none of this name, or more than one."""
        if name not in self.columns:
            raise ValueError(f"there is no column {name!r} ({nearest(name, self.columns)}); {option}")
        if self.columns.count(name) > 1:
            raise ValueError(f"there are {self.columns.count(name)} columns {name!r}; rename all but one")
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def read_table(path: str, encoding: str = "utf-8") -> AnswerTable:
    """A table by its suffix, or of standard input (``-``), which is CSV or TSV.

    Raises ``ValueError`` for another kind of file, for bytes of another encoding, and for a row with more or fewer
    cells than the header.
    """
    if path != "-" and not Path(path).is_file():
        raise ValueError(f"{path}: no such file")
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        return _read_parquet(path)
    if suffix in (".xlsx", ".xls", ".ods"):
        raise ValueError(f"{path}: workbooks are not supported; save the sheet as CSV (UTF-8)")
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    text = _decoded(data, path, encoding)
    named = _SEPARATOR.match(text)
    if named:
        delimiter = named[1]
        text = text[named.end() :]
    elif suffix == ".tsv":
        delimiter = "\t"
    else:
        header = text.partition("\n")[0]
        delimiter = max(DELIMITERS, key=header.count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False))
    while rows and not any(rows[-1]):
        rows.pop()
    if not rows:
        raise ValueError(f"{path}: the table is empty; expected a line with the names of its columns")
    columns, *rows = rows
    for number, row in enumerate(rows, 1):
        if len(row) > len(columns):
            raise ValueError(
                f"{path}: row {number} below the header has {len(row)} cells, but the header has "
                f'{len(columns)}; write an answer that contains {_MARKS[delimiter]} in quotes: "1{delimiter}5"'
            )
    padded = [row + [""] * (len(columns) - len(row)) for row in rows]
    return AnswerTable(columns, padded, delimiter, marked=data.startswith(_ORDER_MARKS))


def _decoded(data: bytes, path: str, encoding: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    if encoding.lower() in ("utf-8", "utf8"):
        try:
            return decode(data.removeprefix(b"\xef\xbb\xbf"), "the table" if path == "-" else path)
        except ValueError as error:
            raise ValueError(f"{error}, or name its encoding: --encoding cp1252") from None
    try:
        return data.decode(encoding)
    except LookupError:
        raise ValueError(f"unknown encoding {encoding!r}; write --encoding cp1252") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start + 1} is not {encoding} text: {error.reason}") from None


def _read_parquet(path: str) -> AnswerTable:
    _check_arrow()
    from pyarrow import parquet

    table = parquet.read_table(path)
    columns = [["" if value is None else str(value) for value in column.to_pylist()] for column in table.columns]
    return AnswerTable(table.column_names, [list(row) for row in zip(*columns, strict=True)], parquet=table)


def write_table(table: AnswerTable, added: Mapping[str, Sequence[Any]], path: str | None) -> None:
    """The table with further columns, to a file or to standard output.

    A cell that a spreadsheet would take for a formula begins with an apostrophe. Parquet has no formulas.

    Raises ``ValueError`` for a column that is there already.
    """
    if taken := [name for name in added if name in table.columns]:
        raise ValueError(
            f"the table already has a column {taken[0]}; rename this column, because the marks need its name"
        )
    suffix = Path(path or "").suffix.lower()
    if suffix == ".parquet":
        _write_parquet(table, added, str(path))
        return
    delimiter = {".tsv": "\t", ".csv": table.delimiter if table.delimiter != "\t" else ","}.get(suffix, table.delimiter)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(map(escape_formula, [*table.columns, *added]))
    for place, row in enumerate(table.rows):
        marks = (column[place] for column in added.values())
        writer.writerow([escape_formula(_text(cell, delimiter)) for cell in (*row, *marks)])
    if path is None:
        sys.stdout.write(text.getvalue())
    else:
        with replacing(path) as beside:
            beside.write_text(text.getvalue(), encoding="utf-8-sig" if table.marked else "utf-8")


def escape_formula(cell: str) -> str:
    """``'=1+1`` of ``=1+1``; a number with a sign is none."""
    return f"'{cell}" if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell


def without_apostrophe(cell: str) -> str:
    """``=15`` of ``'=15``, as spreadsheets and this module mark a text."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_FORMULA) else cell


def _text(value: Any, delimiter: str) -> str:
    """The text of a cell; next to semicolons, decimals have commas, as spreadsheets of such countries write them."""
    if isinstance(value, float):
        return f"{value:g}".replace(".", "," if delimiter == ";" else ".")
    return "" if value is None else str(value)


def _write_parquet(table: AnswerTable, added: Mapping[str, Sequence[Any]], path: str) -> None:
    _check_arrow()
    import pyarrow as arrow
    from pyarrow import parquet

    made = table.parquet
    if made is None:
        columns = [list(column) for column in zip(*table.rows, strict=True)] or [[] for _ in table.columns]
        made = arrow.table(dict(zip(table.columns, map(arrow.array, columns), strict=True)))
    for name, column in added.items():
        made = made.append_column(name, arrow.array(list(column)))
    with replacing(path) as beside:
        parquet.write_table(made, beside)


def _check_arrow() -> None:
    if find_spec("pyarrow") is None:
        raise ValueError("pyarrow, which reads Parquet, is not installed; install dgltree with the extra train")
