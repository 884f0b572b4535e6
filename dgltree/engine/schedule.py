"""A batch to steps: which rows a cell computes together, in which order, and which equal subtrees share a row.

A schedule renumbers nodes as **rows**: a step is a slice of them, and within a step rows of one function are a slice.
So what a step computes is written side by side, and each matrix multiplies a slice. The **sources** are, edge after
edge in the order of the steps, the rows that are read: children on the way up, parents on the way down. With shared
subtrees there are fewer rows than nodes, and ``row`` maps several nodes to one.

All of it is planned with numpy on the CPU, before a cell computes: in a worker of a loader, if there is one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.moving import Movable
from dgltree.batching.run_lengths import ranges, run_lengths
from dgltree.batching.subtrees import ranks, twins
from dgltree.batching.vocabulary import NO_TOKEN
from dgltree.engine.contract import DownwardContract
from dgltree.engine.gather_plan import GatherPlan, gather_plan
from dgltree.engine.typed_linear import Segments
from dgltree.support.torch_internals import outside_transforms

# ---------------------------------------------------------------------------------------------------------------------
# Which nodes are computed in one step: the ready ones of one arity, that of the longest way up to a root.
#
# Step after step all nodes of one arity are computed whose children are done. That need not be level by level: a node
# can wait, and be computed together with later ones. The next arity is always that of the ready node with the longest
# way up to a root, which nothing should make longer; equations need a quarter fewer steps than by (level, arity). The
# rule is greedy: for chains of unary and binary nodes the fewest steps are a shortest common supersequence of their
# arities, which is NP-hard (Räihä and Ukkonen 1981).


def step_numbers(level: np.ndarray, arity: np.ndarray, parent: np.ndarray, child: np.ndarray) -> np.ndarray:
    """(R,) int64, the step of each of R nodes: 0 for leaves, else 1, 2, ..., all nodes of a step having one arity.

    Args:
        level: (R,) of each node, one more than its highest child's.
        arity: (R,) of each node.
        parent, child: (E,) the nodes at the ends of each edge.
    """
    if (arity[arity > 0] == arity.max()).all():  # nothing to choose between: a node is ready when its level is due
        return level
    nodes = len(level)
    above = way_up(level, parent, child)
    parent = parent[np.argsort(child, kind="stable")]  # the parents of a node lie side by side
    parents_of = np.bincount(child, minlength=nodes)
    first_parent = np.cumsum(parents_of) - parents_of
    missing = arity.copy()  # children that are not done
    step = np.zeros(nodes, np.int64)
    ready: dict[int, list[ReadyNodes]] = {}
    done = np.flatnonzero(arity == 0)
    number = 0
    while len(done):
        above_done = parent[ranges(first_parent[done], parents_of[done])]
        parents, edges = _counted(above_done, nodes)
        missing[parents] -= edges
        parents = parents[missing[parents] == 0]
        widths = arity[parents]
        for width in np.flatnonzero(np.bincount(widths)).tolist():
            of_width = parents[widths == width]
            ready.setdefault(width, []).append(ReadyNodes(of_width, int(above[of_width].max())))
        number += 1
        done = _most_urgent(ready)
        step[done] = number
    return step


class ReadyNodes(NamedTuple):
    """Nodes of one arity that became ready together."""

    nodes: np.ndarray
    way_up: int
    """The edges of the longest way from one of them up to a root."""


def _counted(numbers: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """The different ones of some numbers below a limit, ascending, and how often each occurs."""
    if limit > 16 * len(numbers) + 4096:  # to count all would take longer than to sort few
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers, minlength=limit)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]


def _most_urgent(ready: dict[int, list[ReadyNodes]]) -> np.ndarray:
    """The ready nodes of the arity that has the one with the longest way up; they are ready no more."""
    if not ready:
        return np.empty(0, np.int64)
    urgent = max(ready, key=lambda width: max(group.way_up for group in ready[width]))
    return np.concatenate([group.nodes for group in ready.pop(urgent)])


def way_up(level: np.ndarray, parent: np.ndarray, child: np.ndarray) -> np.ndarray:
    """(R,) int64, the edges of the longest way from each node up to a root."""
    above = np.zeros(len(level), np.int64)
    order = np.argsort(-level[parent], kind="stable")
    for first, last in run_lengths(level[parent[order]]):
        edges = order[first:last]
        np.maximum.at(above, child[edges], above[parent[edges]] + 1)
    return above


MOST_ROWS = 8192
"""Rows of a step: what it computes on the way is then small next to the states of a large batch."""


@dataclass
class Step:
    """Rows ``start:stop``: nodes that are computed together, sorted by function."""

    start: int
    stop: int
    arity: int | None
    """None if the rows have different arities."""
    edges: slice
    """The step's edges among those of the schedule."""
    segments: Segments
    """Counted from ``start``."""
    edge_segments: Segments
    """The runs of edges whose parents have one function; empty if the arity says it."""


