"""Graphs that message functions run on, as edges and fields: DGLGraphs, batches of trees, PyG's Data, plain tensors."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch

Fields = dict[str, Tensor]
EdgeType = tuple[str, str, str]
"""The type of the nodes that edges lead from, their own name, and the type of the nodes that they lead to."""
Initializer = Callable[[tuple[int, ...], torch.dtype, torch.device, slice], Tensor]
"""Makes a new column, of a shape, a dtype, a device and a range of ids."""
NODE = "_N"
EDGE: EdgeType = (NODE, "_E", NODE)
"""What DGL calls the only node type, and of edges."""


def _no_initializer(field: str) -> None:
    """The fields of tensors and batches begin with 0."""


@dataclass
class NodeFields:
    """The nodes of one type."""

    count: int
    data: Fields
    """(count, *shape) each"""
    write_elsewhere: Callable[[Fields], object] | None = None
    """Puts new fields where the graph keeps them; None where that is ``data``, so that a copy of it has its own."""
    initializer: Callable[[str], Initializer | None] = _no_initializer
    """Gives that of a field, as DGL's ``set_n_initializer`` sets it; None for 0."""

    def write(self, new: Fields) -> None:
        """Put new fields where the graph keeps them."""
        if self.write_elsewhere is None:
            self.data.update(new)
        else:
            self.write_elsewhere(new)


@dataclass
class EdgeFields:
    """The edges of one type."""

    etype: EdgeType
    source: Tensor
    """(E,) int32 or int64, the node that each edge leads from, among those of its type, by edge id."""
    target: Tensor
    """(E,), the node that it leads to."""
    data: Fields
    """(E, *shape) each"""


@dataclass
class MessageGraph:
    """A graph of any kind: nodes of one type or several, and edges between them."""

    nodes: dict[str, NodeFields]
    relations: dict[EdgeType, EdgeFields]
    owner: object
    """What keeps them."""

    @property
    def device(self) -> torch.device:
        return next(iter(self.relations.values())).source.device

    @property
    def id_dtype(self) -> torch.dtype:
        """The dtype of the numbers of nodes and edges that functions get."""
        return next(iter(self.relations.values())).source.dtype

    def etype(self, given: str | EdgeType | None) -> EdgeType:
        """The whole name of an edge type. ``ValueError`` for one that is not there, or that several could be."""
        if given in self.relations:
            return given
        matching = [each for each in self.relations if given in (None, each[1])]
        if len(matching) == 1:
            return matching[0]
        names = ", ".join(map(str, self.relations))
        if given is None:
            raise ValueError(f"the graph has several edge types: give etype=..., one of {names}")
        if matching:
            raise ValueError(f"several edge types are named {given!r}: give a whole type, one of {names}")
        raise ValueError(f"the graph has no edge type {given!r}; there are {names}")

    def ntype(self, given: str | None) -> str:
        """The name of a node type. ``ValueError`` for one that is not there, and for None if there are several."""
        if given in self.nodes:
            return given
        if given is None and len(self.nodes) == 1:
            return next(iter(self.nodes))
        names = ", ".join(map(repr, self.nodes))
        if given is None:
            raise ValueError(f"the graph has several node types: give one of {names}")
        raise ValueError(f"the graph has no node type {given!r}; there are {names}")


def one_type(
    source: Any, target: Any, nodes: NodeFields, edata: Fields, owner: object, etype: EdgeType = EDGE
) -> MessageGraph:
    """A graph of one node type and one of edges."""
    return MessageGraph({etype[0]: nodes}, {etype: EdgeFields(etype, source, target, edata)}, owner)


def batch_fields(batch: TreeBatch) -> Fields:
    """The fields of a batch under the names that ``batch.graph`` uses."""
    columns = {name: getattr(batch, name) for name in ("function", "token", "label", "value", "x")}
    return {name: column for name, column in columns.items() if column is not None}


def open_graph(graph: Any) -> MessageGraph:
    """A graph as edges and fields.

    Raises ``TypeError`` for what is no graph, ``ValueError`` for a field of other rows.
    """
    opened = _open(graph)
    several = len(opened.nodes) > 1
    for ntype, nodes in opened.nodes.items():
        _check_rows(nodes.data, nodes.count, f"nodes of type {ntype!r}" if several else "nodes", "nodes")
    several = len(opened.relations) > 1
    for etype, edges in opened.relations.items():
        _check_rows(edges.data, len(edges.source), f"edges of type {etype}" if several else "edges", "edges")
    return opened


def _check_rows(fields: Mapping[str, Tensor], count: int, what: str, kind: str) -> None:
    for name, column in fields.items():
        if len(column) != count:
            raise ValueError(f"the field {name!r} of the {what} has {len(column)} rows, but there are {count} {kind}")


def _open(graph: Any) -> MessageGraph:
    if isinstance(graph, TreeBatch):
        nodes = NodeFields(graph.num_nodes, batch_fields(graph))
        return one_type(graph.child_index, graph.parent_index, nodes, {"slot": graph.slot}, graph)
    if isinstance(graph, tuple):
        return _open_tensors(*graph)
    if hasattr(graph, "message_graph"):
        return graph.message_graph
    if hasattr(graph, "canonical_etypes"):
        return _open_dgl(graph)
    if hasattr(graph, "edge_types") and hasattr(graph, "node_types"):
        raise TypeError(
            "graph is a HeteroData of PyG, which is not read: give dgltree.engine.Graph({edge type: its edge_index}) "
            "with the fields of its nodes and edges"
        )
    if hasattr(graph, "edge_index") and hasattr(graph, "node_attrs"):
        return _open_pyg(graph)
    raise TypeError(
        f"graph is a {type(graph).__name__}: give a DGLGraph, a TreeBatch, a Data of PyG or (edges, ndata[, edata])"
    )


def _open_tensors(edges: Any, ndata: Fields, edata: Fields | None = None) -> MessageGraph:
    """A graph of tensors: edges (2, E) or a pair of (E,), and fields, whose rows say how many nodes there are."""
    if not ndata:
        raise ValueError("the graph has no node fields: give at least one, because its rows set the number of nodes")
    source, target = map(torch.as_tensor, edges)
    nodes = NodeFields(len(next(iter(ndata.values()))), ndata)
    return one_type(source, target, nodes, edata or {}, ndata)


def _open_dgl(graph: Any) -> MessageGraph:
    nodes = {}
    for ntype, frame in zip(graph.ntypes, graph._node_frames, strict=True):
        data = graph.nodes[ntype].data
        nodes[ntype] = NodeFields(graph.num_nodes(ntype), dict(data), data.update, frame.get_initializer)
    relations = {}
    for etype in graph.canonical_etypes:
        source, target = graph.edges(order="eid", etype=etype)
        relations[etype] = EdgeFields(etype, source, target, dict(graph.edges[etype].data))
    return MessageGraph(nodes, relations, graph)


def _open_pyg(graph: Any) -> MessageGraph:
    def fields(names: Iterable[str]) -> Fields:
        return {name: graph[name] for name in names if isinstance(graph[name], Tensor) and name != "edge_index"}

    def write(new: Fields) -> None:
        for name, rows in new.items():
            graph[name] = rows

    source, target = graph.edge_index
    nodes = NodeFields(graph.num_nodes, fields(graph.node_attrs()), write)
    return one_type(source, target, nodes, fields(graph.edge_attrs()), graph)
