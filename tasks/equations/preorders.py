"""Words as nodes of one graph, by numpy: no tree is built."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from dgltree import TreeBatch, Vocabulary
from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN
from tasks.equations.words import ARITIES, CALLED, PAPER_SYMBOLS, SYMBOLS, Symbol, Word

Ints = np.ndarray

_COMMUTATIVE = [CALLED["Add"][0], CALLED["Mul"][0]]
_ARITY = np.array(ARITIES[: len(SYMBOLS)])


@dataclass
class PreorderNodes:
    """Trees one after another: the symbol of each node, its children (-1: none) and the depth of its subtree."""

    symbol: Ints
    first: Ints
    second: Ints
    height: Ints

    def shifted(self, by: int) -> "PreorderNodes":
        """Return the nodes numbered from ``by``."""
        first, second = (np.where(child < 0, -1, child + by) for child in (self.first, self.second))
        return replace(self, first=first, second=second)


class Preorders:
    """Many words as one array of symbols with the size of every subtree; a word may be several trees (two sides)."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.symbol = np.frombuffer(b"".join(words), np.uint8)
        self.length = np.array([len(word) for word in words])
        self.start = np.cumsum(self.length) - self.length
        self.size = np.frombuffer(b"".join(map(_sizes, words)), np.uint8)

    def nodes(self, which: Ints) -> tuple[PreorderNodes, Ints]:
        """The chosen words as nodes, and (nodes,) the position of each one's word in ``which``."""
        length = self.length[which]
        start = np.cumsum(length) - length
        item = np.repeat(np.arange(len(which)), length)
        place = np.arange(len(item))
        at = place + (self.start[which] - start)[item]
        symbol = self.symbol[at].astype(np.int64)
        arity = _ARITY[symbol]
        first = np.where(arity > 0, place + 1, -1)
        after = place + 1 + np.take(self.size, at + 1, mode="clip")
        second = np.where(arity == 2, after, -1)
        return PreorderNodes(symbol, first, second, _heights(first, second)), item


class Batcher:
    """Words and nodes of ``symbols`` as batches in the ids of a vocabulary that has all of these."""

    def __init__(self, vocabulary: Vocabulary, symbols: Sequence[Symbol] = PAPER_SYMBOLS) -> None:
        self.vocabulary = vocabulary
        self._function = np.array([vocabulary.function_id(function, arity) for function, arity, _ in symbols])
        self._token = np.array([NO_TOKEN if token is None else vocabulary.token_id(token) for *_, token in symbols])

    def words(self, words: Sequence[Word], random: np.random.Generator | None = None) -> TreeBatch:
        """Batch the trees as ``dgltree.batch`` does; with ``random``, children of sums and products in any order."""
        preorders = Preorders(words)
        nodes, _ = preorders.nodes(np.arange(len(words)))
        if random is not None:
            swapped = np.isin(nodes.symbol, _COMMUTATIVE) & (random.random(len(nodes.symbol)) < 0.5)
            nodes.first[swapped], nodes.second[swapped] = nodes.second[swapped], nodes.first[swapped]
        return self.graph(nodes, preorders.start, preorders.length)

    def graph(self, nodes: PreorderNodes, roots: Ints, sizes: Ints) -> TreeBatch:
        """The graph of ``nodes``."""
        arity = _ARITY[nodes.symbol]
        pointer = np.concatenate([[0], np.cumsum(arity)])
        child = np.empty(pointer[-1], np.int64)
        child[pointer[:-1][arity > 0]] = nodes.first[arity > 0]
        child[pointer[:-1][arity == 2] + 1] = nodes.second[arity == 2]
        return TreeBatch(
            function=torch.from_numpy(self._function[nodes.symbol]),
            token=torch.from_numpy(self._token[nodes.symbol]),
            child_ptr=torch.from_numpy(pointer),
            child_index=torch.from_numpy(child),
            level=torch.from_numpy(nodes.height),
            roots=torch.from_numpy(roots),
            sizes=torch.from_numpy(sizes),
            label=torch.full((len(arity),), NO_LABEL),
            vocabulary=self.vocabulary,
        )


def _sizes(word: Word) -> bytes:
    """The number of nodes of the subtree at each place."""
    place = len(word)
    sizes = bytearray(place)
    for symbol in reversed(word):
        place -= 1
        arity = ARITIES[symbol]
        if arity == 2:
            first = sizes[place + 1]
            sizes[place] = 1 + first + sizes[place + 1 + first]
        else:
            sizes[place] = 1 + sizes[place + 1] if arity else 1
    return bytes(sizes)


def _heights(first: Ints, second: Ints) -> Ints:
    """The depth of the subtree of each node."""
    height = np.zeros(len(first), np.int64)
    inner = np.flatnonzero(first >= 0)
    while True:
        below = np.maximum(height[first[inner]], np.where(second[inner] < 0, 0, height[second[inner]]))
        if (height[inner] == below + 1).all():
            return height
        height[inner] = below + 1
