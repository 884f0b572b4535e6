"""Batches of blanked equations with candidates for the blank, each batch one graph.

A candidate changes only the path from the blank to the root of its side, so the graph holds the fillers once, each
equation once, and for each candidate a copy of that path; equal subtrees are then shared by the schedule. Everything is
computed from preorders of symbol ids with numpy: no tree is built.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dgltree import PlannedBatch, TreeBatch, plan
from dgltree.batching.vocabulary import UNKNOWN
from tasks.equations.canonical import word_digest
from tasks.equations.completion.arithmetic import equal, values
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.identities import World
from tasks.equations.preorders import Batcher, Ints, PreorderNodes, Preorders
from tasks.equations.vocabulary import elementary_vocabulary
from tasks.equations.words import BLANK, CALLED, LEAVES, SINGLE, SYMBOLS, VARIABLES, Word

HEIGHTS = (0.62, 0.28, 0.1)  # how often the blanked subtree is a leaf, of depth 1, of depth 2,
FURTHER_HEIGHTS = (0.45, 0.3, 0.2, 0.05)  # and of depth 3, beyond the papers' world
NEAR_SHARE, OWN_VARIABLES_SHARE, LEAF_SHARE = (
    0.4,
    0.25,
    0.2,
)  # candidates near the own filler, in the equation's variables, leaves; the rest: any
IN_ORDER, USUAL = 0.55, 0.92  # how often variables are named by first appearance; up to here, by some of the first five
POINTS = {"paper": 4, "elementary": 4, "positive": 6}  # random points at which values are compared
SUBTREES = 1024  # at most, compared with each other
HIDDEN = 0.4  # share of batches in which one rarer literal is <unk>
FREQUENT = ("-1", "0", "1", "2", "3", "4", "1/2", "pi", "e")  # literals that never are

_BATCHER = Batcher(elementary_vocabulary(), SYMBOLS)
_RARE = [leaf for leaf in LEAVES[len(VARIABLES) :] if SINGLE[leaf] not in {CALLED[text] for text in FREQUENT}]


class Fillers:
    """The expressions that may be candidates, as nodes."""

    def __init__(self, words: Sequence[Word]) -> None:
        everything = Preorders(words)
        self.nodes, _ = everything.nodes(np.arange(len(words)))
        self.root = everything.start
        self.leaves = np.flatnonzero(everything.length == 1)
        self._variables = np.array([variable_bits(word) for word in words])
        self._within: dict[int, Ints] = {}
        self.number = {word: number for number, word in enumerate(words)}

    def draw(self, bits: int, near: Ints | None, count: int, random: np.random.Generator) -> Ints:
        """``count`` fillers for an equation with the variables ``bits``, some of them of ``near``."""
        if bits not in self._within:
            self._within[bits] = np.flatnonzero(self._variables & ~bits == 0)
        sources = ((NEAR_SHARE, near), (OWN_VARIABLES_SHARE, self._within[bits]), (LEAF_SHARE, self.leaves))
        drawn = [random.choice(source, int(count * share)) for share, source in sources if source is not None]
        return np.concatenate([*drawn, random.integers(0, len(self.root), count - sum(map(len, drawn)))])


@dataclass
class Blanked:
    """E blanked equations with 1 + K candidates each, the first the filler that was there, as roots of one graph."""

    planned: PlannedBatch
    """Batch whose roots are E * (1 + K) filled sides with the blank, then the E other sides, then S subtrees."""
    label: Tensor
    """(E, 1 + K) 1.0 where the filled equation is true, 0.0 where not, NaN where that is unknown or the row spare."""
    alike: Tensor
    """(S, S) bool: which subtrees of the equations have equal values; not a subtree with itself."""

    def parts(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The candidates (E, 1 + K, ...), other sides (E, ...) and subtrees (S, ...) among what the roots have."""
        equations, each = self.label.shape
        candidates, other, subtrees = states.split([equations * each, equations, len(self.alike)])
        return candidates.unflatten(0, (equations, each)), other, subtrees


