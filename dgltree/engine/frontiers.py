"""The order of a pass of message functions: which nodes are computed together, and which rows they read."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
import torch
from torch import Tensor
from dgltree.batching.batch import TreeBatch
from collections.abc import Callable
from dataclasses import dataclass, replace
import numpy as np
from dgltree.batching.dgl_graph import levels
from dgltree.batching.moving import Movable
from dgltree.batching.run_lengths import run_lengths
from dgltree.engine.schedule import inverse

# ---------------------------------------------------------------------------------------------------------------------
# Graphs that message functions run on, as edges and fields: DGLGraphs, batches of trees, PyG's Data, plain tensors.


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


class Bucket(NamedTuple):
    """The nodes of a frontier that have one in-degree."""

    degree: int
    rows: int
    """How many they are."""
    start: int
    """The first, among all rows of the plan."""


@dataclass
class Frontier:
    """Nodes that are computed together. It has numbers alone: the tensors are the plan's."""

    rows: slice
    """Among those of the plan."""
    edges: slice
    """Those that lead here, among those of the plan."""
    buckets: list[Bucket]
    """By ascending degree."""
    sources: list[tuple[int, int]]
    """The frontiers that are read, ascending, and which piece of each of them."""
    sent: slice
    """The rows that other frontiers read, among ``sent`` of the plan."""
    sizes: list[int]
    """The rows of each piece: what one frontier reads."""
    whole: bool
    """Whether the pieces are the first rows as they are."""
    sorted: bool
    """Whether the pieces that are read, one after another, are in the order of the edges."""

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start

    @property
    def width(self) -> int:
        """The number of edges that lead here."""
        return self.edges.stop - self.edges.start


@dataclass(frozen=True)
class TopoPlan(Movable):
    """The frontiers of a graph, for :func:`dgltree.prop_nodes_topo`. Made by :func:`topo_plan`."""

    frontiers: list[Frontier]
    reverse: bool
    order: str | None
    nodes: Tensor
    """(N,) int64, the node of each row: by frontier, then by degree, then by the first frontier that reads it."""
    row: Tensor
    """(N,) int64, the row of each node."""
    edges: Tensor
    """(E,) int64, edge ids: row after row, in the order of the mailbox."""
    receiver: Tensor
    """(E,) int64, the row that each of these edges leads to, counted from its frontier's first."""
    place: Tensor
    """(E,) int64, where the frontier of each of these edges finds what it reads, among its pieces."""
    sent: Tensor
    """(E,) int64, for each frontier the rows that others read, counted from its first, sorted by reader."""

    def __repr__(self) -> str:
        return f"<TopoPlan: {len(self.nodes)} nodes, {len(self.edges)} edges, {len(self.frontiers)} frontiers>"

    @property
    def device(self) -> torch.device:
        return self.nodes.device

    def map(self, function: Callable[[Tensor], Tensor]) -> "TopoPlan":
        mapped = {name: function(value) for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **mapped)  # type: ignore[arg-type]

    def check_for(self, graph: MessageGraph, reverse: bool, order: str | None) -> None:
        """``ValueError`` if it was made for another graph, as far as its size and device show, or another order."""
        planned, given = (len(self.nodes), len(self.edges)), (graph.num_nodes, len(graph.source))
        if planned != given:
            raise ValueError(
                f"the plan has {planned[0]} nodes and {planned[1]} edges, the graph {given[0]} and {given[1]}"
            )
        if self.device != graph.source.device:
            raise ValueError(f"the plan is on {self.device}, the graph on {graph.source.device}: use plan.to(device)")
        if (reverse and not self.reverse) or order not in (None, self.order):
            raise ValueError(
                f"the plan was made with reverse={self.reverse} and order={self.order!r}; "
                "leave both out, or make another by topo_plan"
            )


