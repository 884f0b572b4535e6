"""A picture of how a network computes, out of a text: a grid of boxes, and the arrows between them.

::

    (h_1)  |         |       |
           | [W i+b] | [σ] a | (h)
    (h_2)  |         |       |
    --
    (h_1) > [W i+b] > [σ] a > (h)
    (h_2) > [W i+b]

A row of the grid is a line. ``(x)`` is a state, ``[x]`` a map or a function, ``{x}`` an operation on two; the text
after the bracket distinguishes boxes of equal text and is not shown. Lines of arrows follow behind ``--``.
"""

import re
from html import escape
from itertools import pairwise
from typing import NamedTuple

BOX = re.compile(r"([(\[{])(.*)[)\]}](\w*)")
KINDS = {"(": "state", "[": "map", "{": "operation"}
ROW, GAP, CHARACTER = 52, 34, 8.2
"""Heights of rows, gaps between columns and widths of characters, in pixels of the picture."""


class Box(NamedTuple):
    """The place of a box, in pixels from the left and the top to its middle."""

    kind: str
    text: str
    x: float
    y: float
    width: float

    def drawn(self) -> str:
        height = 30.0
        shape = {"state": height / 2, "map": 4, "operation": height / 2}[self.kind]
        box = f'<rect x="{self.x - self.width / 2:.0f}" y="{self.y - height / 2:.0f}" width="{self.width:.0f}" '
        text = f'<text x="{self.x:.0f}" y="{self.y:.0f}">{_with_indices(self.text)}</text>'
        return f'<g class="{self.kind}">{box}height="{height:.0f}" rx="{shape:.0f}"/>{text}</g>'


def diagram(text: str) -> str:
    """The picture as SVG that is in a page and takes its colours; ``ValueError`` for an arrow to no box."""
    grid, _, arrows = text.partition("\n--\n")
    rows = [[cell.strip() for cell in line.split("|")] for line in grid.splitlines()]
    boxes, width = _placed(rows)
    lines = [arrow for line in arrows.splitlines() for arrow in pairwise(map(str.strip, line.split(">")))]
    missing = [name for arrow in lines for name in arrow if name not in boxes]
    if missing:
        raise ValueError(f"an arrow leads from or to {missing[0]!r}, which is no box of the diagram:\n{text}")
    height = ROW * len(rows)
    drawn = [_arrow(boxes[a], boxes[b]) for a, b in lines] + [box.drawn() for box in boxes.values()]
    said = escape("; ".join(f"{boxes[a].text} to {boxes[b].text}" for a, b in lines), quote=True)
    head = '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    return (
        f'<svg class="diagram" role="img" aria-label="{said}" viewBox="0 0 {width:.0f} {height}" '
        f'style="max-width: {width:.0f}px">{head}<path d="M0 0 8 4 0 8z"/></marker></defs>{"".join(drawn)}</svg>\n'
    )


def _placed(rows: list[list[str]]) -> tuple[dict[str, Box], float]:
    """The boxes by what is in the grid, and the width of the whole."""
    columns = max(map(len, rows))
    boxes, left = {}, 6.0
    for column in range(columns):
        here = [(i, row[column]) for i, row in enumerate(rows) if column < len(row) and row[column]]
        widths = {cell: _width(cell) for _, cell in here}
        widest = max(widths.values(), default=0.0)
        for i, cell in here:
            bracket, text, _ = _parts(cell)
            boxes[cell] = Box(KINDS[bracket], text, left + widest / 2, ROW * (i + 0.5), widths[cell])
        left += widest + GAP
    return boxes, left - GAP + 6


def _parts(cell: str) -> tuple[str, str, str]:
    found = BOX.fullmatch(cell)
    if found is None:
        raise ValueError(f"{cell!r} is no box; expected (state), [map] or {{operation}}")
    return found[1], found[2], found[3]


def _width(cell: str) -> float:
    bracket, text, _ = _parts(cell)
    shown = len(re.sub("[_{}^\u0302\u0303]", "", text))
    return 30.0 if bracket == "{" else max(38.0, 20 + CHARACTER * shown)


def _arrow(a: Box, b: Box) -> str:
    if a.x == b.x:
        up = -1 if b.y < a.y else 1
        return f'<path class="arrow" d="M{a.x:.0f} {a.y + up * 15:.0f}V{b.y - up * 15:.0f}"/>'
    right = 1 if b.x > a.x else -1
    x, to = a.x + right * a.width / 2, b.x - right * b.width / 2
    bend = (to - x) / 2
    curve = f"C{x + bend:.0f} {a.y:.0f} {to - bend:.0f} {b.y:.0f} {to:.0f} {b.y:.0f}"
    return f'<path class="arrow" d="M{x:.0f} {a.y:.0f}{curve}"/>'


def _with_indices(text: str) -> str:
    """``h_1`` with its index lowered, ``c_{t-1}`` too, and ``M^t`` with its raised."""
    parts = re.split(r"([_^])(\{.*?\}|.)", text)
    out = escape(parts[0])
    for sign, index, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        move = 4 if sign == "_" else -5
        out += f'<tspan dy="{move}" font-size="75%">{escape(index.strip("{}"))}</tspan>'
        out += f'<tspan dy="{-move}">{escape(rest) or "&#8203;"}</tspan>'
    return out
