"""Rows of a plan by in-degree: the nodes of a graph of one type, in the order in which a pass computes them.

A **bunch** is a slice of rows of one frontier that have one program. **Parts** are sets of trees, so that threads can
compute one each without waiting for another. A **run** is what a thread computes at once: rows of one frontier, part
and program. What a program stores of a row lies at the row's **slot**: the programs of a pass have tables of their own,
in which their rows lie one after the other.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.compiled.values import Space
from dgltree.engine.frontiers import TopoPlan
from dgltree.engine.message_graph import Fields, MessageGraph
from dgltree.engine.schedule import inverse
from dgltree.support.lazy import cached_property

Numbers = np.ndarray[Any, np.dtype[np.int64]]
MIN_PART_ROWS = 2000
"""Rows of a part on average, at least: with 500 a pass took one thread an eighth longer, with 2,000 no longer."""
RUN = ("low", "high", "program", "form", "slots", "edge_slots")
"""Columns of the table of runs: rows, the numbers of their program and of its form, what is added to a row or an edge
for its slot."""
LOW, HIGH, PROGRAM, FORM, SLOTS, EDGE_SLOTS = range(len(RUN))


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
    [nodes] = graph.nodes.values()
    [edges] = graph.relations.values()
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
    """The rows of the bunch among those of the plan."""
    edges: slice
    """The edges that lead to them, among those of the plan."""


def bunches(plan: TopoPlan) -> Iterator[Bunch]:
    """The rows of a plan of one type, in their order."""
    for number, frontier in enumerate(plan.frontiers):
        is_computed = number >= plan.kept
        if not is_computed or not frontier.parts:
            yield Bunch(number, is_computed, degree=0, others=0, rows=frontier.rows, edges=slice(0, 0))
            continue
        [part] = frontier.parts
        least = next((bucket.degree for bucket in part.buckets if bucket.degree), 0)
        first_edge = part.edges.start
        for bucket in part.buckets:
            first = frontier.rows.start + bucket.start
            rows = slice(first, first + bucket.rows)
            edges = slice(first_edge, first_edge + bucket.rows * bucket.degree)
            others = 0 if bucket.degree else least
            yield Bunch(number, is_computed, bucket.degree, others, rows, edges)
            first_edge = edges.stop


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


class BunchTable(NamedTuple):
    """The bunches of a pass, (bunches,) int64 each."""

    low: Numbers
    """The first row."""
    high: Numbers
    """The last row + 1."""
    frontier: Numbers
    part: Numbers


class PassRows:
    """Rows of a pass in the order in which it computes them, one frontier after the other.

    Parts are connected components, as many as make up some thousand rows, which threads compute one by one. They depend
    on the graph alone.

    Args:
        frontier: (N,), ascending, of each row as it is given.
        bunch: (N,): rows of a frontier with equal numbers have one program.
        degree: (N,), the number of edges that lead to each row.
        source: (E,), the rows that edges lead from, row after row.
        nodes: (N,), the node of each row as it is given.
        edges: (E,), the id of each edge as it is given.
        places: (N,), by which parts are numbered: that of the first row of each comes first.
        part_first: whether the rows of a frontier are sorted by part and then by bunch, instead of the other way.
    """

    def __init__(
        self,
        frontier: Numbers,
        bunch: Numbers,
        degree: Numbers,
        source: Numbers,
        nodes: Tensor,
        edges: Tensor,
        places: Numbers,
        part_first: bool,
    ) -> None:
        part = _parts(degree, source, places)
        first_edge = np.cumsum(degree) - degree
        order = np.lexsort((bunch, part, frontier) if part_first else (part, bunch, frontier))
        degree = degree[order]
        frontier = frontier[order]
        bunch = bunch[order]
        part = part[order]
        changes = [np.diff(each, prepend=-1) for each in (frontier, bunch, part)]
        begins = np.flatnonzero(np.any(changes, axis=0))
        self.bunches = BunchTable(begins, np.append(begins[1:], len(order)), frontier[begins], part[begins])
        self.given_bunches = bunch[begins]
        """(bunches,), what was given for each."""
        self.first_edge: Numbers = np.concatenate([[0], np.cumsum(degree)])
        """(N + 1,), where the edges that lead to each row begin."""
        self.nodes = nodes[torch.from_numpy(order)]
        """(N,), the node of each row."""
        self.row = torch.from_numpy(inverse(self.nodes.numpy()))
        """(N,), the row of each node."""
        slots = np.arange(len(source)) - np.repeat(self.first_edge[:-1], degree)
        place = np.repeat(first_edge[order], degree) + slots
        self.edges = edges[torch.from_numpy(place)]
        """(E,), the ids of edges, row after row."""
        self.child: Numbers = inverse(order)[source[place]]
        """(E,), the row that each edge leads from."""
        self.out_edges: Numbers = np.argsort(self.child, kind="stable")
        """(E,), edges by the row that they lead from."""
        counts = np.bincount(self.child, minlength=len(order))
        self.first_out: Numbers = np.concatenate([[0], np.cumsum(counts)])
        """(N + 1,), where the edges that lead from each row begin among ``out_edges``."""

    def __len__(self) -> int:
        return len(self.first_edge) - 1

    @cached_property
    def addresses(self) -> dict[str, int]:
        """The addresses of the tables that machine code reads."""
        names = ("first_edge", "child", "out_edges", "first_out")
        return {name: getattr(self, name).ctypes.data for name in names}

    def of_nodes(self, rows: Tensor) -> Tensor:
        """(N, columns), a row for each node, in the order of rows: a copy."""
        return rows.index_select(0, self.nodes)

    def to_nodes(self, rows: Tensor) -> Tensor:
        """A copy of rows in the order of nodes."""
        return rows.index_select(0, self.row)


class PlanRows(PassRows):
    """What a compiled pass reads of a plan, whatever the functions.

    Args:
        plan: of one node type and one edge type.
    """

    def __init__(self, plan: TopoPlan) -> None:
        of_plan = list(bunches(plan))
        sizes = [bunch.rows.stop - bunch.rows.start for bunch in of_plan]
        degrees = np.array([bunch.degree for bunch in of_plan], np.int64)
        frontiers = np.array([bunch.frontier for bunch in of_plan], np.int64)
        assert plan.row is not None
        super().__init__(
            frontier=np.repeat(frontiers, sizes),
            bunch=np.repeat(np.arange(len(of_plan)), sizes),
            degree=np.repeat(degrees, sizes),
            source=plan.row[plan.source[plan.edges]].numpy(),  # edges of the plan are row after row
            nodes=plan.nodes,
            edges=plan.edges,
            places=plan.nodes.numpy(),
            part_first=True,
        )
        self.met = _met(plan, [of_plan[number] for number in self.given_bunches])
        """What nodes meet where no field divides the plan."""

    def by(self, name: str, numbers: Numbers) -> MetRows:
        """What is met, with the numbers of a field, (N,) by row. Those of a frontier are equal.

        Raises :class:`NotAProgramError` for others: the field was changed after the plan was made.
        """
        low, high, frontier, _ = self.bunches
        first_bunches = np.flatnonzero(np.diff(frontier, prepend=-1))
        _, frontier_of_bunch = np.unique(frontier, return_inverse=True)
        first_rows = low[first_bunches[frontier_of_bunch]]
        first = numbers[np.minimum(first_rows, len(self) - 1)]
        is_computed = np.repeat(self.met.which >= 0, high - low)
        if not np.array_equal(np.repeat(first, high - low)[is_computed], numbers[is_computed]):
            raise NotAProgramError(f"the values of {name!r} were changed after the plan was made")
        met: dict[Met, int] = {}
        which = self.met.which.copy()
        for place, number in enumerate(first.tolist()):
            if which[place] >= 0:
                key = self.met.met[which[place]]._replace(number=number)
                which[place] = met.setdefault(key, len(met))
        return self.met._replace(met=list(met), which=which, by=name)


def _met(plan: TopoPlan, of_rows: Sequence[Bunch]) -> MetRows:
    """What is met in bunches."""
    met: dict[Met, int] = {}
    which = np.full(len(of_rows), -1)
    first: int | None = None  # the first frontier that is computed
    leaves = set()  # frontiers of nodes without in-edges alone
    for place, bunch in enumerate(of_rows):
        if not bunch.is_computed:
            continue
        which[place] = met.setdefault(Met(bunch.degree, bunch.others), len(met))
        if first is None:
            first = bunch.frontier
        if bunch.degree == 0 and not bunch.others:
            leaves.add(bunch.frontier)
    return MetRows(
        met=list(met),
        which=which,
        has_leaves=first in leaves,
        has_late_leaves=bool(leaves - {first}),
        by=plan.by,
    )


def _parts(degree: Numbers, source: Numbers, places: Numbers) -> Numbers:
    """(N,), the part of each row: connected components in the order of the first place that each has.

    A power of two of them, of at least ``MIN_PART_ROWS`` rows on average; a single one for fewer rows.
    """
    n = len(degree)
    count = 2 ** int(np.log2(max(n / MIN_PART_ROWS, 1)))
    if count == 1:
        return np.zeros(n, np.int64)
    ends = source, np.repeat(np.arange(n), degree)
    graph = coo_array((np.ones(len(source), np.int8), ends), shape=(n, n))
    components, component = connected_components(graph, directed=False)
    first = np.full(components, places.max() + 1)
    np.minimum.at(first, component, places)
    component = inverse(np.argsort(first))[component]
    cost = np.bincount(component, 1 + degree)
    middle = np.cumsum(cost) - cost / 2
    part = (middle * count / cost.sum()).astype(np.int64)
    _, without_gaps = np.unique(part, return_inverse=True)
    return without_gaps[component]


def rows_of(plan: TopoPlan) -> PlanRows:
    """The rows of a plan, made once."""
    rows = vars(plan).get("_rows")
    if rows is None:  # not a field, so it does not travel
        rows = plan.__dict__["_rows"] = PlanRows(plan)
    return rows


class ProgramRuns(NamedTuple):
    """Which rows of a plan each program computes: part after part, one frontier after the other."""

    table: Numbers
    """(runs, columns): see :data:`RUN`."""
    bounds: Numbers
    """(parts + 1,), where the runs of each part begin."""
    slots: list[Numbers]
    """For each program, (parts + 1,): where its rows of each part begin among all of its rows."""
    edge_slots: list[Numbers]
    """For each program, (parts + 1,): where the edges that lead to these rows begin."""
    program: Numbers
    """(N,), the program of each row, -1 for none."""
    first_edge: Numbers
    """(N + 1,), where the edges that lead to each row begin."""
    known: dict[Hashable, Any]
    """What was found for passes over these rows: that of :meth:`kept`, and where arrays lie."""

    @classmethod
    def of(cls, rows: PassRows, which: Numbers) -> "ProgramRuns":
        """For the program of each bunch of rows, -1 for none. Rows of a frontier, part and program are one run."""
        bunches = rows.bunches
        program = np.repeat(which, bunches.high - bunches.low)
        changes = [np.diff(bunches.frontier, prepend=-1), np.diff(which, prepend=-2), np.diff(bunches.part, prepend=-1)]
        begins = np.flatnonzero(np.any(changes, axis=0))
        ends = np.append(begins[1:], len(which))
        by_part = np.argsort(bunches.part[begins], kind="stable")
        begins = begins[by_part]
        low = bunches.low[begins]
        high = bunches.high[ends[by_part] - 1]
        which = which[begins]
        part = bunches.part[begins]
        first_edge = rows.first_edge
        edges = first_edge[high] - first_edge[low]
        table = np.zeros((len(low), len(RUN)), np.int64)
        table[:, LOW] = low
        table[:, HIGH] = high
        table[:, PROGRAM] = which
        bounds = np.searchsorted(part, np.arange(part.max(initial=0) + 2))
        slots = []
        edge_slots = []
        for number in range(int(which.max(initial=-1)) + 1):
            mine = which == number
            # Rows and edges of the program up to each run's end: so a row's slot is the row plus a number of its run.
            rows_so_far = np.cumsum((high - low) * mine)
            edges_so_far = np.cumsum(edges * mine)
            table[mine, SLOTS] = rows_so_far[mine] - high[mine]
            table[mine, EDGE_SLOTS] = edges_so_far[mine] - first_edge[high[mine]]
            slots.append(np.append(0, rows_so_far)[bounds])
            edge_slots.append(np.append(0, edges_so_far)[bounds])
        return cls(table, bounds, slots, edge_slots, program, first_edge, {})

    def rows_of(self, program: int) -> Numbers:
        """The rows of a program in the order of their slots."""
        runs = self.table[self.table[:, PROGRAM] == program, :2]
        return np.concatenate([np.arange(low, high) for low, high in runs]) if len(runs) else np.empty(0, np.int64)

    def size(self, program: int, space: Space) -> int:
        """How many nodes a program has, or how many edges that lead to them."""
        return int((self.edge_slots if space == Space.EDGE else self.slots)[program][-1])

    def most(self, program: int, space: Space) -> int:
        """The most rows that a run of a program has, or the most edges that lead to them."""
        low, high = self.table[self.table[:, PROGRAM] == program, :2].T
        if space == Space.EDGE:
            low = self.first_edge[low]
            high = self.first_edge[high]
        return int((high - low).max(initial=0))

    def kept(self, writes: tuple[bool, ...]) -> Tensor:
        """The rows of programs that do not write something, and those without a program."""
        if writes not in self.known:
            is_written = np.array([*writes, False])[self.program]  # the last one for rows without a program, -1
            self.known[writes] = torch.from_numpy(np.flatnonzero(~is_written))
        return self.known[writes]

    def pieces(self, rows: int) -> list["RunsPiece"]:
        """Runs that follow one another, with slots of their own: of so many rows, or little more."""
        sizes = self.table[:, HIGH] - self.table[:, LOW]
        number = (np.cumsum(sizes) - sizes) // rows
        bounds = [*np.flatnonzero(np.diff(number, prepend=-1)).tolist(), len(self.table)]
        return [self._piece(low, high) for low, high in pairwise(bounds)]

    def _piece(self, low: int, high: int) -> "RunsPiece":
        table = self.table[low:high].copy()
        begins: list[tuple[int, int]] = []
        slots = []
        edge_slots = []
        for number in range(len(self.slots)):
            mine = table[:, PROGRAM] == number
            low_rows = table[mine, LOW]
            high_rows = table[mine, HIGH]
            low_edges = self.first_edge[low_rows]
            high_edges = self.first_edge[high_rows]
            begin = edge_begin = 0
            if mine.any():  # slots ascend from run to run, so the first run has the first ones
                begin = int(low_rows[0] + table[mine, SLOTS][0])
                edge_begin = int(low_edges[0] + table[mine, EDGE_SLOTS][0])
            table[mine, SLOTS] -= begin
            table[mine, EDGE_SLOTS] -= edge_begin
            begins.append((begin, edge_begin))
            slots.append(np.array([0, int((high_rows - low_rows).sum())]))
            edge_slots.append(np.array([0, int((high_edges - low_edges).sum())]))
        runs = self._replace(
            table=table, bounds=np.array([0, len(table)]), slots=slots, edge_slots=edge_slots, known={}
        )
        return RunsPiece(runs, low, begins)


class RunsPiece(NamedTuple):
    """Some runs of a pass."""

    runs: ProgramRuns
    first: int
    """The number of the first of them."""
    begins: list[tuple[int, int]]
    """For each program its first slot and its first edge slot among those of the pass."""
