"""The baseline of a training counts what occurs in trees, and a model of scikit-learn predicts from these columns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.number_scales import NumberScales, ScaleTable, ranks_of
from dgltree.batching.vocabulary import NO_TOKEN
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.label_scales import AS_THEY_ARE, LabelScale
from dgltree.training.objectives import Objective

NGRAM_LENGTH, MAX_TOKEN_LENGTH = 3, 32
"""Characters of a part of a token, and of a token whose parts are counted."""
MAX_NUMBER_DEPTH, MAX_NUMBER = 8, 1e6
"""Edges above a number whose place is a column, and what the value of a number is taken as at most."""
FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))
SHIFT = np.uint64(29)
Occurrences = tuple[np.ndarray, np.ndarray]
"""Of each occurrence the tree (K,) int64 and the code (K,) uint64."""
Amounts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The same with the amount (K,) float64 that it adds to its column."""
MIN_COLUMN_EXAMPLES, MAX_COLUMNS = 2, 1 << 15
"""Training examples that a column occurs in at least, and how many columns there are at most, the most frequent."""
UNSEEN_CLASS_LOGIT = -30.0
"""The logit of a class that no training example has as its own label."""
MAX_DENSE = 1 << 23
"""Counts that trees look at at a time: a forest may have thousands of columns, and a block of trees 26,000 examples."""


