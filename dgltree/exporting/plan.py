"""The tables by which an exported graph runs along trees: which rows it computes in which turn, and what these read.

A row is a node, or several that are equal subtrees. Leaves come first. Inner rows are cut into runs: rows of one group
of functions, which have one arity and the same weights, and whose children come in earlier runs. The state of an inner
row is kept in a slot, which is free again when all rows that read it are computed. A state has a place: the number of a
leaf, or the number of leaves and a slot.
"""

from typing import NamedTuple

import numpy as np

from dgltree.batching.batch import TreeBatch
from dgltree.cells import Cell
from dgltree.engine.schedule import Schedule, schedule
from dgltree.engine.typed_linear import Segments

Tables = dict[str, np.ndarray]
"""The arrays of one run of a graph, by the names of its inputs."""


class RowGroup(NamedTuple):
    """Functions whose rows the same weights compute."""

    function: int
    """One of them."""
    piece: str
    """The part of the model that computes them, ``leaf``, ``step_any`` or ``step_`` and the arity."""


def input_names(cell: Cell) -> list[str]:
    """Return the names of the tables that a cell's graph reads, all int64 but ``number`` float64.

    ``function``, ``token`` (-1 for none) and ``number`` (NaN for none), (rows,); ``leaf_runs`` (runs, 3), first and
    last leaf and group; ``runs`` (runs, 5), first and last inner row, counted from 0, group, first and last edge;
    ``slots`` (inner rows,); ``children`` (edges,) places; ``roots`` (trees,) places. For cells that add up their
    children ``parents`` (edges,), inner rows, and ``positions`` (edges,) among siblings. The last of a range is not
    part of it.
    """
    numbers = ["number"] if cell.numbers else []
    of_edges = ["parents", "positions"] if cell.any_arity else []
    return ["function", "token", *numbers, "leaf_runs", "runs", "slots", "children", *of_edges, "roots"]


def groups_of(cell: Cell) -> tuple[list[RowGroup], list[int]]:
    """Return the groups of a cell's functions, and for each function id the number of its group."""
    groups: list[RowGroup] = []
    numbers: dict[object, int] = {}
    group_of: list[int] = []
    for function, (_, arity) in enumerate(cell.vocabulary.functions):
        key = cell.key(arity)
        maps = [linear for name, linear in cell.named_maps().items() if name.endswith(f"_{key}")]
        signature = (key, *(linear.position.get(function) for linear in maps))
        if signature not in numbers:
            numbers[signature] = len(groups)
            groups.append(RowGroup(function, "leaf" if arity == 0 else f"step_{key}"))
        group_of.append(numbers[signature])
    return groups, group_of


def tables_of(batch: TreeBatch, cell: Cell, group_of: list[int]) -> Tables:
    """Return the tables of a batch in the cell's vocabulary; equal subtrees are one row."""
    steps = schedule(batch, share=True, by_arity=not cell.any_arity)
    leaves = steps.leaves
    node = steps.node
    sources = steps.sources.numpy()
    numbers = batch.within(cell.vocabulary).numbers
    runs = _runs(steps, batch.arity[node].numpy(), group_of)
    slots = _slots(steps, runs, sources, steps.row[batch.roots].numpy())
    place = np.concatenate([np.arange(leaves), leaves + slots])
    found = {
        "function": batch.function[node].numpy().astype(np.int64),
        "token": batch.token[node].numpy().astype(np.int64),
        "number": np.full(len(node), np.nan) if numbers is None else numbers[node].numpy(),
        "leaf_runs": np.array(_joined(steps.leaf_segments, group_of, 0), np.int64).reshape(-1, 3),
        "runs": runs,
        "slots": slots,
        "children": place[sources],
        "parents": steps.parent.numpy() + np.repeat(*_starts(steps)),
        "positions": batch.slot.numpy()[_edges(batch, node.numpy())],
        "roots": place[steps.row[batch.roots].numpy()],
    }
    return {name: np.ascontiguousarray(found[name]) for name in input_names(cell)}


def _joined(segments: Segments, group_of: list[int], start: int) -> list[tuple[int, int, int]]:
    """Join neighbouring segments of one group; (first row, last row, group), rows counted on from ``start``."""
    joined: list[tuple[int, int, int]] = []
    for function, first, last in segments:
        group = group_of[function]
        first += start
        if joined and joined[-1][2] == group:
            first = joined.pop()[0]
        joined.append((first, last + start, group))
    return joined


def _runs(steps: Schedule, arity: np.ndarray, group_of: list[int]) -> np.ndarray:
    """Return (runs, 5) int64, as :func:`input_names` says."""
    edges = np.concatenate([[0], np.cumsum(arity[steps.leaves :])])
    found = [
        (first, last, group, edges[first], edges[last])
        for step in steps.steps
        for first, last, group in _joined(step.segments, group_of, step.start - steps.leaves)
    ]
    return np.array(found, np.int64).reshape(-1, 5)


def _starts(steps: Schedule) -> tuple[list[int], list[int]]:
    """Return the first inner row of each step, and how many edges lead to its rows."""
    starts = [step.start - steps.leaves for step in steps.steps]
    return starts, [step.edges.stop - step.edges.start for step in steps.steps]


def _edges(batch: TreeBatch, node: np.ndarray) -> np.ndarray:
    """Return (edges,) int64, the number in the batch of each edge to the children of these nodes."""
    first = batch.child_ptr.numpy()[node]
    arity = batch.arity.numpy()[node]
    ends = np.cumsum(arity)
    return np.arange(arity.sum()) + np.repeat(first - (ends - arity), arity)


def _slots(steps: Schedule, runs: np.ndarray, sources: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return (inner rows,) int64, the slot of each: that of a state which nobody reads any more, or a new one."""
    leaves = steps.leaves
    readers = np.bincount(sources, minlength=len(steps)).tolist()
    for root in roots.tolist():
        readers[root] += 1  # who reads the answers
    slots: list[int] = []
    free: list[int] = []
    count = 0
    for first, last, _, first_edge, last_edge in runs.tolist():
        # A run reads its children before it writes its own states, so these may take their slots.
        for child in sources[first_edge:last_edge].tolist():
            readers[child] -= 1
            if child >= leaves and not readers[child]:
                free.append(slots[child - leaves])
        for _ in range(first, last):
            if not free:
                free.append(count)
                count += 1
            slots.append(free.pop())
    return np.array(slots, np.int64)
