"""Numba: a pass as one compiled call forward; and backward one for the steps, one for leaves, and one for weights."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from dgltree.engine.kernels.kernel import Sent, States
from dgltree.engine.kernels.layout import Layout
from dgltree.engine.kernels.numba_kernel import Arguments, Nothing, NumbaStates, is_compiled
from dgltree.engine.kernels.numba_runs import COLUMNS_OF_MAPS, X, gradients, gradients_of_inputs, products_of_inputs
from dgltree.engine.kernels.threads import over_groups, over_runs


class NumbaRuns(NumbaStates):
    """A subclass names its compiled functions of runs ``lo:hi``.

    Args:
        options: what the cell says of its options, see :class:`dgltree.cells.fused.Fused`.
        states: where it reads and writes.
        layout: the runs.
        maps: (maps, columns) int64, see :mod:`dgltree.engine.kernels.numba_runs`.
        blas: the address of the matrix product in this dtype.
        mask: (R - base, n), what dropout multiplies u by; (0, n) without dropout.
        spaces: how many numbers the inputs of a run take at most, and its gates if they are not kept.
        more: what else a family has.
    """

    forward_runs: ClassVar[Any]
    backward_runs: ClassVar[Any]
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
        more: tuple[Tensor, ...],
    ) -> None:
        super().__init__(states, layout.table)
        self.layout, self.more = layout, more
        self._options, self._maps, self._blas, self._spaces = options, maps.numpy(), blas, spaces
        self._mask = mask.numpy()

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backward: bool, compile_it: bool) -> bool:
        """As :meth:`dgltree.engine.kernels.numba_kernel.NumbaKernel.compile`."""
        nothing, rows = Nothing(dtype), torch.empty(0, dtype=torch.int64)
        layout = Layout(False, {}, {}, nothing.table, [], [], rows, [], *[rows] * 6)
        maps = torch.empty(0, COLUMNS_OF_MAPS, dtype=torch.int64)
        runs = cls(options, nothing.states, layout, maps, 0, nothing.matrix, (0, 0), cls.nothing(dtype))
        needed: list[tuple[Any, Arguments]] = [
            (cls.input_groups, (0, 0, *runs._inputs())),
            (cls.forward_runs, (0, 0, *runs._forward())),
        ]
        if backward:
            runs._receive(nothing.sent)
            needed += [(cls.backward_runs, (0, 0, *runs._backward())), *nothing.ends(runs), *runs._ends()]
        return all(is_compiled(function, arguments, compile_it) for function, arguments in needed)

    @classmethod
    def nothing(cls, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """What else a family has, without entries."""
        return ()

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
        groups, order = self.layout.groups.numpy(), self.layout.order.numpy()
        return groups, order, self._table, self._maps, self._blas, self._h

    def _forward(self) -> Arguments:
        places = self._children, self._base, self._memory, self._h
        return self._table, self._maps, self._blas, self._mask, *places, self._spaces, self._options

    def _backward(self) -> Arguments:
        places = self._children, self._base, self._memory, self._row_memory
        own = self._table, self._maps, self._blas, self._mask
        return *own, *places, *self._given, *self._left, self._options

    def _gradients(self, together: int) -> Arguments:
        groups, order = self.layout.groups.numpy(), self.layout.order.numpy()
        return groups, order, self._table, self._maps, self._blas, self._children, self._h, together

    def _ends(self) -> list[tuple[Any, Arguments]]:
        inputs = self.input_gradient_groups, (0, 0, *self._inputs())
        return [(self.gradient_groups, (0, 0, *self._gradients(1))), inputs]
