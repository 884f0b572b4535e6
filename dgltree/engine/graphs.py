"""Graphs that message functions run on, as edges and fields: DGLGraphs, batches of trees, PyG's Data, plain tensors."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch

Fields = dict[str, Tensor]


class MessageGraph(NamedTuple):
    """A graph of any kind: N nodes, E edges, each with fields of N or E rows."""

    source: Tensor
    """(E,) int32 or int64, the node that each edge leads from, by edge id."""
    target: Tensor
    """(E,), the node that it leads to."""
    num_nodes: int
    ndata: Fields
    edata: Fields
    write: Callable[[Fields], object]
    """Puts new fields of the nodes where the graph keeps them."""


class Graph:
    """What message functions touch of a DGLGraph, for a batch of trees: ``ndata`` and ``edata``. It needs no DGL.

    Its frames hold the fields of ``batch`` under the names that ``batch.graph`` uses, in the same order of edges.

    Args:
        batch: the trees.
        reverse: whether its edges lead from parents to children, as those of ``dgl.reverse(batch.graph)``. (The
            ``reverse`` of :func:`dgltree.prop_nodes_topo` turns the order of the nodes alone.)
    """

    def __init__(self, batch: TreeBatch, reverse: bool = False) -> None:
        self.batch, self.reverse = batch, reverse
        columns = {name: getattr(batch, name) for name in ("function", "token", "label", "value", "x")}
        self.ndata: Fields = {name: column for name, column in columns.items() if column is not None}
        self.edata: Fields = {"slot": batch.slot}


def open_graph(graph: Any) -> MessageGraph:
    """A graph as edges and fields.

    Raises ``TypeError`` for what is no graph, ``ValueError`` for one of several types and for a field of other rows.
    """
    opened = _open(graph)
    for fields, count, kind in ((opened.ndata, opened.num_nodes, "nodes"), (opened.edata, len(opened.source), "edges")):
        for name, column in fields.items():
            if len(column) != count:
                raise ValueError(f"the field {name!r} of the {kind} has {len(column)} rows; there are {count} {kind}")
    return opened


def _open(graph: Any) -> MessageGraph:
    if isinstance(graph, TreeBatch):
        graph = Graph(graph)
    if isinstance(graph, Graph):
        ends = graph.batch.child_index, graph.batch.parent_index
        source, target = reversed(ends) if graph.reverse else ends
        return MessageGraph(source, target, graph.batch.num_nodes, graph.ndata, graph.edata, graph.ndata.update)
    if isinstance(graph, tuple):
        return _open_tensors(*graph)
    if hasattr(graph, "canonical_etypes"):
        if len(graph.canonical_etypes) != 1 or len(graph.ntypes) != 1:
            raise ValueError("the graph has several node types or edge types: convert it by TreeBatch.from_graph")
        source, target = graph.edges(order="eid")
        return MessageGraph(source, target, graph.num_nodes(), dict(graph.ndata), dict(graph.edata), graph.ndata.update)
    if hasattr(graph, "edge_index") and hasattr(graph, "node_attrs"):
        return _open_pyg(graph)
    raise TypeError(
        f"graph is a {type(graph).__name__}: give a DGLGraph, a TreeBatch, a Data of PyG or (edges, ndata[, edata])"
    )


def _open_tensors(edges: Any, ndata: Fields, edata: Fields | None = None) -> MessageGraph:
    """A graph of tensors: edges (2, E) or a pair of (E,), and fields, whose rows say how many nodes there are."""
    if not ndata:
        raise ValueError("the graph has no fields of nodes: their rows say how many nodes there are")
    source, target = map(torch.as_tensor, edges)
    return MessageGraph(source, target, len(next(iter(ndata.values()))), ndata, edata or {}, ndata.update)


def _open_pyg(graph: Any) -> MessageGraph:
    def fields(names: Iterable[str]) -> Fields:
        return {name: graph[name] for name in names if isinstance(graph[name], Tensor) and name != "edge_index"}

    def write(new: Fields) -> None:
        for name, rows in new.items():
            graph[name] = rows

    source, target = graph.edge_index
    return MessageGraph(source, target, graph.num_nodes, fields(graph.node_attrs()), fields(graph.edge_attrs()), write)
