"""Trees as NetworkX graphs, to be drawn and analysed with NetworkX, and back.

A graph has one node for each distinct object of the tree, with the attributes ``function``, and ``token``, ``value``
and ``label`` where they are set. Edges lead from parents to children; ``slot`` is the child's position, from 0.
``x * x`` with one shared leaf is two edges between the same two nodes, so trees become multigraphs; plain directed
graphs are read as well.
"""

from collections.abc import Hashable
from numbers import Integral
from typing import TYPE_CHECKING, Any

from dgltree.tree import Tree

if TYPE_CHECKING:
    from networkx import DiGraph, MultiDiGraph

_FIELDS = ("function", "token", "value", "label")


def to_networkx(tree: Tree) -> "MultiDiGraph":
    """The distinct nodes of ``tree``, numbered in preorder as they are first visited: the root is 0."""
    import networkx

    graph = networkx.MultiDiGraph()
    nodes = list(tree.distinct_preorder())
    number = {id(node): i for i, node in enumerate(nodes)}
    for i, node in enumerate(nodes):
        graph.add_node(
            i, **{name: field for name, field in zip(_FIELDS, node.fields, strict=True) if field is not None}
        )
    for i, node in enumerate(nodes):
        graph.add_edges_from((i, number[id(child)], {"slot": slot}) for slot, child in enumerate(node.children))
    return graph


def from_networkx(graph: "DiGraph") -> Tree:
    """The tree whose root has no parents; a node with several parents becomes one child object that they share.

    Node names are free. Raises ``ValueError``, naming the node, for an undirected or an empty graph, a cycle, several
    roots, a node without a valid ``function``, an edge without a ``slot``, two children in one slot, and a gap in the
    slots.
    """
    import networkx

    if not graph.is_directed():
        raise ValueError("the graph is undirected; expected edges from parents to children")
    if not graph:
        raise ValueError("the graph has no nodes; expected at least a root")
    try:
        order = list(networkx.topological_sort(graph))
    except networkx.NetworkXUnfeasible:
        node = networkx.find_cycle(graph)[0][0]
        raise ValueError(f"node {node!r} is on a cycle; expected edges from parents to children only") from None
    roots = [node for node, parents in graph.in_degree() if not parents]
    if len(roots) > 1:
        raise ValueError(f"nodes {', '.join(map(repr, roots))} have no parents; expected one root")
    trees: dict[Hashable, Tree] = {}
    for node in reversed(order):
        fields = {name: graph.nodes[node].get(name) for name in _FIELDS}
        if fields["function"] is None:
            raise ValueError(f"node {node!r} has no attribute 'function'; expected what it computes")
        children = [trees[child] for child in _children(graph, node)]
        try:
            trees[node] = Tree(**fields, children=children)
        except (TypeError, ValueError) as error:
            raise ValueError(f"node {node!r}: {error}") from None
    return trees[roots[0]]


def _children(graph: "DiGraph", parent: Hashable) -> list[Hashable]:
    """The children of ``parent`` in the order of their slots."""
    in_slot: dict[Any, Hashable] = {}
    for _, child, slot in graph.out_edges(parent, data="slot"):
        if not isinstance(slot, Integral):
            raise ValueError(f"the edge from {parent!r} to {child!r} has the slot {slot!r}; expected a position from 0")
        if slot in in_slot:
            raise ValueError(f"node {parent!r} has two children in slot {slot}: {in_slot[slot]!r} and {child!r}")
        in_slot[slot] = child
    if in_slot.keys() != set(range(len(in_slot))):
        raise ValueError(f"node {parent!r} has children in slots {sorted(in_slot)}; expected 0 to {len(in_slot) - 1}")
    return [in_slot[slot] for slot in range(len(in_slot))]
