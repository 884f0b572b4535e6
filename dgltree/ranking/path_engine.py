"""Scores of all fillers for blocks of equations, computing only what a filler changes.

A filler changes the path from the blank to the root. What is off the path is computed once an equation, what a
filler is once a call, and a piece of path that several equations share once a block. In evaluation mode this is exact:
the path runs through the same ``Cell.step`` as everything else.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import batch
from dgltree.batching.vocabulary import NO_TOKEN, Vocabulary
from dgltree.cells import Aggregation, Cell
from dgltree.engine.contract import Children, Fused, Rows, Send, State, StepRows
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import path_kernel
from dgltree.engine.kernels.kernel import PathTables, States
from dgltree.engine.kernels.threads import threads_of_torch
from dgltree.engine.propagate import propagate
from dgltree.engine.typed_linear import Segments, TypedLinear, concatenate, product
from dgltree.equations.expressions.variables import Path, find_blank
from dgltree.models.tree_model import EquationModel, evaluating
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_paths import NumbaPaths

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
        """The place of each filler among the distinct ones."""
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


@dataclass
class Context:
    """One node of a path, above a blank that may still be anything: the same for all equations that share it."""

    function: int
    token: int
    arity: int
    slot: int
    siblings: tuple[int, ...]
    """Numbers of the trees in the other slots, in order."""
    below: int | None
    """The context of the child on the path; None if that is the blank itself."""
    height: int
    """Cells between the blank and this node, from 0."""
    above: int = 0
    """The most cells between this node and a root."""


@dataclass
class Paths:
    """The contexts of several equations, children before parents, and the trees that are off their paths."""

    contexts: list[Context] = field(default_factory=list)
    off_path: dict[Tree, int] = field(default_factory=dict)
    """Tree to number: siblings of path nodes, and whole other sides."""
    ends: list[tuple[int | None, int, int]] = field(default_factory=list)
    """For each equation: its root's context (None for a bare blank), the number of its other side, the blank's side."""


def merge_paths(equations: Sequence[Equation], paths: Sequence[Path], vocabulary: Vocabulary) -> Paths:
    """Equal pieces of path, from the blank upwards, become one context."""
    merged = Paths()
    known: dict[tuple[int, int, int, tuple[int, ...], int | None], int] = {}
    number = merged.off_path
    for equation, (side, steps) in zip(equations, paths, strict=True):
        below = None
        for height, (node, slot) in enumerate(steps):
            siblings = tuple(
                number.setdefault(child, len(number)) for k, child in enumerate(node.children) if k != slot
            )
            function = vocabulary.function_id(node.function, len(node.children))
            token = NO_TOKEN if node.token is None else vocabulary.token_id(node.token)
            key = (function, token, slot, siblings, below)
            if key not in known:
                known[key] = len(merged.contexts)
                merged.contexts.append(Context(function, token, len(node.children), slot, siblings, below, height))
            below = known[key]
            context = merged.contexts[below]
            context.above = max(context.above, len(steps) - 1 - height)
        other = equation[1 - side]
        merged.ends.append((below, number.setdefault(other, len(number)), side))
    return merged


def path_order(paths: Sequence[Path]) -> list[int]:
    """Equations sorted so that those with a common piece of path are together."""
    shapes: dict[tuple[Tree | None, int], int] = {}

    def key(path: Path) -> list[int]:
        """Equal path nodes, the child towards the blank aside, get equal numbers."""
        numbers = []
        for node, slot in path.steps:
            aside = node.replace(children=[BLANK if k == slot else child for k, child in enumerate(node.children)])
            numbers.append(shapes.setdefault((aside, slot), len(shapes)))
        return numbers

    keys = [key(path) for path in paths]
    return sorted(range(len(paths)), key=keys.__getitem__)


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

    def _compiled(self) -> "FusedPaths | None":
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


# The step of a path: nodes above a blank that may still be anything, for all fillers at once.
class PathRows(StepRows):
    """C path nodes of one arity for F fillers. Only the child on the path differs from filler to filler.

    So the part of every product that the other children make is computed once for all fillers.

    Args:
        cell: in evaluation mode.
        slots: the states of the children in each slot, part name to (C, 1, *shape), except for the one on the path,
            (C, F, *shape).
        moving: the slot of the child on the path.
        segments: the runs of nodes with one function.
        x: (C, d), the nodes' inputs; None without.
    """

    def __init__(self, cell: Cell, slots: Sequence[State], moving: int, segments: Segments, x: Tensor | None) -> None:
        linear = cell.linear_for(len(slots), segments)
        super().__init__(linear, None if x is None else linear("input", x).unsqueeze(1))
        self._slots, self._moving, self._segments = slots, moving, segments
        self._maps, self._key, self._called = cell.named_maps(), cell.key(len(slots)), cell.called_maps()

    def children(self) -> Children:
        return {part: [slot[part] for slot in self._slots] for part in self._slots[0]}

    def products(self, names: Sequence[str], drop: Rows | None) -> list[Tensor]:
        names = [f"{name}_{self._key}" for name in names]
        return [(self._whole if name in self._called else self._split_product)(self._maps[name]) for name in names]

    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        places = self._slots[0]["h"].new_tensor(range(len(self._slots)), dtype=torch.int64)
        sent = [send(state, place, x_pre, self.linear) for state, place in zip(self._slots, places, strict=True)]
        return aggregate.of_slots([{name: messages[name] for name in names} for messages in sent]), {}

    def _whole(self, gate: TypedLinear) -> Tensor:
        """(C, F, out): the map of all children's h, for each filler, because the map is more than a product."""
        out: Tensor = gate(concatenate([state["h"] for state in self._slots]), self._segments)
        return out

    def _split_product(self, gate: TypedLinear) -> Tensor:
        """(C, F, out): the map of all children's h, what is off the path multiplied once for all fillers."""
        h, slot = [state["h"] for state in self._slots], self._moving
        off = [torch.zeros_like(state[:, :1]) if k == slot else state for k, state in enumerate(h)]
        weights, runs = gate.weights(), gate.runs(self._segments)
        constant = product(concatenate(off), weights.unbound(), runs)
        n = h[slot].shape[-1]
        weight = weights.weight[:, :, slot * n : (slot + 1) * n].mT
        out = constant.new_empty(*h[slot].shape[:-1], constant.shape[-1])
        for matrix, start, stop in runs:
            for i in range(start, stop):
                torch.addmm(constant[i, 0], h[slot][i], weight[matrix], out=out[i])
        return out


