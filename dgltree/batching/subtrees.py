"""Duplicate subtrees: which subtrees of a batch are equal.

Two ways lead there. Within one batch, subtrees are numbered exactly, from the leaves up. Of data that is never in
memory as one batch, 64-bit digests say which are equal, unless two collide.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch, take_nodes
from dgltree.batching.run_lengths import offsets, ranges, run_lengths
from dgltree.batching.vocabulary import NO_LABEL, Vocabulary


def number_subtrees(batch: TreeBatch) -> TreeBatch:
    """A copy with ``subtree``, for a data set: what is chosen from it, as ``batch[...]``, knows its duplicates.

    What ``dataclasses.replace`` makes of a batch knows them no more.
    """
    return batch.with_subtrees(subtree_numbers(batch))


def subtree_numbers(batch: TreeBatch) -> Tensor:
    """(N,) int64: equal numbers for the roots of equal subtrees."""
    numbers = batch.subtree
    if numbers is None:
        numbers = torch.from_numpy(_first_duplicates(batch)).to(batch.device)
    return numbers


def twins(batch: TreeBatch) -> np.ndarray:
    """(N,) int64: for each node the first that roots an equal subtree: same function, token, value and x."""
    numbers = batch.subtree
    if numbers is None:
        return _first_duplicates(batch)
    return _first_of_equal(numbers.cpu().numpy())


class Named(NamedTuple):
    """A vocabulary as :func:`digests` reads it: equal names have equal numbers in all vocabularies."""

    functions: np.ndarray
    """(F,) uint64."""
    tokens: np.ndarray
    """(T + 1,) uint64; the last, by its number -1, is that of no token."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "Named":
        functions = [_named(f"f {name}") for name, _ in vocabulary.functions]
        tokens = [_named(f"t {token}") for token in vocabulary.tokens]
        tokens.append(_named("none"))
        return cls(np.array(functions, np.uint64), np.array(tokens, np.uint64))


def digests(batch: TreeBatch, named: Named) -> np.ndarray:
    """(N,) uint64: equal for equal subtrees, whatever batches they are in; of other pairs one in 2^64 is equal, too.

    For data that is never in memory as one batch; :func:`subtree_numbers` is exact. Input vectors are not looked at.
    """
    function = batch.function.numpy()
    token = batch.token.numpy()
    arity = batch.arity.numpy()
    value = np.full(len(token), np.nan)
    if batch.value is not None:
        value = batch.value.numpy() + 0.0  # -0.0 and 0.0 are equal

    digest = scattered(named.functions[function] + arity.astype(np.uint64))
    digest = scattered(digest ^ named.tokens[token])
    digest = scattered(digest ^ value.view(np.uint64))
    # Up to here the digest of a node by itself. From the leaves up it takes in its children's, in their order.
    for nodes, children_by_slot in _nodes_from_leaves_up(batch):
        for children in children_by_slot:
            message = scattered(digest[children])
            digest[nodes] = scattered(digest[nodes] + message)
    return digest


def _nodes_from_leaves_up(batch: TreeBatch) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """The nodes of one level and arity, (k,) int64, children first; and their children, (k,) for each slot."""
    level = batch.level.cpu().numpy()
    arity = batch.arity.cpu().numpy()
    pointer = batch.child_ptr.cpu().numpy()
    child_index = batch.child_index.cpu().numpy()
    order = np.lexsort((arity, level))
    for start, stop in run_lengths(level[order], arity[order]):
        nodes = order[start:stop]
        slots = range(int(arity[nodes[0]]))
        yield nodes, [child_index[pointer[nodes] + slot] for slot in slots]


def _named(name: str) -> int:
    """The first 64 bits of a hash of a name."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def scattered(key: np.ndarray) -> np.ndarray:
    """A permutation of 64-bit numbers in which each bit depends on all bits: the last step of SplitMix64.

    Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators.
    """
    key = key ^ (key >> np.uint64(30))
    key = key * np.uint64(0xBF58476D1CE4E5B9)
    key = key ^ (key >> np.uint64(27))
    key = key * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def _first_duplicates(batch: TreeBatch) -> np.ndarray:
    """(N,) int64: for each node the first that roots an equal subtree.

    Common subexpressions by numbers from the leaves up (Downey, Sethi and Tarjan 1980). Not by hashes, which may be
    equal by chance.
    """
    n = batch.num_nodes
    content = _content_ranks(batch)
    first = np.arange(n)
    largest_bound = np.iinfo(np.int64).max // n
    for nodes, children_by_slot in _nodes_from_leaves_up(batch):
        # A node's content and the first duplicates of its children are the digits of one number with the base n. Ranks
        # take it back below n before a digit more would leave int64: then equal keys still are equal subtrees.
        key = content[nodes]
        bound = n
        for children in children_by_slot:
            if bound > largest_bound:
                key = ranks(key)
                bound = n
            key = key * n + first[children]
            bound *= n
        first[nodes] = nodes[_first_of_equal(key)]
    return first


def _content_ranks(batch: TreeBatch) -> np.ndarray:
    """(N,) int64 below N, equal for nodes of equal function, token, value and x, whatever their children."""
    n = batch.num_nodes
    function = batch.function.cpu().numpy()
    token = batch.token.cpu().numpy()
    tokens = int(token.max()) + 2  # an id may be NO_TOKEN, -1
    content = ranks(function * tokens + token)
    columns = [batch.value]
    if batch.numbers is not batch.value:
        columns.append(batch.numbers)  # equal values of fields with different scales are not read alike
    for column in columns:
        if column is not None:
            bits = (column.cpu().numpy() + 0.0).view(np.int64)  # -0.0 and 0.0 are equal
            content = ranks(content * n + ranks(bits))
    if batch.x is not None:
        x = batch.x.detach().cpu().numpy()
        _, vectors = np.unique(x, axis=0, return_inverse=True)
        content = ranks(content * n + vectors)
    return content


def _first_of_equal(key: np.ndarray) -> np.ndarray:
    """For each entry the index of the first equal one."""
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first[inverse]


def ranks(key: np.ndarray) -> np.ndarray:
    """Equal entries get equal numbers from 0, so that products of two such keys stay within int64."""
    _, inverse = np.unique(key, return_inverse=True)
    return inverse


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
    first = twins(flat)
    is_first = first == np.arange(len(first))
    kept = np.flatnonzero(is_first)
    graph_node = (np.cumsum(is_first) - 1)[first]

    pointer = flat.child_ptr.numpy()
    arity = flat.arity.numpy()[kept]
    edges = ranges(pointer[kept], arity)
    child_index = graph_node[flat.child_index.numpy()[edges]]
    parents = np.bincount(child_index, minlength=len(kept))
    graph = take_nodes(
        flat,
        kept,
        child_ptr=offsets(arity),
        child_index=torch.from_numpy(child_index),
        roots=np.flatnonzero(parents == 0),
        sizes=np.array([len(kept)]),
    )
    graph.label.fill_(NO_LABEL)
    node = torch.from_numpy(graph_node).to(batch.device)
    return Entangled(batch=graph.to(batch.device), node=node)
