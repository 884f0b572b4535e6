"""A bar chart made from the tables of its page, so that every number is written once.

Its text is next to the picture, in ``docs/pictures/charts``; ``scripts/docs update`` draws it.

::

    The title (a logarithmic scale)
    A group
    label | first cell of a row | head of a column
    label | first cell of a row | head of a column | tree_smu

The first line is the title; a line without ``|`` begins a group. A bar has the first number of its cell, and the colour
of the network that is named last, or of its label. With ``(a logarithmic scale)`` in the title, bars begin at 1.
"""

import math
import re
import textwrap
from html import escape
from typing import NamedTuple

from dgltree.plotting.charts import MODEL_COLOURS

LABELS = ("#0b7a69", "#c5792b", "#8a8f98")
"""Colours of labels, in their order, readable on light and on dark pages."""
WIDTH, ROW, NUMBER, CHARACTER, TITLE = 420, 24, 56, 6.6, 52
"""Width of a chart, which a phone shows at its size; height of a line, room for a number after its bar and width of a
letter, in pixels; letters in a line of the title."""
STYLE = """
text { font: 13px sans-serif; fill: #24303a; dominant-baseline: central }
.title, .number { font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #dbe4e4 } }
"""


class Bar(NamedTuple):
    """A bar with its number as it is in the table."""

    label: str
    value: float
    shown: str
    colour: str


def chart(text: str, page: str) -> str:
    """The chart as SVG; ``ValueError`` for a row or a column that the page does not have once."""
    title, *lines = text.strip().splitlines()
    log = "logarithmic" in title
    rows, labels = [line.split(" | ") for line in lines], [line.split(" | ")[0] for line in lines if " | " in line]
    colours = dict(zip(dict.fromkeys(labels), LABELS * len(labels), strict=False))
    bars = [_bar(row, colours, page) if len(row) > 1 else row[0] for row in rows]
    longest = max(_length(bar.value, log) for bar in bars if isinstance(bar, Bar))
    left = 12 + max(CHARACTER * len(label) for label in labels)
    room = WIDTH - left - NUMBER
    heads = textwrap.wrap(title, TITLE)
    drawn = [
        f'<text class="title" x="0" y="{ROW * (i + 0.5):.0f}">{escape(head)}</text>' for i, head in enumerate(heads)
    ]
    for number, bar in enumerate(bars, len(heads)):
        y = ROW * (number + 0.5)
        if isinstance(bar, str):
            drawn.append(f'<text x="0" y="{y:.0f}">{escape(bar)}</text>')
            continue
        width = max(1.0, room * _length(bar.value, log) / longest)
        drawn += [
            f'<text x="0" y="{y:.0f}">{escape(bar.label)}</text>',
            f'<rect x="{left:.0f}" y="{y - 7:.0f}" width="{width:.1f}" height="14" rx="2" fill="{bar.colour}"/>',
            f'<text class="number" x="{left + width + 6:.1f}" y="{y:.0f}">{escape(bar.shown)}</text>',
        ]
    said = escape("; ".join(f"{bar.label} {bar.shown}" if isinstance(bar, Bar) else bar for bar in bars), quote=True)
    height = ROW * (len(bars) + len(heads))
    body = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="bars" role="img" aria-label="{escape(title, quote=True)}: '
        f'{said}" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"><style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def _bar(row: list[str], colours: dict[str, str], page: str) -> Bar:
    label, first, column, *model = row
    cell = _cell(first, column, page)
    number = re.match(r"[\d,.]*\d(?: ?[×%])?", cell)
    if number is None:
        raise ValueError(f"{cell!r}, the cell of {first!r} and {column!r}, does not begin with a number")
    colour = MODEL_COLOURS[model[0]] if model else colours[label]
    return Bar(label, float(number[0].rstrip(" ×%").replace(",", "")), number[0], colour)


def _cell(first: str, column: str, page: str) -> str:
    """The cell of the one row that begins with ``first`` in a table that has the column."""
    found = []
    for table in re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()]
        if column in head:
            offset = head.index(column)
            found += [row[offset] for row in rows if row[0] == first]
    if len(found) != 1:
        raise ValueError(f"the page has {len(found)} rows {first!r} with a column {column!r}; a chart needs one")
    return found[0]


def _length(value: float, log: bool) -> float:
    return math.log10(max(value, 1)) if log else value
