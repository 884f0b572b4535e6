"""A batch to steps: which rows a cell computes together, in which order, and which equal subtrees share a row."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

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
# can
# wait, and be computed together with later ones. The next arity is always that of the ready node with the longest way
# up
# to a root, which nothing should make longer; equations need a quarter fewer steps than by (level, arity). The rule is
# greedy: for chains of unary and binary nodes the fewest steps are a shortest common supersequence of their arities,
# which is NP-hard (Räihä and Ukkonen 1981).


def step_numbers(level: np.ndarray, arity: np.ndarray, parent: np.ndarray, child: np.ndarray) -> np.ndarray:
    """(R,) int64, the step of each of R nodes: 0 for leaves, else 1, 2, ..., all nodes of a step having one arity.

    Args:
        level: (R,) of each node, one more than its highest child's.
        arity: (R,) of each node.
        parent, child: (E,) the nodes at the ends of each edge.
    """
    if (arity[arity > 0] == arity.max()).all():  # nothing to choose between: a node is ready when its level is due
        return level
    above = way_up(level, parent, child)
    order = np.argsort(child, kind="stable")
    parent = parent[order]
    stop = np.cumsum(np.bincount(child, minlength=len(level)))
    start = np.concatenate([[0], stop[:-1]])
    missing = arity.copy()
    step = np.zeros(len(level), np.int64)
    ready: dict[int, list[tuple[int, np.ndarray]]] = {}
    done, number = np.flatnonzero(arity == 0), 0
    while len(done):
        parents, edges = _counted(parent[ranges(start[done], stop[done] - start[done])], len(level))
        missing[parents] -= edges
        parents = parents[missing[parents] == 0]
        widths = arity[parents]
        for width in np.flatnonzero(np.bincount(widths)).tolist():
            nodes = parents[widths == width]
            ready.setdefault(width, []).append((int(above[nodes].max()), nodes))
        number += 1
        done = _most_urgent(ready)
        step[done] = number
    return step


def _counted(numbers: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """The different ones of some numbers below a limit, ascending, and how often each occurs."""
    if limit > 16 * len(numbers) + 4096:  # to count all would take longer than to sort few
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers, minlength=limit)
    found = np.flatnonzero(counts)
    return found, counts[found]


def _most_urgent(ready: dict[int, list[tuple[int, np.ndarray]]]) -> np.ndarray:
    """The ready nodes of the arity that has the one with the longest way up; they are ready no more."""
    if not ready:
        return np.empty(0, np.int64)
    urgent = max(ready, key=lambda width: max(way for way, _ in ready[width]))
    return np.concatenate([nodes for _, nodes in ready.pop(urgent)])


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
    """The places of its edges among those of the schedule."""
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

    def with_gathers(self) -> "Schedule":
        """This schedule, with a plan of the gathers of a pass that autograd records; made on the CPU, and once."""
        if self.gathers is None:
            with outside_transforms():
                sources = self.sources_on_cpu
                bounds = np.array([0, *(step.start for step in self.steps), len(self)])
                widths = [step.edges.stop - step.edges.start for step in self.steps]
                reader = np.repeat(np.arange(1, len(self.steps) + 1), widths)
                block = np.searchsorted(bounds, sources, side="right") - 1
                made = gather_plan(len(self.steps) + 1, block, sources - bounds[block], reader)
                self.gathers = made.to(self.device)
        return self

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
    level, arity, function = (t.numpy() for t in (flat.level, flat.arity, flat.function))
    pointer, child = flat.child_ptr.numpy(), flat.child_index.numpy()
    every = np.arange(len(level))
    twin = twins(flat) if share else every
    node, row = distinct_rows(twin)
    if by_arity:
        parent, edge = _edges(arity[node], pointer[node])
        step = step_numbers(level[node], arity[node], parent, row[child[edge]])
    else:
        step = level[node]
    order = np.lexsort((function[node], step))
    node, row = node[order], inverse(order)[row]
    parent, edge = _edges(arity[node], pointer[node])
    steps = _steps(step[order], arity[node], function[node], parent, by_arity)
    leaves = int((level[node] == 0).sum())
    sources = row[child[edge]]
    tensors = [torch.from_numpy(index) for index in (node, row, sources, parent)]
    inside = bool((flat.token.numpy()[node[leaves:]] != NO_TOKEN).any())
    segments = runs_of(function[node[:leaves]])
    made = Schedule(
        node=tensors[0],
        row=tensors[1],
        sources=tensors[2],
        parent=tensors[3],
        leaves=leaves,
        leaf_segments=segments,
        steps=steps,
        tokens_inside=inside,
        sources_on_cpu=sources,
    )
    return made.to(batch.device)


def distinct_rows(twin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(R,) the nodes that are their own twin, and (N,) the place among them of every node's twin."""
    node = np.flatnonzero(twin == np.arange(len(twin)))
    place = np.empty(len(twin), np.int64)
    place[node] = np.arange(len(node))
    return node, place[twin]


def inverse(order: np.ndarray) -> np.ndarray:
    """The inverse of a permutation."""
    found = np.empty_like(order)
    found[order] = np.arange(len(order))
    return found


