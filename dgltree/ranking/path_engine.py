"""Scores of all fillers for blocks of equations, computing only what a filler changes.

A filler changes the path from the blank to the root. What is off the path is computed once per equation, a filler's
own states once per call, and a piece of path that several equations share once per block: it is a *context*, a node
above a blank that may still be anything. In evaluation mode this is exact: the path runs through the same
``Cell.step`` as everything else.

Contexts run up in one of two ways, ``FusedPaths`` by a compiled kernel and ``_Steps`` by torch's operations.
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
from dgltree.engine.contract import Children, Fused, Map, Send, State, StepRows
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
        index: dict[Tree, int] = {}
        self.distinct_index = [index.setdefault(filler, len(index)) for filler in fillers]
        """For each filler its index among the distinct ones."""
        with evaluating(model):
            self.states = _root_states(model.cell, list(index))
        """Part name to (distinct fillers, *shape)."""

    def __len__(self) -> int:
        """The number of distinct fillers."""
        return len(self.states["h"])


def score_blocks(
    model: EquationModel,
    equations: Sequence[Equation],
    fillers: FillerStates,
    memory_bytes: int,
) -> Iterator[tuple[list[int], Tensor]]:
    """Blocks of equations that share pieces of path: their numbers, and (block, F) logits of all fillers.

    Equations are in the model's vocabulary; see :class:`dgltree.Ranker` for the arguments.
    """
    paths = [find_blank(equation) for equation in equations]
    order = path_order(paths)
    # Of each pair of an equation and a filler there are the states of two heights, and temporaries of a cell.
    numbers_per_state = sum(prod(shape) for shape in model.cell.state.values())
    state_bytes = fillers.states["h"].element_size() * numbers_per_state
    pairs = max(1, memory_bytes // (3 * state_bytes))
    width = min(len(fillers), pairs)
    block_size = max(1, pairs // width)
    for start in range(0, len(order), block_size):
        numbers = order[start : start + block_size]
        block_equations = [equations[number] for number in numbers]
        block_paths = [paths[number] for number in numbers]
        scores = []
        with evaluating(model):
            block = _Block(model, block_equations, block_paths, width)
            for first in range(0, len(fillers), width):
                chunk = {part: rows[first : first + width] for part, rows in fillers.states.items()}
                scores.append(block.scores(chunk))
        yield numbers, torch.cat(scores, 1)[:, fillers.distinct_index]


def _root_states(cell: Cell, trees: list[Tree]) -> State:
    """Part name to (trees, *shape)."""
    flat = batch(trees, cell.vocabulary).to(cell.first_weight.device)
    states = propagate(flat, cell, share=True)
    return {part: rows.index_select(0, flat.roots) for part, rows in states.items()}


@dataclass(kw_only=True)
class Context:
    """One node of a path, above a blank that may still be anything: the same for all equations that share it."""

    function: int
    token: int
    arity: int
    slot: int
    """The child index of the child on the path."""
    siblings: tuple[int, ...]
    """Numbers of the trees in the other slots, in order."""
    below: int | None
    """The context of the child on the path; None if that is the blank itself."""
    height: int
    """Cells between the blank and this node, from 0."""
    above: int = 0
    """The most cells between this node and a root."""


class PathEnd(NamedTuple):
    """Where the path of an equation ends: at the equals sign."""

    root: int | None
    """The context of the root on the blank's side; None for a bare blank."""
    other_side: int
    """The number of the tree on the other side."""
    side: int
    """The blank's side: 0 for left, 1 for right."""


@dataclass
class Paths:
    """The contexts of several equations, children before parents, and the trees that are off their paths."""

    contexts: list[Context] = field(default_factory=list)
    off_path: dict[Tree, int] = field(default_factory=dict)
    """Tree to number: siblings of path nodes, and whole other sides."""
    ends: list[PathEnd] = field(default_factory=list)
    """One for each equation."""

    def number_of(self, tree: Tree) -> int:
        """The number of a tree that is off the paths, a new one for a new tree."""
        return self.off_path.setdefault(tree, len(self.off_path))


