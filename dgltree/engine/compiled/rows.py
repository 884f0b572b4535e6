"""Rows of a plan by in-degree: the nodes of a graph of one type, in the order in which a pass computes them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.frontiers import TopoPlan
from dgltree.engine.message_graph import Fields, MessageGraph

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class PlainGraph(NamedTuple):
    """A graph whose nodes are of one type, and its edges, too."""

    ndata: Fields
    edata: Fields
    source: Tensor
    """(E,), the node that each edge leads from."""


def plain_graph(graph: MessageGraph) -> PlainGraph:
    """:class:`NotAProgramError` for a graph of several types."""
    if len(graph.nodes) > 1 or len(graph.relations) > 1:
        raise NotAProgramError("the graph has several node types or edge types")
    [nodes], [edges] = graph.nodes.values(), graph.relations.values()
    return PlainGraph(nodes.data, edges.data, edges.source)


class Bunch(NamedTuple):
    """Rows of a frontier that have equally many edges."""

    frontier: int
    is_computed: bool
    """Whether functions run for them; otherwise they keep what they have."""
    degree: int
    others: int
    """For rows without edges, the lowest number that others of their frontier have; 0 for none."""
    rows: slice
    """Among those of the plan."""
    edges: slice
    """Those that lead to them, among those of the plan."""


def bunches(plan: TopoPlan) -> Iterator[Bunch]:
    """The rows of a plan of one type, in their order."""
    for number, frontier in enumerate(plan.frontiers):
        is_computed = number >= plan.kept
        if not is_computed or not frontier.parts:
            yield Bunch(number, is_computed, 0, 0, frontier.rows, slice(0, 0))
            continue
        [part] = frontier.parts
        least = next((bucket.degree for bucket in part.buckets if bucket.degree), 0)
        begin = part.edges.start
        for bucket in part.buckets:
            low, end = frontier.rows.start + bucket.start, begin + bucket.rows * bucket.degree
            others = 0 if bucket.degree else least
            yield Bunch(number, True, bucket.degree, others, slice(low, low + bucket.rows), slice(begin, end))
            begin = end


class Met(NamedTuple):
    """What tells which program rows have: see :class:`Bunch`."""

    degree: int
    others: int
    number: int | None = None
    """What the rows have of the field that divides frontiers."""


class MetRows(NamedTuple):
    """The rows of a plan by all that tells which program they have."""

    met: list[Met]
    """What is met, in the order of the pass."""
    which: Numbers
    """(bunches,), the place in ``met`` of each, or -1 where nothing is computed."""
    has_leaves: bool
    """Whether the first frontier is of nodes without in-edges alone."""
    has_late_leaves: bool
    """Whether such nodes are computed in a later frontier, too."""
    by: str | None
    """The field that divides frontiers."""


class PlanRows:
    """What a compiled pass reads of a plan, whatever the functions.

    Args:
        plan: of one node type and one edge type.
    """

    def __init__(self, plan: TopoPlan) -> None:
        degrees = np.zeros(len(plan.nodes), np.int64)
        met: dict[Met, int] = {}
        bunch_rows = []
        leaves: list[bool] = []
        for bunch in bunches(plan):
            degrees[bunch.rows] = bunch.degree
            number = met.setdefault(Met(bunch.degree, bunch.others), len(met)) if bunch.is_computed else -1
            bunch_rows.append((bunch.rows.start, bunch.rows.stop, bunch.frontier, number))
            if bunch.is_computed:
                leaves.append(bunch.degree == 0 and not bunch.others)
        self.bunches = np.array(bunch_rows, np.int64).reshape(-1, 4)[:, :3]
        """(bunches, 3): first row, last row + 1, frontier."""
        which = np.array([each[3] for each in bunch_rows], np.int64)
        self.met = MetRows(list(met), which, leaves[:1] == [True], any(leaves[1:]), plan.by)
        """Of a plan that no field divides."""
        self.first_edge: Numbers = np.concatenate([[0], np.cumsum(degrees)])
        """(N + 1,), where the edges that lead to each row begin."""
        assert plan.row is not None
        self.child: Numbers = plan.row.numpy()[plan.source.numpy()[plan.edges.numpy()]]
        """(E',), the row that each edge leads from."""
        self.out_edges: Numbers = np.argsort(self.child, kind="stable")
        """(E',), edges by the row that they lead from."""
        counts = np.bincount(self.child, minlength=len(plan.nodes))
        self.first_out: Numbers = np.concatenate([[0], np.cumsum(counts)])
        """(N + 1,), where the edges that lead from each row begin among ``out_edges``."""

    def __len__(self) -> int:
        return len(self.first_edge) - 1

    def by(self, name: str, numbers: Numbers) -> MetRows:
        """What is met, with the numbers of a field, (N,) by row. Those of a frontier are equal.

        Raises :class:`NotAProgramError` for others: the field was changed after the plan was made.
        """
        low, high, frontier = self.bunches.T
        begins = np.flatnonzero(np.diff(frontier, prepend=-1))[np.unique(frontier, return_inverse=True)[1]]
        first = numbers[np.minimum(low[begins], len(self) - 1)]
        is_computed = np.repeat(self.met.which >= 0, high - low)
        if not np.array_equal(np.repeat(first, high - low)[is_computed], numbers[is_computed]):
            raise NotAProgramError(f"the numbers of {name!r} were changed after the plan was made")
        met: dict[Met, int] = {}
        which = self.met.which.copy()
        for place, number in enumerate(first.tolist()):
            if which[place] >= 0:
                key = self.met.met[which[place]]._replace(number=number)
                which[place] = met.setdefault(key, len(met))
        return self.met._replace(met=list(met), which=which, by=name)


def rows_of(plan: TopoPlan) -> PlanRows:
    """The rows of a plan, made once."""
    found = vars(plan).get("_rows")
    if found is None:  # not a field, so it does not travel
        found = plan.__dict__["_rows"] = PlanRows(plan)
    return found
