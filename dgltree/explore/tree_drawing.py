"""Trees and states become plain numbers and texts, as the page draws them, or as the file of the trees has them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.cells import Cell
from dgltree.datasets.formats import open_format
from dgltree.datasets.settings import Reading
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.engine.propagate import propagate
from dgltree.engine.trace import EVERYTHING
from dgltree.read.bracket import write_sst, write_treebank, write_unlabelled
from dgltree.read.infix_writer import write_infix
from dgltree.read.sexpr import write_sexpr
from dgltree.read.text import brief, one_line
from dgltree.trees.picture import node_name
from dgltree.trees.tree import Tree
from dgltree.trees.tree import name_of as full_name

MOST_NODES = 2000
"""Nodes of what is drawn."""
SIGNS = {"Add": "+", "Mul": "×", "Pow": "^", "_": "?"}
"""Signs for operators and the blank in drawings."""
HUNDREDTH = 100
"""States are sent as whole hundredths: a third of the text, and as exact as a colour."""
MAX_TEXT_LENGTH = 160
"""Characters of a text in a list."""
WRITERS: dict[str, Callable[[Tree], str]] = {
    "infix": write_infix,
    "sexpr": write_sexpr,
    "treebank": write_treebank,
    "sst": write_sst,
    "brackets": write_unlabelled,
}
"""The writers by notation; trees of others, such as JSON and code, are written with brackets."""


def name_of(node: Tree) -> str:
    """The text in a node of a formula."""
    return node_name(SIGNS.get(node.function, node.function), node.token, node.value, not node.children)


def unfold_tree(tree: Tree) -> Tree:
    """The tree with an object of its own at each node, so that the nodes of a batch are those in preorder.

    Raises ``ValueError`` for more than can be drawn.
    """
    if tree.size > MOST_NODES:
        raise ValueError(f"the tree has {tree.size:,} nodes; the page draws up to {MOST_NODES:,}")
    built: list[Tree] = []
    for node in reversed(list(tree.preorder())):
        built.append(node.replace(children=[built.pop() for _ in node.children]))
    return built[0]


def list_nodes(trees: Sequence[Tree], name: Callable[[Tree], str] = name_of) -> list[dict[str, Any]]:
    """The nodes of unfolded trees in preorder, each with its name and the place of its parent, -1 for a root."""
    nodes: list[dict[str, Any]] = []
    stack = [(tree, -1) for tree in reversed(trees)]
    while stack:
        node, parent = stack.pop()
        stack.extend((child, len(nodes)) for child in reversed(node.children))
        nodes.append({"name": name(node), "parent": parent})
    return nodes


def trace_trees(batch: TreeBatch, cell: Cell) -> tuple[Tensor, list[list[dict[str, Any]]]]:
    """(N, n), the states h of all nodes of unfolded trees; and for each node its states, gates and actions.

    Each is ``{"name": ..., "child": place or None, "rows": [[hundredths]]}``: one row for a vector, p for a stack.
    What a node does not compute is left out.
    """
    with torch.no_grad():
        found = propagate(batch, cell, trace=[EVERYTHING])
    first = batch.child_ptr.tolist()
    arity = batch.arity.tolist()
    of_children = {name for name, values in found.items() if len(values) != batch.num_nodes}
    parts: list[list[dict[str, Any]]] = [[] for _ in range(batch.num_nodes)]
    for name, values in found.items():
        rows = (values.detach().float() * HUNDREDTH).round()
        for node, own in enumerate(parts):
            if name in of_children:
                edges = range(first[node], first[node] + arity[node])
                own += [_part(name, rows[edge], place) for place, edge in enumerate(edges)]
            elif bool(rows[node].isfinite().all()):
                own.append(_part(name, rows[node]))
    return found["h"], parts


def _part(name: str, values: Tensor, child: int | None = None) -> dict[str, Any]:
    return {"name": name, "child": child, "rows": values.reshape(-1, values.shape[-1]).int().tolist()}


def write_tree(tree: Tree, reading: Reading) -> str:
    """A tree in the notation of its file, as far as it is shown; with brackets if that has no text for it."""
    write = WRITERS.get(reading.notation or "", brief)
    try:
        return shorten(write(tree))
    except ValueError:  # a number at a leaf, an unknown word, or a node that made others binary
        return shorten(brief(tree))


def shorten(text: str) -> str:
    """A text on one line, without the end of a long one."""
    line = " ".join(text.split())
    return one_line(line if len(line) <= MAX_TEXT_LENGTH else f"{line[:MAX_TEXT_LENGTH]} ...", 2 * MAX_TEXT_LENGTH)


def read_texts(file: str, data: TreeDataset) -> list[str | None]:
    """How the trees of each example are written in the file; None of a pipe, which is read once.

    Args:
        file: that the examples are of, or a folder.
        data: the examples, read from there.
    """
    opened = open_format(file, data.reading)
    if opened.source.stream is not None:
        return [None] * len(data)
    wanted = {(data.files[i], data.lines[i]): i for i in range(len(data))}
    found: list[str | None] = [None] * len(data)
    for place, line, texts in opened.texts():
        if (i := wanted.get((place, line))) is not None:
            found[i] = " · ".join(map(shorten, texts))
    return found


def node_names(trees: Sequence[Tree], reading: Reading) -> Callable[[Tree], str]:
    """The text in a node: signs for operators in formulas, tags and relations with their words."""
    if reading.notation == "infix":
        return name_of
    if reading.notation in ("sst", "brackets"):
        return _phrase_or_word
    dependencies = any(node.children and node.token is not None for tree in trees for node in tree.distinct())
    return _with_word if dependencies or reading.notation == "treebank" else full_name


def _phrase_or_word(node: Tree) -> str:
    said = [str(part) for part in (node.label, node.token) if part is not None]
    return " ".join(said) or "·"


def _with_word(node: Tree) -> str:
    return node.function if node.token is None else f"{node.function} {node.token}"
