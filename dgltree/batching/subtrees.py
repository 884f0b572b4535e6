"""Duplicate subtrees: which subtrees of a batch are equal."""

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.runs import runs


def number_subtrees(batch: TreeBatch) -> TreeBatch:
    """The same batch with ``subtree``, for a data set: all that ``dgltree.select`` takes of it knows its duplicates.

    What ``dataclasses.replace`` makes of a batch knows them no more.
    """
    return batch.with_subtrees(subtree_numbers(batch))


def subtree_numbers(batch: TreeBatch) -> Tensor:
    """(N,) int64: equal numbers for the roots of equal subtrees."""
    return batch.subtree if batch.subtree is not None else torch.from_numpy(_first_equal(batch)).to(batch.device)


def twins(batch: TreeBatch) -> np.ndarray:
    """(N,) int64: for each node the first that roots an equal subtree: same function, token, value and x."""
    if batch.subtree is None:
        return _first_equal(batch)
    _, first, inverse = np.unique(batch.subtree.cpu().numpy(), return_index=True, return_inverse=True)
    return first[inverse]


def _first_equal(batch: TreeBatch) -> np.ndarray:
    level, arity = batch.level.cpu().numpy(), batch.arity.cpu().numpy()
    pointer, child = batch.child_ptr.cpu().numpy(), batch.child_index.cpu().numpy()
    n = len(level)
    own = _ranks(batch.function.cpu().numpy() * (int(batch.token.max()) + 2) + batch.token.cpu().numpy())
    if batch.value is not None:
        bits = (batch.value.cpu().numpy() + 0.0).view(np.int64)  # -0.0 and 0.0 are equal
        own = _ranks(own * n + _ranks(bits))
    if batch.x is not None:
        _, same = np.unique(batch.x.detach().cpu().numpy(), axis=0, return_inverse=True)
        own = _ranks(own * n + same)
    twin = np.arange(n)
    order = np.lexsort((arity, level))
    for start, stop in runs(level[order], arity[order]):
        nodes = order[start:stop]
        key = own[nodes]
        for slot in range(int(arity[nodes[0]])):
            key = _ranks(key * n + twin[child[pointer[nodes] + slot]])
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        twin[nodes] = nodes[first[inverse]]
    return twin


def _ranks(key: np.ndarray) -> np.ndarray:
    """Equal entries get equal numbers from 0, so that products of two such keys stay within int64."""
    return np.unique(key, return_inverse=True)[1]
