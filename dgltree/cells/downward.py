"""Cells from the roots to the leaves: their base, and one for each upward cell that has a counterpart.

An author states what a parent hands to one child: ``state``, ``gates`` and ``send``. :class:`DownwardCell` makes the
weights, the messages of edges for any engine (``sent``, ``step``), and the functions that DGL calls.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch, check_vocabulary
from dgltree.batching.vocabulary import ANY_ARITY, Vocabulary
from dgltree.cells.cell import COMPUTED, Cell, Frame, now_computed, outside_autocast
from dgltree.cells.channels import check_channels
from dgltree.cells.tree_lstm import lstm_state
from dgltree.engine.aggregation import Aggregation, aggregation_named, name_of
from dgltree.engine.checks import check_device, check_up
from dgltree.engine.contract import Computed, DownwardContract, Shapes, State, StepRows, Widths
from dgltree.engine.positions import Positions
from dgltree.engine.propagate import downward_states
from dgltree.engine.typed_linear import Affine, Linear, Segments, TypedLinear, sort_rows, split
from dgltree.support.arguments import check_dropout, check_size
from dgltree.support.torch_internals import without_autocast

FROM_UP = "from_up"
"""The field of a graph's nodes with what their upward states add to the gates of what they get."""


class DownwardCell(DownwardContract):
    """A cell from the roots to the leaves: each node gets a state from those of its parents.

    A node without parents starts with its upward state (``start``). Every other node has the mean, or another
    ``aggregation``, of what its parents send to it: one message for each edge, two if it is both children of one.

    Args:
        vocabulary: the functions.
        hidden_size: n, the width of h, downwards and upwards.
        typed: whether the weights of a message belong to the parent's function at the child's place, and those for the
            child's own upward state to its function. Otherwise all functions of an arity share those of a place.
        positions: whether instead all places share their weights, and the gates of a message read the child's place
            (:class:`dgltree.engine.positions.Positions`); vocabularies may then have ``ANY_ARITY``.
        aggregation: of what several parents send: "mean", "sum", "max", "min", "attention", or an own
            :class:`dgltree.cells.Aggregation` of size n.
        dropout: probability, in training only; where it acts is stated by each cell.

    Initialisation: as of :class:`dgltree.cells.Cell`.

    Raises ``ValueError`` for a vocabulary with ``ANY_ARITY`` without ``positions``.
    """

    place: Tensor
    position_map: Positions

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        typed: bool = True,
        positions: bool = False,
        aggregation: str | Aggregation = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("hidden_size", hidden_size)
        check_dropout(dropout)
        self.vocabulary = vocabulary
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.typed = typed
        self.positions = positions
        self.aggregate = aggregation_named(aggregation, hidden_size)

    @property
    def aggregation(self) -> str | Aggregation:
        """The name of the aggregation, or an own one itself."""
        return name_of(self.aggregate)

    # What an author states: together with ``state``, the mathematics of the cell.

    @abstractmethod
    def gates(self) -> Widths:
        """Name to width of the pre-activations of a message: affine maps of the parent's h."""

    def products(self) -> dict[str, Affine]:
        """The further maps that ``send`` asks for through ``linear``, one for each place of each function."""
        return {}

    @abstractmethod
    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        """The state that each of some children gets from one of its parents: plain differentiable torch.

        Args:
            pre: name to (edges, width), as ``gates`` names them.
            parent: the parents' states, part name to (edges, *shape).
            slot: (edges,) int64, the child's place among its siblings, from 0.
            linear: the maps that ``products`` names.

        Returns the state. Whatever else is in the result can be traced, one row per edge.
        """

    def start(self, up: State) -> State:
        """The state of nodes without parents from their upward states (rows, *shape): those parts, others 0."""
        h = up["h"]
        states = {}
        for part, shape in self.state.items():
            is_given = part in up and up[part].shape[1:] == shape
            states[part] = up[part] if is_given else h.new_zeros(len(h), *shape)
        return states

    # The weights.

    def build(self) -> None:
        """Make the parameters; a subclass calls it at the end of its ``__init__``, when its options are set."""
        n = self.hidden_size
        width = sum(self.gates().values())
        first, count = self._first_matrices()
        self.register_buffer("place", torch.tensor(first, dtype=torch.long), persistent=False)
        self.maps = nn.ModuleDict()
        if count:
            kinds = {kind: kind for kind in range(count)}
            if width:
                self.maps[self._name("gates")] = TypedLinear(Affine(n, width), kinds)
            for name, affine in self.products().items():
                self.maps[self._name(name)] = TypedLinear(affine, kinds)
        if self.reads_up:
            functions = {f: f if self.typed else 0 for f in range(len(first))}
            self.maps[self._name("input")] = TypedLinear(Affine(n, width, bias=False), functions)
        if self.positions and width:
            self.position_map = Positions(width)
        self.reset_parameters()
        self.sign()

    def _first_matrices(self) -> tuple[list[int], int]:
        """The number of each function's first matrix, and how many there are.

        A function has a matrix for each place of a child, or one with ``positions``. Functions share theirs if they
        have one name, or all, if the cell is not typed; and one arity, without ``positions``.
        """
        firsts = []
        first_of: dict[tuple[str, int | None], int] = {}
        count = 0
        for name, arity in self.vocabulary.functions:
            if arity is ANY_ARITY and not self.positions:
                raise ValueError(
                    f"the vocabulary has functions of any arity, {name!r} for one; {type(self).__name__} has weights "
                    "for each place of a child: use positions=True, or a vocabulary with arities"
                )
            sharing = (name if self.typed else "", None if self.positions else arity)
            if arity != 0 and sharing not in first_of:
                first_of[sharing] = count
                count += 1 if self.positions else arity or 0
            firsts.append(first_of.get(sharing, 0))
        return firsts, count

    def _name(self, name: str) -> str:
        return f"{name}_{self.key(None)}"

    def key(self, arity: int | None) -> str:
        return "any"

    @property
    def kinds_of(self) -> tuple[bool, ...]:
        return self.typed, self.positions, bool(self.maps)

    def kinds(self, function: Tensor, slot: Tensor) -> Tensor:
        if not self.maps:
            return torch.zeros_like(slot)
        first = self.place.to(function.device)[function]
        return first if self.positions else first + slot

    def linear_for(self, segments: Segments) -> Linear:
        """The maps of edges that are sorted by ``kinds``."""
        return lambda name, v: cast(Tensor, self.maps[self._name(name)](v, segments))

    # One step, and a call.

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
        return downward_states(self, batch, up, share, trace, check, recompute)

    def step(self, rows: StepRows) -> tuple[Computed, State]:
        return rows.aggregated(self.sent, rows.x_pre, list(self.state), self.aggregate)

    def sent(self, parent: State, slot: Tensor, x_pre: Tensor | None, linear: Linear) -> State:
        """Messages of edges, from the parents' states, and what the children's own upward states add to the gates."""
        widths = self.gates()
        if not widths:
            return self.send({}, parent, slot, linear)
        pre = linear("gates", parent["h"])
        if x_pre is not None:
            pre = pre + x_pre
        if self.positions:
            pre = pre + self.position_map(slot)
        return self.send(split(pre, widths), parent, slot, linear)

    def up_inputs(self, h: Tensor, function: Tensor) -> Tensor | None:
        if not self.reads_up:
            return None
        order, segments, back = sort_rows(function)
        return self.linear_for(segments)("input", h[order])[back]

    # The functions that DGL calls, along a reversed graph.

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
            added = self.up_inputs(up["h"], batch.function)
            if added is not None:
                graph.ndata[FROM_UP] = added

    @outside_autocast
    def message_func(self, edges: Any) -> Frame:
        """The messages of parents along these edges."""
        prepared = self._prepared(edges.src)
        order, segments, back = sort_rows(self.kinds(edges.src["function"], edges.data["slot"]))
        parents = {part: rows[order] for part, rows in prepared.items()}
        added = edges.dst[FROM_UP][order] if self.reads_up else None
        sent = self.sent(parents, edges.data["slot"][order], added, self.linear_for(segments))
        messages = {part: sent[part][back] for part in self.state}
        return {**messages, COMPUTED: edges.src[COMPUTED]}

    @outside_autocast
    def reduce_func(self, nodes: Any) -> Frame:
        """A node's state from what its parents sent."""
        is_stale = nodes.data[COMPUTED].any()
        is_early = ~nodes.mailbox[COMPUTED].all()
        stale, early = torch.stack([is_stale, is_early]).tolist()  # at once: a GPU is waited for
        if stale:
            raise ValueError(
                "the graph has the states of an earlier pass: call cell.prepare(graph, up) before every pass"
            )
        if early:
            raise ValueError("a node is reached before its parents: run the cell along a reversed graph, in its order")
        mail = [nodes.mailbox[part].unbind(1) for part in self.state]
        slots = [dict(zip(self.state, slot, strict=True)) for slot in zip(*mail, strict=True)]
        return {**self.aggregate.of_slots(slots), COMPUTED: now_computed(nodes)}

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


