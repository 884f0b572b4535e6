"""Trees and states as the page draws them: plain numbers and texts."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.cells import Cell
from dgltree.engine.propagate import propagate
from dgltree.engine.trace import EVERYTHING
from dgltree.trees.picture import node_name
from dgltree.trees.tree import Tree

MOST_NODES = 2000
"""Of what is drawn."""
SIGNS = {"Add": "+", "Mul": "×", "Pow": "^", "_": "?"}
"""Signs for operators and the blank in drawings."""
HUNDREDTH = 100
"""States are sent as whole hundredths: a third of the text, and as exact as a colour."""


def name_of(node: Tree) -> str:
    """The text in a node of a formula."""
    return node_name(SIGNS.get(node.function, node.function), node.token, node.value, not node.children)


def unfold_tree(tree: Tree) -> Tree:
    """The same tree with an object of its own at each node, so that the nodes of a batch are those in preorder.

    Raises ``ValueError`` for more than can be drawn.
    """
    if tree.size > MOST_NODES:
        raise ValueError(f"{tree.size:,} nodes; the page draws up to {MOST_NODES:,}")
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
    first, arity = batch.child_ptr.tolist(), batch.arity.tolist()
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
