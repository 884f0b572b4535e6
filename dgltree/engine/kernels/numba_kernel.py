"""Kernels compiled by Numba, for the CPU: what those of all families have in common."""

from typing import Any, ClassVar

import numba
import numpy as np
import torch
from torch import Tensor

from dgltree.cells.fused import Fused
from dgltree.engine.kernels.kernel import Gates, Kernel, Sent, States
from dgltree.engine.kernels.pulling import inverse, leaves
from dgltree.engine.kernels.threads import over_rows

Arguments = tuple[Any, ...]


class NumbaKernel(Kernel):
    """A subclass names its compiled functions of rows ``lo:hi`` and of the arguments that are put together here."""

    forward_rows: ClassVar[Any]
    backward_rows: ClassVar[Any]

    def __init__(self, options: tuple[int, ...], states: States, table: Tensor) -> None:
        super().__init__(options, states, table)
        self._h, self._memory, self._children = states.h.numpy(), states.memory.numpy(), states.children.numpy()
        self._table = table.numpy()

    @classmethod
    def compile(cls, fused: Fused, dtype: torch.dtype, backward: bool, compile_it: bool) -> bool:
        """Whether all is compiled, or read from disk; with ``compile_it`` what was not there is compiled now."""
        two, three = torch.empty(0, 0, dtype=dtype), torch.empty(0, 0, 0, dtype=dtype)
        one, table = torch.empty(0, dtype=torch.int64), torch.empty(0, 5, dtype=torch.int64)
        kernel, gates = cls(fused.options, States(two, three, 0, one), table), Gates(two, two, two, 0, 0)
        needed = [(cls.forward_rows, (0, 0, *kernel._forward(gates, 0, 0)))]
        if backward:
            kernel._receive(Sent(two, three, one, two, two, three), one.numpy(), one.numpy())
            needed += [
                (inverse, (one.numpy(), 0)),
                (cls.backward_rows, (0, 0, *kernel._backward(gates))),
                (leaves, (0, 0, *kernel._leaves(two, three))),
            ]
        return all(_compiled(function, arguments, compile_it) for function, arguments in needed)

    def forward(self, start: int, stop: int, gates: Gates, depth: int, kept: int) -> None:
        over_rows(self.forward_rows, start, stop, *self._forward(gates, depth, kept))

    def start_backward(self, sent: Sent) -> None:
        self._receive(sent, *inverse(self._children, len(self._h)))

    def backward(self, start: int, stop: int, gates: Gates) -> None:
        over_rows(self.backward_rows, start, stop, *self._backward(gates))

    def leaves(self, d_h: Tensor, d_memory: Tensor) -> None:
        over_rows(leaves, 0, len(d_h), *self._leaves(d_h, d_memory))

    def _receive(self, sent: Sent, pointer: np.ndarray, edges: np.ndarray) -> None:
        h, memory, parents, edge_h, edge_gates, row_memory = (tensor.numpy() for tensor in sent)
        self._given = h, memory, pointer, edges, parents
        self._left, self._row_memory = (edge_gates, edge_h), row_memory

    def _forward(self, gates: Gates, depth: int, kept: int) -> Arguments:
        arrays = (array.numpy() for array in (gates.pre, gates.bias, gates.mask))
        places = self._children, self.states.base, self._memory, self._h
        return gates.run, self._table, *arrays, *places, gates.arity, depth, kept, self.options

    def _backward(self, gates: Gates) -> Arguments:
        places = self._children, self.states.base, self._memory, self._row_memory
        own = gates.run, self._table, gates.pre.numpy(), gates.mask.numpy()
        return *own, *places, *self._given, *self._left, gates.arity, self.options

    def _leaves(self, d_h: Tensor, d_memory: Tensor) -> Arguments:
        return d_h.numpy(), d_memory.numpy(), *self._given, self.states.base, *self._left, self._row_memory


def _compiled(function: Any, arguments: Arguments, compile_it: bool) -> bool:
    """Whether a function is there for arguments of these types."""
    signature = tuple(map(numba.typeof, arguments))
    if signature in function.overloads:
        return True
    if not compile_it and function._cache.load_overload(signature, function.targetctx) is None:
        return False
    function.compile(signature)  # or reads it
    return True
