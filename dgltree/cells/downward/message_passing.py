"""The functions that DGL calls on a reversed graph, derived from a downward cell's own statement of its mathematics."""

from typing import Any

import torch

from dgltree.batching.batch import TreeBatch, check_vocabulary
from dgltree.cells.check import check_device, check_up
from dgltree.cells.downward.contract import DownwardContract
from dgltree.cells.message_passing import COMPUTED, Frame, now_computed, outside_autocast
from dgltree.cells.step import State
from dgltree.cells.typed_linear import sort_rows
from dgltree.torch_internals import without_autocast

FROM_UP = "from_up"
"""The field of a graph's nodes with what their upward states add to the gates of what they get."""


class DownwardMessagePassing(DownwardContract):
    """``prepare``, ``message_func``, ``reduce_func`` and ``apply_node_func``, for DGL and for our runner."""

    def prepare(self, graph: Any, up: State) -> None:
        """Put fresh states into ``graph.ndata``: ``start`` where a node has no parent, 0 elsewhere, before every pass.

        Args:
            graph: ``dgl.reverse(graph, copy_ndata=True, copy_edata=True)`` of a graph from children to parents, or
                ``dgltree.engine.Graph(batch, reverse=True)``. DGL's own ``reverse=True`` alters the order of the nodes
                and not the way of the messages.
            up: the upward states, part name to (N, *shape).

        Raises ``ValueError`` as ``dgltree.propagate``, and for a graph that was not reversed.
        """
        batch = getattr(graph, "batch", None) or _turned(graph)
        check_vocabulary(batch, self.vocabulary, "cell")
        check_device(self, batch)
        check_up(self, batch, up)
        with without_autocast(batch.device):
            has_parent = torch.zeros_like(batch.arity, dtype=torch.bool).index_fill(0, batch.child_index, True)
            roots = torch.nonzero(~has_parent).squeeze(-1)
            states = self.start({part: rows.index_select(0, roots) for part, rows in up.items()})
            graph.ndata[COMPUTED] = ~has_parent
            for part, rows in states.items():
                empty = rows.new_zeros(batch.num_nodes, *rows.shape[1:])
                graph.ndata[part] = empty.index_copy(0, roots, rows)
            if (added := self.up_inputs(up["h"], batch.function)) is not None:
                graph.ndata[FROM_UP] = added

    @outside_autocast
    def message_func(self, edges: Any) -> Frame:
        """The messages of parents along these edges."""
        prepared = self._prepared(edges.src)
        order, segments, back = sort_rows(self.kinds(edges.src["function"], edges.data["slot"]))
        parents = {part: rows[order] for part, rows in prepared.items()}
        added = edges.dst[FROM_UP][order] if self.reads_up else None
        sent = self.sent(parents, edges.data["slot"][order], added, self.linear_for(segments))
        return {**{part: sent[part][back] for part in self.state}, COMPUTED: edges.src[COMPUTED]}

    @outside_autocast
    def reduce_func(self, nodes: Any) -> Frame:
        """A node's state from what its parents sent."""
        own, parents = nodes.data[COMPUTED], nodes.mailbox[COMPUTED]
        stale, early = torch.stack([own.any(), ~parents.all()]).tolist()  # at once: a GPU is waited for
        if stale:
            raise ValueError(
                "the graph has the states of an earlier pass: call cell.prepare(graph, up) before every pass"
            )
        if early:
            raise ValueError("a node is reached before its parents: run the cell along a reversed graph, in its order")
        mail = [nodes.mailbox[part].unbind(1) for part in self.state]
        found = self.aggregate.of_slots([dict(zip(self.state, slot, strict=True)) for slot in zip(*mail, strict=True)])
        return {**found, COMPUTED: now_computed(nodes)}

    def apply_node_func(self, nodes: Any) -> Frame:
        """The state as it is."""
        return {**self._prepared(nodes.data), COMPUTED: nodes.data[COMPUTED]}

    def _prepared(self, frame: Frame) -> Frame:
        """The states in a frame. Raises ``ValueError`` if ``prepare`` did not put them there."""
        if COMPUTED not in frame:
            raise ValueError(
                f"the graph has no states of this {type(self).__name__}: call cell.prepare(graph, up) before every pass"
            )
        return {part: frame[part] for part in self.state}


def _turned(graph: Any) -> TreeBatch:
    """The batch of a reversed DGLGraph."""
    try:
        return TreeBatch.from_graph(graph.reverse(copy_ndata=True, copy_edata=True))
    except ValueError as error:
        raise ValueError(
            f"{error}: a downward cell runs on dgl.reverse(graph, copy_ndata=True, copy_edata=True)"
        ) from None
