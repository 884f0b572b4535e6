"""Trees of the graphs of other libraries: networkx, PyTorch Geometric and DGL, told apart by what they have."""

from collections.abc import Sequence
from typing import Any

from dgltree.read.networkx import from_any_networkx
from dgltree.trees.tree import Tree

NAMES = ("function", "name", "type", "x", "feat")
"""Where the name of a node is looked for; the first that is there. Numbers are names, too."""
PREDICTED = ("label", "labels", "y")
"""Columns that are mostly what is to be predicted: a name that was taken from them would tell a model its answers."""
TOKENS = ("token", "tokens")


def from_graph(graph: Any) -> Tree | None:
    """The tree of a networkx digraph, a PyG ``Data`` or a DGLGraph; None for an object that is none of them.

    A node of the last two is named by the first of ``function``, ``name``, ``type``, ``x`` and ``feat`` that
    the graph has: texts, whole numbers (N,) or (N, 1), or rows (N, d) of a single one each. ``label`` is what is to be
    predicted, and never a name. Edges run from parents to children or all the other way; children come in the order
    of ``slot``, else of the edges.

    Raises ``ValueError`` for a graph that is not a tree, or whose nodes have no such names.
    """
    if hasattr(graph, "is_directed") and hasattr(graph, "adj") and not hasattr(graph, "edge_index"):
        return from_any_networkx(graph)
    if hasattr(graph, "ndata") and hasattr(graph, "edges"):
        if not getattr(graph, "is_homogeneous", True):
            raise ValueError("the graph has several node types or edge types; expected one of each")
        source, target = (ends.tolist() for ends in graph.edges(order="eid"))
        slot = graph.edata["slot"].tolist() if "slot" in graph.edata else None
        return _tree(graph.ndata, list(zip(source, target, strict=True)), graph.num_nodes(), slot)
    if hasattr(graph, "edge_index") and hasattr(graph, "num_nodes"):
        return _tree(graph, _edges(graph.edge_index), graph.num_nodes or 0, None)
    return None


def _edges(index: Any) -> list[tuple[int, int]]:
    """Of ``edge_index``, (2, E), which PyG leaves None if there are none."""
    if index is None:
        return []
    if len(index.shape) != 2 or index.shape[0] != 2:
        raise ValueError(f"edge_index is {tuple(index.shape)}; expected two rows, (2, E)")
    return list(zip(*index.tolist(), strict=True))


def _tree(columns: Any, edges: list[tuple[int, int]], count: int, slots: Sequence[int] | None) -> Tree:
    functions, tokens = _column(columns, NAMES, count), _column(columns, TOKENS, count)
    if functions is None:
        there = next((name for name in PREDICTED if name in columns), None)
        only = f" but {there!r}, which is what is to be predicted" if there else ""
        raise ValueError(f"its nodes have no names{only}; expected one of {', '.join(NAMES)}")
    children = _children(edges, count, slots)
    below = {child for of_node in children for child in of_node}
    roots = [node for node in range(count) if node not in below]
    if len(roots) != 1:
        raise ValueError(f"{len(roots)} nodes have no parent; expected one, the root")
    order, trees = [roots[0]], dict[int, Tree]()
    for node in order:
        order += children[node]
    if len(order) != count:
        raise ValueError("some nodes are on a cycle; expected edges from parents to children alone")
    for node in reversed(order):
        token = None if tokens is None or tokens[node] == "-1" else tokens[node]  # as dgltree's graphs have it
        trees[node] = Tree(str(functions[node]), [trees[child] for child in children[node]], token)
    return trees[roots[0]]


def _children(edges: list[tuple[int, int]], count: int, slots: Sequence[int] | None) -> list[list[int]]:
    """Of each node, in order, whichever way the edges run."""
    for way in (edges, [(parent, child) for child, parent in edges]):
        if len({child for _, child in way}) == len(way) == count - 1:
            found: list[list[int]] = [[] for _ in range(count)]
            order = range(len(way)) if slots is None else sorted(range(len(way)), key=lambda e: (slots[e], e))
            for parent, child in (way[e] for e in order):
                found[parent].append(child)
            return found
    raise ValueError(
        f"{count} nodes and {len(edges)} edges are not a tree; expected one parent for each node except the root"
    )


def _column(columns: Any, names: Sequence[str], count: int) -> list[str] | None:
    """The first of some columns that is there, as texts."""
    for name in names:
        values = columns[name] if name in columns else None  # noqa: SIM401 (DGL's columns have no default)
        if values is None:
            continue
        values = values.tolist() if hasattr(values, "tolist") else list(values)
        if len(values) != count:
            raise ValueError(f"{name} has {len(values)} values for {count} nodes")
        return [_name(value, name) for value in values]
    return None


def _name(value: Any, column: str) -> str:
    if isinstance(value, list):
        if len(value) == 1:
            return _name(value[0], column)
        if sorted(value) != [0] * (len(value) - 1) + [1]:
            raise ValueError(f"{column} has vectors that are not names; give each node a text or a whole number")
        value = value.index(1)
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"{column} is {value} at a node; give each node a text or a whole number")
        value = int(value)
    return str(value)
