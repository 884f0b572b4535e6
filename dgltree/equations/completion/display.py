"""Answers in a notebook: a table in HTML, which needs nothing from elsewhere, and LaTeX."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

MOST_ROWS = 30
MAX_HTML_LENGTH = 100
"""Characters of one expression in HTML."""


class AnswerRow(NamedTuple):
    """An answer as texts."""

    text: str
    forms: Sequence[str]
    """Other spellings, folded away in HTML."""
    verdict: str
    source: str


def html(asked: str, name: str, rows: Sequence[AnswerRow], notes: Sequence[str]) -> str:
    """The question, a table of at most 30 answers under a name, and notes; long expressions are cut."""
    body = "".join(
        f"<tr><td>{place}</td><td><code>{_cut(row.text)}</code>{_forms(row.forms)}</td>"
        f"<td>{escape(row.verdict)}</td><td>{escape(row.source)}</td></tr>"
        for place, row in enumerate(rows[:MOST_ROWS], start=1)
    )
    head = f"<tr><th></th><th>{escape(name)}</th><th>verdict</th><th>source</th></tr>"
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<div><p><code>{_cut(asked)}</code></p>{table}{below}</div>"


def latex(lines: Sequence[str]) -> str:
    """Lines of LaTeX below each other, as mathematics."""
    return "$\\displaystyle \\begin{gathered} " + " \\\\ ".join(lines[: MOST_ROWS + 1]) + " \\end{gathered}$"


def _forms(forms: Sequence[str]) -> str:
    if not forms:
        return ""
    items = "".join(f"<li><code>{_cut(form)}</code></li>" for form in forms)
    return f"<details><summary>other forms</summary><ul>{items}</ul></details>"


def _cut(text: str) -> str:
    return escape(text if len(text) <= MAX_HTML_LENGTH else f"{text[:MAX_HTML_LENGTH]} ...")