class ContextGroup(NamedTuple):
    """C contexts that are computed together: of one height, arity, slot and reach, sorted by function."""

    numbers: Sequence[int]
    """By which the contexts above name them."""
    contexts: Sequence[Context]
    siblings: Sequence[Tensor]
    """(C,) int64 each, the numbers of the trees in the other slots."""
    x: Tensor | None
    """(C, d), the nodes' inputs; None without."""

    @property
    def segments(self) -> Segments:
        """The runs of contexts with one function."""
        return segments_of(self.contexts)


def segments_of(contexts: Sequence[Context]) -> Segments:
    """The runs of contexts with one function."""
    functions = [context.function for context in contexts]
    runs = [list(run) for _, run in groupby(range(len(functions)), key=functions.__getitem__)]
    return [(functions[run[0]], run[0], run[-1] + 1) for run in runs]


class PathStates:
    """States of the contexts of the last few heights, for all fillers, by ``Cell.step``.

    Args:
        cell: in evaluation mode.
        off_path: states of the trees off the paths, part name to (trees, *shape).
        fillers: states of the fillers, part name to (F, *shape).
        held: of how many heights states are held.
    """

    def __init__(self, cell: Cell, off_path: State, fillers: State, held: int) -> None:
        self.cell, self.off_path, self.fillers = cell, off_path, fillers
        self._heights: list[dict[int, State]] = [{} for _ in range(held)]

    def begin(self, height: int) -> None:
        """Steps of this height follow; what was there of it is forgotten."""
        self._below, self._states = (self._heights[k % len(self._heights)] for k in (height - 1, height))
        self._states.clear()

    def step(self, group: ContextGroup) -> Tensor:
        """(C, F, n), the h of the contexts of a group."""
        cell, first = self.cell, group.contexts[0]

        def reached(state: State) -> State:
            return cell.reachable(state, first.above + 1)  # cells between the children's states and a root

        below = [context.below for context in group.contexts]
        children = [reached(self.fillers if number is None else self._below[number]) for number in below]
        path = {part: _stack([child[part] for child in children]) for part in cell.state}
        others = [
            reached({part: rows.index_select(0, index).unsqueeze(1) for part, rows in self.off_path.items()})
            for index in group.siblings
        ]
        slots = [*others[: first.slot], path, *others[first.slot :]]
        computed, _ = cell.step(PathRows(cell, slots, first.slot, group.segments, group.x))
        for i, (number, context) in enumerate(zip(group.numbers, group.contexts, strict=True)):
            if context.above:
                self._states[number] = {part: computed[part][i] for part in cell.state}
        h: Tensor = computed["h"]
        return h


def _stack(states: list[Tensor]) -> Tensor:
    return states[0].unsqueeze(0) if len(states) == 1 else torch.stack(states)


