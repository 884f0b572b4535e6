"""Which nodes are computed in one step: the ready ones of one arity, that of the longest way up to a root.

Step after step all nodes of one arity are computed whose children are done. That need not be level by level: a node can
wait, and be computed together with later ones. The next arity is always that of the ready node with the longest way up
to a root, which nothing should make longer; equations need a quarter fewer steps than by (level, arity). The rule is
greedy: for chains of unary and binary nodes the fewest steps are a shortest common supersequence of their arities,
which is NP-hard (Räihä and Ukkonen 1981).
"""

import numpy as np

from dgltree.batching.run_lengths import ranges, run_lengths


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
