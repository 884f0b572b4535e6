"""Trees of the graphs of other libraries: networkx, PyTorch Geometric and DGL, told apart by what they have."""

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from dgltree.read.json_tree import load_json
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    from networkx import DiGraph, MultiDiGraph

# ---------------------------------------------------------------------------------------------------------------------
# Trees as NetworkX graphs, to be drawn and analysed with NetworkX, and back.
#
# A graph has one node for each distinct object of the tree, with the attributes ``function``, and ``token``, ``value``
# and ``label`` if they are set. Edges lead from parents to children; ``slot`` is the child's position, from 0.
# ``x * x`` with one shared leaf is two edges between the same two nodes, so trees become multigraphs; plain directed
# graphs are read as well. NetworkX's own JSON, node-link data, is read from text.


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
        raise ValueError(f"nodes {', '.join(map(repr, roots))} have no parents; expected a single root")
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
    """Return the tree of a graph whose edges need no ``slot``: if none has one, children have the order of the edges.

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
    nodes = data["nodes"]
    edges = data["edges"]
    try:
        graph = networkx.node_link_graph(data, edges="edges")
    except (TypeError, ValueError, networkx.NetworkXException) as error:  # an object for an id, None for an end
        raise ValueError(f"networkx cannot read the graph: {error}") from None
    if not graph.is_directed():
        raise ValueError("the graph is undirected; expected '\"directed\": true' and edges from parents to children")
    for node in list(graph)[len(nodes) :]:
        raise ValueError(f"an edge names node {node!r}; expected a node that 'nodes' lists")
    if len(graph) < len(nodes):
        raise ValueError(f"'nodes' has {len(nodes)} items with {len(graph)} ids; expected a different id for each item")
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
        raise ValueError("found no object; expected an object with 'nodes' and 'edges'")
    nodes = _objects(data, "nodes", ())
    name = "edges" if "edges" in data else "links"
    if name not in data:
        raise ValueError("the graph has neither 'edges' nor 'links'; expected a list of objects")
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
            raise ValueError(
                f"the edge from {parent!r} to {child!r} has the slot {slot!r}; expected a child index from 0"
            )
        if slot in in_slot:
            raise ValueError(f"node {parent!r} has two children in slot {slot}: {in_slot[slot]!r} and {child!r}")
        in_slot[slot] = child
    if in_slot.keys() != set(range(len(in_slot))):
        raise ValueError(f"node {parent!r} has children in slots {sorted(in_slot)}; expected 0 to {len(in_slot) - 1}")
    return [in_slot[slot] for slot in range(len(in_slot))]


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
    """Return the edges of ``edge_index``, (2, E), which PyG leaves None if there are none."""
    if index is None:
        return []
    if len(index.shape) != 2 or index.shape[0] != 2:
        raise ValueError(f"edge_index is {tuple(index.shape)}; expected two rows, (2, E)")
    return list(zip(*index.tolist(), strict=True))


def _tree(columns: Any, edges: list[tuple[int, int]], count: int, slots: Sequence[int] | None) -> Tree:
    functions = _column(columns, NAMES, count)
    tokens = _column(columns, TOKENS, count)
    if functions is None:
        there = next((name for name in PREDICTED if name in columns), None)
        only = f" but {there!r}, which is the label to predict" if there else ""
        raise ValueError(f"its nodes have no names{only}; expected one of {', '.join(NAMES)}")
    children = _graph_children(edges, count, slots)
    below = {child for of_node in children for child in of_node}
    roots = [node for node in range(count) if node not in below]
    if len(roots) != 1:
        raise ValueError(f"{len(roots)} nodes have no parent; expected a single root")
    order = [roots[0]]
    trees: dict[int, Tree] = {}
    for node in order:
        order += children[node]
    if len(order) != count:
        raise ValueError("some nodes are on a cycle; expected edges from parents to children only")
    for node in reversed(order):
        token = None if tokens is None or tokens[node] == "-1" else tokens[node]  # as dgltree's graphs have it
        trees[node] = Tree(str(functions[node]), [trees[child] for child in children[node]], token)
    return trees[roots[0]]


def _graph_children(edges: list[tuple[int, int]], count: int, slots: Sequence[int] | None) -> list[list[int]]:
    """Return the children of each node, in order, whichever way the edges run."""
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
            raise ValueError(f"{name} has {len(values)} values for {count} nodes; give one value per node")
        return [_name(value, name) for value in values]
    return None


def _name(value: Any, column: str) -> str:
    if isinstance(value, list):
        if len(value) == 1:
            return _name(value[0], column)
        if sorted(value) != [0] * (len(value) - 1) + [1]:
            raise ValueError(f"{column} has vectors that are not names; give each node a string or a whole number")
        value = value.index(1)
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"{column} is {value} at a node; give each node a string or a whole number")
        value = int(value)
    return str(value)