class FusedPaths:
    """What is off the path is part of the bias of a context's gates, the same for all fillers.

    Args:
        cell: in evaluation mode, which says that it is covered.
        fused: what it says.
        kernel: the class of kernels.
        contexts: each after the one below it, and all above it before the next.
        numbers: of each context, by which those above name it.
        roots: the numbers of the contexts that are roots.
        off_path: states of the trees off the paths, part name to (trees, *shape).
    """

    def __init__(
        self,
        cell: Cell,
        fused: Fused,
        kernel: "type[NumbaPaths]",
        contexts: Sequence[Context],
        numbers: Sequence[int],
        roots: Sequence[int],
        off_path: State,
    ) -> None:
        self.cell, self.fused, self.kernel, self._contexts, self._roots = cell, fused, kernel, contexts, roots
        [(self._part, shape)] = [(part, shape) for part, shape in cell.state.items() if part != "h"]
        self._depth, self._n = prod(shape[:-1]), shape[-1]
        self._trees = self._flat(off_path)
        self._weights: dict[tuple[int, int, int], Tensor] = {}
        """(arity, slot, matrix) to (n, widths), the part of the weights that reads the child towards the blank."""
        place = {number: k for k, number in enumerate(roots)}
        heights = {number: context.height for number, context in zip(numbers, contexts, strict=True)}
        self._tables = self._made([heights.get(c.below, -1) for c in contexts], [place.get(k, -1) for k in numbers])  # type: ignore[arg-type]

    def root_states(self, fillers: State) -> Iterator[tuple[int, Tensor]]:
        """The number of each root, and its h for all fillers, (F, n), from their states, (F, *shape)."""
        states = self._flat(fillers)
        found = states.h.new_empty(len(self._roots), *states.h.shape)
        address = product_address(found.dtype)
        assert address is not None
        with threads_of_torch(found.device):
            self.kernel.run(self.fused.options, self._tables, address, self._trees, states, found)
        return zip(self._roots, found, strict=True)

    def _flat(self, state: State) -> States:
        h, memory = state["h"].contiguous(), state[self._part].reshape(-1, self._depth, self._n)
        return States(h, memory.contiguous(), 0, h.new_empty(0, dtype=torch.int64))

    def _made(self, below: list[int], roots: list[int]) -> PathTables:
        contexts = self._contexts
        arity = max(context.arity for context in contexts)
        siblings, weights = np.zeros((len(contexts), arity), np.int64), [self._trees.h[:0]] * len(contexts)
        gates = [self.cell.named_maps()[f"gates_{self.cell.key(context.arity)}"] for context in contexts]
        constants = self._trees.h.new_empty(len(contexts), max(gate.affine.fan_out for gate in gates))
        order = sorted(range(len(contexts)), key=lambda i: (*_kind(contexts[i]), contexts[i].function))
        for (_, slot), group in groupby(order, key=lambda i: _kind(contexts[i])):
            places = list(group)
            others = [k for k in range(contexts[places[0]].arity) if k != slot]
            siblings[np.ix_(places, others)] = [contexts[i].siblings for i in places]
            constant, own = self._off_path([contexts[i] for i in places], slot, others)
            constants[places, : constant.shape[1]] = constant
            for i, weight in zip(places, own, strict=True):
                weights[i] = weight
        reached = cache(self._reached)
        paths = [
            (c.arity, c.slot, c.height, under, weight.data_ptr(), weight.shape[1], *reached(c.above + 1), root)
            for c, under, weight, root in zip(contexts, below, weights, roots, strict=True)
        ]
        return PathTables(torch.tensor(paths), torch.from_numpy(siblings), constants)

    def _off_path(self, group: list[Context], slot: int, others: list[int]) -> tuple[Tensor, list[Tensor]]:
        """(C, widths), what is off the path of the pre-activations; and for each context the weights of what moves.

        The contexts have one arity and slot, and are sorted by function.
        """
        arity, n, h, segments = len(others) + 1, self._n, self._trees.h, segments_of(group)
        gate = self.cell.named_maps()[f"gates_{self.cell.key(arity)}"]
        own, runs = gate.weights(), gate.runs(segments)
        i = h.new_zeros(len(group), arity, n)
        i[:, others] = h[torch.tensor([context.siblings for context in group], dtype=torch.int64)]
        constant = product(i.flatten(1), own.unbound(), runs)
        function, token = torch.tensor([(context.function, context.token) for context in group]).unbind(1)
        x = self.cell.node_inputs(function, token, None, None)
        if x is not None:
            constant = constant + self.cell.linear_for(arity, segments)("input", x)
        moving = own.weight[:, :, slot * n : (slot + 1) * n]
        weights = {matrix: moving[matrix].t().contiguous() for matrix, _, _ in runs}
        self._weights |= {(arity, slot, matrix): weight for matrix, weight in weights.items()}  # their addresses hold
        return constant, [weights[matrix] for matrix, start, stop in runs for _ in range(start, stop)]

    def _reached(self, steps: int) -> tuple[int, int]:
        """The rows of memory that are read and kept, if a root is at most so many cells further up."""
        shape, rows = self.cell.state[self._part], self._depth
        if len(shape) > 1:
            none = {"h": self._trees.h[:0], self._part: self._trees.memory[:0].view(-1, *shape)}
            rows = self.cell.reachable(none, steps)[self._part].shape[-2]
        return rows, rows if rows == self._depth else rows - 1  # the last row lacks the one below it


def _kind(context: Context) -> tuple[int, int]:
    return context.arity, context.slot
