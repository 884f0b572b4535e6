"""A picture of how a network computes, out of a text: a grid of boxes, and the arrows between them.

::

    (h_1)  |         |       |
           | [W i+b] | [σ] a | (h)
    (h_2)  |         |       |
    --
    (h_1) > [W i+b] > [σ] a > (h)
    (h_2) > [W i+b]

The text is next to the picture, in ``docs/pictures/networks``; ``scripts/docs update`` draws it.
A row of the grid is a line. ``(x)`` is a state, ``[x]`` a map or a function, ``{x}`` an operation on two; the text
after the bracket distinguishes boxes of equal text and is not shown. Lines of arrows follow after ``--``. An arrow
that would run through a box goes around it, between the rows.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise
from typing import NamedTuple

BOX = re.compile(r"([(\[{])(.*)[)\]}](\w*)")
KINDS = {"(": "state", "[": "map", "{": "operation"}
LINE = "\n"
ROW, GAP, CHARACTER = 52, 34, 8.2
"""Heights of rows, gaps between columns and widths of characters, in pixels of the picture."""

STYLE = """
svg { --ink: #24303a; --line: #5c6770; --paper: #fff; --state: #e0f1ee; --map: #f8efe5; font: 14px sans-serif }
@media (prefers-color-scheme: dark) {
svg { --ink: #dbe4e4; --line: #9fb0b0; --paper: #10201e; --state: #12332e; --map: #33281a }
}
text { fill: var(--ink); text-anchor: middle; dominant-baseline: central }
.arrow { fill: none; stroke: var(--line); stroke-width: 1.4; marker-end: url(#head) }
marker path { fill: var(--line) }
rect { fill: var(--paper); stroke: var(--line); stroke-width: 1.4 }
.state rect { fill: var(--state); stroke: #1a8f7d }
.map rect { fill: var(--map); stroke: #c5792b }
"""
"""Style of a picture by itself; in the site, its own colours take over (``site.css``)."""


Point = tuple[float, float]
Curve = tuple[Point, Point, Point, Point]
"""A cubic Bézier curve: both ends, and the two points between them that bend it."""


class Box(NamedTuple):
    """The place of a box, in pixels from the left and the top to its middle."""

    kind: str
    text: str
    x: float
    y: float
    width: float

    def has(self, point: Point) -> bool:
        """Whether a point is in the box or touches it."""
        return abs(point[0] - self.x) < self.width / 2 + 2 and abs(point[1] - self.y) < 17

    def drawn(self) -> str:
        height = 30.0
        shape = {"state": height / 2, "map": 4, "operation": height / 2}[self.kind]
        box = f'<rect x="{self.x - self.width / 2:.0f}" y="{self.y - height / 2:.0f}" width="{self.width:.0f}" '
        text = f'<text x="{self.x:.0f}" y="{self.y:.0f}">{_with_indices(self.text)}</text>'
        return f'<g class="{self.kind}">{box}height="{height:.0f}" rx="{shape:.0f}"/>{text}</g>'


def diagram(text: str) -> str:
    """The picture as SVG; ``ValueError`` for an arrow to no box."""
    grid, _, arrows = text.partition("\n--\n")
    rows = [[cell.strip() for cell in line.split("|")] for line in grid.splitlines()]
    boxes, width = _placed(rows)
    lines = [arrow for line in arrows.splitlines() for arrow in pairwise(map(str.strip, line.split(">")))]
    missing = [name for arrow in lines for name in arrow if name not in boxes]
    if missing:
        raise ValueError(f"an arrow leads from or to {missing[0]!r}, which is not a box of the diagram:\n{text}")
    height = ROW * len(rows)
    drawn = [_arrow(boxes[a], boxes[b], boxes.values(), len(rows)) for a, b in lines]
    drawn += [box.drawn() for box in boxes.values()]
    said = escape("; ".join(f"{boxes[a].text} to {boxes[b].text}" for a, b in lines), quote=True)
    head = '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="img" aria-label="{said}" '
        f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}"><style>{STYLE}</style>\n'
        f'{head}<path d="M0 0 8 4 0 8z"/></marker></defs>\n{LINE.join(drawn)}\n</svg>\n'
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
        raise ValueError(f"{cell!r} is not a box; expected (state), [map] or {{operation}}")
    return found[1], found[2], found[3]


def _width(cell: str) -> float:
    bracket, text, _ = _parts(cell)
    shown = len(re.sub("[_{}^\u0302\u0303]", "", text))
    return 30.0 if bracket == "{" else max(38.0, 20 + CHARACTER * shown)


def _arrow(a: Box, b: Box, boxes: Iterable[Box], rows: int) -> str:
    """An arrow by the first way that runs through no other box; ``ValueError`` where there is none."""
    others = [box for box in boxes if box not in (a, b)]
    for curves in _ways(a, b, rows):
        if not any(box.has(point) for curve in curves for point in _points(curve) for box in others):
            (x, y), parts = curves[0][0], [f"C{_text(p)} {_text(q)} {_text(end)}" for _, p, q, end in curves]
            return f'<path class="arrow" d="M{x:.0f} {y:.0f}{"".join(parts)}"/>'
    raise ValueError(f"the arrow from {a.text!r} to {b.text!r} finds no way around the boxes between them")


def _ways(a: Box, b: Box, rows: int) -> Iterator[list[Curve]]:
    """The shortest way, then those along the gaps between rows, the nearest first."""
    if a.x == b.x:
        up = -15 if b.y < a.y else 15
        yield [_line((a.x, a.y + up), (b.x, b.y - up))]
    right = 1 if b.x >= a.x else -1
    start, end = (a.x + right * a.width / 2, a.y), (b.x - right * b.width / 2, b.y)
    yield [_bent(start, end)]
    gaps = [min(max(ROW * gap, 5), ROW * rows - 5) for gap in range(rows + 1)]
    for y in sorted(gaps, key=lambda y: abs(y - a.y) + abs(y - b.y)):
        for before, after in ((GAP, GAP), (GAP / 2, GAP / 2), (2 * GAP, GAP / 2), (GAP / 2, 2 * GAP)):
            first, last = (start[0] + right * before, y), (end[0] - right * after, y)
            if right * (last[0] - first[0]) >= 0:
                yield [_bent(start, first), _line(first, last), _bent(last, end)]


def _bent(start: Point, end: Point) -> Curve:
    """A curve that leaves and arrives horizontally."""
    bend = (end[0] - start[0]) / 2
    return start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end


def _line(start: Point, end: Point) -> Curve:
    """A straight line; its middle bends it, so that an arrow's head has a direction."""
    middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    return start, middle, middle, end


def _points(curve: Curve) -> Iterator[Point]:
    """Points of a curve, close to each other."""
    for i in range(41):
        t = i / 40
        weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
        x, y = (sum(w * point[axis] for w, point in zip(weights, curve, strict=True)) for axis in (0, 1))
        yield x, y


def _text(point: Point) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"


def _with_indices(text: str) -> str:
    """``h_1`` with its index lowered, ``c_{t-1}`` too, and ``M^t`` with its raised."""
    parts = re.split(r"([_^])(\{.*?\}|.)", text)
    out = escape(parts[0])
    for sign, index, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        move = 4 if sign == "_" else -5
        out += f'<tspan dy="{move}" font-size="75%">{escape(index.strip("{}"))}</tspan>'
        out += f'<tspan dy="{-move}">{escape(rest) or "&#8203;"}</tspan>'
    return out