class Maker:
    """Draws blanks and candidates for equations.

    Args:
        sides: the words of each equation, its left and its right side.
        fillers: the words that may be candidates. Only subtrees that are among them are blanked, so that the digests
            of held-out equations with every filler keep out what they should.
        candidates: K, for each equation, in addition to its own filler.
        world: of the equations; in the papers' every literal is known, in "positive" variables are positive numbers.
    """

    def __init__(
        self,
        sides: Sequence[tuple[Word, Word]],
        fillers: Sequence[Word],
        candidates: int,
        world: World = "paper",
    ) -> None:
        self._left = np.array([len(left) for left, _ in sides])
        self._equations = Preorders([left + right for left, right in sides])
        self.fillers = Fillers(fillers)
        self._count = candidates
        self._world = world
        self._held_out = held_out(world)

    def make(self, which: Ints, random: np.random.Generator, near: Ints | None = None) -> Blanked:
        """Blank each of the chosen equations once; ``near`` (F, M) has fillers hard to tell from each filler."""
        nodes, item = self._equations.nodes(which)
        start = np.searchsorted(item, np.arange(len(which)))
        nodes.symbol = _renamed(nodes.symbol, item, start, random)
        heights = HEIGHTS if self._world == "paper" else FURTHER_HEIGHTS
        blank = _drawn_blanks(nodes.height, item, heights, random)
        own, usable = self._own_fillers(nodes.symbol, start, blank, which)
        variables = np.zeros(len(which), np.int64)
        named = nodes.symbol < len(VARIABLES)
        np.bitwise_or.at(variables, item[named], 1 << nodes.symbol[named])
        chosen = np.stack(
            [
                self.fillers.draw(bits, None if near is None or number is None else near[number], self._count, random)
                for bits, number in zip(variables.tolist(), own, strict=True)
            ]
        )
        fixed = len(self.fillers.nodes.symbol)
        whole = _concatenated([self.fillers.nodes, nodes.shifted(fixed)])
        whole, filled = _with_paths(whole, blank + fixed, self.fillers.root[chosen])
        right = start + self._left[which]
        blanked, other = np.where(blank < right, (start, right), (right, start)) + fixed
        equations = slice(fixed, fixed + len(item))
        return _labelled(whole, np.c_[blanked, filled], other, equations, usable, random, self._world)

    def _own_fillers(self, symbol: Ints, start: Ints, blank: Ints, which: Ints) -> tuple[list[int | None], Tensor]:
        """The numbers of the blanked fillers, and (E,) whether they have one and the shape is not held out."""
        words = np.split(symbol.astype(np.uint8), start[1:])
        size = self._equations.size[self._equations.start[which] + blank - start]
        own = []
        usable = []
        for word, left, place, length in zip(words, self._left[which], blank - start, size, strict=True):
            text = word.tobytes()
            shape = text[:place] + SINGLE[BLANK] + text[place + length :]
            middle = left if place >= left else left + 1 - length
            own.append(self.fillers.number.get(text[place : place + length]))
            usable.append(
                own[-1] is not None and word_digest(shape[:middle], shape[middle:]) not in held_out(self._world)
            )
        return own, torch.tensor(usable)


def variable_bits(word: Word) -> int:
    """Which variables a word has, a bit each."""
    return sum(1 << symbol for symbol in set(word) if symbol in VARIABLES)


def _renamed(symbol: Ints, item: Ints, start: Ints, random: np.random.Generator) -> Ints:
    """Variables named by first appearance, or by some of the first five names, or now and then by any."""
    names = np.tile(np.arange(len(VARIABLES)), (len(start), 1))
    for row, word in zip(names, np.split(symbol, start[1:]), strict=True):
        way = random.random()
        if way < IN_ORDER:
            present = list(dict.fromkeys(word[word < len(VARIABLES)].tolist()))
            row[present] = np.arange(len(present))
        elif way < USUAL:
            row[:5] = random.permutation(5)
        else:
            row[:] = random.permutation(len(row))
    named = symbol < len(VARIABLES)
    symbol = symbol.copy()
    symbol[named] = names[item[named], symbol[named]]
    return symbol