@dataclass
class Schedule(Movable):
    """The private order of a batch: rows sorted by (step, function), those that a pass begins with first.

    So a step's outputs are a slice, and its children one gather. On the way up a pass begins with the leaves, and the
    edges of a step lie row after row. On the way down (:func:`downward_schedule`) it begins with the nodes without
    parents, which are the "leaves" here; rows read their parents, and the edges of a step are sorted by matrix.
    """

    node: Tensor
    """(R,) int64: the node that each row computes; R < N if subtrees are shared."""
    row: Tensor
    """(N,) int64: the row of each node, in public numbering."""
    sources: Tensor
    """(edges,) int64, the rows that are read: step after step, upwards row after row, in slot order."""
    parent: Tensor
    """(edges,) int64: the rows that read, counted from the start of their step."""
    leaves: int
    """Rows ``0:leaves`` are leaves."""
    leaf_segments: Segments
    """The leaves' runs of rows with one function."""
    steps: list[Step]
    tokens_inside: bool
    """Whether any row that is not a leaf has a token."""
    slot: Tensor | None = field(default=None, kw_only=True)
    """(edges,) int64, the child's place among its siblings; None upwards, where the order of the edges says it."""
    ascending: Tensor | None = field(default=None, kw_only=True)
    """(edges,) int64, within each step the order that sorts ``parent``; None if it is sorted."""
    edge: Tensor | None = field(default=None, kw_only=True)
    """(E,) int64, the place here of each edge of the batch; None upwards, where it is computed if it is asked for."""
    kinds_of: tuple[bool, ...] | None = field(default=None, kw_only=True)
    """Downwards the cells that it is for: those with equal ``kinds_of``."""
    sources_on_cpu: np.ndarray = field(kw_only=True, compare=False)
    """``sources``, wherever those are: gathers are planned without waiting for a device."""
    gathers: GatherPlan | None = field(default=None, kw_only=True)
    """Made by :meth:`with_gathers`; passes through kernels need none."""

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.node)

    def with_leaf_step(self) -> "Schedule":
        """This schedule with its leaves as a first step, without edges; of those that have steps."""
        arity = None if self.steps[0].arity is None else 0
        step = Step(0, self.leaves, arity, slice(0, 0), self.leaf_segments, [])
        return replace(self, leaves=0, leaf_segments=[], steps=[step, *self.steps])

    @property
    def device(self) -> torch.device:
        return self.node.device

    def with_gathers(self) -> GatherPlan:
        """The gathers of a pass that autograd records; planned on the CPU, and once."""
        if self.gathers is not None:
            return self.gathers
        with outside_transforms():
            # Block 0 is what a pass begins with, block k what step k computes.
            blocks = len(self.steps) + 1
            bounds = np.array([0, *(step.start for step in self.steps), len(self)])
            widths = [step.edges.stop - step.edges.start for step in self.steps]
            sources = self.sources_on_cpu
            source = np.searchsorted(bounds, sources, side="right") - 1
            reader = np.repeat(np.arange(1, blocks), widths)
            made = gather_plan(blocks, source, sources - bounds[source], reader)
            self.gathers = made.to(self.device)
        return self.gathers

    def edge_rows(self, batch: TreeBatch) -> Tensor:
        """(E,) int64: where each edge of the batch lies among those of the schedule, laid one after another."""
        if self.edge is not None:
            return self.edge
        arity = batch.arity[self.node]
        first = arity.cumsum(0) - arity
        return first[self.row[batch.parent_index]] + batch.slot

    def map(self, function: Callable[[Tensor], Tensor]) -> "Schedule":
        mapped: dict[str, Any] = {
            name: function(value) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        gathers = None if self.gathers is None else self.gathers.map(function)
        return replace(self, **mapped, gathers=gathers)


def schedule(batch: TreeBatch, share: bool = False, by_arity: bool = True) -> Schedule:
    """The schedule of a batch. With ``share``, equal subtrees (function, token, value, x) get one row.

    A step has one arity (see schedule.py). ``by_arity=False`` makes one step a level, whatever the arities, for
    cells that add up their children. Planned with numpy on the CPU; the index tensors go to the batch's device.
    """
    flat = batch.to("cpu")
    level = flat.level.numpy()
    arity = flat.arity.numpy()
    function = flat.function.numpy()
    pointer = flat.child_ptr.numpy()
    child = flat.child_index.numpy()
    node, row = distinct_rows(twins(flat) if share else np.arange(len(level)))
    if by_arity:
        parent, edge = _edges(arity[node], pointer[node])
        step = step_numbers(level[node], arity[node], parent, row[child[edge]])
    else:
        step = level[node]
    order = np.lexsort((function[node], step))
    node = node[order]
    row = inverse(order)[row]
    parent, edge = _edges(arity[node], pointer[node])
    steps = _steps(step[order], arity[node], function[node], parent, by_arity)
    leaves = int((level[node] == 0).sum())
    sources = row[child[edge]]
    made = Schedule(
        node=torch.from_numpy(node),
        row=torch.from_numpy(row),
        sources=torch.from_numpy(sources),
        parent=torch.from_numpy(parent),
        leaves=leaves,
        leaf_segments=runs_of(function[node[:leaves]]),
        steps=steps,
        tokens_inside=bool((flat.token.numpy()[node[leaves:]] != NO_TOKEN).any()),
        sources_on_cpu=sources,
    )
    return made.to(batch.device)


def distinct_rows(first_equal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(R,) the nodes that are the first of their equals, and (N,) the index among them of every node's first equal."""
    node = np.flatnonzero(first_equal == np.arange(len(first_equal)))
    index = np.empty(len(first_equal), np.int64)
    index[node] = np.arange(len(node))
    return node, index[first_equal]


def inverse(order: np.ndarray) -> np.ndarray:
    """The inverse of a permutation."""
    inverted = np.empty_like(order)
    inverted[order] = np.arange(len(order))
    return inverted


def _steps(step: np.ndarray, arity: np.ndarray, function: np.ndarray, parent: np.ndarray, by_arity: bool) -> list[Step]:
    """The runs of rows with one step number, without the leaves'; counts ``parent`` from the start of each."""
    steps = []
    last_edge = np.cumsum(arity)
    pieces = list(pieces_of(step))
    for (start, stop), segments in zip(pieces, runs_of_pieces(pieces, function), strict=True):
        width = int(arity[start])
        if not width:
            continue
        edges = slice(int(last_edge[start]) - width, int(last_edge[stop - 1]))
        parent[edges] -= start
        edge_segments = [] if by_arity else runs_of(function[start:stop][parent[edges]])
        steps.append(Step(start, stop, width if by_arity else None, edges, segments, edge_segments))
    return steps


def runs_of_pieces(pieces: list[tuple[int, int]], function: np.ndarray) -> list[Segments]:
    """The runs of rows with one function within each of the pieces, which make up all rows."""
    number = np.repeat(np.arange(len(pieces)), [stop - start for start, stop in pieces])
    runs = run_lengths(number, function)
    firsts = [first for first, _ in runs]
    segments: list[Segments] = [[] for _ in pieces]
    for k, f, (first, last) in zip(number[firsts].tolist(), function[firsts].tolist(), runs, strict=True):
        start, _ = pieces[k]
        segments[k].append((f, first - start, last - start))
    return segments


def pieces_of(step: np.ndarray) -> Iterator[tuple[int, int]]:
    """The runs of one step number, those of many rows in pieces."""
    for first, last in run_lengths(step):
        for start in range(first, last, MOST_ROWS):
            yield start, min(start + MOST_ROWS, last)


def _edges(arity: np.ndarray, pointer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(edges,) the parent's position, and the edge's place in ``child_index``, of nodes with these pointers."""
    parent = np.repeat(np.arange(len(arity)), arity)
    first = np.cumsum(arity) - arity
    return parent, np.arange(len(parent)) + (pointer - first)[parent]


def runs_of(function: np.ndarray) -> Segments:
    return [(int(function[start]), start, stop) for start, stop in run_lengths(function)]


# ---------------------------------------------------------------------------------------------------------------------
# A batch to steps from the roots down: the schedule of the other direction, over the same rows and edges.


def downward_schedule(batch: TreeBatch, cell: DownwardContract, share: bool = False) -> Schedule:
    """The schedule of a batch for cells like this one; planned on the CPU, its index tensors go to the batch's device.

    Rows are sorted by (longest way from a node without parents, function): those nodes first. The ``sources`` of a row
    are its parents, from which it gets its state. With ``share``, equal subtrees in equal contexts get one row: what a
    node gets depends on all that is above it.
    """
    flat = batch.to("cpu")
    function = flat.function.numpy()
    child = flat.child_index.numpy()
    parent = flat.parent_index.numpy()
    slot = flat.slot.numpy()
    depth = way_up(flat.level.numpy(), parent, child)
    node, row = distinct_rows(_contexts(twins(flat), depth, child, parent, slot) if share else np.arange(len(depth)))
    order = np.lexsort((function[node], depth[node]))
    node = node[order]
    row = inverse(order)[row]
    kind = cell.kinds(flat.function[flat.parent_index], flat.slot).numpy()
    pieces = list(pieces_of(depth[node]))
    piece = np.repeat(np.arange(len(pieces)), [stop - start for start, stop in pieces])
    # Where rows are shared, one of the equal nodes brings the edges. Those of a step are sorted by matrix.
    kept = np.flatnonzero(node[row[child]] == child)
    receiver = row[child[kept]]
    by_matrix = np.lexsort((receiver, kind[kept], piece[receiver]))
    kept = kept[by_matrix]
    receiver = receiver[by_matrix]
    first_edge = np.searchsorted(piece[receiver], np.arange(len(pieces) + 1)).tolist()
    steps = []
    ascending = np.empty(len(kept), np.int64)
    for k, segments in enumerate(runs_of_pieces(pieces, function[node])):
        start, stop = pieces[k]
        if depth[node[start]]:
            edges = slice(first_edge[k], first_edge[k + 1])
            receiver[edges] -= start
            ascending[edges] = np.argsort(receiver[edges], kind="stable")
            steps.append(Step(start, stop, None, edges, segments, runs_of(kind[kept[edges]])))
    roots = int((depth[node] == 0).sum())
    sources = row[parent[kept]]
    made = Schedule(
        node=torch.from_numpy(node),
        row=torch.from_numpy(row),
        sources=torch.from_numpy(sources),
        parent=torch.from_numpy(receiver),
        leaves=roots,
        leaf_segments=runs_of(function[node[:roots]]),
        steps=steps,
        tokens_inside=False,
        slot=torch.from_numpy(slot[kept]),
        ascending=torch.from_numpy(ascending),
        edge=torch.from_numpy(_kept_edges(child, parent, slot, row, kept)),
        kinds_of=cell.kinds_of,
        sources_on_cpu=sources,
    )
    return made.to(batch.device)


def _kept_edges(
    child: np.ndarray, parent: np.ndarray, slot: np.ndarray, row: np.ndarray, kept: np.ndarray
) -> np.ndarray:
    """(E,) the index among the kept edges of every edge, or of one between the same rows at the same slot."""
    if len(kept) == len(child):
        return inverse(kept)
    ends = ranks(row[child] * len(row) + row[parent])
    keys = ranks(ends * (int(slot.max()) + 1) + slot)
    index_of_key = np.empty(int(keys.max()) + 1, np.int64)
    index_of_key[keys[kept]] = np.arange(len(kept))
    return index_of_key[keys]


def _contexts(
    twin: np.ndarray, depth: np.ndarray, child: np.ndarray, parent: np.ndarray, slot: np.ndarray
) -> np.ndarray:
    """(N,) for each node the first with an equal subtree and, above it, equal ways from nodes without parents."""
    n = len(depth)
    order = np.argsort(child, kind="stable")
    parents = np.bincount(child, minlength=n)
    pointer = np.cumsum(parents) - parents
    context = np.arange(n)
    slots = int(slot.max(initial=0)) + 1
    nodes = np.lexsort((parents, depth))
    for start, stop in run_lengths(depth[nodes], parents[nodes]):
        same = nodes[start:stop]
        edges = order[pointer[same][:, None] + np.arange(parents[same[0]])]
        # As in the refinement of partitions (Hopcroft 1971): nodes are alike if their parents are, which were done
        # before, and have the same slots. A set of ways is sorted, as parents have no order. Products stay below
        # n * (slots) and, after ranks, n^2, so that they fit into int64 up to three thousand million nodes.
        ways = np.sort(context[parent[edges]] * slots + slot[edges], 1)
        key = twin[same]
        for way in ways.T:
            key = ranks(key) * n + ranks(way)
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        context[same] = same[first[number]]
    return context