def merge_paths(
    equations: Sequence[Equation],
    paths: Sequence[Path],
    vocabulary: Vocabulary,
) -> Paths:
    """The paths of equations, where equal pieces, from the blank upwards, become one context."""
    merged = Paths()
    # A context is what its node is, what its other children are, and the context below: hash-consing, along paths.
    numbers: dict[tuple[object, ...], int] = {}
    for equation, path in zip(equations, paths, strict=True):
        below = None
        for height, (node, slot) in enumerate(path.steps):
            arity = len(node.children)
            siblings = tuple(merged.number_of(child) for k, child in enumerate(node.children) if k != slot)
            function = vocabulary.function_id(node.function, arity)
            token = NO_TOKEN
            if node.token is not None:
                token = vocabulary.token_id(node.token)
            key = (function, token, slot, siblings, below)
            if key not in numbers:
                numbers[key] = len(merged.contexts)
                context = Context(
                    function=function,
                    token=token,
                    arity=arity,
                    slot=slot,
                    siblings=siblings,
                    below=below,
                    height=height,
                )
                merged.contexts.append(context)
            below = numbers[key]
            context = merged.contexts[below]
            context.above = max(context.above, len(path.steps) - 1 - height)
        other_side = merged.number_of(equation[1 - path.side])
        merged.ends.append(
            PathEnd(
                root=below,
                other_side=other_side,
                side=path.side,
            )
        )
    return merged


def path_order(paths: Sequence[Path]) -> list[int]:
    """Numbers of equations, sorted so that those with a common piece of path are together."""
    shapes: dict[tuple[Tree, int], int] = {}

    def key(path: Path) -> list[int]:
        """A number for each node of a path, equal for nodes that differ only in the child towards the blank."""
        numbers = []
        for node, slot in path.steps:
            children = list(node.children)
            children[slot] = BLANK
            shape = node.replace(children=children), slot
            numbers.append(shapes.setdefault(shape, len(shapes)))
        return numbers

    keys = [key(path) for path in paths]
    return sorted(range(len(paths)), key=keys.__getitem__)


class _Block:
    """Some equations, with everything about them that does not depend on the fillers."""

    def __init__(
        self,
        model: EquationModel,
        equations: list[Equation],
        paths: list[Path],
        width: int,
    ) -> None:
        self.cell = model.cell
        self.readout = model.readout
        merged = merge_paths(equations, paths, self.cell.vocabulary)
        self.contexts = merged.contexts
        self.ends = merged.ends
        self.off_path = _root_states(self.cell, list(merged.off_path))
        self.equations_at: dict[int | None, list[int]] = {}
        """For each context that is a root, and None, the equations whose path ends there."""
        for equation, end in enumerate(self.ends):
            self.equations_at.setdefault(end.root, []).append(equation)
        self.up: FusedPaths | _Steps = self._compiled() or _Steps(self.cell, self.contexts, self.off_path, width)

    def _compiled(self) -> "FusedPaths | None":
        """The contexts by a kernel; None if there is none for the cell, or nothing to compute."""
        covering = path_kernel(self.cell)
        if covering is None or not self.contexts:
            return None
        kernel, fused = covering
        order = list(_depth_first(self.contexts))
        return FusedPaths(
            cell=self.cell,
            fused=fused,
            kernel=kernel,
            contexts=[self.contexts[number] for number in order],
            numbers=order,
            roots=[root for root in self.equations_at if root is not None],
            off_path=self.off_path,
        )

    def scores(self, fillers: State) -> Tensor:
        """(E, F) logits for filler states (F, *shape)."""
        scores = fillers["h"].new_empty(len(self.ends), len(fillers["h"]))
        self._read_out(scores, None, fillers["h"])  # a bare blank is its filler
        for context, h in self.up.root_states(fillers):
            self._read_out(scores, context, h)
        return scores

    def _read_out(
        self,
        scores: Tensor,
        root: int | None,
        h: Tensor,
    ) -> None:
        """Write the scores of the equations whose root on the blank's side is a context with the states h, (F, n)."""
        for equation in self.equations_at.get(root, []):
            end = self.ends[equation]
            other = self.off_path["h"][end.other_side]
            if end.side == 0:
                scores[equation] = self.readout(h, other)
            else:
                scores[equation] = self.readout(other, h)


