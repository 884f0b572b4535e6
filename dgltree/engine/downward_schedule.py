"""A batch to steps from the roots down: the schedule of the other direction, over the same rows and edges."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.run_lengths import run_lengths
from dgltree.batching.subtrees import ranks, twins
from dgltree.cells import DownwardCell
from dgltree.engine.schedule import (
    Schedule,
    Step,
    StepEdges,
    distinct_rows,
    inverse,
    pieces_of,
    runs_of,
    runs_of_pieces,
)
from dgltree.engine.step_order import way_up


@dataclass
class DownwardSchedule(Schedule):
    """Rows sorted by (longest way from a node without parents, function): those nodes, the "leaves" of a pass, first.

    The ``sources`` of a row are its parents, from which it gets its state. The edges of a step are sorted by the
    matrix that they go through.
    """

    slot: Tensor
    """(edges,) int64, the child's place among its siblings."""
    ascending: Tensor
    """(edges,) int64, within each step the order that sorts ``parent``."""
    edge: Tensor
    """(E,) int64, the place here of each edge of the batch."""
    kinds_of: tuple[bool, ...]
    """Which cells it is for: those with equal ``kinds_of``."""

    def edges(self, step: Step) -> StepEdges:
        among = step.edges
        return StepEdges(self.sources[among], self.parent[among], self.slot[among], self.ascending[among])

    def edge_rows(self, batch: TreeBatch) -> Tensor:
        return self.edge

    def map(self, function: Callable[[Tensor], Tensor]) -> "DownwardSchedule":
        moved = super().map(function)
        slot, ascending, edge = map(function, (self.slot, self.ascending, self.edge))
        return DownwardSchedule(**vars(moved), slot=slot, ascending=ascending, edge=edge, kinds_of=self.kinds_of)


def downward_schedule(batch: TreeBatch, cell: DownwardCell, share: bool = False) -> DownwardSchedule:
    """The schedule of a batch for cells like this one; planned on the CPU, its index tensors go to the batch's device.

    With ``share``, equal subtrees in equal contexts get one row: what a node gets depends on all that is above it.
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
    roots = int((depth[node] == 0).sum())
    made = DownwardSchedule(
        node=torch.from_numpy(node),
        row=torch.from_numpy(row),
        sources=torch.from_numpy(row[parent[kept]]),
        parent=torch.from_numpy(receiver),
        leaves=roots,
        leaf_segments=runs_of(function[node[:roots]]),
        steps=steps,
        tokens_inside=False,
        slot=torch.from_numpy(slot[kept]),
        ascending=torch.from_numpy(ascending),
        edge=torch.from_numpy(_places(child, parent, slot, row, kept)),
        kinds_of=cell.kinds_of,
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