def _steps(step: np.ndarray, arity: np.ndarray, function: np.ndarray, parent: np.ndarray, by_arity: bool) -> list[Step]:
    """The runs of rows with one step number, without the leaves'; counts ``parent`` from the start of each."""
    stops = np.cumsum(arity)
    steps, pieces = [], list(pieces_of(step))
    for (start, stop), segments in zip(pieces, runs_of_pieces(pieces, function), strict=True):
        if not arity[start]:
            continue
        width = int(arity[start])
        edges = slice(int(stops[start]) - width, int(stops[stop - 1]))
        parent[edges] -= start
        if by_arity:
            steps.append(Step(start, stop, width, edges, segments, []))
        else:
            steps.append(Step(start, stop, None, edges, segments, runs_of(function[start:stop][parent[edges]])))
    return steps


def runs_of_pieces(pieces: list[tuple[int, int]], function: np.ndarray) -> list[Segments]:
    """The runs of rows with one function within each of the pieces, which make up all rows."""
    number = np.repeat(np.arange(len(pieces)), [stop - start for start, stop in pieces])
    runs = run_lengths(number, function)
    firsts = [first for first, _ in runs]
    found: list[Segments] = [[] for _ in pieces]
    for k, name, (first, last) in zip(number[firsts].tolist(), function[firsts].tolist(), runs, strict=True):
        start, _ = pieces[k]
        found[k].append((name, first - start, last - start))
    return found


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
    function, child, parent, slot = (
        each.numpy() for each in (flat.function, flat.child_index, flat.parent_index, flat.slot)
    )
    depth = way_up(flat.level.numpy(), parent, child)
    every = np.arange(len(depth))
    node, row = distinct_rows(_contexts(twins(flat), depth, child, parent, slot)) if share else (every, every)
    order = np.lexsort((function[node], depth[node]))
    node, row = node[order], inverse(order)[row]
    kind = cell.kinds(flat.function[flat.parent_index], flat.slot).numpy()
    pieces = list(pieces_of(depth[node]))
    piece = np.repeat(np.arange(len(pieces)), [stop - start for start, stop in pieces])
    kept = np.flatnonzero(node[row[child]] == child)
    kept = kept[np.lexsort((row[child[kept]], kind[kept], piece[row[child[kept]]]))]
    receiver = row[child[kept]]
    edges = np.searchsorted(piece[receiver], np.arange(len(pieces) + 1)).tolist()
    steps, ascending = [], np.empty(len(kept), np.int64)
    for k, ((start, stop), segments) in enumerate(zip(pieces, runs_of_pieces(pieces, function[node]), strict=True)):
        if depth[node[start]]:
            among = slice(edges[k], edges[k + 1])
            receiver[among] -= start
            ascending[among] = np.argsort(receiver[among], kind="stable")
            steps.append(Step(start, stop, None, among, segments, runs_of(kind[kept[among]])))
    roots, sources = int((depth[node] == 0).sum()), row[parent[kept]]
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
        edge=torch.from_numpy(_places(child, parent, slot, row, kept)),
        kinds_of=cell.kinds_of,
        sources_on_cpu=sources,
    )
    return made.to(batch.device)


def _places(child: np.ndarray, parent: np.ndarray, slot: np.ndarray, row: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """(E,) the place among the kept edges of every edge, or of one between the same rows at the same slot."""
    place = np.empty(len(child), np.int64)
    place[kept] = np.arange(len(kept))
    if len(kept) < len(child):
        keys = ranks(ranks(row[child] * len(row) + row[parent]) * (int(slot.max()) + 1) + slot)
        of_key = np.empty(int(keys.max()) + 1, np.int64)
        of_key[keys[kept]] = place[kept]
        place = of_key[keys]
    return place


def _contexts(
    twin: np.ndarray, depth: np.ndarray, child: np.ndarray, parent: np.ndarray, slot: np.ndarray
) -> np.ndarray:
    """(N,) for each node the first with an equal subtree and, above it, equal ways from nodes without parents."""
    n = len(depth)
    order = np.argsort(child, kind="stable")
    parents = np.bincount(child, minlength=n)
    pointer = np.cumsum(parents) - parents
    context, wide = np.arange(n), int(slot.max(initial=0)) + 1
    nodes = np.lexsort((parents, depth))
    for start, stop in run_lengths(depth[nodes], parents[nodes]):
        same = nodes[start:stop]
        edges = order[pointer[same][:, None] + np.arange(parents[same[0]])]
        # As in the refinement of partitions (Hopcroft 1971): nodes are alike if their parents are, which were done
        # before, and have the same slots. A set of ways is sorted, as parents have no order. Products stay below
        # n * (slots) and, after ranks, n^2, so that they fit into int64 up to three thousand million nodes.
        ways = np.sort(context[parent[edges]] * wide + slot[edges], 1)
        key = twin[same]
        for way in ways.T:
            key = ranks(key) * n + ranks(way)
        _, first, inverse_ = np.unique(key, return_index=True, return_inverse=True)
        context[same] = same[first[inverse_]]
    return context