class _Steps:
    """The contexts step by step, by torch's operations.

    Few fillers run through the contexts of one height together. So many that one context is work enough go up one path
    after another, so that what they read is what they wrote last: it is still in the caches.
    """

    def __init__(
        self,
        cell: Cell,
        contexts: Sequence[Context],
        off_path: State,
        width: int,
    ) -> None:
        self.cell = cell
        self.contexts = contexts
        self.off_path = off_path
        counts = Counter(context.height for context in contexts)
        widest = max(counts.values(), default=0)
        self.one_by_one = 2 * width > ROWS and 0 < len(counts) <= 2 * widest
        if self.one_by_one:
            self.order = list(_depth_first(contexts))
            self.held_heights = len(counts)
        else:
            keys = [(*_together(context), context.function) for context in contexts]
            self.order = sorted(range(len(contexts)), key=keys.__getitem__)
            self.held_heights = 2  # the one that is computed, and that below it
        arity = max((context.arity for context in contexts), default=1)
        rows = []
        for number in self.order:
            context = contexts[number]
            missing = [0] * (arity - context.arity)
            rows.append([context.function, context.token, *context.siblings, *missing])
        # one copy to the device for all steps, which then need not wait for it
        table = torch.tensor(rows, dtype=torch.int64, device=off_path["h"].device)
        self.function, self.token, *self.siblings = table.view(len(rows), arity + 1).unbind(1)

    def root_states(self, fillers: State) -> Iterator[tuple[int, Tensor]]:
        """The number of each context, and its h for all fillers, (F, n)."""
        states = PathStates(self.cell, self.off_path, fillers, self.held_heights)
        for height, groups in self._levels(len(fillers["h"])):
            states.begin(height)
            for rows in groups:
                numbers = self.order[rows]
                contexts = [self.contexts[number] for number in numbers]
                group = ContextGroup(
                    numbers=numbers,
                    contexts=contexts,
                    siblings=[index[rows] for index in self.siblings[: contexts[0].arity - 1]],
                    x=self.cell.node_inputs(self.function[rows], self.token[rows], None, None),
                )
                yield from zip(numbers, states.step(group), strict=True)

    def _levels(self, width: int) -> Iterator[tuple[int, Iterable[slice]]]:
        """Heights, and the groups of each as rows of the order, those first on which others depend."""
        heights = [self.contexts[number].height for number in self.order]
        if self.one_by_one:
            return ((height, [slice(i, i + 1)]) for i, height in enumerate(heights))
        return groupby(self._groups(width), key=lambda rows: heights[rows.start])

    def _groups(self, width: int) -> Iterator[slice]:
        """Rows of the order whose contexts run through the cell together, lower ones first."""
        size = max(1, ROWS // width)
        kinds = [_together(self.contexts[number]) for number in self.order]
        for _, same in groupby(range(len(kinds)), key=kinds.__getitem__):
            rows = list(same)
            stop = rows[-1] + 1
            for start in range(rows[0], stop, size):
                yield slice(start, min(start + size, stop))


def _depth_first(contexts: Sequence[Context]) -> Iterator[int]:
    """The number of each context after that of the one below it, and all above it before the next."""
    above: dict[int | None, list[int]] = {}
    for number, context in enumerate(contexts):
        above.setdefault(context.below, []).append(number)
    stack = above.get(None, [])
    while stack:
        number = stack.pop()
        yield number
        stack += above.get(number, [])


def _together(context: Context) -> tuple[int, int, int, int]:
    """The key of contexts that run through the cell together: they have the same height, arity, slot and reach."""
    return context.height, context.arity, context.slot, context.above


class PathRows(StepRows):
    """C path nodes of one arity for F fillers. Only the child on the path differs from filler to filler.

    So the part of every product that the other children make is computed once for all fillers.

    Args:
        cell: in evaluation mode.
        slots: the states of the children in each slot, part name to (C, 1, *shape), except for the one on the path,
            (C, F, *shape).
        moving: the slot of the child on the path.
        segments: of nodes with one function.
        x: (C, d), the nodes' inputs; None without.
    """

    def __init__(
        self,
        cell: Cell,
        slots: Sequence[State],
        moving: int,
        segments: Segments,
        x: Tensor | None,
    ) -> None:
        linear = cell.linear_for(len(slots), segments)
        x_pre = None
        if x is not None:
            x_pre = linear("input", x).unsqueeze(1)
        super().__init__(linear, x_pre)
        self._slots = slots
        self._moving = moving
        self._segments = segments
        self._maps = cell.named_maps()
        self._key = cell.key(len(slots))
        self._called = cell.called_maps()

    def children(self) -> Children:
        return {part: [slot[part] for slot in self._slots] for part in self._slots[0]}

    def products(self, names: Sequence[str], drop: Map | None) -> list[Tensor]:
        products = []
        for name in names:
            map_name = f"{name}_{self._key}"
            gate = self._maps[map_name]
            if map_name in self._called:
                products.append(self._whole(gate))
            else:
                products.append(self._split_product(gate))
        return products

    def aggregated(
        self,
        send: Send,
        x_pre: Tensor | None,
        names: Sequence[str],
        aggregate: Aggregation,
    ) -> tuple[State, State]:
        child_index = self._slots[0]["h"].new_tensor(range(len(self._slots)), dtype=torch.int64)
        messages = []
        for state, slot in zip(self._slots, child_index, strict=True):
            sent = send(state, slot, x_pre, self.linear)
            messages.append({name: sent[name] for name in names})
        return aggregate.of_slots(messages), {}

    def _whole(self, gate: TypedLinear) -> Tensor:
        """(C, F, out): the map of all children's h, for each filler, because the map is more than a product."""
        return gate(concatenate([state["h"] for state in self._slots]), self._segments)

    def _split_product(self, gate: TypedLinear) -> Tensor:
        """(C, F, out): the map of all children's h, what is off the path multiplied once for all fillers."""
        slot = self._moving
        moving = self._slots[slot]["h"]
        fixed = [state["h"] for state in self._slots]
        fixed[slot] = torch.zeros_like(moving[:, :1])
        weights = gate.weights()
        segments = gate.runs(self._segments)
        constant = product(concatenate(fixed), weights.unbound(), segments)
        n = moving.shape[-1]
        weight = weights.weight[:, :, slot * n : (slot + 1) * n].mT
        out = constant.new_empty(*moving.shape[:-1], constant.shape[-1])
        for matrix, start, stop in segments:
            for i in range(start, stop):
                torch.addmm(constant[i, 0], moving[i], weight[matrix], out=out[i])
        return out


class ContextGroup(NamedTuple):
    """C contexts that are computed together: of one height, arity, slot and reach, sorted by function."""

    numbers: Sequence[int]
    """The numbers by which the contexts above name them."""
    contexts: Sequence[Context]
    siblings: Sequence[Tensor]
    """(C,) int64 each, the numbers of the trees in the other slots."""
    x: Tensor | None
    """(C, d), the nodes' inputs; None without."""


def segments_of(contexts: Sequence[Context]) -> Segments:
    """The segments of contexts with one function."""
    segments = []
    start = 0
    for function, same in groupby(context.function for context in contexts):
        stop = start + len(list(same))
        segments.append((function, start, stop))
        start = stop
    return segments


class PathStates:
    """States of the contexts of the last few heights, for all fillers, by ``Cell.step``.

    Args:
        cell: in evaluation mode.
        off_path: states of the trees off the paths, part name to (trees, *shape).
        fillers: states of the fillers, part name to (F, *shape).
        held: the number of heights whose states are held.
    """

    def __init__(
        self,
        cell: Cell,
        off_path: State,
        fillers: State,
        held: int,
    ) -> None:
        self.cell = cell
        self.off_path = off_path
        self.fillers = fillers
        self._heights: list[dict[int, State]] = [{} for _ in range(held)]

    def begin(self, height: int) -> None:
        """Begin with the steps of a height; the states of the height whose memory it takes are forgotten."""
        held = len(self._heights)
        self._below = self._heights[(height - 1) % held]
        self._states = self._heights[height % held]
        self._states.clear()

    def step(self, group: ContextGroup) -> Tensor:
        """(C, F, n), the h of the contexts of a group."""
        cell = self.cell
        first = group.contexts[0]

        def reached(state: State) -> State:
            return cell.reachable(state, first.above + 1)  # cells between the children's states and a root

        on_path = []
        for context in group.contexts:
            state = self.fillers if context.below is None else self._below[context.below]
            on_path.append(reached(state))
        slots = []
        for index in group.siblings:
            rows = {part: rows.index_select(0, index).unsqueeze(1) for part, rows in self.off_path.items()}
            slots.append(reached(rows))
        path = {part: _stack([state[part] for state in on_path]) for part in cell.state}
        slots.insert(first.slot, path)
        computed, _ = cell.step(
            PathRows(
                cell,
                slots,
                first.slot,
                segments_of(group.contexts),
                group.x,
            )
        )
        for i, (number, context) in enumerate(zip(group.numbers, group.contexts, strict=True)):
            if context.above:
                self._states[number] = {part: computed[part][i] for part in cell.state}
        return computed["h"]


def _stack(states: list[Tensor]) -> Tensor:
    """``torch.stack``, without a copy of a single one."""
    if len(states) == 1:
        return states[0].unsqueeze(0)
    return torch.stack(states)


class FusedPaths:
    """The contexts by a compiled kernel, all fillers in one call.

    What is off the path is part of the bias of a context's gates, the same for all fillers.

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
        self.cell = cell
        self.fused = fused
        self.kernel = kernel
        self._contexts = contexts
        self._roots = roots
        [self._part] = [part for part in cell.state if part != "h"]
        *rows, self._n = cell.state[self._part]
        self._depth = prod(rows)
        self._trees = self._flat(off_path)
        # The tables hold addresses of these: (arity, slot, matrix) to (n, widths), the part of the weights that reads
        # the child towards the blank.
        self._weights: dict[tuple[int, int, int], Tensor] = {}
        self._tables = self._build_tables(numbers)

    def root_states(self, fillers: State) -> Iterator[tuple[int, Tensor]]:
        """The number of each root, and its h for all fillers, (F, n), from their states, (F, *shape)."""
        states = self._flat(fillers)
        h = states.h.new_empty(len(self._roots), *states.h.shape)
        address = product_address(h.dtype)
        assert address is not None
        with threads_of_torch(h.device):
            self.kernel.run(
                self.fused.options,
                self._tables,
                address,
                self._trees,
                states,
                h,
            )
        return zip(self._roots, h, strict=True)

    def _flat(self, state: State) -> States:
        """States as the kernel reads them: h, and (rows, depth, n) of the memory."""
        h = state["h"].contiguous()
        memory = state[self._part].reshape(-1, self._depth, self._n).contiguous()
        return States(
            h=h,
            memory=memory,
            base=0,
            children=h.new_empty(0, dtype=torch.int64),
        )

    def _gate(self, arity: int) -> TypedLinear:
        """The map of the gates at nodes with this many children."""
        return self.cell.named_maps()[f"gates_{self.cell.key(arity)}"]

    def _build_tables(self, numbers: Sequence[int]) -> PathTables:
        """The tables of the kernel, a row per context."""
        contexts = self._contexts
        arities = {context.arity for context in contexts}
        widest = max(self._gate(arity).affine.fan_out for arity in arities)
        siblings = np.zeros((len(contexts), max(arities)), np.int64)
        weights = [self._trees.h[:0]] * len(contexts)
        constants = self._trees.h.new_empty(len(contexts), widest)
        # Contexts of one arity and slot have their products together, function by function.
        keys = [(context.arity, context.slot, context.function) for context in contexts]
        order = sorted(range(len(contexts)), key=keys.__getitem__)
        for (arity, slot), same in groupby(order, key=lambda row: keys[row][:2]):
            rows = list(same)
            group = [contexts[row] for row in rows]
            other_slots = [k for k in range(arity) if k != slot]
            siblings[np.ix_(rows, other_slots)] = [context.siblings for context in group]
            constant, row_weights = self._off_path(group, slot, other_slots)
            constants[rows, : constant.shape[1]] = constant
            for row, weight in zip(rows, row_weights, strict=True):
                weights[row] = weight

        reached = cache(self._reached)
        heights = {number: context.height for number, context in zip(numbers, contexts, strict=True)}
        root_rows = {number: row for row, number in enumerate(self._roots)}
        table = []
        for number, context, weight in zip(numbers, contexts, weights, strict=True):
            height_below = -1 if context.below is None else heights[context.below]
            columns = (
                context.arity,
                context.slot,
                context.height,
                height_below,
                weight.data_ptr(),
                weight.shape[1],
                *reached(context.above + 1),
                root_rows.get(number, -1),
            )
            table.append(columns)
        return PathTables(torch.tensor(table), torch.from_numpy(siblings), constants)

    def _off_path(
        self,
        group: list[Context],
        slot: int,
        other_slots: list[int],
    ) -> tuple[Tensor, list[Tensor]]:
        """(C, widths), what is off the path of the pre-activations; and for each context the weights of what moves.

        The contexts have one arity and slot, and are sorted by function.
        """
        arity = len(other_slots) + 1
        n = self._n
        h = self._trees.h
        segments = segments_of(group)
        gate = self._gate(arity)
        weights = gate.weights()
        matrix_segments = gate.runs(segments)

        inputs = h.new_zeros(len(group), arity, n)
        siblings = torch.tensor([context.siblings for context in group], dtype=torch.int64)
        inputs[:, other_slots] = h[siblings]
        constant = product(inputs.flatten(1), weights.unbound(), matrix_segments)
        function = torch.tensor([context.function for context in group])
        token = torch.tensor([context.token for context in group])
        x = self.cell.node_inputs(function, token, None, None)
        if x is not None:
            constant = constant + self.cell.linear_for(arity, segments)("input", x)

        moving = weights.weight[:, :, slot * n : (slot + 1) * n]
        context_weights = []
        for matrix, start, stop in matrix_segments:
            key = arity, slot, matrix
            if key not in self._weights:
                self._weights[key] = moving[matrix].t().contiguous()
            context_weights += [self._weights[key]] * (stop - start)
        return constant, context_weights

    def _reached(self, steps: int) -> tuple[int, int]:
        """The rows of memory that are read and kept, if a root is at most so many cells further up."""
        shape = self.cell.state[self._part]
        rows = self._depth
        if len(shape) > 1:
            empty = {"h": self._trees.h[:0], self._part: self._trees.memory[:0].view(-1, *shape)}
            rows = self.cell.reachable(empty, steps)[self._part].shape[-2]
        if rows == self._depth:
            return rows, rows
        return rows, rows - 1  # the last row lacks the one below it