# ---------------------------------------------------------------------------------------------------------------------
# The top-down Tree-LSTM: every node in its context.


class DownwardTreeLSTM(DownwardCell):
    r"""A Tree-LSTM from the roots to the leaves, which reads each node's own upward state.

    What child j with the upward state :math:`u_j` gets at place k of its parent, which has the state (h, c):

    .. math::
        in, o, f &= \sigma(W_k h + V u_j + b_k), \quad u = \tanh(W_k h + V u_j + b_k) \\
        c_j &= in \odot drop(u) + f \odot c, \qquad h_j = o \odot \tanh(c_j)

    each gate with its own rows of W, V and b; W and b are those of the parent's function and the place, V that of the
    child's function. A node without parents starts with its upward h, and c if there is one of that width.

    State: ``h`` (n,), ``c`` (n,).

    Args:
        reads_up: whether there is the term with :math:`u_j`.
        vocabulary, hidden_size, options: see :class:`DownwardCell`.
    """

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, reads_up: bool = True, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.reads_up = reads_up
        self.build()

    @classmethod
    def matching(cls, up: Cell, **options: Any) -> "DownwardTreeLSTM":
        """One that goes with an upward cell: of its width, and whose functions share weights if its functions do."""
        functions = up.vocabulary.functions
        positions = any(arity is ANY_ARITY for _, arity in functions)
        typed = up.typed and not up.rank and not positions
        return cls(up.vocabulary, up.hidden_size, typed=typed, positions=positions, **options)

    @property
    def state(self) -> Shapes:
        return {"h": (self.hidden_size,), "c": (self.hidden_size,)}

    def gates(self) -> Widths:
        return {"u": self.hidden_size, "in_o_f": 3 * self.hidden_size}

    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        in_, o, f = torch.sigmoid(pre["in_o_f"]).split(self.hidden_size, -1)
        new = lstm_state(in_, o, [f], torch.tanh(pre["u"]), [parent["c"]], self.drop)
        return {**new, "f": f}