def _drawn_blanks(height: Ints, item: Ints, heights: Sequence[float], random: np.random.Generator) -> Ints:
    """One node of each equation: its height by ``heights``, then any node of that height (Gumbel's trick)."""
    weight = np.zeros(len(item))
    for depth, share in enumerate(heights):
        there = height == depth
        weight[there] = share / np.bincount(item[there], minlength=item[-1] + 1)[item[there]]
    key = np.log(np.maximum(weight, 1e-30)) - np.log(-np.log(random.random(len(item))))
    order = np.lexsort((key, item))
    return order[np.searchsorted(item, np.arange(item[-1] + 1), side="right") - 1]


def _with_paths(nodes: PreorderNodes, blank: Ints, fillers: Ints) -> tuple[PreorderNodes, Ints]:
    """``nodes`` and, for each blank (E,) and filler of it (E, K), a copy of the path to the root; (E, K) the roots."""
    parent = np.full(len(nodes.symbol), -1)
    for child in (nodes.first, nodes.second):
        parent[child[child >= 0]] = np.flatnonzero(child >= 0)
    copies = [nodes]
    below = fillers.copy()
    height = nodes.height[fillers]
    at = blank.copy()
    total = len(nodes.symbol)
    going = np.flatnonzero(parent[at] >= 0)
    while len(going):
        child = at[going]
        node = parent[at[going]]
        first = (nodes.first[node] == child)[:, None]
        second = nodes.second[node][:, None]
        sibling = np.where(first, second, nodes.first[node][:, None])
        beside = np.where(sibling < 0, 0, nodes.height[sibling])
        height[going] = 1 + np.maximum(height[going], beside)
        left = np.where(first, below[going], sibling)
        right = np.where(first, sibling, below[going])
        symbol = np.repeat(nodes.symbol[node], fillers.shape[1])
        copies.append(PreorderNodes(symbol, left.ravel(), right.ravel(), height[going].ravel()))
        below[going] = total + np.arange(len(symbol)).reshape(left.shape)
        total += len(symbol)
        at[going] = node
        going = going[parent[node] >= 0]
    return _concatenated(copies), below


def _labelled(
    nodes: PreorderNodes,
    filled: Ints,
    other: Ints,
    equations: slice,
    usable: Tensor,
    random: np.random.Generator,
    world: World,
) -> Blanked:
    """The graph of ``nodes``, planned, with what arithmetic says of its equations and of their subtrees."""
    hidden = int(random.choice(_RARE)) if world != "paper" and random.random() < HIDDEN else None
    planned = plan(as_graph(nodes, hidden), share=True)
    rows = planned.schedule
    value = values(planned, torch.from_numpy(nodes.symbol), POINTS[world], random, world == "positive")
    candidates, opposite = (rows.row[torch.from_numpy(places)] for places in (filled, other))
    label = equal(value[candidates], value[opposite][:, None])
    label[:, 1:][candidates[:, 1:] == candidates[:, :1]] = math.nan  # the filler that was there counts once
    label[~usable | (label[:, 0] != 1)] = math.nan
    own = rows.row[equations].unique()
    subtrees = own[(own >= rows.leaves) & torch.isfinite(value[own]).all(1)]
    subtrees = subtrees[torch.from_numpy(random.permutation(len(subtrees))[:SUBTREES])]
    alike = equal(value[subtrees][:, None], value[subtrees]) == 1
    roots = rows.node[torch.cat([candidates.flatten(), opposite, subtrees])]
    return Blanked(replace(planned, batch=replace(planned.batch, roots=roots)), label, alike.fill_diagonal_(False))


def _concatenated(parts: list[PreorderNodes]) -> PreorderNodes:
    columns = ((part.symbol, part.first, part.second, part.height) for part in parts)
    return PreorderNodes(*map(np.concatenate, zip(*columns, strict=True)))


def as_graph(nodes: PreorderNodes, hidden: int | None = None) -> TreeBatch:
    """One graph; its roots play no part. A ``hidden`` literal is ``<unk>``: one only, so equal leaves are equal."""
    batch = _BATCHER.graph(nodes, np.zeros(1, np.int64), np.array([len(nodes.symbol)]))
    if hidden is None:
        return batch
    unknown = torch.tensor(_BATCHER.vocabulary.token_id(UNKNOWN))
    return replace(batch, token=torch.where(torch.from_numpy(nodes.symbol == hidden), unknown, batch.token))
