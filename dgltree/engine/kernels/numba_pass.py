"""Numba: a pass as one compiled call forward; and backward one for the steps, one for leaves, and one for weights."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from dgltree.engine.kernels.kernel import Sent, States
from dgltree.engine.kernels.layout import Layout
from dgltree.engine.kernels.numba_compile import Arguments, Nothing, is_compiled, leaves
from dgltree.engine.kernels.numba_runs import (
    COLUMNS_OF_MAPS,
    X,
    backward_runs,
    forward_runs,
    gradients,
    gradients_of_inputs,
    products_of_inputs,
)
from dgltree.engine.kernels.threads import over_groups, over_rows, over_runs


class NumbaRuns:
    """Passes of cells that read their children one by one.

    Args:
        options: what the cell says of its options, see :class:`dgltree.engine.contract.Fused`.
        states: where it reads and writes.
        layout: the runs.
        maps: (maps, columns) int64, see :mod:`dgltree.engine.kernels.numba_runs`.
        blas: the address of the matrix product in this dtype.
        mask: (R - base, n), what dropout multiplies u by; (0, n) without dropout.
        spaces: how many numbers the inputs of a run take at most, and its gates if they are not kept.
    """

    forward_runs: ClassVar[Any] = staticmethod(forward_runs)
    backward_runs: ClassVar[Any] = staticmethod(backward_runs)
    gradient_groups: ClassVar[Any] = staticmethod(gradients)
    input_groups: ClassVar[Any] = staticmethod(products_of_inputs)
    input_gradient_groups: ClassVar[Any] = staticmethod(gradients_of_inputs)

    def __init__(
        self,
        options: tuple[int, ...],
        states: States,
        layout: Layout,
        maps: Tensor,
        blas: int,
        mask: Tensor,
        spaces: tuple[int, int],
    ) -> None:
        h, memory, self._base, children = states
        self._h, self._memory, self._children = h.numpy(), memory.numpy(), children.numpy()
        self.layout = layout
        self._options, self._maps, self._blas, self._spaces = options, maps.numpy(), blas, spaces
        self._mask = mask.numpy()

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backward: bool, compile_it: bool) -> bool:
        """Whether all is compiled, or read from disk; with ``compile_it`` what was not there is compiled now."""
        nothing, rows = Nothing(dtype), torch.empty(0, dtype=torch.int64)
        layout = Layout(False, {}, {}, nothing.table, [], nothing.table, [], [], rows, [], *[rows] * 6)
        maps = torch.empty(0, COLUMNS_OF_MAPS, dtype=torch.int64)
        runs = cls(options, nothing.states, layout, maps, 0, nothing.matrix, (0, 0))
        needed: list[tuple[Any, Arguments]] = [
            (cls.input_groups, (0, 0, *runs._inputs())),
            (cls.forward_runs, (0, 0, *runs._forward())),
        ]
        if backward:
            runs._receive(nothing.sent)
            needed += [
                (cls.backward_runs, (0, 0, *runs._backward())),
                (leaves, (0, 0, *runs._leaves(nothing.matrix, nothing.sent.memory))),
                *runs._ends(),
            ]
        return all(is_compiled(function, arguments, compile_it) for function, arguments in needed)

    def forward(self) -> None:
        """The states of all rows."""
        if self._reads:
            rows = self.layout.group_rows
            over_groups(self.input_groups, rows, [0] * len(rows), self._inputs())
        over_runs(self.forward_runs, self.layout, False, *self._forward())

    def backward(self, sent: Sent) -> None:
        """The gradients of all pre-activations."""
        self._receive(sent)
        over_runs(self.backward_runs, self.layout, True, *self._backward())

    def leaves(self, d_h: Tensor, d_memory: Tensor) -> None:
        """The gradients of the leaves, (leaves, n) and (leaves, depth, n), or (0, depth, n) if there is none."""
        over_rows(leaves, 0, len(d_h), *self._leaves(d_h, d_memory))

    def gradients(self, together: int, others: "Sequence[NumbaRuns]") -> None:
        """Those of inputs and weights; the children of so many rows are gathered at a time.

        ``others`` say where the gradients of weights are added for second, third, ... groups of a matrix.
        """
        runs, groups = [self, *others], (self.layout.group_rows, self.layout.addend)
        over_groups(self.gradient_groups, *groups, *(each._gradients(together) for each in runs))
        if self._reads:
            over_groups(self.input_gradient_groups, *groups, *(each._inputs() for each in runs))

    @property
    def _reads(self) -> bool:
        return bool(self._maps[:, X].any())

    def _inputs(self) -> Arguments:
        groups, order, table = self._groups()
        return groups, order, table, self._maps, self._blas, self._h

    def _groups(self) -> Arguments:
        return self.layout.groups.numpy(), self.layout.order.numpy(), self.layout.table.numpy()

    def _forward(self) -> Arguments:
        places = self._children, self._base, self._memory, self._h
        return self.layout.queue.numpy(), self._maps, self._blas, self._mask, *places, self._spaces, self._options

    def _backward(self) -> Arguments:
        places = self._children, self._base, self._memory, self._row_memory
        own = self.layout.queue.numpy(), self._maps, self._blas, self._mask
        return *own, *places, *self._given, *self._left, self._options

    def _gradients(self, together: int) -> Arguments:
        groups, order, table = self._groups()
        return groups, order, table, self._maps, self._blas, self._children, self._h, together

    def _receive(self, sent: Sent) -> None:
        h, memory, parents, edge_h, edge_gates, row_memory, pointer, edges = (tensor.numpy() for tensor in sent)
        self._given = h, memory, pointer, edges, parents
        self._left, self._row_memory = (edge_gates, edge_h), row_memory

    def _leaves(self, d_h: Tensor, d_memory: Tensor) -> Arguments:
        return d_h.numpy(), d_memory.numpy(), *self._given, self._base, *self._left, self._row_memory

    def _ends(self) -> list[tuple[Any, Arguments]]:
        inputs = self.input_gradient_groups, (0, 0, *self._inputs())
        return [(self.gradient_groups, (0, 0, *self._gradients(1))), inputs]
