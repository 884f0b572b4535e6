"""Scores of all fillers for blocks of equations, computing only what a filler changes.

A filler changes the path from the blank to the root. What is off the path is computed once an equation, what a
filler is once a call, and a piece of path that several equations share once a block. In evaluation mode this is exact:
the path runs through the same ``Cell.step`` as everything else.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import prod

import torch
from torch import Tensor

from dgltree.batching.batch import batch
from dgltree.cells import Cell
from dgltree.cells.step import State
from dgltree.engine.kernels.choice import path_kernel
from dgltree.engine.propagate import propagate
from dgltree.equations.expressions.paths import Path, find_blank
from dgltree.models.tree_model import EquationModel, evaluating
from dgltree.ranking.fused_paths import FusedPaths
from dgltree.ranking.merged_paths import Context, merge_paths, path_order
from dgltree.ranking.path_states import ContextGroup, PathStates
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

ROWS = 2048  # rows (contexts x fillers) that run through a cell at once: what a CPU's caches like


class FillerStates:
    """The states of fillers, computed once for any number of equations.

    Args:
        model: in any mode; it is run in evaluation mode.
        fillers: in the model's vocabulary.
    """

    def __init__(self, model: EquationModel, fillers: Sequence[Tree]) -> None:
        distinct: dict[Tree, int] = {}
        self.twin = [distinct.setdefault(filler, len(distinct)) for filler in fillers]
        """For each filler its place among the distinct ones."""
        with evaluating(model):
            self.states = _root_states(model.cell, list(distinct))
        """Part name to (distinct fillers, *shape)."""

    def __len__(self) -> int:
        """How many are distinct."""
        return len(self.states["h"])


def score_blocks(
    model: EquationModel, equations: Sequence[Equation], fillers: FillerStates, memory_bytes: int
) -> Iterator[tuple[list[int], Tensor]]:
    """Blocks of equations that share pieces of path: their numbers, and (block, F) logits of all fillers.

    Equations are in the model's vocabulary; see :class:`dgltree.Ranker` for the arguments.
    """
    cell, leaf = model.cell, fillers.states
    paths = [find_blank(equation) for equation in equations]
    # two heights of states and a cell's temporaries, for each equation and filler
    state_bytes = leaf["h"].element_size() * sum(prod(shape) for shape in cell.state.values())
    pairs = max(1, memory_bytes // (3 * state_bytes))
    width = min(len(fillers), pairs)
    order = path_order(paths)
    size = max(1, pairs // width)
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        with evaluating(model):
            block = _Block(model, [equations[i] for i in numbers], [paths[i] for i in numbers], width)
            chunks = [
                block.scores({part: rows[first : first + width] for part, rows in leaf.items()})
                for first in range(0, len(fillers), width)
            ]
        yield numbers, torch.cat(chunks, 1)[:, fillers.twin]


def _root_states(cell: Cell, trees: list[Tree]) -> State:
    """Part name to (trees, *shape)."""
    flat = batch(trees, cell.vocabulary).to(next(cell.parameters()).device)
    states = propagate(flat, cell, share=True)
    return {part: rows.index_select(0, flat.roots) for part, rows in states.items()}


class _Block:
    """Some equations, with everything about them that does not depend on the fillers."""

    def __init__(self, model: EquationModel, equations: list[Equation], paths: list[Path], width: int) -> None:
        self.cell, self.readout = model.cell, model.readout
        self.paths = merge_paths(equations, paths, self.cell.vocabulary)
        self.off_path = _root_states(self.cell, list(self.paths.off_path))
        self.at_root: dict[int | None, list[int]] = {}
        for equation, (root, _, _) in enumerate(self.paths.ends):
            self.at_root.setdefault(root, []).append(equation)
        self.up = self._compiled() or _Steps(self.cell, self.paths.contexts, self.off_path, width)

    def _compiled(self) -> FusedPaths | None:
        found, contexts = path_kernel(self.cell), self.paths.contexts
        if found is None or not contexts:
            return None
        (kernel, fused), order = found, list(_depth_first(contexts))
        roots = [root for root in self.at_root if root is not None]
        return FusedPaths(self.cell, fused, kernel, [contexts[c] for c in order], order, roots, self.off_path)

    def scores(self, fillers: State) -> Tensor:
        """(E, F) logits for filler states (F, *shape)."""
        out = fillers["h"].new_empty(len(self.paths.ends), len(fillers["h"]))
        self._read_out(out, None, fillers["h"])
        for context, h in self.up.root_states(fillers):
            self._read_out(out, context, h)
        return out

    def _read_out(self, out: Tensor, context: int | None, h: Tensor) -> None:
        """Scores of the equations whose root on the blank's side is a context with the states h, (F, n)."""
        for e in self.at_root.get(context, []):
            _, other, side = self.paths.ends[e]
            sides = (h, self.off_path["h"][other])
            out[e] = self.readout(sides[side], sides[1 - side])


