"""The functions that DGL calls, derived from a cell's own statement of its mathematics."""

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.cells.base import CellBase
from dgltree.cells.check import check_batch, check_device, check_nodes
from dgltree.cells.contract import CellContract
from dgltree.cells.step import Children, Computed
from dgltree.cells.typed_linear import Linear, Segments, sort_rows
from dgltree.torch_internals import without_autocast

Frame = dict[str, Tensor]
COMPUTED = "computed"
"""The field of a graph's nodes that says whose states are there."""
C = TypeVar("C", bound="CellBase")
Result = TypeVar("Result")


def outside_autocast(function: Callable[[C, Any], Result]) -> Callable[[C, Any], Result]:
    """A method of a cell that computes in the dtype of the weights, as ``propagate`` does: a frame has one dtype."""

    @wraps(function)
    def run(cell: C, given: Any) -> Result:
        with without_autocast(next(cell.parameters()).device):
            return function(cell, given)

    return run


class MessagePassing(CellContract):
    """``prepare``, ``message_func``, ``reduce_func`` and ``apply_node_func``, for DGL and for our runner."""

    @abstractmethod
    def leaf_states(self, batch: TreeBatch, leaves: Tensor, segments: Segments) -> Computed:
        """States of leaves; these four are :class:`dgltree.cells.Cell`'s."""

    @abstractmethod
    def node_inputs(
        self, function: Tensor, token: Tensor | None, value: Tensor | None, x: Tensor | None
    ) -> Tensor | None:
        """(rows, d)"""

    @abstractmethod
    def linear_for(self, arity: int | None, segments: Segments) -> Linear:
        """The maps of rows."""

    @abstractmethod
    def compute(self, i: Tensor, x_pre: Tensor | None, children: Children, linear: Linear) -> Computed:
        """New states of rows."""

    @outside_autocast
    def prepare(self, graph: Any) -> None:
        """Put fresh states into ``graph.ndata``: leaf states at the leaves, 0 elsewhere. Call it before every pass.

        ``graph`` is a ``dgl.DGLGraph`` or a :class:`dgltree.engine.runner.Graph`. Propagation overwrites the states of
        inner nodes, by which a second pass over a graph that was not prepared again is known, and refused: its leaves
        would have the states of earlier weights. So is a pass from the roots down, which would read states of zeros.
        """
        batch = getattr(graph, "batch", None) or TreeBatch.from_graph(graph)
        check_batch(self, batch)
        check_device(self, batch)
        check_nodes(self, batch)
        leaves = torch.nonzero(batch.arity == 0).squeeze(-1)
        order, segments, _ = sort_rows(batch.function[leaves])
        leaves = leaves[order]
        states = self.leaf_states(batch, leaves, segments)
        graph.ndata[COMPUTED] = batch.arity == 0
        for part in self.state:
            empty = states[part].new_zeros(batch.num_nodes, *states[part].shape[1:])
            graph.ndata[part] = empty.index_copy(0, leaves, states[part])

    def message_func(self, edges: Any) -> Frame:
        """A child's state, and its slot, because a mailbox is in the order of edge ids."""
        return {**get_prepared(self, edges.src), "slot": edges.data["slot"], COMPUTED: edges.src[COMPUTED]}

    @outside_autocast
    def reduce_func(self, nodes: Any) -> Frame:
        """A node's state from its mailbox: (rows, arity, *shape) a part, arity the degree bucket's."""
        check_order(nodes)
        order, segments, back = sort_rows(nodes.data["function"])
        slot = nodes.mailbox["slot"][order].argsort(1)
        mail = {}
        for part, shape in self.state.items():
            index = slot.view(*slot.shape, *(1 for _ in shape)).expand(-1, -1, *shape)
            mail[part] = nodes.mailbox[part][order].gather(1, index)
        linear = self.linear_for(slot.shape[1], segments)
        x = inputs_of(self, nodes.data, order)
        children = {part: rows.unbind(1) for part, rows in mail.items()}
        computed = self.compute(mail["h"].flatten(1), None if x is None else linear("input", x), children, linear)
        return {**{part: computed[part][back] for part in self.state}, COMPUTED: now_computed(nodes)}

    def apply_node_func(self, nodes: Any) -> Frame:
        """The state as it is: DGL calls this on leaves and, after ``reduce_func``, on inner nodes."""
        return {**get_prepared(self, nodes.data), COMPUTED: nodes.data[COMPUTED]}


def get_prepared(cell: MessagePassing, frame: Frame) -> Frame:
    """The states in a frame. Raises ``ValueError`` if ``prepare`` did not put them there."""
    for part, shape in cell.state.items():
        if part not in frame or tuple(frame[part].shape[1:]) != shape:
            raise ValueError(
                f"the graph has no states {part!r} of this {type(cell).__name__}: "
                "call cell.prepare(graph) before every pass"
            )
    return {part: frame[part] for part in cell.state}


def check_order(nodes: Any) -> None:
    """``ValueError`` if nodes have the states of an earlier pass, or children have none yet."""
    own, children = nodes.data[COMPUTED], nodes.mailbox[COMPUTED]
    stale, early = torch.stack([own.any(), ~children.all()]).tolist()  # at once: a GPU is waited for
    if stale:
        raise ValueError("the graph has the states of an earlier pass: call cell.prepare(graph) before every pass")
    if early:
        raise ValueError(
            "a node is reached before its children: run the cell from the leaves to the roots, without reverse=True"
        )


def now_computed(nodes: Any) -> Tensor:
    """(rows,) bool, that these nodes are."""
    return torch.ones_like(nodes.data[COMPUTED])


def inputs_of(cell: MessagePassing, frame: Frame, order: Tensor) -> Tensor | None:
    """(rows, d), the inputs of inner nodes (or of the nodes that edges lead to), in this order."""
    if cell.input_size is None:
        return None
    token = frame["token"][order] if "token" in frame else torch.full_like(order, -1)
    return cell.node_inputs(frame["function"][order], token, None, frame["x"][order] if "x" in frame else None)
