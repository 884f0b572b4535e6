"""The states along paths by a kernel: one compiled call for all paths of some equations and all fillers."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.cells.kernel_options import Fused
from dgltree.cells.step import State
from dgltree.cells.typed_linear import product
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.kernel import PathTables, States
from dgltree.engine.kernels.threads import threads_of_torch
from dgltree.equations.ranking.merged_paths import Context
from dgltree.equations.ranking.path_states import segments_of

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_paths import NumbaPaths


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
        constant = product(i.flatten(1), own, runs)
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