class _Steps:
    """The contexts step by step, by torch's operations.

    Few fillers run through the contexts of one height together. So many that one context is work enough go up one path
    after another, so that what they read is what they wrote last: it is still in the caches.
    """

    def __init__(self, cell: Cell, contexts: Sequence[Context], off_path: State, width: int) -> None:
        self.cell, self.contexts, self.off_path = cell, contexts, off_path
        counts = Counter(context.height for context in contexts)
        self.deep = 2 * width > ROWS and 0 < len(counts) <= 2 * max(counts.values(), default=0)
        self.held = len(counts) if self.deep else 2  # heights: else the one that is computed, and that below it
        if self.deep:
            self.order = list(_depth_first(contexts))
        else:
            self.order = sorted(range(len(contexts)), key=lambda c: (*_together(contexts[c]), contexts[c].function))
        arity = max((context.arity for context in contexts), default=1)
        known = [
            [contexts[c].function, contexts[c].token, *contexts[c].siblings, *[0] * (arity - contexts[c].arity)]
            for c in self.order
        ]
        # one copy to the device for all steps, which then need not wait for it
        columns = torch.tensor(known, dtype=torch.int64, device=off_path["h"].device)
        self.function, self.token, *self.siblings = columns.view(len(known), arity + 1).unbind(1)

    def root_states(self, fillers: State) -> Iterator[tuple[int, Tensor]]:
        """The number of each context, and its h for all fillers, (F, n)."""
        states = PathStates(self.cell, self.off_path, fillers, self.held)
        for height, level in self._levels(len(fillers["h"])):
            states.begin(height)
            for group in level:
                numbers = self.order[group]
                contexts = [self.contexts[c] for c in numbers]
                siblings = [index[group] for index in self.siblings[: contexts[0].arity - 1]]
                x = self.cell.node_inputs(self.function[group], self.token[group], None, None)
                yield from zip(numbers, states.step(ContextGroup(numbers, contexts, siblings, x)), strict=True)

    def _levels(self, width: int) -> Iterator[tuple[int, Iterable[slice]]]:
        """Heights, and the groups of each, those first on which others depend."""
        heights = [self.contexts[c].height for c in self.order]
        if self.deep:
            return ((height, [slice(i, i + 1)]) for i, height in enumerate(heights))
        return groupby(self._groups(width), key=lambda group: heights[group.start])

    def _groups(self, width: int) -> Iterator[slice]:
        """Places in the order of contexts that run through the cell together, lower ones first."""
        size = max(1, ROWS // width)
        for _, same in groupby(range(len(self.order)), key=lambda i: _together(self.contexts[self.order[i]])):
            places = list(same)
            for start in range(places[0], places[-1] + 1, size):
                yield slice(start, min(start + size, places[-1] + 1))


def _depth_first(contexts: Sequence[Context]) -> Iterator[int]:
    """Each after the one below it, and all above it before the next."""
    above: dict[int | None, list[int]] = {}
    for number, context in enumerate(contexts):
        above.setdefault(context.below, []).append(number)
    todo = above.get(None, [])
    while todo:
        number = todo.pop()
        yield number
        todo += above.get(number, [])


def _together(context: Context) -> tuple[int, int, int, int]:
    """Contexts that run through the cell together have the same height, arity, slot and reach."""
    return context.height, context.arity, context.slot, context.above
