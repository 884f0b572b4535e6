"""Duplicate subtrees: which subtrees of a batch are equal."""

import hashlib
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.run_lengths import run_lengths
from dgltree.batching.vocabulary import NO_LABEL, Vocabulary


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


class Named(NamedTuple):
    """A vocabulary as :func:`digests` reads it: equal names have equal numbers in all vocabularies."""

    functions: np.ndarray
    """(F,) uint64."""
    tokens: np.ndarray
    """(T + 1,) uint64; the last, by its number -1, is that of no token."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "Named":
        functions = [_named(f"f {name}") for name, _ in vocabulary.functions]
        tokens = [*(_named(f"t {token}") for token in vocabulary.tokens), _named("none")]
        return cls(np.array(functions, np.uint64), np.array(tokens, np.uint64))


def digests(batch: TreeBatch, named: Named) -> np.ndarray:
    """(N,) uint64: equal for equal subtrees, whatever batches they are in; of other pairs one in 2^64 is equal, too.

    For data that is never in memory as one batch; :func:`subtree_numbers` is exact. Input vectors are not looked at.
    """
    level, arity = batch.level.numpy(), batch.arity.numpy()
    pointer, child = batch.child_ptr.numpy(), batch.child_index.numpy()
    value = np.full(len(level), np.nan) if batch.value is None else batch.value.numpy() + 0.0  # -0.0 and 0.0 are equal
    own = scattered(named.functions[batch.function.numpy()] + arity.astype(np.uint64))
    own = scattered(own ^ named.tokens[batch.token.numpy()])
    found = scattered(own ^ value.view(np.uint64))
    order = np.lexsort((arity, level))
    for start, stop in run_lengths(level[order], arity[order]):
        nodes = order[start:stop]
        for slot in range(int(arity[nodes[0]])):
            found[nodes] = scattered(found[nodes] + scattered(found[child[pointer[nodes] + slot]]))
    return found


def _named(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def scattered(key: np.ndarray) -> np.ndarray:
    """Each bit depends on all bits: the last step of SplitMix64 (Steele, Lea and Flood 2014), a permutation."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def _first_equal(batch: TreeBatch) -> np.ndarray:
    """Common subexpressions by numbers from the leaves up (Downey, Sethi and Tarjan 1980).

    Not by hashes, which may be equal by chance.
    """
    level, arity = batch.level.cpu().numpy(), batch.arity.cpu().numpy()
    pointer, child = batch.child_ptr.cpu().numpy(), batch.child_index.cpu().numpy()
    n = len(level)
    own = ranks(batch.function.cpu().numpy() * (int(batch.token.max()) + 2) + batch.token.cpu().numpy())
    for numbers in (batch.value, None if batch.numbers is batch.value else batch.numbers):
        if numbers is not None:  # equal ones at places of other scales are not read alike
            bits = (numbers.cpu().numpy() + 0.0).view(np.int64)  # -0.0 and 0.0 are equal
            own = ranks(own * n + ranks(bits))
    if batch.x is not None:
        _, same = np.unique(batch.x.detach().cpu().numpy(), axis=0, return_inverse=True)
        own = ranks(own * n + same)
    twin = np.arange(n)
    most = np.iinfo(np.int64).max // n
    order = np.lexsort((arity, level))
    for start, stop in run_lengths(level[order], arity[order]):
        nodes = order[start:stop]
        # A node and the first twins of its children are the digits of one number with the base n. Ranks take it back
        # below n before a digit more would leave int64: then equal keys still are equal subtrees.
        key, bound = own[nodes], n
        for slot in range(int(arity[nodes[0]])):
            if bound > most:
                key, bound = ranks(key), n
            key = key * n + twin[child[pointer[nodes] + slot]]
            bound *= n
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        twin[nodes] = nodes[first[inverse]]
    return twin


def ranks(key: np.ndarray) -> np.ndarray:
    """Equal entries get equal numbers from 0, so that products of two such keys stay within int64."""
    return np.unique(key, return_inverse=True)[1]


# ---------------------------------------------------------------------------------------------------------------------
# Batches with one node for equal subtrees: a graph in which a node has as many parents as contexts.


class Entangled(NamedTuple):
    """The graph of the distinct subtrees of a batch."""

    batch: TreeBatch
    """R nodes, as one graph; its roots are the nodes without a parent, and it has no labels."""
    node: Tensor
    """(N,) int64, for each node of the batch that it was made of its node in the graph."""


def entangle(batch: TreeBatch) -> Entangled:
    """One node for all equal subtrees of a batch: same function, token, value and x; linear in nodes and edges.

    A tree that occurs inside another is not a root of the graph: on the way down it gets its state from above, the mean
    over all its contexts (Opper & Siddharth 2024, Banyan, arXiv 2407.17771).
    """
    flat = batch.to("cpu")
    twin = twins(flat)
    kept = np.flatnonzero(twin == np.arange(len(twin)))
    place = np.empty(len(twin), np.int64)
    place[kept] = np.arange(len(kept))
    node = place[twin]
    arity, pointer = flat.arity.numpy()[kept], flat.child_ptr.numpy()[kept]
    child_ptr = np.concatenate([[0], np.cumsum(arity)])
    edges = np.arange(child_ptr[-1]) + np.repeat(pointer - child_ptr[:-1], arity)
    child = node[flat.child_index.numpy()[edges]]
    rows = torch.from_numpy(kept)
    graph = TreeBatch(
        function=flat.function[rows],
        token=flat.token[rows],
        child_ptr=torch.from_numpy(child_ptr),
        child_index=torch.from_numpy(child),
        level=flat.level[rows],
        roots=torch.from_numpy(np.flatnonzero(np.bincount(child, minlength=len(kept)) == 0)),
        sizes=torch.tensor([len(kept)]),
        label=torch.full((len(kept),), NO_LABEL),
        value=None if flat.value is None else flat.value[rows],
        x=None if flat.x is None else flat.x[rows],
        vocabulary=flat.vocabulary,
    )
    return Entangled(graph.to(batch.device), torch.from_numpy(node).to(batch.device))
