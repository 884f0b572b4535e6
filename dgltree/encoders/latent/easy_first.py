"""Trees over sentences by their own vectors: neighbours that are most alike are joined first, without a scorer."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

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
"""Of a vector's length, as in ``torch.nn.functional.cosine_similarity``."""


@dataclass(frozen=True, eq=False)
class FoundGraph:
    """The nodes that a search made: words first, then what was joined, in the order in which it was."""

    batch: TreeBatch
    """As one graph, its roots the nodes without a parent."""
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
    device = next(cell.parameters()).device
    order = np.argsort(-lengths.cpu().numpy(), kind="stable")
    known, token = lengths.cpu().numpy()[order], ids.cpu().numpy()[order]
    there = np.arange(token.shape[1]) < known[:, None]
    rows = np.zeros_like(token)
    if entangled:
        leaf_tokens, rows[there] = np.unique(token[there], return_inverse=True)
    else:
        leaf_tokens = token[there]
        rows[there] = np.arange(len(leaf_tokens))
    nodes = _Nodes(cell, torch.from_numpy(leaf_tokens).to(device, non_blocking=True), entangled)
    roots = _joined(nodes, rows[:, : known[0]], known, everywhere)
    back = np.argsort(order, kind="stable")
    words = torch.from_numpy(rows[back]).to(device, non_blocking=True)
    left = torch.from_numpy(roots[back]).to(device, non_blocking=True)
    return FoundGraph(nodes.batch(), nodes.up(), words, left)


def _joined(nodes: "_Nodes", rows: np.ndarray, counts: np.ndarray, everywhere: bool) -> np.ndarray:
    """(B,) the node that is left of each sentence, of rows (B, T), the longest first."""
    roots, counts = rows[:, 0].copy(), counts.copy()
    cosines = np.full((len(rows), rows.shape[1] - 1), -np.inf)
    pair = np.arange(cosines.shape[1]) < counts[:, None] - 1
    cosines[pair] = nodes.cosines(rows[:, :-1][pair], rows[:, 1:][pair])
    at_row = np.arange(len(rows))
    while True:
        done = counts == 1
        roots[at_row[done]] = rows[done, 0]
        if done.all():
            return roots
        rows, counts, cosines, at_row = rows[~done], counts[~done], cosines[~done], at_row[~done]
        width = int(counts.max())
        rows, cosines = rows[:, :width], cosines[:, : width - 1]
        chosen = _chosen(rows, counts, cosines, everywhere)
        sentence, place = np.nonzero(chosen)
        made = nodes.joined(rows[sentence, place], rows[sentence, place + 1])
        rows, counts, cosines = _shorter(nodes, rows, counts, cosines, chosen, made)


def _chosen(rows: np.ndarray, counts: np.ndarray, cosines: np.ndarray, everywhere: bool) -> np.ndarray:
    """(b, S - 1) bool, the pairs of each sentence that are joined now; no two of them overlap."""
    best = leftmost_best(torch.from_numpy(cosines), 1).numpy()
    pairs = np.arange(cosines.shape[1])
    if not everywhere:
        return pairs == best
    left, right = np.take_along_axis(rows, best, 1), np.take_along_axis(rows, best + 1, 1)
    chosen = (rows[:, :-1] == left) & (rows[:, 1:] == right) & (pairs < counts[:, None] - 1)
    for t in range(1, chosen.shape[1]) if (left == right).any() else ():  # a a a: the second pair begins in the first
        chosen[:, t] &= ~chosen[:, t - 1]
    return chosen


