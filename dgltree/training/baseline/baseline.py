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

NGRAM_LENGTH = 3
"""Characters of a part of a token."""
MAX_TOKEN_LENGTH = 32
"""Characters of a token whose parts are counted."""
MAX_NUMBER_DEPTH = 8
"""Edges above a number whose place is a column."""
MAX_NUMBER = 1e6
"""The greatest value that a number is taken as."""
FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))
SHIFT = np.uint64(29)
Occurrences = tuple[np.ndarray, np.ndarray]
"""The tree (K,) int64 and the code (K,) uint64 of each occurrence."""
Amounts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The tree and the code of each occurrence, and the amount (K,) float64 that it adds to its column."""
MIN_COLUMN_EXAMPLES = 2
"""Training examples that a column occurs in at least."""
MAX_COLUMNS = 1 << 15
"""How many columns there are at most, the most frequent."""
UNSEEN_CLASS_LOGIT = -30.0
"""The logit of a class that no training example has as its own label."""
MAX_DENSE = 1 << 23
"""Counts that trees look at at a time: a forest may have thousands of columns, and a block of trees 26,000 examples."""


def occurrences(data: TreeDataset, places: NumberScales | None = None) -> Amounts:
    """Return everything that occurs in each example, once each time; the two trees of a pair have codes of their own.

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
    examples: list[np.ndarray] = []
    codes: list[np.ndarray] = []
    amounts: list[np.ndarray] = []
    examples_before = 0
    for block in data.blocks():
        counted = [(tree, code, np.ones(len(tree))) for tree, code in _counted(block.trees)]
        summed = _summed_numbers(block.trees, table)
        for kind, (tree, code, amount) in enumerate([*counted, *summed]):  # the order of the kinds is part of the codes
            side = (tree % data.each).astype(np.uint64)
            examples.append(examples_before + tree // data.each)
            codes.append(mix_hashes(code, side << np.uint64(8) | np.uint64(kind)))
            amounts.append(amount)
        examples_before += len(block)
    return np.concatenate(examples), np.concatenate(codes), np.concatenate(amounts)


def mix_hashes(*parts: np.ndarray) -> np.ndarray:
    """Return one array of uint64 for several: a hash of each row's codes in their order."""
    mixed = np.zeros_like(parts[0])
    for part in parts:
        mixed = ((mixed + FACTORS[1]) ^ part) * FACTORS[0]  # no XOR alone: mixed(a, mixed(b)) is not mixed(b, mixed(a))
        mixed ^= mixed >> SHIFT
        mixed = mixed * FACTORS[1] + FACTORS[0]
    return mixed


@lru_cache(1 << 16)
def code_of(name: str) -> int:
    """Return the code of a name, of 64 bits and of the name alone: equal in every file and process."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _counted(trees: TreeBatch) -> Iterator[Occurrences]:
    """Yield the occurrences of each kind, in the order that :func:`occurrences` lists."""
    tree = np.repeat(np.arange(len(trees)), trees.sizes.numpy())
    function, token, has_token = _names(trees)
    symbol = mix_hashes(function, token)
    yield tree, function
    yield tree[has_token], token[has_token]
    yield tree, symbol

    parent = trees.parent_index.numpy()
    child = trees.child_index.numpy()
    yield tree[child], mix_hashes(function[parent], function[child])
    yield tree[child], mix_hashes(symbol[parent], symbol[child])

    parent_of = np.full(len(tree), -1)
    parent_of[child] = parent
    grandchild = np.flatnonzero((parent_of >= 0) & (parent_of[parent_of] >= 0))
    between = parent_of[grandchild]
    yield tree[grandchild], mix_hashes(function[parent_of[between]], function[between], symbol[grandchild])

    left = np.flatnonzero(parent[1:] == parent[:-1])
    yield tree[child[left]], mix_hashes(symbol[child[left]], symbol[child[left + 1]])

    subtree = symbol
    for _ in range(2):
        below = _sums_over_children(mix_hashes(subtree)[child], trees.child_ptr.numpy())
        subtree = mix_hashes(symbol, below)
        yield tree, subtree

    for length in (2, 3):
        start = np.flatnonzero(tree[length - 1 :] == tree[: len(tree) - length + 1])
        yield tree[start], mix_hashes(*(symbol[start + k] for k in range(length)))

    yield _parts_of_tokens(trees, tree)


def _summed_numbers(trees: TreeBatch, table: ScaleTable | None) -> Iterator[Amounts]:
    """Yield the numbers at leaves, as amounts of each kind of column.

    Columns are of the positions of children from the root on, of the function above, of this function and the position
    below it, and with a table of scales of the leaf's place in the table.
    """
    if trees.value is None:
        return
    tree = np.repeat(np.arange(len(trees)), trees.sizes.numpy())
    function, _, _ = _names(trees)
    parent = trees.parent_index.numpy()
    child = trees.child_index.numpy()
    position = (np.arange(len(child)) - trees.child_ptr.numpy()[parent]).astype(np.uint64)

    path = np.zeros(len(tree), np.uint64)  # a hash of the positions from the root on, 0 while it is not known
    is_reached = np.isin(np.arange(len(tree)), trees.roots.numpy())
    for _ in range(MAX_NUMBER_DEPTH):
        edge = is_reached[parent] & (path[child] == 0)
        path[child[edge]] = mix_hashes(path[parent[edge]], position[edge])
        is_reached[child[edge]] = True

    values = trees.value.numpy()
    is_number = ~np.isnan(values)
    amounts = np.nan_to_num(values).clip(-MAX_NUMBER, MAX_NUMBER)
    placed = is_number & is_reached
    yield tree[placed], path[placed], amounts[placed]

    edge = is_number[child]
    leaf = child[edge]
    above = function[parent[edge]]
    yield tree[leaf], above, amounts[leaf]
    yield tree[leaf], mix_hashes(above, position[edge]), amounts[leaf]
    if table is not None:
        rows = table.rows(trees.function[child], trees.function[parent], trees.slot, ranks_of(trees))[edge]
        distances = table.distances(trees.value[torch.from_numpy(leaf)], rows).numpy()
        place = rows.numpy().astype(np.uint64)
        yield tree[leaf], mix_hashes(above, function[leaf], place), distances.clip(-MAX_NUMBER, MAX_NUMBER)


def _names(trees: TreeBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (N,) codes of functions, (N,) of tokens or numbers, and (N,) bool, whether a node has one of these."""
    assert trees.vocabulary is not None
    vocabulary = trees.vocabulary
    function = _coded(trees.function.numpy(), lambda f: vocabulary.functions[f][0])
    token = _coded(trees.token.numpy(), lambda t: "" if t == NO_TOKEN else vocabulary.tokens[t])
    has_token = trees.token.numpy() != NO_TOKEN
    if trees.value is not None:
        values = trees.value.numpy()
        numbers = np.flatnonzero(~np.isnan(values))
        token[numbers] = _coded(values[numbers], lambda value: f"number {value:.1e}")  # equal by the first two digits
        has_token[numbers] = True
    return function, token, has_token


def _coded(ids: np.ndarray, name: Callable[[Any], str]) -> np.ndarray:
    """Return (N,) uint64, the codes of the names of ids."""
    unique, index = np.unique(ids, return_inverse=True)
    codes = np.array([code_of(name(i)) for i in unique.tolist()], np.uint64)
    return codes[index]


def _sums_over_children(codes: np.ndarray, child_ptr: np.ndarray) -> np.ndarray:
    """Return (N,) uint64, the sums of the codes of each node's children, modulo 2 to the power of 64."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(codes, dtype=np.uint64)])
    return sums[child_ptr[1:]] - sums[child_ptr[:-1]]


def _parts_of_tokens(trees: TreeBatch, tree: np.ndarray) -> Occurrences:
    assert trees.vocabulary is not None
    nodes = np.flatnonzero(trees.token.numpy() != NO_TOKEN)
    unique, index = np.unique(trees.token.numpy()[nodes], return_inverse=True)
    parts_of = [_parts_of_token(trees.vocabulary.tokens[token]) for token in unique.tolist()]
    counts = np.array([len(parts) for parts in parts_of], np.int64)[index]
    codes = [parts_of[token] for token in index.tolist()]
    return np.repeat(tree[nodes], counts), np.concatenate([np.zeros(0, np.uint64), *codes])


@lru_cache(1 << 16)
def _parts_of_token(token: str) -> np.ndarray:
    """Return the codes of the parts of a token; none of one that is too short to have several."""
    if len(token) < NGRAM_LENGTH:
        return np.zeros(0, np.uint64)
    text = f"^{token[:MAX_TOKEN_LENGTH].lower()}$"
    starts = range(len(text) - NGRAM_LENGTH + 1)
    return np.array([code_of(text[start : start + NGRAM_LENGTH]) for start in starts], np.uint64)


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
        """Return the columns whose numbers are ``chosen`` (K,) int64, in ascending order."""
        counts = chosen[chosen < len(self.codes)]
        features = chosen[len(counts) :] - len(self.codes)
        return Columns(self.codes[counts], self.places, self.features[features])

    @classmethod
    def of(cls, data: TreeDataset, places: NumberScales | None = None) -> "Columns":
        """Return the columns of what occurs in enough examples of a training set."""
        example, code, _ = occurrences(data, places)
        order = np.lexsort((example, code))
        example = example[order]
        code = code[order]
        is_first = np.ones(len(code), bool)  # of a code in an example
        is_first[1:] = (code[1:] != code[:-1]) | (example[1:] != example[:-1])
        codes, examples_with = np.unique(code[is_first], return_counts=True)
        frequent = np.flatnonzero(examples_with >= min(MIN_COLUMN_EXAMPLES, len(data)))
        frequent = frequent[np.argsort(-examples_with[frequent], kind="stable")[:MAX_COLUMNS]]
        features = 0 if data.feature_rows is None else data.feature_rows.shape[1]
        return cls(np.sort(codes[frequent]), places, np.arange(features))

    def __call__(self, data: TreeDataset) -> csr_matrix:
        """Return (E, D) float64: how often each column occurs in each example, or the sum of its numbers.

        Raises ``ValueError`` for data without the columns next to the trees.
        """
        if len(self.features) and data.feature_rows is None:
            raise ValueError("the baseline reads columns next to the trees, but these trees have no columns")
        example, code, amount = occurrences(data, self.places)
        column = np.searchsorted(self.codes, code)
        column[column == len(self.codes)] = 0
        is_known = self.codes[column] == code if len(self.codes) else np.zeros(len(code), bool)
        cells = example[is_known], column[is_known]
        counts = csr_matrix((amount[is_known], cells), shape=(len(data), len(self.codes)))
        counts.sum_duplicates()
        if not len(self.features) or data.feature_rows is None:
            return counts
        features = csr_matrix(data.feature_rows[:, self.features].astype(np.float64))
        return hstack([counts, features], "csr")


def logs(counts: csr_matrix) -> csr_matrix:
    """Return ``sign(c) log(1 + |c|)`` of each entry; only numbers have a sign."""
    logarithms = counts.copy()
    logarithms.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
    return logarithms


@dataclass(frozen=True)
class Baseline:
    """A model of what occurs in a tree.

    Args:
        columns: what is counted.
        estimator: a fitted one of scikit-learn, of the logarithms of the counts if it is linear, else of the counts.
        linear: whether the estimator is linear.
        objective: what is predicted.
        what: the name of the model and its options, for people.
        temperature: what the logits are divided by.
        scale: the scale of the numbers that the estimator gives.
    """

    columns: Columns
    estimator: Any
    linear: bool
    objective: Objective
    what: str
    temperature: float = 1.0
    scale: LabelScale = AS_THEY_ARE

    def found(self, data: TreeDataset) -> Tensor:
        """Return (E, C) float32 logits, or (E,) float64 numbers, of examples in any vocabulary."""
        blocks = [self.of(self.columns(block)) for block in data.as_read().blocks()]
        outputs = torch.from_numpy(np.concatenate(blocks)).view(-1, *self.objective.shape)
        return outputs.float() if self.objective.classes else outputs.double()

    def answers(self, data: TreeDataset) -> Tensor:
        """Return (E, C) probabilities, or (E,) numbers."""
        return self.objective.answers(self.found(data))

    def of(self, counts: csr_matrix) -> np.ndarray:
        """Return (E, C) float64 logits, or (E,) numbers, of counts (E, D)."""
        step = max(1, MAX_DENSE // max(1, counts.shape[1]))
        if not self.linear and counts.shape[0] > step:
            starts = range(0, counts.shape[0], step)
            return np.concatenate([self.of(counts[start : start + step]) for start in starts])
        rows = logs(counts) if self.linear else counts.toarray()
        if not self.objective.classes:
            numbers = torch.as_tensor(self.estimator.predict(rows))
            return self.scale.back(numbers).numpy()
        logits = self.estimator.decision_function(rows)
        if logits.ndim == 1:  # of two classes, only the second one's logit
            logits = np.stack([0 * logits, logits], 1)
        logits_of_all = np.full((len(logits), len(self.objective.classes)), UNSEEN_CLASS_LOGIT)
        logits_of_all[:, self.estimator.classes_] = logits
        return logits_of_all / self.temperature
