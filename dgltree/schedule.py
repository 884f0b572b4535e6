"""A batch to steps: which rows a cell computes together, in which order, and which equal subtrees share a row."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dgltree.batch import TreeBatch

Segments = list[tuple[int, int, int]]
"""``(function id, start, stop)``: runs of rows with one function."""


@dataclass
class Step:
    """Rows ``start:stop``: nodes of one level and one arity, sorted by function."""

    start: int
    stop: int
    arity: int
    children: Tensor
    """(rows * arity,) int64, rows of the children, row after row in slot order."""
    segments: Segments
    """Counted from ``start``."""


@dataclass
class Schedule:
    """The private order of a batch: rows sorted by (level, arity, function), leaves first.

    So a step's outputs are a slice, and its children one gather.
    """

    node: Tensor
    """(R,) int64: the node that each row computes; R < N where subtrees are shared."""
    row: Tensor
    """(N,) int64: the row of each node, in public numbering."""
    leaves: int
    """Rows ``0:leaves`` are leaves."""
    steps: list[Step]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.node)


def schedule(batch: TreeBatch, share: bool = False) -> Schedule:
    """Plan a batch. With ``share``, equal subtrees (function, token, value, x) get one row.

    Planned with numpy on the CPU; the index tensors go to the batch's device.
    """
    level, arity, function = (t.cpu().numpy() for t in (batch.level, batch.arity, batch.function))
    pointer, child = batch.child_ptr.cpu().numpy(), batch.child_index.cpu().numpy()
    twin = _equal_subtrees(batch, level, arity, pointer, child) if share else np.arange(len(level))
    node = np.flatnonzero(twin == np.arange(len(level)))
    node = node[np.lexsort((function[node], arity[node], level[node]))]
    row = np.empty(len(level), np.int64)
    row[node] = np.arange(len(node))
    row = row[twin]
    leaves = int((level[node] == 0).sum())
    steps = []
    for start, stop in _runs(level[node], arity[node]):
        if start < leaves:
            continue
        nodes, width = node[start:stop], int(arity[node[start]])
        kids = row[child[pointer[nodes][:, None] + np.arange(width)]].ravel()
        ids = function[nodes]
        segments = [(int(ids[a]), a, b) for a, b in _runs(ids)]
        steps.append(Step(start, stop, width, torch.from_numpy(kids).to(batch.device), segments))
    device = batch.device
    return Schedule(torch.from_numpy(node).to(device), torch.from_numpy(row).to(device), leaves, steps)


def _runs(*keys: np.ndarray) -> list[tuple[int, int]]:
    """``(start, stop)`` of the runs in which all keys stay the same."""
    n = len(keys[0])
    changed = np.zeros(n, bool)
    changed[:1] = True
    for key in keys:
        changed[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(changed).tolist()
    return list(zip(starts, [*starts[1:], n], strict=True))


def _equal_subtrees(
    batch: TreeBatch, level: np.ndarray, arity: np.ndarray, pointer: np.ndarray, child: np.ndarray
) -> np.ndarray:
    """(N,) int64: for each node the first node, in (level, arity) order, that roots an equal subtree."""
    n = len(level)
    own = _numbered(batch.function.cpu().numpy() * (int(batch.token.max()) + 2) + batch.token.cpu().numpy())
    if batch.value is not None:
        bits = (batch.value.cpu().numpy() + 0.0).view(np.int64)  # -0.0 is the number 0.0
        own = _numbered(own * n + _numbered(bits))
    if batch.x is not None:
        _, same = np.unique(batch.x.detach().cpu().numpy(), axis=0, return_inverse=True)
        own = _numbered(own * n + same)
    twin = np.arange(n)
    order = np.lexsort((arity, level))
    for start, stop in _runs(level[order], arity[order]):
        nodes = order[start:stop]
        key = own[nodes]
        for slot in range(int(arity[nodes[0]])):
            key = _numbered(key * n + twin[child[pointer[nodes] + slot]])
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        twin[nodes] = nodes[first[inverse]]
    return twin


def _numbered(key: np.ndarray) -> np.ndarray:
    """Equal entries get equal numbers from 0, so that products of two such keys stay within int64."""
    return np.unique(key, return_inverse=True)[1]