def _shorter(
    nodes: "_Nodes", rows: np.ndarray, counts: np.ndarray, cosines: np.ndarray, chosen: np.ndarray, made: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, counts and cosines once the chosen pairs are joined."""
    b, width = rows.shape
    rows, fresh, gone = rows.copy(), np.zeros((b, width), bool), np.zeros((b, width), bool)
    rows[:, :-1][chosen] = made
    fresh[:, :-1], gone[:, 1:] = chosen, chosen
    source = np.argsort(gone, 1, kind="stable")  # what stays moves to the left
    rows, fresh = np.take_along_axis(rows, source, 1), np.take_along_axis(fresh, source, 1)
    counts = counts - chosen.sum(1)
    cosines = np.take_along_axis(np.pad(cosines, ((0, 0), (0, 1)), constant_values=-np.inf), source, 1)[:, :-1]
    pair = np.arange(width - 1) < counts[:, None] - 1
    cosines[~pair] = -np.inf
    changed = pair & (fresh[:, :-1] | fresh[:, 1:])
    cosines[changed] = nodes.cosines(rows[:, :-1][changed], rows[:, 1:][changed])
    return rows, counts, cosines


class _Nodes:
    """The nodes of a search, by number: their states, their children, and the direction of their h."""

    def __init__(self, cell: Cell, token: Tensor, entangled: bool) -> None:
        self.cell, self.token, self.entangled = cell, token, entangled
        self.phrase = cell.vocabulary.function_id("phrase", 2)
        self.word = cell.vocabulary.function_id("word", 0)
        self.sizes = [int(np.prod(shape)) for shape in cell.state.values()]
        self._known: dict[int, int] = {}
        self._pairs: list[np.ndarray] = []
        leaves = self._packed(self._leaf_states())
        self._table = Table(sum(self.sizes), leaves, 2 * len(leaves))
        self._unit = Table(cell.hidden_size, leaves.detach(), 2 * len(leaves))
        self._write(leaves)

    def _leaf_states(self) -> State:
        batch = _graph(self.cell, self.token, self.word, np.empty((0, 2), np.int64), self.phrase)
        every = torch.arange(len(self.token), device=self.token.device)
        states = self.cell.leaf_states(batch, every, [(self.word, 0, len(every))])
        return {part: states[part] for part in self.cell.state}

    def _packed(self, states: State) -> Tensor:
        return torch.cat([states[part].flatten(1) for part in self.cell.state], 1)

    def _unpacked(self, rows: Tensor) -> State:
        parts = rows.split(self.sizes, 1)
        return {
            part: each.unflatten(1, shape) for each, (part, shape) in zip(parts, self.cell.state.items(), strict=True)
        }

    def _write(self, rows: Tensor) -> np.ndarray:
        with torch.no_grad():
            h = self._unpacked(rows)["h"]
            self._unit.write(h / h.norm(dim=1, keepdim=True).clamp(min=NORM_EPSILON))
        found: np.ndarray = self._table.write(rows).numpy()
        return found

    def cosines(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(m,) of pairs of nodes (m,) and (m,)."""
        unit = self._unit.buffer
        places = (torch.from_numpy(side).to(unit.device, non_blocking=True) for side in (left, right))
        a, b = (unit.index_select(0, place) for place in places)
        found: np.ndarray = (a * b).sum(1).double().cpu().numpy()
        return found

    def joined(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(m,) the nodes that pairs (m,) and (m,) become; entangled, an equal pair became one before or does now."""
        if not self.entangled:
            return self._compose(left, right)
        keys, first, inverse = np.unique(left * SPAN + right, return_index=True, return_inverse=True)
        numbers = np.array([self._known.get(key, -1) for key in keys.tolist()])
        new = numbers < 0
        if new.any():
            numbers[new] = self._compose(left[first[new]], right[first[new]])
            self._known.update(zip(keys[new].tolist(), numbers[new].tolist(), strict=True))
        found: np.ndarray = numbers[inverse]
        return found

    def _compose(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        both = self._table.read(torch.from_numpy(np.concatenate([left, right])))
        l_states, r_states = self._unpacked(both[: len(left)]), self._unpacked(both[len(left) :])
        children = {part: [l_states[part], r_states[part]] for part in l_states}
        linear = self.cell.linear_for(2, [(self.phrase, 0, len(left))])
        states = self.cell.compute(torch.cat(list(children["h"]), 1), None, children, linear)
        self._pairs.append(np.stack([left, right], 1))
        return self._write(self._packed({part: states[part] for part in self.cell.state}))

    def up(self) -> State:
        return self._unpacked(self._table.read(torch.arange(self._table.count)))

    def batch(self) -> TreeBatch:
        pairs = np.concatenate([np.empty((0, 2), np.int64), *self._pairs])
        return _graph(self.cell, self.token, self.word, pairs, self.phrase)


def _graph(cell: Cell, token: Tensor, word: int, pairs: np.ndarray, phrase: int) -> TreeBatch:
    """Words with these tokens, then a node for each pair of nodes before it."""
    leaves, count = len(token), len(token) + len(pairs)
    level = np.zeros(count, np.int64)
    for number, (left, right) in enumerate(pairs.tolist(), leaves):
        level[number] = max(level[left], level[right]) + 1
    arity = np.repeat([0, 2], [leaves, len(pairs)])
    function = np.repeat([word, phrase], [leaves, len(pairs)])
    child = pairs.reshape(-1)
    made = TreeBatch(
        function=torch.from_numpy(function),
        token=torch.cat([token.cpu(), torch.full((len(pairs),), NO_TOKEN)]),
        child_ptr=torch.from_numpy(np.concatenate([[0], np.cumsum(arity)])),
        child_index=torch.from_numpy(child),
        level=torch.from_numpy(level),
        roots=torch.from_numpy(np.flatnonzero(np.bincount(child, minlength=count) == 0)),
        sizes=torch.tensor([count]),
        label=torch.full((count,), NO_LABEL),
        vocabulary=cell.vocabulary,
    )
    return made.to(token.device, non_blocking=True)


def _check(cell: Cell, ids: Tensor, lengths: Tensor, entangled: bool, everywhere: bool) -> None:
    if ids.dim() != 2 or lengths.shape != ids.shape[:1] or not len(ids):
        raise ValueError(
            f"ids are {tuple(ids.shape)} for lengths {tuple(lengths.shape)}; the shapes must be (B, T) and (B,)"
        )
    if int(lengths.min()) < 1 or int(lengths.max()) > ids.shape[1]:
        raise ValueError(
            f"lengths are {int(lengths.min())} to {int(lengths.max())}; a sentence has 1 to {ids.shape[1]} words here"
        )
    there = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)
    count, found = len(cell.vocabulary.tokens), ids[there]
    if int(found.min()) < 0 or int(found.max()) >= count:
        raise ValueError(
            f"ids are {int(found.min())} to {int(found.max())}; the vocabulary has tokens 0 to {count - 1}"
        )
    if everywhere and not entangled:
        raise ValueError("everywhere=True joins equal pairs, which are one node only with entangled=True")


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
        return Encoded(found.up["h"][found.roots], Merges(_orders(found, ids.shape[1]).to(ids.device)))

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        found = self._found(ids, lengths)
        return found.up["h"][found.roots]

    def _found(self, ids: Tensor, lengths: Tensor) -> FoundGraph:
        return easy_first(self.cell, ids, lengths, entangled=True, everywhere=self.everywhere)


def _orders(found: FoundGraph, longest: int) -> Tensor:
    """(B, T - 1) int64, the merges of each sentence."""
    pairs: dict[int, tuple[int, int]] = {}
    start, child = found.batch.child_ptr.tolist(), found.batch.child_index.tolist()
    for node, (first, end) in enumerate(pairwise(start)):
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
    waiting, words = [(root, False)], 0
    while waiting:
        node, left_is_done = waiting.pop()
        if node not in pairs:
            words += 1
        elif left_is_done:
            gaps.append((node, words - 1))
            waiting.append((pairs[node][1], False))
        else:
            waiting += [(node, True), (pairs[node][0], False)]
    return [gap for _, gap in sorted(gaps)]
