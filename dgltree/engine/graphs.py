"""Graphs that message functions run on, as edges and fields: DGLGraphs, batches of trees, PyG's Data, plain tensors."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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
    """A graph as edges and fields. ``TypeError`` for what is no graph, ``ValueError`` for one of several types."""
    if isinstance(graph, TreeBatch):
        return open_graph(Graph(graph))
    if isinstance(graph, Graph):
        ends = graph.batch.child_index, graph.batch.parent_index
        source, target = reversed(ends) if graph.reverse else ends
        return MessageGraph(source, target, graph.batch.num_nodes, graph.ndata, graph.edata, graph.ndata.update)
    if isinstance(graph, tuple):
        return _plain(*graph)
    if hasattr(graph, "canonical_etypes"):
        if len(graph.canonical_etypes) != 1 or len(graph.ntypes) != 1:
            raise ValueError(
                "the graph has several types of nodes or edges: convert it by dgltree.TreeBatch.from_graph"
            )
        source, target = graph.edges(order="eid")
        return MessageGraph(source, target, graph.num_nodes(), dict(graph.ndata), dict(graph.edata), graph.ndata.update)
    if hasattr(graph, "edge_index") and hasattr(graph, "node_attrs"):
        fields = ({name: graph[name] for name in names} for names in (graph.node_attrs(), graph.edge_attrs()))
        ndata, edata = ({k: v for k, v in each.items() if isinstance(v, Tensor)} for each in fields)
        edata.pop("edge_index", None)

        def write(new: Fields) -> None:
            for name, rows in new.items():
                graph[name] = rows

        source, target = graph.edge_index
        return MessageGraph(source, target, graph.num_nodes, ndata, edata, write)
    raise TypeError(
        f"graph is a {type(graph).__name__}: give a DGLGraph, a TreeBatch, a Data of PyG or (edges, ndata[, edata])"
    )


def _plain(edges: Any, ndata: Fields, edata: Mapping[str, Tensor] | None = None) -> MessageGraph:
    """A graph of tensors: edges (2, E) or a pair of (E,), and fields. The number of nodes is that of their rows."""
    source, target = edges
    if not ndata:
        raise ValueError("the graph has no fields of nodes: their rows say how many nodes there are")
    counts = {name: len(column) for name, column in ndata.items()}
    [n, *other] = set(counts.values())
    if other:
        raise ValueError(f"the fields of the nodes have different numbers of rows: {counts}")
    edata = dict(edata or {})
    for name, column in edata.items():
        if len(column) != len(source):
            raise ValueError(f"the field {name!r} of the edges has {len(column)} rows; there are {len(source)} edges")
    return MessageGraph(source, target, n, ndata, edata, ndata.update)
