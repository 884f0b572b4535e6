"""The message, reduce and apply functions of a cell, run without DGL, on any device."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.engine.step_order import way_up

Frame = dict[str, Tensor]


class Graph:
    """What a cell's functions touch of a DGLGraph: ``ndata`` and ``edata``.

    Its frames hold the fields of ``batch`` under the names that ``batch.graph`` uses.

    Args:
        batch: the trees.
        reverse: whether its edges lead from parents to children, as those of ``dgl.reverse(batch.graph)``.
    """

    def __init__(self, batch: TreeBatch, reverse: bool = False) -> None:
        self.batch, self.reverse = batch, reverse
        columns = {name: getattr(batch, name) for name in ("function", "token", "label", "value", "x")}
        self.ndata: Frame = {name: column for name, column in columns.items() if column is not None}
        self.edata: Frame = {"slot": batch.slot}


class Edges(NamedTuple):
    """A batch of edges, as a message function sees it; (E', *shape) a field."""

    src: Frame
    dst: Frame
    data: Frame


class NodeFrame(NamedTuple):
    """A batch of nodes of one in-degree; ``mailbox`` is (N', degree, *shape) a message."""

    data: Frame
    mailbox: Frame


def prop_nodes_topo(
    graph: Graph,
    message_func: Callable[[Edges], Frame],
    reduce_func: Callable[[NodeFrame], Frame],
    apply_node_func: Callable[[NodeFrame], Frame],
) -> None:
    """As ``dgl.prop_nodes_topo``: frontier after frontier, degree bucket after degree bucket; writes ``graph.ndata``.

    As in DGL, the cost is O(levels * N), because every frontier copies whole frames. The level engine does not.
    """
    batch, way = graph.batch, _way(graph)
    for level in range(int(way.levels.max()) + 1):
        frontier = way.levels == level
        for degree in torch.unique(way.degree[frontier]).tolist():
            nodes = torch.nonzero(frontier & (way.degree == degree)).squeeze(-1).to(batch.device, non_blocking=True)
            mailbox = {}
            if degree:
                edges = way.edge[(way.first[nodes].unsqueeze(-1) + torch.arange(degree, device=batch.device)).flatten()]
                src, dst = (_rows(graph.ndata, index[edges]) for index in (way.source, way.target))
                sent = message_func(Edges(src, dst, _rows(graph.edata, edges)))
                mailbox = {name: m.view(len(nodes), degree, *m.shape[1:]) for name, m in sent.items()}
                _write(graph, nodes, reduce_func(NodeFrame(_rows(graph.ndata, nodes), mailbox)))
            _write(graph, nodes, apply_node_func(NodeFrame(_rows(graph.ndata, nodes), mailbox)))


class _Way(NamedTuple):
    """The order of the nodes, and the edges that lead to each."""

    levels: Tensor
    """(N,) int64, on the CPU: the frontier of each node."""
    degree: Tensor
    """(N,) int64, on the CPU: edges that lead to it."""
    first: Tensor
    """(N,) int64, the place in ``edge`` of the first of them."""
    edge: Tensor
    """(E,) int64, numbers of edges, node after node."""
    source: Tensor
    target: Tensor


def _way(graph: Graph) -> _Way:
    batch = graph.batch
    if not graph.reverse:
        levels, arity = torch.stack([batch.level, batch.arity]).cpu()  # read once, not for every frontier
        edge = torch.arange(len(batch.child_index), device=batch.device)
        return _Way(levels, arity, batch.child_ptr[:-1], edge, batch.child_index, batch.parent_index)
    child, parent = batch.child_index, batch.parent_index
    levels = torch.from_numpy(way_up(*(each.cpu().numpy() for each in (batch.level, parent, child))))
    degree = torch.bincount(child, minlength=batch.num_nodes)
    return _Way(levels, degree.cpu(), degree.cumsum(0) - degree, child.argsort(stable=True), parent, child)


def _rows(frame: Frame, index: Tensor) -> Frame:
    return {name: column[index] for name, column in frame.items()}


def _write(graph: Graph, nodes: Tensor, rows: Frame) -> None:
    for name, new in rows.items():
        graph.ndata[name] = graph.ndata[name].index_copy(0, nodes, new)
