"""Pictures of trees for notebooks: SVG that needs nothing from elsewhere, in the text colour of the page."""

from collections import deque
from collections.abc import Callable, Sequence
from html import escape
from typing import TypeVar

N = TypeVar("N")

MAX_PICTURE_NODES = 160
"""Nodes of a picture: with so many it has less than 50 KB."""
MAX_NAME_LENGTH = 12
"""Characters of a name."""
LEVEL, LETTER, GAP, HEIGHT = 44, 7, 12, 24  # pixels


def node_name(function: str, token: str | None, value: float | None, leaf: bool) -> str:
    """The name of a node in a picture: of a leaf its token or number, else its function, with a token after it."""
    said = token if value is None else f"{value:g}"
    if said is None:
        return function
    return said if leaf else f"{function}:{said}"


def tree_svg(
    root: N, name: Callable[[N], str], children: Callable[[N], Sequence[N]], most: int = MAX_PICTURE_NODES
) -> str:
    """The nodes nearest to the root as SVG.

    Children that are left out, because there are more than ``most`` nodes, are one ``…``.
    """
    names, below = _nearest(root, name, children, most)
    widths = [max(HEIGHT, LETTER * len(text) + 12) for text in names]
    x, depth = [0.0] * len(names), [0] * len(names)
    for parent, own in enumerate(below):
        for child in own:
            depth[child] = depth[parent] + 1
    right = 0.0
    for node in _postorder(below):
        own = below[node]
        if own:
            x[node] = (x[own[0]] + x[own[-1]]) / 2
        else:
            x[node] = right + widths[node] / 2
            right += widths[node] + GAP
    left = min(place - width / 2 for place, width in zip(x, widths, strict=True)) - 2
    right = max(place + width / 2 for place, width in zip(x, widths, strict=True)) + 2
    y = [HEIGHT / 2 + 2 + LEVEL * level for level in depth]
    lines = "".join(
        f'<path d="M{x[parent]:.0f} {y[parent] + HEIGHT / 2:.0f}L{x[child]:.0f} {y[child] - HEIGHT / 2:.0f}"/>'
        for parent, own in enumerate(below)
        for child in own
    )
    boxes = "".join(
        f'<rect x="{x[k] - widths[k] / 2:.0f}" y="{y[k] - HEIGHT / 2:.0f}" width="{widths[k]}" '
        f'height="{HEIGHT}" rx="12"/>'
        for k, text in enumerate(names)
        if text != "…"
    )
    texts = "".join(f'<text x="{x[k]:.0f}" y="{y[k] + 4:.0f}">{escape(text)}</text>' for k, text in enumerate(names))
    width, height = right - left, max(y) + HEIGHT / 2 + 2
    style = 'font-family="sans-serif" font-size="12" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img"><g fill="none" stroke="currentColor">{lines}{boxes}</g>'
        f'<g fill="currentColor" {style}>{texts}</g></svg>'
    )


def frame_pictures(title: str, pictures: Sequence[str]) -> str:
    """A line of text, and pictures next to each other, which scroll if they are wide."""
    parts = "".join(f'<div style="overflow-x:auto;max-width:100%">{picture}</div>' for picture in pictures)
    return f'<div><div>{escape(title)}</div><div style="display:flex;flex-wrap:wrap;gap:24px">{parts}</div></div>'


def _nearest(
    root: N, name: Callable[[N], str], children: Callable[[N], Sequence[N]], most: int
) -> tuple[list[str], list[list[int]]]:
    """Names and children's places of the nodes nearest to the root."""
    names = [_cut(name(root))]
    below: list[list[int]] = [[]]
    waiting = deque([(0, root)])
    while waiting:
        place, node = waiting.popleft()
        own = children(node)
        shown = own if len(names) + len(own) <= most else ()
        for child in shown:
            below[place].append(len(names))
            waiting.append((len(names), child))
            names.append(_cut(name(child)))
            below.append([])
        if len(shown) < len(own):
            below[place].append(len(names))
            names.append("…")
            below.append([])
    return names, below


def _postorder(below: Sequence[Sequence[int]]) -> list[int]:
    """The places of all nodes, children first, from left to right."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(below[node])  # the rightmost is taken first
    return order[::-1]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…"