def topo_plan(graph: Any, reverse: bool = False, *, order: str | None = None) -> TopoPlan:
    """The order in which :func:`dgltree.prop_nodes_topo` runs a graph, made once for many passes.

    Examples:
        >>> import torch, dgltree
        >>> graph = (torch.tensor([[0, 1, 2], [2, 2, 3]]), {"h": torch.ones(4)})
        >>> dgltree.topo_plan(graph)
        <TopoPlan: 4 nodes, 3 edges, 3 frontiers>

    Args:
        graph, reverse, order: as of :func:`dgltree.prop_nodes_topo`.

    It depends on the edges alone, and on the field that ``order`` names. It is made on the CPU, to which edges are
    copied once, and then is on the graph's device; ``.to(device)`` moves it. O((N + E) log N).

    Raises ``ValueError`` for a graph without nodes, or with a cycle, a node of which is named.
    """
    opened = open_graph(graph)
    n = opened.num_nodes
    if not n:
        raise ValueError("an empty graph: give at least one node")
    source, target = torch.stack([opened.source, opened.target]).long().cpu().numpy()  # one copy from a GPU
    if len(source) and not 0 <= min(source.min(), target.min()) <= max(source.max(), target.max()) < n:
        raise ValueError(f"an edge names a node that does not exist: there are {n}, numbered from 0")
    # A frontier is a level: the longest way from a node without predecessors, as of dgl.topological_nodes_generator. By
    # degree within it a mailbox is one view (rows, degree, ...), and by first reader within that the rows that a later
    # frontier reads mostly lie next to each other: many gathers are then slices.
    level = levels(target, source, n) if reverse else levels(source, target, n)
    degree = np.bincount(target, minlength=n)
    reader = np.full(n, n)
    np.minimum.at(reader, source, level[target])
    nodes = np.lexsort((reader, degree, level))
    row = inverse(nodes)
    bounds = np.searchsorted(level[nodes], np.arange(level.max() + 2))
    slot = np.arange(len(source)) if order is None else _column(opened, order)
    edges = np.lexsort((slot, row[target]))
    above, below = level[target[edges]], level[source[edges]]
    local = row[source[edges]] - bounds[below]
    sending = np.lexsort((local, above, below))
    edge_bounds = np.searchsorted(above, np.arange(len(bounds)))
    place = inverse(np.lexsort((local, below, above))) - edge_bounds[above]
    receiver = row[target[edges]] - bounds[above]
    sent = local[sending]
    frontiers = _frontiers(bounds, edge_bounds, degree[nodes], (below[sending], above[sending]), sent, place)
    tensors = map(torch.from_numpy, (nodes, row, edges, receiver, place, sent))
    return TopoPlan(frontiers, reverse, order, *tensors).to(opened.source.device)


def _frontiers(
    bounds: np.ndarray,
    edge_bounds: np.ndarray,
    degree: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    sent: np.ndarray,
    place: np.ndarray,
) -> list[Frontier]:
    """The frontiers; ``pairs`` are who is read and who reads, in the order of ``sent``."""
    sent_bounds = np.searchsorted(pairs[0], np.arange(len(bounds)))
    frontiers = []
    for (start, stop), edges, out in zip(_spans(bounds), _spans(edge_bounds), _spans(sent_bounds), strict=True):
        rows, among, widths = sent[slice(*out)], place[slice(*edges)], degree[start:stop]
        buckets = [Bucket(int(widths[low]), high - low, start + low) for low, high in run_lengths(widths)]
        whole, in_order = (bool((each == np.arange(len(each))).all()) for each in (rows, among))
        frontiers.append(Frontier(slice(start, stop), slice(*edges), buckets, [], slice(*out), [], whole, in_order))
    for first, last in run_lengths(*pairs):
        read, reader = int(pairs[0][first]), int(pairs[1][first])
        frontiers[reader].sources.append((read, len(frontiers[read].sizes)))
        frontiers[read].sizes.append(last - first)
    return frontiers


def _spans(bounds: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def _column(graph: MessageGraph, name: str) -> np.ndarray:
    """A field of the edges to sort by. ``ValueError`` if it is not there or not one number for each edge."""
    column = graph.edata.get(name)
    if column is None or column.dim() != 1:
        raise ValueError(
            f"order={name!r}: the edges have no such field of one number each; they have {list(graph.edata)}"
        )
    return column.detach().cpu().numpy()
