"""Pictures of trees over the words of a sentence, of attention to them, and of trees with coloured nodes.

See :mod:`dgltree.plotting.charts` for what they share.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dgltree.induction.evalb import Brackets, Parameters
from dgltree.plotting.charts import COLOURS, heat_map, new_figure, use_style
from dgltree.read.text import one_line
from dgltree.trees.tree import Tree, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORD = 0.32  # inches of width for a word, and of height for a level
LEVEL = 0.26
LETTER = 0.09  # of a word's width, so that long ones do not touch
USED = 0.05  # attention that makes a slot worth a row
NODE_LETTER = 0.085  # inches of width for a letter of a coloured node, and of height for its level
NODE_LEVEL = 0.5
MAX_NAME_LENGTH = 16
"""Letters of a node's name."""


def trees(given: Tree, found: Mapping[str, Tree], name: str = "given") -> "Figure":
    """Trees over the same words, one below the other: the given one, under ``name``, then others by their names.

    A bracket that the given tree does not have is dashed, in another colour.
    """
    every = {name: given, **found}
    words = Brackets.of(given, Parameters()).words
    heights = [LEVEL * (tree.depth + 1.5) for tree in every.values()]
    figure = new_figure(max(WORD, LETTER * max(map(len, words))) * len(words) + 0.2, sum(heights))
    known = _spans(given)
    rows = figure.subplots(len(every), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for (title, tree), axes in zip(every.items(), rows[:, 0], strict=True):
        _draw(axes, tree, known)
        axes.set_title(title, loc="left", fontsize=9, color="#555555")
    return figure


def attention(words: Sequence[str], p: ArrayLike) -> "Figure":
    """Ordered Memory's attention (T, N) over its slots while it reads T words: the used slots, the last on top.

    What is 0.1 or more is written in its field, in tenths.
    """
    values = np.asarray(p)
    used = np.flatnonzero(values.max(axis=0) >= USED)
    first = int(used[0]) if len(used) else values.shape[1] - 1
    shown = values[:, first:].T
    figure = new_figure(WORD * len(words) + 0.8, WORD * len(shown) + 0.7)
    axes = figure.subplots()
    tenths = {place: f"{10 * shown[place]:.0f}" for place in zip(*np.nonzero(shown >= 0.1), strict=True)}
    heat_map(axes, shown, tenths, origin="lower", aspect="auto")
    axes.set_xticks(range(len(words)), words)
    axes.set_yticks(range(len(shown)), [str(first + row + 1) for row in range(len(shown))])
    axes.set(ylabel="slot")
    return figure


def _spans(tree: Tree) -> set[tuple[int, int]]:
    return {(span.start, span.end) for span in Brackets.of(tree, Parameters(labelled=False)).spans}


def _draw(axes: "Axes", tree: Tree, known: set[tuple[int, int]]) -> None:
    """Words side by side at height 0, every bracket above its highest child, midway between its outer ones."""
    count = 0

    def place(node: Tree, children: list[tuple[float, int, int]]) -> tuple[float, int, int]:
        """The node's place, and its words from start to end - 1."""
        nonlocal count
        if not children:
            count += 1
            axes.text(count - 1, 0, node.token or node.function, ha="center", va="center")
            return count - 1, count - 1, count
        start = children[0][1]
        end = children[-1][2]
        x = (children[0][0] + children[-1][0]) / 2
        right = (start, end) in known
        style: dict[str, Any] = {
            "color": COLOURS[0] if right else COLOURS[1],
            "ls": "-" if right else (0, (3, 1.5)),
            "lw": 1.0,
        }
        for child, (below, *_) in zip(node.children, children, strict=True):
            foot = child.depth if child.children else 0.45
            axes.plot([below, x], [foot, node.depth], solid_capstyle="round", **style)
        return x, start, end

    tree.fold(place)
    axes.set_xlim(-0.6, count - 0.4)
    axes.set_ylim(-0.5, tree.depth + 0.2)
    axes.set_axis_off()


def coloured(tree: Tree, values: Sequence[float | None], title: str) -> "Figure":
    """A tree with its root on top, whose nodes are coloured by a number, such as the effect of the subtree below.

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
    figure = new_figure(max(3.0, width * (longest + 3) * NODE_LETTER), (tree.depth + 1) * NODE_LEVEL + 0.4)
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
    """x (leaves next to each other, parents above their children), depth, parent and name of each node in preorder."""
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
