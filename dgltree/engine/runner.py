"""The message, reduce and apply functions of a cell, run without DGL, on any device."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch

Frame = dict[str, Tensor]


class Graph:
    """What a cell's functions touch of a DGLGraph: ``ndata`` and ``edata``.

    Its frames hold the fields of ``batch`` under the names that ``batch.graph`` uses.
    """

    def __init__(self, batch: TreeBatch) -> None:
        self.batch = batch
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
    batch = graph.batch
    levels, arity = torch.stack([batch.level, batch.arity]).cpu()  # read once, not for every frontier
    for level in range(int(levels.max()) + 1):
        frontier = levels == level
        for degree in torch.unique(arity[frontier]).tolist():
            nodes = torch.nonzero(frontier & (arity == degree)).squeeze(-1).to(batch.device, non_blocking=True)
            mailbox = {}
            if degree:
                edges = (batch.child_ptr[nodes].unsqueeze(-1) + torch.arange(degree, device=batch.device)).flatten()
                src, dst = (_rows(graph.ndata, index[edges]) for index in (batch.child_index, batch.parent_index))
                sent = message_func(Edges(src, dst, _rows(graph.edata, edges)))
                mailbox = {name: m.view(len(nodes), degree, *m.shape[1:]) for name, m in sent.items()}
                _write(graph, nodes, reduce_func(NodeFrame(_rows(graph.ndata, nodes), mailbox)))
            _write(graph, nodes, apply_node_func(NodeFrame(_rows(graph.ndata, nodes), mailbox)))


def _rows(frame: Frame, index: Tensor) -> Frame:
    return {name: column[index] for name, column in frame.items()}


def _write(graph: Graph, nodes: Tensor, rows: Frame) -> None:
    for name, new in rows.items():
        graph.ndata[name] = graph.ndata[name].index_copy(0, nodes, new)
