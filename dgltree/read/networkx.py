"""Trees as NetworkX graphs, to be drawn and analysed with NetworkX, and back.

A graph has one node for each distinct object of the tree, with the attributes ``function``, and ``token``, ``value``
and ``label`` if they are set. Edges lead from parents to children; ``slot`` is the child's position, from 0.
``x * x`` with one shared leaf is two edges between the same two nodes, so trees become multigraphs; plain directed
graphs are read as well. NetworkX's own JSON, node-link data, is read from text.
"""

from collections.abc import Hashable
from numbers import Integral
from typing import TYPE_CHECKING, Any

from dgltree.read.json_tree import load_json
from dgltree.trees.tree import Tree

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
            raise ValueError(f"node {node!r} has no attribute 'function'; expected its function")
        children = [trees[child] for child in _children(graph, node)]
        try:
            trees[node] = Tree(**fields, children=children)
        except (TypeError, ValueError, OverflowError) as error:  # 10^400 is not a float
            raise ValueError(f"node {node!r}: {error}") from None
    return trees[roots[0]]


def from_any_networkx(graph: "DiGraph") -> Tree:
    """The same of a graph whose edges need no ``slot``: if none has one, children come in the order of the edges.

    A node without a ``function`` takes its ``label`` for one. Errors as in :func:`from_networkx`.
    """
    if not graph.is_directed():
        return from_networkx(graph)  # which says so
    filled = graph.copy()
    for _, fields in filled.nodes(data=True):
        if fields.get("function") is None and isinstance(fields.get("label"), str):
            fields["function"] = fields.pop("label")
    if all(slot is None for _, _, slot in filled.edges(data="slot")):
        for node in filled:
            for slot, (_, _, edge) in enumerate(filled.out_edges(node, data=True)):
                edge["slot"] = slot
    return from_networkx(filled)


def read_node_link(text: str) -> Tree:
    """The tree of a directed graph in node-link JSON, with ``nodes`` and either ``edges`` or ``links``.

    Where no edge has a ``slot``, children come in the order of their edges in the text. A node without a ``function``
    takes its ``label`` for one, if that is text. Raises ``ValueError`` for what is no such JSON, an edge between nodes
    that are not listed, a node or an edge that is there twice, and as :func:`from_networkx` does.
    """
    import networkx

    data = _node_link_data(load_json(text))
    nodes, edges = data["nodes"], data["edges"]
    try:
        graph = networkx.node_link_graph(data, edges="edges")
    except (TypeError, ValueError, networkx.NetworkXException) as error:  # an object for an id, None for an end
        raise ValueError(f"networkx cannot read the graph: {error}") from None
    if not graph.is_directed():
        raise ValueError("the graph is undirected; expected '\"directed\": true' and edges from parents to children")
    for node in list(graph)[len(nodes) :]:
        raise ValueError(f"an edge names node {node!r}; expected a node that 'nodes' lists")
    if len(graph) < len(nodes):
        raise ValueError(f"'nodes' has {len(nodes)} items with {len(graph)} ids; expected an id of its own for each")
    if graph.number_of_edges() < len(edges):
        raise ValueError(
            f'only {graph.number_of_edges()} of the {len(edges)} edges differ; expected each once, or \'"multigraph": '
            "true' and a 'key' of its own for each"
        )
    if data["ordered"]:
        _number_slots(graph)
    for node in graph.nodes.values():
        if node.get("function") is None and isinstance(node.get("label"), str):
            node["function"] = node.pop("label")
    return from_networkx(graph)


def _node_link_data(data: Any) -> dict[str, Any]:
    """Node-link data with its edges under one name; ``ordered`` says that their slots are their positions in the text.

    These slots count all edges, those of other parents too.
    """
    if not isinstance(data, dict):
        raise ValueError("found no object; expected one with 'nodes' and 'edges'")
    nodes = _objects(data, "nodes", ())
    name = "edges" if "edges" in data else "links"
    if name not in data:
        raise ValueError("the graph has no 'edges' and no 'links'; expected a list of objects")
    edges = _objects(data, name, ("source", "target"))
    ordered = all(edge.get("slot") is None for edge in edges)
    if ordered:
        edges = [{**edge, "slot": position} for position, edge in enumerate(edges)]
    flags = {flag: data[flag] for flag in ("directed", "multigraph") if flag in data}
    return {**flags, "nodes": nodes, "edges": edges, "ordered": ordered}


def _objects(data: dict[str, Any], name: str, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    """The list ``data[name]``, if it holds objects that have ``fields``."""
    if not isinstance(data.get(name), list):
        raise ValueError(f"the graph has no list {name!r}; expected a list of objects")
    for position, item in enumerate(data[name]):
        if not isinstance(item, dict):
            raise ValueError(f"{name}[{position}] is {item!r:.60}; expected an object")
        for field in fields:
            if item.get(field) is None:
                raise ValueError(f"{name}[{position}] has no {field!r}; expected the id of a node")
    return data[name]


def _number_slots(graph: "DiGraph") -> None:
    """Slots from 0 for the children of each node, in the order of the slots they have."""
    for node in graph:
        edges = [edge for _, _, edge in graph.out_edges(node, data=True)]
        for slot, edge in enumerate(sorted(edges, key=lambda edge: edge["slot"])):
            edge["slot"] = slot


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