# ---------------------------------------------------------------------------------------------------------------------
# Downward cells whose h is so many channels, on each of which they act alike: StrAE's and Banyan's.


class DownwardChannelCell(DownwardCell):
    """Base of the two cells.

    Args:
        channels: c, which divides n; U = n / c.
        vocabulary, hidden_size, options: see :class:`DownwardCell`. Their ``dropout`` acts on each message.
    """

    fixed = frozenset({"positions"})

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, channels: int = 1, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.channels = channels
        self.unit = check_channels(channels, hidden_size)

    @property
    def state(self) -> Shapes:
        return {"h": (self.hidden_size,)}

    def gates(self) -> Widths:
        return {}

    def split(self, h: Tensor) -> Tensor:
        """(..., c, U) of (..., n)."""
        return h.unflatten(-1, (self.channels, self.unit))


class DownwardStrAECell(DownwardChannelCell):
    r"""The decomposition of StrAE and Self-StrAE, whose upward cell is :class:`dgltree.cells.StrAECell`.

    .. math:: h_k = drop(\Theta_k h + \theta_k)

    at place k, in each channel, with one map for all channels.

    State: ``h`` (n,).

    Args:
        typed: whether each function has maps of its own; published: False.
        vocabulary, hidden_size, options: see :class:`DownwardChannelCell`; published: 16 channels of 16, dropout 0.1.
    """

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, typed: bool = False, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, typed=typed, **options)
        self.build()

    def products(self) -> dict[str, Affine]:
        return {"theta": Affine(self.unit, self.unit)}

    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        h = linear("theta", self.split(parent["h"]))
        return {"h": self.drop(h.flatten(-2))}


class DownwardBanyanCell(DownwardChannelCell):
    r"""The decomposition of Banyan, whose upward cell is :class:`dgltree.cells.BanyanCell`.

    .. math:: h_k = drop(\sigma(\theta_k) \odot h + t_k)

    at place k, in each channel, with the same weights for all channels, functions and arities.

    State: ``h`` (n,).

    Args:
        vocabulary, hidden_size, options: see :class:`DownwardChannelCell`; published: 128 channels of 2, dropout 0.1.

    Initialisation: theta U(0.6, 0.9), t 0.
    """

    fixed = frozenset({"typed"})

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, typed=False, **options)
        places = max(vocabulary.arities, default=0)
        self.weight = nn.Parameter(torch.empty(places, self.unit))
        self.bias = nn.Parameter(torch.empty(places, self.unit))
        self.build()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.uniform_(self.weight, 0.6, 0.9)
        nn.init.zeros_(self.bias)

    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        theta = nn.functional.embedding(slot, torch.sigmoid(self.weight)).unsqueeze(-2)
        t = nn.functional.embedding(slot, self.bias).unsqueeze(-2)
        h = theta * self.split(parent["h"]) + t
        return {"h": self.drop(h.flatten(-2))}
