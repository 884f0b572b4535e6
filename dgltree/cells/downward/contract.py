"""The contract of a downward cell, which its author writes: its state, its gates, and what a parent sends to a child.

It states its mathematics once (``state``, ``gates``, ``send``): what a parent hands to one child. The level engine, the
DGL functions and tracing bring together edges, from parents to children, and call the same ``send``.
"""

from abc import abstractmethod
from typing import cast

import torch
from torch import Tensor

from dgltree.arguments import check_dropout, check_size
from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.aggregation import Aggregation, aggregation_named, name_of
from dgltree.cells.base import CellBase
from dgltree.cells.positions import Positions
from dgltree.cells.step import Computed, State, StepRows
from dgltree.cells.typed_linear import Affine, Linear, Segments, sort_rows, split


class DownwardContract(CellBase):
    """A cell from the roots to the leaves: each node gets a state from those of its parents.

    A node without parents starts with its upward state (``start``). Every other node has the mean, or another
    ``aggregation``, of what its parents send to it: one message for each edge, two if it is both children of one.

    Args:
        vocabulary: the functions.
        hidden_size: n, the width of h, downwards and upwards.
        typed: whether the weights of a message belong to the parent's function at the child's place, and those for the
            child's own upward state to its function. Otherwise all functions of an arity share those of a place.
        positions: whether instead all places share their weights, and the gates of a message read the child's place
            (:class:`dgltree.cells.positions.Positions`); vocabularies may then have ``ANY_ARITY``.
        aggregation: of what several parents send: "mean", "sum", "max", "min", "attention", or an own
            :class:`dgltree.cells.Aggregation` of size n.
        dropout: probability, in training only; where it acts is stated by each cell.

    Initialisation: as of :class:`dgltree.cells.Cell`.

    Raises ``ValueError`` for a vocabulary with ``ANY_ARITY`` without ``positions``.
    """

    reads_up: bool = False
    """Whether the gates of a message also read the child's own upward h."""
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
        self.vocabulary, self.hidden_size, self.dropout = vocabulary, hidden_size, dropout
        self.typed, self.positions = typed, positions
        self.aggregate = aggregation_named(aggregation, hidden_size)

    @property
    def aggregation(self) -> str | Aggregation:
        """The name of the aggregation, or an own one itself."""
        return name_of(self.aggregate)

    @abstractmethod
    def gates(self) -> dict[str, int]:
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
        return {
            part: up[part] if part in up and up[part].shape[1:] == shape else h.new_zeros(len(h), *shape)
            for part, shape in self.state.items()
        }

    def key(self, arity: int | None) -> str:
        return "any"

    @property
    def kinds_of(self) -> tuple[bool, ...]:
        """The options that the numbers of matrices depend on: equal for cells that a plan is good for alike."""
        return self.typed, self.positions, bool(self.maps)

    def kinds(self, function: Tensor, slot: Tensor) -> Tensor:
        """(edges,) int64, the matrix of each edge, by its parent's function and the child's place."""
        if not self.maps:
            return torch.zeros_like(slot)
        place: Tensor = self.place
        base = place.to(function.device)[function]
        return base if self.positions else base + slot

    def step(self, rows: StepRows) -> tuple[Computed, State]:
        return rows.aggregated(self.sent, rows.x_pre, list(self.state), self.aggregate)

    def sent(self, parent: State, slot: Tensor, x_pre: Tensor | None, linear: Linear) -> State:
        """Messages of edges, from the parents' states, and what the children's own upward states add to the gates."""
        widths, pre = self.gates(), {}
        if widths:
            v = linear("gates", parent["h"])
            v = v if x_pre is None else v + x_pre
            pre = split(v + self.position_map(slot) if self.positions else v, widths)
        return self.send(pre, parent, slot, linear)

    def linear_for(self, segments: Segments) -> Linear:
        """The maps of edges that are sorted by ``kinds``."""
        return lambda name, v: cast(Tensor, self.maps[f"{name}_{self.key(None)}"](v, segments))

    def up_inputs(self, h: Tensor, function: Tensor) -> Tensor | None:
        """(rows, widths of the gates), what nodes' own upward h (rows, n) add to the gates of what they get."""
        if not self.reads_up:
            return None
        order, segments, back = sort_rows(function)
        return self.linear_for(segments)("input", h[order])[back]
