"""Everything that follows from the contract of a downward cell: its weights, and its states on any engine."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import nn

from dgltree.above import from_above
from dgltree.batching.batch import TreeBatch, check_vocabulary
from dgltree.batching.vocabulary import ANY_ARITY
from dgltree.cells.check import check_device, check_up
from dgltree.cells.downward.contract import DownwardContract
from dgltree.cells.message_passing import COMPUTED, Frame, now_computed, outside_autocast
from dgltree.cells.positions import Positions
from dgltree.cells.step import State
from dgltree.cells.typed_linear import Affine, TypedLinear, sort_rows
from dgltree.torch_internals import without_autocast

FROM_UP = "from_up"
"""The field of a graph's nodes with what their upward states add to the gates of what they get."""


class DownwardCell(DownwardContract):
    __doc__ = DownwardContract.__doc__  # what an author of a cell and its users read

    def forward(
        self,
        batch: Any,
        up: State | None = None,
        share: bool = False,
        trace: Sequence[str] = (),
        check: bool = False,
        recompute: bool = False,
    ) -> State:
        """States, as of ``dgltree.propagate(..., direction="down", up=up)``, which calls the cell."""
        return cast(State, from_above("downward_states")(self, batch, up, share, trace, check, recompute))

    def build(self) -> None:
        """Make the parameters; a subclass calls it at the end of its ``__init__``, when its options are set."""
        n, width = self.hidden_size, sum(self.gates().values())
        base, count = self._places()
        self.register_buffer("place", torch.tensor(base, dtype=torch.long), persistent=False)
        self.maps = nn.ModuleDict()
        affine = ({"gates": Affine(n, width)} if width else {}) | self.products()
        for name, each in affine.items() if count else ():
            self.maps[self._name(name)] = TypedLinear(each, {kind: kind for kind in range(count)})
        if self.reads_up:
            own = {f: f if self.typed else 0 for f in range(len(base))}
            self.maps[self._name("input")] = TypedLinear(Affine(n, width, bias=False), own)
        if self.positions and width:
            self.position_map = Positions(width)
        self.reset_parameters()
        self.sign()

    def _places(self) -> tuple[list[int], int]:
        """The number of each function's first matrix, and how many there are."""
        functions, keys, count = self.vocabulary.functions, dict[Any, int](), 0
        base = []
        for name, arity in functions:
            if arity is ANY_ARITY and not self.positions:
                raise ValueError(
                    f"the vocabulary has functions of any arity, {name!r} for one; {type(self).__name__} has weights "
                    "for each place of a child: use positions=True, or a vocabulary with arities"
                )
            key = (name if self.typed else "") if self.positions else (name if self.typed else "", arity)
            if arity != 0 and key not in keys:
                keys[key], count = count, count + (1 if self.positions else arity or 0)
            base.append(keys.get(key, 0))
        return base, count

    def _name(self, name: str) -> str:
        return f"{name}_{self.key(None)}"

    def prepare(self, graph: Any, up: State) -> None:
        """Put fresh states into ``graph.ndata``: ``start`` where a node has no parent, 0 elsewhere, before every pass.

        Args:
            graph: ``dgl.reverse(graph, copy_ndata=True, copy_edata=True)`` of a graph from children to parents, or
                ``dgltree.engine.Graph(batch, reverse=True)``. DGL's own ``reverse=True`` alters the order of the nodes
                and not the way of the messages.
            up: the upward states, part name to (N, *shape).

        Raises ``ValueError`` as ``dgltree.propagate``, and for a graph that was not reversed.
        """
        batch = getattr(graph, "batch", None) or _reversed_batch(graph)
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


def _reversed_batch(graph: Any) -> TreeBatch:
    """The batch of a reversed DGLGraph."""
    try:
        return TreeBatch.from_graph(graph.reverse(copy_ndata=True, copy_edata=True))
    except ValueError as error:
        raise ValueError(
            f"{error}: a downward cell runs on dgl.reverse(graph, copy_ndata=True, copy_edata=True)"
        ) from None
