"""Pictures of trees for notebooks: SVG that needs nothing from elsewhere, in the text colour of the page."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TypeVar

N = TypeVar("N")

MAX_PICTURE_NODES = 160
"""Nodes of a picture: with so many it has less than 50 KB."""
MAX_NAME_LENGTH = 12
"""Characters of a name."""
MARGIN = 2
# In pixels: from one level to the next, the width of a letter, the space between boxes, the height of a box.
LEVEL_HEIGHT = 44
LETTER_WIDTH = 7
GAP = 12
BOX_HEIGHT = 24
LEFT_OUT = "…"
"""The text in place of children that are left out; it has no frame."""


@dataclass(kw_only=True, eq=False)
class _Box:
    """A node as it is drawn: a text in a frame, with lines to the boxes of its children. Lengths are pixels."""

    text: str
    level: int
    children: list["_Box"] = field(default_factory=list)
    x: float = 0.0
    """The horizontal centre."""

    @property
    def width(self) -> int:
        return max(BOX_HEIGHT, LETTER_WIDTH * len(self.text) + 12)

    @property
    def top(self) -> int:
        return MARGIN + LEVEL_HEIGHT * self.level

    @property
    def bottom(self) -> int:
        return self.top + BOX_HEIGHT


def node_name(
    function: str,
    token: str | None,
    value: float | None,
    leaf: bool,
) -> str:
    """The name of a node in a picture: of a leaf its token or number, else its function, with a token after it."""
    content = token if value is None else f"{value:g}"
    if content is None:
        return function
    if leaf:
        return content
    return f"{function}:{content}"


def tree_svg(
    root: N,
    name: Callable[[N], str],
    children: Callable[[N], Sequence[N]],
    most: int = MAX_PICTURE_NODES,
) -> str:
    """The nodes nearest to the root as SVG.

    Children that are left out, because there are more than ``most`` nodes, are one ``…``.
    """
    boxes = _nearest_boxes(root, name, children, most)
    _place_columns(boxes[0])

    left = min(box.x - box.width / 2 for box in boxes) - MARGIN
    right = max(box.x + box.width / 2 for box in boxes) + MARGIN
    width = right - left
    height = max(box.bottom for box in boxes) + MARGIN
    lines = ""
    frames = ""
    texts = ""
    for box in boxes:
        for child in box.children:
            lines += f'<path d="M{box.x:.0f} {box.bottom}L{child.x:.0f} {child.top}"/>'
        if box.text != LEFT_OUT:
            corner = f'x="{box.x - box.width / 2:.0f}" y="{box.top}"'
            frames += f'<rect {corner} width="{box.width}" height="{BOX_HEIGHT}" rx="12"/>'
        base_line = box.top + BOX_HEIGHT // 2 + 4
        texts += f'<text x="{box.x:.0f}" y="{base_line}">{escape(box.text)}</text>'
    style = 'font-family="sans-serif" font-size="12" text-anchor="middle"'
    size = f'viewBox="{left:.0f} 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    strokes = f'<g fill="none" stroke="currentColor">{lines}{frames}</g>'
    letters = f'<g fill="currentColor" {style}>{texts}</g>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{strokes}{letters}</svg>'


def frame_pictures(title: str, pictures: Sequence[str]) -> str:
    """HTML of a line of text and pictures next to each other, which scroll if they are wide."""
    parts = "".join(f'<div style="overflow-x:auto;max-width:100%">{picture}</div>' for picture in pictures)
    return f'<div><div>{escape(title)}</div><div style="display:flex;flex-wrap:wrap;gap:24px">{parts}</div></div>'


def _nearest_boxes(
    root: N,
    name: Callable[[N], str],
    children: Callable[[N], Sequence[N]],
    most: int,
) -> list[_Box]:
    """Boxes of the nodes nearest to the root, level after level; either all children of a node are drawn or none."""
    boxes = [_Box(text=_cut(name(root)), level=0)]
    frontier = deque([(boxes[0], root)])
    while frontier:
        box, node = frontier.popleft()
        child_nodes = children(node)
        if not child_nodes:
            continue
        if len(boxes) + len(child_nodes) > most:
            box.children.append(_Box(text=LEFT_OUT, level=box.level + 1))
        else:
            for child_node in child_nodes:
                child = _Box(text=_cut(name(child_node)), level=box.level + 1)
                box.children.append(child)
                frontier.append((child, child_node))
        boxes.extend(box.children)
    return boxes


def _place_columns(root: _Box) -> None:
    """Set every box's ``x``: leaves from left to right, an inner node in the middle of its first and last child."""
    right = 0.0
    for box in _postorder(root):
        if box.children:
            box.x = (box.children[0].x + box.children[-1].x) / 2
        else:
            box.x = right + box.width / 2
            right += box.width + GAP


def _postorder(root: _Box) -> list[_Box]:
    """All boxes, children first, from left to right."""
    # This is the preorder from right to left, reversed.
    order = []
    stack = [root]
    while stack:
        box = stack.pop()
        order.append(box)
        stack.extend(box.children)
    order.reverse()
    return order


def _cut(text: str) -> str:
    if len(text) <= MAX_NAME_LENGTH:
        return text
    return f"{text[: MAX_NAME_LENGTH - 1]}…"