def occurrences(data: TreeDataset, places: NumberScales | None = None) -> Amounts:
    """Everything that occurs in each example, once each time; the two trees of a pair have codes of their own.

    A node's symbol is its function with its token, or with the number that it carries, to two digits. Counted are:
    functions, tokens and symbols; parent and child, by functions and by symbols; grandparent, parent and child;
    siblings next to each other; subtrees of one and of two edges (symbols with the multiset of the children's, as
    Weisfeiler and Lehman relabel them); two and three symbols in a row, in preorder; and parts of tokens, three
    characters each. Leaves that are read as numbers add their values to columns of their own: by their place in the
    tree, by the function above them, and by it and their place among its children; and with ``places`` their distances
    from the middle of their place, in its spread.

    Args:
        data: in the vocabulary of its file (:meth:`dgltree.datasets.tree_dataset.TreeDataset.as_read`).
        places: the scales of numbers.
    """
    table = None if places is None else ScaleTable(places, data.own_vocabulary.functions)
    examples, found, amounts, first = [], [], [], 0
    for block in data.blocks():
        counted = [(*one, np.ones(len(one[0]))) for one in _kinds(block.trees)]
        for kind, (tree, codes, amount) in enumerate([*counted, *_numbers(block.trees, table)]):
            side = (tree % data.each).astype(np.uint64)
            examples.append(first + tree // data.each)
            found.append(mix_hashes(codes, side << np.uint64(8) | np.uint64(kind)))
            amounts.append(amount)
        first += len(block)
    return np.concatenate(examples), np.concatenate(found), np.concatenate(amounts)


def mix_hashes(*parts: np.ndarray) -> np.ndarray:
    """Arrays of uint64, in their order, to one."""
    found = np.zeros_like(parts[0])
    for part in parts:
        found = ((found + FACTORS[1]) ^ part) * FACTORS[0]  # no XOR alone: mixed(a, mixed(b)) is not mixed(b, mixed(a))
        found ^= found >> SHIFT
        found = found * FACTORS[1] + FACTORS[0]
    return found


@lru_cache(1 << 16)
def code_of(name: str) -> int:
    """The code of a name, of 64 bits and of the name alone: equal in every file and process."""
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _kinds(trees: TreeBatch) -> Iterator[Occurrences]:
    tree = np.repeat(np.arange(len(trees)), trees.sizes.numpy())
    function, token, has_token = _names(trees)
    symbol = mix_hashes(function, token)
    yield tree, function
    yield tree[has_token], token[has_token]
    yield tree, symbol
    parent, child = trees.parent_index.numpy(), trees.child_index.numpy()
    yield tree[child], mix_hashes(function[parent], function[child])
    yield tree[child], mix_hashes(symbol[parent], symbol[child])
    above = np.full(len(tree), -1)
    above[child] = parent
    low = np.flatnonzero((above >= 0) & (above[above] >= 0))
    yield tree[low], mix_hashes(function[above[above[low]]], function[above[low]], symbol[low])
    left = np.flatnonzero(parent[1:] == parent[:-1])
    yield tree[child[left]], mix_hashes(symbol[child[left]], symbol[child[left + 1]])
    subtree = symbol
    for _ in range(2):
        subtree = mix_hashes(symbol, _summed(mix_hashes(subtree)[child], trees.child_ptr.numpy()))
        yield tree, subtree
    for length in (2, 3):
        start = np.flatnonzero(tree[length - 1 :] == tree[: len(tree) - length + 1])
        yield tree[start], mix_hashes(*(symbol[start + k] for k in range(length)))
    yield _parts(trees, tree)


def _numbers(trees: TreeBatch, table: ScaleTable | None) -> Iterator[Amounts]:
    """The numbers of leaves, by the positions of children from the root on, and by the function above; by the scale of
    their place with a table of these."""
    if trees.value is None:
        return
    tree, function = np.repeat(np.arange(len(trees)), trees.sizes.numpy()), _names(trees)[0]
    parent, child, place = trees.parent_index.numpy(), trees.child_index.numpy(), np.zeros(len(tree), np.uint64)
    position = (np.arange(len(child)) - trees.child_ptr.numpy()[parent]).astype(np.uint64)
    reached = np.isin(np.arange(len(tree)), trees.roots.numpy())
    for _ in range(MAX_NUMBER_DEPTH):
        below = reached[parent] & (place[child] == 0)
        place[child[below]] = mix_hashes(place[parent[below]], position[below])
        reached[child[below]] = True
    amount = np.nan_to_num(trees.value.numpy()).clip(-MAX_NUMBER, MAX_NUMBER)
    has = ~np.isnan(trees.value.numpy())
    placed, edge = has & reached, has[child]
    yield tree[placed], place[placed], amount[placed]
    yield tree[child[edge]], function[parent[edge]], amount[child[edge]]
    yield tree[child[edge]], mix_hashes(function[parent[edge]], position[edge]), amount[child[edge]]
    if table is not None:
        value = trees.value
        rows = table.rows(trees.function[child], trees.function[parent], trees.slot, ranks_of(trees))[edge]
        far = table.distances(value[torch.from_numpy(child[edge])], rows).numpy().clip(-MAX_NUMBER, MAX_NUMBER)
        which = rows.numpy().astype(np.uint64)
        yield tree[child[edge]], mix_hashes(function[parent[edge]], function[child[edge]], which), far


def _names(trees: TreeBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N,) codes of functions and of tokens or numbers, and (N,) whether a node has one of these."""
    assert trees.vocabulary is not None
    vocabulary = trees.vocabulary
    function = _coded(trees.function.numpy(), lambda f: vocabulary.functions[f][0])
    token = _coded(trees.token.numpy(), lambda t: "" if t == NO_TOKEN else vocabulary.tokens[t])
    has = trees.token.numpy() != NO_TOKEN
    if trees.value is not None:
        values = trees.value.numpy()
        numbers = np.flatnonzero(~np.isnan(values))
        token[numbers] = _coded_numbers(values[numbers])
        has[numbers] = True
    return function, token, has


def _coded(ids: np.ndarray, name: Callable[[Any], str]) -> np.ndarray:
    """(N,) uint64, the codes of the names of ids."""
    unique, place = np.unique(ids, return_inverse=True)
    return np.array([code_of(name(i)) for i in unique.tolist()], np.uint64)[place]


def _coded_numbers(values: np.ndarray) -> np.ndarray:
    """(K,) uint64, equal for numbers whose first two digits are."""
    return _coded(values, lambda value: f"number {value:.1e}")


def _summed(codes: np.ndarray, child_ptr: np.ndarray) -> np.ndarray:
    """(N,) uint64, the sums of the codes of each node's children, modulo 2 to the power of 64."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(codes, dtype=np.uint64)])
    return sums[child_ptr[1:]] - sums[child_ptr[:-1]]


def _parts(trees: TreeBatch, tree: np.ndarray) -> Occurrences:
    """The parts of the tokens."""
    assert trees.vocabulary is not None
    nodes = np.flatnonzero(trees.token.numpy() != NO_TOKEN)
    unique, place = np.unique(trees.token.numpy()[nodes], return_inverse=True)
    of_token = [_grams(trees.vocabulary.tokens[t]) for t in unique.tolist()]
    counts = np.array([len(grams) for grams in of_token], np.int64)[place]
    flat = [of_token[t] for t in place.tolist()]
    return np.repeat(tree[nodes], counts), np.concatenate([np.zeros(0, np.uint64), *flat])


@lru_cache(1 << 16)
def _grams(token: str) -> np.ndarray:
    """The codes of the parts of a token; none of one that is too short to have several."""
    text = f"^{token[:MAX_TOKEN_LENGTH].lower()}$"
    starts = range(len(text) - NGRAM_LENGTH + 1 if len(token) >= NGRAM_LENGTH else 0)
    return np.array([code_of(text[i : i + NGRAM_LENGTH]) for i in starts], np.uint64)


@dataclass(frozen=True)
class Columns:
    """The columns of counts.

    Args:
        codes: (D,) uint64, sorted.
        places: the scales of numbers, by which some are counted.
        features: (K,) int64, which numbers of the columns next to the trees are columns as they are.
    """

    codes: np.ndarray
    places: NumberScales | None = None
    features: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def width(self) -> int:
        """How many columns there are, those next to the trees last."""
        return len(self.codes) + len(self.features)

    def take(self, chosen: np.ndarray) -> "Columns":
        """Some of them, by their numbers in ascending order."""
        counts = chosen[chosen < len(self.codes)]
        return Columns(self.codes[counts], self.places, self.features[chosen[len(counts) :] - len(self.codes)])

    @classmethod
    def of(cls, data: TreeDataset, places: NumberScales | None = None) -> "Columns":
        """Everything that occurs in enough examples of a training set."""
        example, codes, _ = occurrences(data, places)
        order = np.lexsort((example, codes))
        example, codes = example[order], codes[order]
        new = np.ones(len(codes), bool)
        new[1:] = (codes[1:] != codes[:-1]) | (example[1:] != example[:-1])
        found, counts = np.unique(codes[new], return_counts=True)
        often = np.flatnonzero(counts >= min(MIN_COLUMN_EXAMPLES, len(data)))
        often = often[np.argsort(-counts[often], kind="stable")[:MAX_COLUMNS]]
        beside = 0 if data.feature_rows is None else data.feature_rows.shape[1]
        return cls(np.sort(found[often]), places, np.arange(beside))

    def __call__(self, data: TreeDataset) -> csr_matrix:
        """(E, D) float64: how often each of them occurs in each example, or the sum of its numbers.

        Raises ``ValueError`` for data without the columns next to the trees.
        """
        if len(self.features) and data.feature_rows is None:
            raise ValueError("the baseline reads columns next to the trees, but these trees have no columns")
        example, codes, amounts = occurrences(data, self.places)
        place = np.searchsorted(self.codes, codes)
        place[place == len(self.codes)] = 0
        there = self.codes[place] == codes if len(self.codes) else np.zeros(len(codes), bool)
        found = csr_matrix((amounts[there], (example[there], place[there])), shape=(len(data), len(self.codes)))
        found.sum_duplicates()
        if not len(self.features) or data.feature_rows is None:
            return found
        return hstack([found, csr_matrix(data.feature_rows[:, self.features].astype(np.float64))], "csr")


def logs(counts: csr_matrix) -> csr_matrix:
    """``sign(c) log(1 + |c|)`` of each entry; only numbers have a sign."""
    found = counts.copy()
    found.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
    return found


@dataclass(frozen=True)
class Baseline:
    """A model of what occurs in a tree.

    Args:
        columns: what is counted.
        estimator: a fitted one of scikit-learn, of the logarithms of the counts if it is linear, else of the counts.
        linear: whether it is.
        objective: what is predicted.
        what: the name of the model and its options, for people.
        temperature: what its logits are divided by.
        scale: that of the numbers that its estimator gives.
    """

    columns: Columns
    estimator: Any
    linear: bool
    objective: Objective
    what: str
    temperature: float = 1.0
    scale: LabelScale = AS_THEY_ARE

    def found(self, data: TreeDataset) -> Tensor:
        """(E, C) float32 logits, or (E,) float64 numbers, of examples in any vocabulary."""
        parts = [self.of(self.columns(block)) for block in data.as_read().blocks()]
        found = torch.from_numpy(np.concatenate(parts)).view(-1, *self.objective.shape)
        return found.float() if self.objective.classes else found.double()

    def answers(self, data: TreeDataset) -> Tensor:
        """(E, C) probabilities, or (E,) numbers."""
        return self.objective.answers(self.found(data))

    def of(self, counts: csr_matrix) -> np.ndarray:
        """(E, C) float64 logits, or (E,) numbers, of counts (E, D)."""
        step = max(1, MAX_DENSE // max(1, counts.shape[1]))
        if not self.linear and counts.shape[0] > step:
            return np.concatenate([self.of(counts[i : i + step]) for i in range(0, counts.shape[0], step)])
        rows, classes = logs(counts) if self.linear else counts.toarray(), len(self.objective.classes)
        if not classes:
            return self.scale.back(torch.as_tensor(self.estimator.predict(rows))).numpy()
        logits = self.estimator.decision_function(rows)
        found = np.full((len(logits), classes), UNSEEN_CLASS_LOGIT)
        found[:, self.estimator.classes_] = logits if logits.ndim > 1 else np.stack([0 * logits, logits], 1)
        return found / self.temperature
