"""Trees over sentences by their own vectors: neighbours that are most alike are joined first, without a scorer."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN, Vocabulary
from dgltree.cells import SWEEPS, Cell
from dgltree.encoders.encoder import Encoded, Merges
from dgltree.encoders.latent.choice import leftmost_best
from dgltree.encoders.latent.nodes import Table
from dgltree.encoders.sequence.core import InducingCore
from dgltree.engine.contract import State
from dgltree.induction.merges import CLOSED
from dgltree.support.arguments import check_choice

SPAN = 2**31
"""More than there are nodes."""
NORM_EPSILON = 1e-8
"""The least length of a vector, as in ``torch.nn.functional.cosine_similarity``."""


@dataclass(frozen=True, eq=False)
class FoundGraph:
    """The nodes that a search made: words first, then what was joined, in the order in which it was."""

    batch: TreeBatch
    """The nodes as one graph, its roots those without a parent."""
    up: State
    """Part name to (R, *shape), with its gradients."""
    words: Tensor
    """(B, T) int64, the node of each word; of no meaning after the end of a sentence."""
    roots: Tensor
    """(B,) int64, the node of each sentence."""


def easy_first(
    cell: Cell, ids: Tensor, lengths: Tensor, *, entangled: bool = False, everywhere: bool = False
) -> FoundGraph:
    """Join the neighbours whose h have the largest cosine, of equal ones the leftmost, until one node is left.

    No gradient passes through the choice; cosines are those of the states as they are, after dropout.

    Args:
        cell: of two states; its vocabulary has the functions ``word`` of no children and ``phrase`` of two.
        ids: (B, T) int64, tokens of the cell's vocabulary; after the end of a sentence anything.
        lengths: (B,) int64, words of each sentence, 1 to T.
        entangled: whether equal words and equal phrases are one node in the whole batch. Otherwise each has its own.
        everywhere: whether a pair is joined at all its places in a sentence at once, from left to right; it needs
            ``entangled``.

    Raises ``ValueError`` for shapes, lengths and ids that are none of these, and a vocabulary without the functions.
    """
    _check(cell, ids, lengths, entangled, everywhere)
    device = cell.first_weight.device
    counts = lengths.cpu().numpy()
    order = np.argsort(-counts, kind="stable")  # the longest first
    counts = counts[order]
    token = ids.cpu().numpy()[order]
    is_word = np.arange(token.shape[1]) < counts[:, None]
    rows = np.zeros_like(token)
    if entangled:
        leaf_tokens, rows[is_word] = np.unique(token[is_word], return_inverse=True)
    else:
        leaf_tokens = token[is_word]
        rows[is_word] = np.arange(len(leaf_tokens))
    nodes = _Nodes(cell, torch.from_numpy(leaf_tokens).to(device, non_blocking=True), entangled)
    roots = _joined(nodes, rows[:, : counts[0]], counts, everywhere)
    back = np.argsort(order, kind="stable")
    return FoundGraph(
        batch=nodes.batch(),
        up=nodes.up(),
        words=torch.from_numpy(rows[back]).to(device, non_blocking=True),
        roots=torch.from_numpy(roots[back]).to(device, non_blocking=True),
    )


class _Open(NamedTuple):
    """b sentences that have two nodes or more, of S nodes at most."""

    sentence: np.ndarray
    """(b,) int64, their numbers."""
    rows: np.ndarray
    """(b, S) int64, their nodes."""
    counts: np.ndarray
    """(b,) int64, how many nodes each has."""
    cosines: np.ndarray
    """(b, S - 1) float64, of neighbours; -inf after the last pair."""

    @property
    def is_pair(self) -> np.ndarray:
        """(b, S - 1) bool, the neighbours that there are."""
        return np.arange(self.cosines.shape[1]) < self.counts[:, None] - 1

    def where(self, here: np.ndarray) -> "_Open":
        """The sentences where ``here`` (b,) is true, no wider than the longest of them."""
        counts = self.counts[here]
        width = int(counts.max())
        rows = self.rows[here, :width]
        return _Open(self.sentence[here], rows, counts, self.cosines[here, : width - 1])


def _joined(nodes: "_Nodes", rows: np.ndarray, counts: np.ndarray, everywhere: bool) -> np.ndarray:
    """(B,) the node that is left of each sentence, of rows (B, T), the longest first."""
    roots = rows[:, 0].copy()
    cosines = np.full((len(rows), rows.shape[1] - 1), -np.inf)
    now = _Open(np.arange(len(rows)), rows, counts, cosines)
    is_pair = now.is_pair
    cosines[is_pair] = nodes.cosines(rows[:, :-1][is_pair], rows[:, 1:][is_pair])
    while True:
        done = now.counts == 1
        roots[now.sentence[done]] = now.rows[done, 0]
        if done.all():
            return roots
        now = now.where(~done)
        chosen = _chosen(now, everywhere)
        sentence, place = np.nonzero(chosen)
        made = nodes.joined(now.rows[sentence, place], now.rows[sentence, place + 1])
        now = _shorter(nodes, now, chosen, made)


def _chosen(now: _Open, everywhere: bool) -> np.ndarray:
    """(b, S - 1) bool, the pairs of each sentence that are joined now; no two of them overlap."""
    best = leftmost_best(torch.from_numpy(now.cosines), 1).numpy()
    if not everywhere:
        return np.arange(now.cosines.shape[1]) == best
    left = np.take_along_axis(now.rows, best, 1)
    right = np.take_along_axis(now.rows, best + 1, 1)
    chosen = (now.rows[:, :-1] == left) & (now.rows[:, 1:] == right) & now.is_pair
    if (left == right).any():  # a a a: the second pair begins in the first
        for t in range(1, chosen.shape[1]):
            chosen[:, t] &= ~chosen[:, t - 1]
    return chosen


def _shorter(nodes: "_Nodes", now: _Open, chosen: np.ndarray, made: np.ndarray) -> _Open:
    """The sentences once the chosen pairs (b, S - 1) are joined; ``made`` are their nodes, row by row."""
    rows = now.rows.copy()
    rows[:, :-1][chosen] = made
    fresh = np.zeros(rows.shape, bool)
    fresh[:, :-1] = chosen
    gone = np.zeros(rows.shape, bool)
    gone[:, 1:] = chosen
    source = np.argsort(gone, 1, kind="stable")  # what stays moves to the left
    rows = np.take_along_axis(rows, source, 1)
    fresh = np.take_along_axis(fresh, source, 1)
    wide = np.pad(now.cosines, ((0, 0), (0, 1)), constant_values=-np.inf)
    cosines = np.take_along_axis(wide, source, 1)[:, :-1]
    shorter = _Open(now.sentence, rows, now.counts - chosen.sum(1), cosines)
    is_pair = shorter.is_pair
    cosines[~is_pair] = -np.inf
    changed = is_pair & (fresh[:, :-1] | fresh[:, 1:])
    cosines[changed] = nodes.cosines(rows[:, :-1][changed], rows[:, 1:][changed])
    return shorter


class _Nodes:
    """The nodes of a search, by number: their states, their children, and the direction of their h."""

    def __init__(self, cell: Cell, token: Tensor, entangled: bool) -> None:
        self.cell = cell
        self.token = token
        self.entangled = entangled
        self.phrase = cell.vocabulary.function_id("phrase", 2)
        self.word = cell.vocabulary.function_id("word", 0)
        self.sizes = [int(np.prod(shape)) for shape in cell.state.values()]
        self._node_of_key: dict[int, int] = {}
        self._pairs = [np.empty((0, 2), np.int64)]
        leaves = self._packed(self._leaf_states())
        self._states = Table(sum(self.sizes), leaves, 2 * len(leaves))
        self._unit = Table(cell.hidden_size, leaves.detach(), 2 * len(leaves))
        self._write(leaves)

    def cosines(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(m,) of pairs of nodes (m,) and (m,)."""
        cosines = (self._unit_of(left) * self._unit_of(right)).sum(1)
        in_double: np.ndarray = cosines.double().cpu().numpy()
        return in_double

    def joined(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(m,) the nodes that pairs (m,) and (m,) become; entangled, an equal pair became one before or does now."""
        if not self.entangled:
            return self._compose(left, right)
        keys, first, inverse = np.unique(left * SPAN + right, return_index=True, return_inverse=True)
        nodes = np.array([self._node_of_key.get(key, -1) for key in keys.tolist()])
        is_new = nodes < 0
        if is_new.any():
            new = first[is_new]
            nodes[is_new] = self._compose(left[new], right[new])
            made = zip(keys[is_new].tolist(), nodes[is_new].tolist(), strict=True)
            self._node_of_key.update(made)
        of_pairs: np.ndarray = nodes[inverse]
        return of_pairs

    def up(self) -> State:
        """The states of all nodes."""
        every = torch.arange(self._states.count)
        return self._unpacked(self._states.read(every))

    def batch(self) -> TreeBatch:
        """All nodes as one graph."""
        pairs = np.concatenate(self._pairs)
        return _graph(self.cell, self.token, self.word, pairs, self.phrase)

    def _leaf_states(self) -> State:
        no_pairs = np.empty((0, 2), np.int64)
        batch = _graph(self.cell, self.token, self.word, no_pairs, self.phrase)
        count = len(self.token)
        every = torch.arange(count, device=self.token.device)
        states = self.cell.leaf_states(batch, every, [(self.word, 0, count)])
        return {part: states[part] for part in self.cell.state}

    def _packed(self, states: State) -> Tensor:
        """(m, width) of the parts of m states."""
        return torch.cat([states[part].flatten(1) for part in self.cell.state], 1)

    def _unpacked(self, rows: Tensor) -> State:
        """The parts of states (m, width)."""
        columns = rows.split(self.sizes, 1)
        states: dict[str, Tensor] = {}
        for column, (part, shape) in zip(columns, self.cell.state.items(), strict=True):
            states[part] = column.unflatten(1, shape)
        return states

    def _write(self, rows: Tensor) -> np.ndarray:
        """(m,) the numbers of new nodes with states (m, width)."""
        with torch.no_grad():
            h = self._unpacked(rows)["h"]
            length = h.norm(dim=1, keepdim=True)
            self._unit.write(h / length.clamp(min=NORM_EPSILON))
        numbers: np.ndarray = self._states.write(rows).numpy()
        return numbers

    def _unit_of(self, nodes: np.ndarray) -> Tensor:
        """(m, n), the direction of the h of nodes (m,)."""
        unit = self._unit.buffer
        on_device = torch.from_numpy(nodes).to(unit.device, non_blocking=True)
        return unit.index_select(0, on_device)

    def _compose(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(m,) the numbers of new nodes, made of pairs (m,) and (m,)."""
        count = len(left)
        both = self._states.read(torch.from_numpy(np.concatenate([left, right])))
        left_states = self._unpacked(both[:count])
        right_states = self._unpacked(both[count:])
        children = {part: [left_states[part], right_states[part]] for part in left_states}
        linear = self.cell.linear_for(2, [(self.phrase, 0, count)])
        h = torch.cat([left_states["h"], right_states["h"]], 1)
        states = self.cell.compute(h, None, children, linear)
        self._pairs.append(np.stack([left, right], 1))
        return self._write(self._packed({part: states[part] for part in self.cell.state}))


def _graph(cell: Cell, token: Tensor, word: int, pairs: np.ndarray, phrase: int) -> TreeBatch:
    """Words with these tokens, then a node for each pair of nodes before it."""
    words = len(token)
    nodes = words + len(pairs)
    level = np.zeros(nodes, np.int64)
    for number, (left, right) in enumerate(pairs.tolist(), words):
        level[number] = max(level[left], level[right]) + 1
    arity = np.zeros(nodes, np.int64)
    arity[words:] = 2
    function = np.full(nodes, word)
    function[words:] = phrase
    child = pairs.reshape(-1)
    is_root = np.bincount(child, minlength=nodes) == 0
    no_tokens = torch.full((len(pairs),), NO_TOKEN)
    graph = TreeBatch(
        function=torch.from_numpy(function),
        token=torch.cat([token.cpu(), no_tokens]),
        child_ptr=torch.from_numpy(np.concatenate([[0], np.cumsum(arity)])),
        child_index=torch.from_numpy(child),
        level=torch.from_numpy(level),
        roots=torch.from_numpy(np.flatnonzero(is_root)),
        sizes=torch.tensor([nodes]),
        label=torch.full((nodes,), NO_LABEL),
        vocabulary=cell.vocabulary,
    )
    return graph.to(token.device, non_blocking=True)


def _check(cell: Cell, ids: Tensor, lengths: Tensor, entangled: bool, everywhere: bool) -> None:
    if ids.dim() != 2 or lengths.shape != ids.shape[:1] or not len(ids):
        raise ValueError(
            f"ids have shape {tuple(ids.shape)} and lengths have shape {tuple(lengths.shape)}; the shapes must be (B, "
            "T) and (B,)"
        )
    T = ids.shape[1]
    shortest = int(lengths.min())
    longest = int(lengths.max())
    if shortest < 1 or longest > T:
        raise ValueError(f"lengths go from {shortest} to {longest}; they must be from 1 to {T}")
    is_word = torch.arange(T, device=ids.device) < lengths.unsqueeze(1)
    tokens = len(cell.vocabulary.tokens)
    lowest = int(ids[is_word].min())
    highest = int(ids[is_word].max())
    if lowest < 0 or highest >= tokens:
        raise ValueError(f"ids go from {lowest} to {highest}, but the vocabulary has tokens from 0 to {tokens - 1}")
    if everywhere and not entangled:
        raise ValueError("everywhere=True joins equal pairs into one node, which needs entangled=True")


# ---------------------------------------------------------------------------------------------------------------------
# Self-StrAE and Banyan as encoders: the neighbours that are most alike are joined first.


UNITS = {"banyan": 2, "strae": 16}
"""Numbers of a channel, as published, by the name of the cells."""


class SequenceEasyFirst(InducingCore):
    r"""The upward sweep of Banyan (Opper & Siddharth 2024, arXiv 2407.17771) or Self-StrAE (2024, arXiv 2402.16325).

    As long as a sentence has two states, the neighbours i, i + 1 with the largest cosine become one, of equal ones the
    leftmost; no gradient passes through the choice:

    .. math:: i = argmax_i \cos(h_i, h_{i+1}), \quad h_i \leftarrow cell(h_i, h_{i+1})

    ``dgltree embed`` trains it without labels, and ``--from`` begins with that. Its parse has the merges of the tree
    that it found, those of the lower node first, not in the order in which they were chosen.

    Args:
        size: the number of ids.
        hidden_size: n, a multiple of the numbers of a channel, 2 of Banyan's and 16 of Self-StrAE's.
        cell: "banyan" or "strae".
        everywhere: whether a pair is joined at all of its places in a sentence at once.
        dropout: probability, in training only, on embeddings.
        cell_dropout: the same on what is joined.
        max_length: of a sequence; None: any.

    Initialisation: that of the cells.

    Raises ``ValueError`` for another cell, and a width that is not a multiple.
    """

    embedding_name = "cell.embedding.weight"

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        cell: Literal["banyan", "strae"] = "banyan",
        everywhere: bool = True,
        dropout: float = 0.0,
        cell_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        own = {"cell": cell, "everywhere": everywhere, "dropout": dropout, "cell_dropout": cell_dropout}
        super().__init__(size, max_length, hidden_size=hidden_size, **own)
        check_choice("cell", cell, UNITS)
        if hidden_size < 1 or hidden_size % UNITS[cell]:
            raise ValueError(f"hidden_size is {hidden_size}; it must be a multiple of {UNITS[cell]} for {cell!r}")
        self.everywhere = everywhere
        ids = Vocabulary([("phrase", 2), ("word", 0)], [str(i) for i in range(size)])
        channels = hidden_size // UNITS[cell]
        upward: Any = SWEEPS[cell][0]
        self.cell: Cell = upward(ids, hidden_size, channels=channels, dropout=cell_dropout, leaf_dropout=dropout)

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """There is nothing to trace."""
        found = self._found(ids, lengths)
        orders = _orders(found, ids.shape[1]).to(ids.device)
        return Encoded(found.up["h"][found.roots], Merges(orders))

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        found = self._found(ids, lengths)
        return found.up["h"][found.roots]

    def _found(self, ids: Tensor, lengths: Tensor) -> FoundGraph:
        return easy_first(self.cell, ids, lengths, entangled=True, everywhere=self.everywhere)


def _orders(found: FoundGraph, longest: int) -> Tensor:
    """(B, T - 1) int64, the merges of each sentence."""
    pairs: dict[int, tuple[int, int]] = {}
    child = found.batch.child_index.tolist()
    for node, (first, end) in enumerate(pairwise(found.batch.child_ptr.tolist())):
        if end > first:
            pairs[node] = (child[first], child[first + 1])
    orders = torch.full((len(found.roots), longest - 1), CLOSED)
    for row, root in enumerate(found.roots.tolist()):
        order = _order(pairs, root)
        orders[row, : len(order)] = torch.tensor(order, dtype=torch.int64)
    return orders


def _order(pairs: dict[int, tuple[int, int]], root: int) -> list[int]:
    """The gaps of a tree: those of the nodes that were made first come first."""
    gaps: list[tuple[int, int]] = []
    words = 0
    pending = [(root, False)]  # a node, and whether all words of its left child are counted
    while pending:
        node, left_is_done = pending.pop()
        if node not in pairs:
            words += 1
            continue
        left, right = pairs[node]
        if left_is_done:
            gaps.append((node, words - 1))
            pending.append((right, False))
        else:
            pending.append((node, True))
            pending.append((left, False))
    return [gap for _, gap in sorted(gaps)]
