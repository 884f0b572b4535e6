"""The states along paths through a kernel: trees off the paths, fillers and two heights are places in one buffer."""

from math import prod

import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.cells.fused import Fused
from dgltree.cells.step import State
from dgltree.engine.kernels.kernel import Gates, Kernel, States
from dgltree.engine.kernels.threads import Products, threads_of_torch
from dgltree.equations.path_states import Group, PathStates


class FusedPathStates(PathStates):
    """By a kernel. What stands off the path is the bias of a context's gates, the same for all fillers.

    Args:
        cell: in evaluation mode, which says that it is covered.
        fused: what it says.
        kernel: the class of kernels.
        off_path: states of the trees off the paths, part name to (trees, *shape).
        fillers: states of the fillers, part name to (F, *shape).
        widest: the most contexts of one height.
    """

    def __init__(
        self, cell: Cell, fused: Fused, kernel: type[Kernel], off_path: State, fillers: State, widest: int
    ) -> None:
        self.cell, self.fused, self.kernel = cell, fused, kernel
        [(self._part, shape)] = [(part, shape) for part, shape in cell.state.items() if part != "h"]
        self._depth, n = prod(shape[:-1]), shape[-1]
        trees, self._fillers = len(off_path["h"]), len(fillers["h"])
        rows = trees + self._fillers * (1 + 2 * widest)
        like = fillers["h"]
        self._h, self._memory = like.new_empty(rows, n), like.new_empty(rows, self._depth, n)
        for start, states in ((0, off_path), (trees, fillers)):
            stop = start + len(states["h"])
            self._h[start:stop] = states["h"]
            self._memory[start:stop] = states[self._part].view(-1, self._depth, n)
        self._heights = [trees + self._fillers * (1 + k * widest) for k in range(2)]
        self._next, self._odd = self._heights[0], 0
        self._place: dict[int | None, int] = {None: trees}
        """Where the states of a context begin; None: those of the fillers."""

    def step(self, group: Group) -> Tensor:
        first, count, width, start = group.contexts[0], len(group.contexts), self._fillers, self._next
        below = [self._place[context.below] for context in group.contexts]
        children = torch.empty(count, width, first.arity, dtype=torch.int64)
        others = [k for k in range(first.arity) if k != first.slot]
        for k, index in zip(others, group.siblings, strict=True):
            children[:, :, k] = index.unsqueeze(1)
        children[:, :, first.slot] = torch.tensor(below).unsqueeze(1) + torch.arange(width)
        places = [i * width for i in range(count)]
        runs = [(start + k, start + k + width, k, i, k * first.arity) for i, k in enumerate(places)]
        kernel = self.kernel(
            self.fused.options, States(self._h, self._memory, 0, children.flatten()), torch.tensor(runs)
        )
        depth = self._reached(first.above + 1)
        kept = depth if depth == self._depth else depth - 1  # the last row lacks the one below it
        self._next += count * width
        with threads_of_torch():
            pre, constant = self._products(group, below)
            gates = Gates(pre, constant, pre.new_empty(0, self._h.shape[1]), first.arity, 0)
            kernel.forward(start, self._next, gates, depth, kept)
        self._place |= {number: start + k for number, k in zip(group.numbers, places, strict=True)}
        return self._h[start : self._next].view(count, width, -1)

    def rise(self) -> None:
        self._odd = 1 - self._odd
        self._next = self._heights[self._odd]

    def _products(self, group: Group, below: list[int]) -> tuple[Tensor, Tensor]:
        """(C * F, widths), the part of the child on the path; and (C, widths), all else of the pre-activations."""
        first, n, width, segments = group.contexts[0], self._h.shape[1], self._fillers, group.segments
        gate = self.cell.named_maps()[f"gates_{self.cell.key(first.arity)}"]
        off = [self._h.index_select(0, index) for index in group.siblings]
        i = torch.cat([*off[: first.slot], self._h.new_zeros(len(below), n), *off[first.slot :]], 1)
        constant = gate(i, segments)
        if group.x is not None:
            constant = constant + self.cell.linear_for(first.arity, segments)("input", group.x)
        weight = gate.weight[:, :, first.slot * n : (first.slot + 1) * n].mT
        pre = constant.new_empty(len(below) * width, constant.shape[1])
        products = Products()
        for matrix, start, stop in gate.runs(segments):
            for k in range(start, stop):
                moving = self._h[below[k] : below[k] + width]
                products.add(moving, weight[matrix], pre[k * width : (k + 1) * width])
        products.run()
        return pre, constant

    def _reached(self, steps: int) -> int:
        """The rows of memory that a root so many cells further up can depend on."""
        shape = self.cell.state[self._part]
        if len(shape) == 1:
            return 1
        reached = self.cell.reachable({"h": self._h[:0], self._part: self._memory[:0].view(-1, *shape)}, steps)
        return reached[self._part].shape[-2]
