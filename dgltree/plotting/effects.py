"""Pictures of trees whose nodes are coloured by a number, such as the effect of the subtree below each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dgltree.plotting.style import COLOURS, new_figure, use_style
from dgltree.read.text import one_line
from dgltree.trees.tree import Tree, name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LETTER, LEVEL = 0.085, 0.5
"""Inches of width for a letter and of height for a level."""
MAX_NAME_LENGTH = 16
"""Letters of a node's name."""


def coloured(tree: Tree, values: Sequence[float | None], title: str) -> "Figure":
    """A tree with its root on top.

    Args:
        tree: what is drawn.
        values: of its nodes in preorder: blue where positive, orange where negative, stronger for larger; None: plain.
        title: of the picture.
    """
    from matplotlib.colors import to_rgba

    nodes = _placed(tree)
    largest = max((abs(value) for value in values if value is not None), default=0.0) or 1.0
    width = max(x for x, *_ in nodes) + 1
    longest = max(len(name) for *_, name in nodes)
    figure = new_figure(max(3.0, width * (longest + 3) * LETTER), (tree.depth + 1) * LEVEL + 0.4)
    with use_style():
        axes = figure.subplots()
        for (x, depth, parent, name), value in zip(nodes, values, strict=True):
            if parent >= 0:
                above = nodes[parent]
                axes.plot([above[0], x], [-above[1], -depth], color="#999999", lw=0.8, zorder=1)
            strength = 0.0 if value is None else 0.75 * abs(value) / largest
            box: dict[str, Any] = {"boxstyle": "round,pad=0.25", "lw": 0.6, "ec": "#777777", "fc": "white"}
            axes.text(x, -depth, name, ha="center", va="center", fontsize=8, zorder=2, bbox=box)
            tint = to_rgba(COLOURS[0] if (value or 0) >= 0 else COLOURS[1], strength)
            axes.text(x, -depth, name, ha="center", va="center", fontsize=8, zorder=3, bbox=box | {"fc": tint})
        axes.set_title(title, loc="left", fontsize=9)
        axes.set(xlim=(-0.6, width - 0.4), ylim=(-tree.depth - 0.5, 0.5))
        axes.set_axis_off()
    return figure


def _placed(tree: Tree) -> list[tuple[float, int, int, str]]:
    """Of each node in preorder x (leaves next to each other, parents above their children), depth, parent, name."""
    found: list[tuple[float, int, int, str]] = []
    stack = [(tree, 0, -1)]
    while stack:
        node, depth, parent = stack.pop()
        stack.extend((child, depth + 1, len(found)) for child in reversed(node.children))
        found.append((0.0, depth, parent, one_line(name_of(node), MAX_NAME_LENGTH)))
    leaves = len(found) - len({parent for _, _, parent, _ in found if parent >= 0})
    below: list[list[float]] = [[] for _ in found]
    for i in reversed(range(len(found))):
        _, depth, parent, name = found[i]
        if not below[i]:
            leaves -= 1
        x = (below[i][0] + below[i][-1]) / 2 if below[i] else float(leaves)
        found[i] = (x, depth, parent, name)
        if parent >= 0:
            below[parent].append(x)
    return found
