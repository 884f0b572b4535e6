"""Sweeps: which values a loop over nodes, or over the edges of one, computes before the next loop can begin.

A sum over edges is known after a loop over them, so what needs it is computed in a later round. A round of a node is a
part over its own columns and then a part over its edges; values that one part hands to another lie in scratch memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dgltree.engine.compiled.values import Location, Space, Value, ordered

ACROSS_EDGES = ("sum_edges", "largest_edge", "smallest_edge", "which_largest_edge", "which_smallest_edge")
ACROSS_COLUMNS = ("sum_columns", "largest_column", "smallest_column", "which_largest_column", "which_smallest_column")


class Store(NamedTuple):
    """Columns of a value that are written to a place, or added to what is there."""

    location: Location
    space: Space
    first: int
    width: int
    value: Value
    adds: bool = False
    row_index: Value | None = None
    """The index of the row, where a table is looked up."""


@dataclass
class Round:
    """One part over the columns of a node, and one over its edges."""

    node_stores: list[Store] = field(default_factory=list)
    edge_stores: list[Store] = field(default_factory=list)
    kept: list[Value] = field(default_factory=list)
    """Values of the node that go to scratch memory."""
    folds: list[Value] = field(default_factory=list)
    """Sums and extremes over the edges."""


@dataclass
class Sweep:
    """The rounds of a node, and where in scratch memory values lie that cross from one part to another."""

    rounds: list[Round]
    scratch: dict[Value, int]
    extremes: dict[Value, int]
    """Where those lie whose position is looked for."""


def sweep(stores: Sequence[Store]) -> Sweep:
    """How to compute some values, so that each is there when it is needed."""
    values = ordered(
        [*(store.value for store in stores), *(store.row_index for store in stores if store.row_index is not None)]
    )
    number: dict[Value, int] = {}
    for value in values:
        below = max((number[each] for each in value.operands), default=0)
        number[value] = below + (value.operation in ACROSS_EDGES)
    in_edges = {operand for value in values if value.space == Space.EDGE for operand in value.operands}
    in_edges |= {operand for value in values if value.operation in ACROSS_EDGES for operand in value.operands}
    in_edges |= {store.value for store in stores if store.space == Space.EDGE}
    in_edges |= {store.row_index for store in stores if store.space == Space.EDGE and store.row_index is not None}
    last = max((number[store.value] for store in stores), default=0)
    rounds = [Round() for _ in range(last + 1)]
    scratch: dict[Value, int] = {}
    extremes: dict[Value, int] = {}
    for value in values:
        if value.operation in ACROSS_EDGES:
            scratch[value] = len(scratch) + len(extremes)
            if value.operation.startswith("which"):
                extremes[value] = len(scratch) + len(extremes)
            rounds[number[value] - 1].folds.append(value)
        elif value.space == Space.NODE and value in in_edges and value.operation not in ("load", "degree"):
            scratch[value] = len(scratch) + len(extremes)
            rounds[number[value]].kept.append(value)
    for store in stores:
        part = rounds[number[store.value]]
        (part.edge_stores if store.space == Space.EDGE else part.node_stores).append(store)
    return Sweep(rounds, scratch, extremes)
