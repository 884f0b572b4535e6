"""``dgltree check --table``: the answers of a class, row by row, with marks and points."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from dgltree.commands.answer_tables import read_table, without_apostrophe, write_table
from dgltree.cores import cores
from dgltree.equations.checking.marks import Checked, Mark
from dgltree.equations.checking.numerals import decimal_mark
from dgltree.equations.checking.points import points
from dgltree.equations.checking.timed import MarkingTask, mark_within
from dgltree.read.json_text import write_json
from dgltree.read.text import one_line

SECONDS = 20.0
"""That an answer may take."""
MAX_PROCESSES = 4
"""Unless more are asked for: each takes some 100 MB."""
MAX_WARNINGS = 5


class MarkedRow(NamedTuple):
    """A row of the table."""

    number: int
    """From 1, without the header."""
    name: str
    """Of the pupil; empty without such a column."""
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
    return 1 if any(row.checked.mark in (Mark.UNREADABLE, Mark.NOT_ASKED, Mark.OUT_OF_TIME) for row in rows) else 0


def mark_tasks(tasks: Sequence[MarkingTask], processes: int, seconds: float) -> list[Checked]:
    """The marks in order; what occurs several times is judged once."""
    different = list(dict.fromkeys(tasks))
    with ThreadPoolExecutor(processes) as pool:
        found = dict(zip(different, pool.map(lambda task: mark_within(task, seconds), different), strict=True))
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
    bad = [row for row in rows if row.checked.mark in (Mark.UNREADABLE, Mark.OUT_OF_TIME)]
    for row in bad[:MAX_WARNINGS]:
        print(f"dgltree: {_place(row, row.task.answer)}: {one_line(str(row.checked))}", file=sys.stderr)
    if more := len(bad[MAX_WARNINGS:]):
        print(f"dgltree: {more} more row{'s have' if more > 1 else ' has'} no mark", file=sys.stderr)
    for question, others, count in _other_decimals(rows):
        mark = decimal_mark(question)
        print(
            f"dgltree: {one_line(question, 60)!r} has decimals with a {mark}, and {others} of {count} answers have "
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
