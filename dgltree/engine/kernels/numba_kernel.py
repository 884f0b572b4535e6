"""Kernels compiled by Numba, for the CPU: what those of all families have in common."""

import logging
from functools import cache
from typing import Any, ClassVar

import numba
import torch
from torch import Tensor

from dgltree.engine.kernels.kernel import Gates, Kernel, Sent, States
from dgltree.engine.kernels.layout import COLUMNS
from dgltree.engine.kernels.pulling import leaves
from dgltree.engine.kernels.threads import over_rows

Arguments = tuple[Any, ...]
LOG = logging.getLogger(__name__)


class NumbaStates:
    """The arrays of a pass, and what its backward pass begins and ends with.

    Args:
        states: where it reads and writes.
        table: (runs, 6) int64, see :class:`dgltree.engine.kernels.layout.Layout`.
    """

    def __init__(self, states: States, table: Tensor) -> None:
        h, memory, self._base, children = states
        self._h, self._memory, self._children = h.numpy(), memory.numpy(), children.numpy()
        self._table = table.numpy()

    def leaves(self, d_h: Tensor, d_memory: Tensor) -> None:
        """As :meth:`dgltree.engine.kernels.kernel.Kernel.leaves`."""
        over_rows(leaves, 0, len(d_h), *self._leaves(d_h, d_memory))

    def _receive(self, sent: Sent) -> None:
        h, memory, parents, edge_h, edge_gates, row_memory, pointer, edges = (tensor.numpy() for tensor in sent)
        self._given = h, memory, pointer, edges, parents
        self._left, self._row_memory = (edge_gates, edge_h), row_memory

    def _leaves(self, d_h: Tensor, d_memory: Tensor) -> Arguments:
        return d_h.numpy(), d_memory.numpy(), *self._given, self._base, *self._left, self._row_memory


class NumbaKernel(NumbaStates, Kernel):
    """A subclass names its compiled functions of rows ``lo:hi`` and of the arguments that are put together here."""

    forward_rows: ClassVar[Any]
    backward_rows: ClassVar[Any]

    def __init__(self, options: tuple[int, ...], states: States, table: Tensor) -> None:
        super().__init__(states, table)
        self._options = options

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backward: bool, compile_it: bool) -> bool:
        """Whether all is compiled, or read from disk; with ``compile_it`` what was not there is compiled now."""
        nothing = Nothing(dtype)
        some, kernel = nothing.matrix, cls(options, nothing.states, nothing.table)
        gates = Gates(some, some, some, 0, 0)
        needed: list[tuple[Any, Arguments]] = [(cls.forward_rows, (0, 0, *kernel._forward(gates)))]
        if backward:
            kernel._receive(nothing.sent)
            needed.append((cls.backward_rows, (0, 0, *kernel._backward(gates))))
            needed += nothing.ends(kernel)
        return all(is_compiled(function, arguments, compile_it) for function, arguments in needed)

    def forward(self, start: int, stop: int, gates: Gates) -> None:
        over_rows(self.forward_rows, start, stop, *self._forward(gates))

    def start_backward(self, sent: Sent) -> None:
        self._receive(sent)

    def backward(self, start: int, stop: int, gates: Gates) -> None:
        over_rows(self.backward_rows, start, stop, *self._backward(gates))

    def _forward(self, gates: Gates) -> Arguments:
        arrays = (array.numpy() for array in (gates.pre, gates.bias, gates.mask))
        places, depth = (self._children, self._base, self._memory, self._h), self._memory.shape[1]
        return gates.run, self._table, *arrays, *places, gates.arity, depth, depth, self._options

    def _backward(self, gates: Gates) -> Arguments:
        places = self._children, self._base, self._memory, self._row_memory
        own = gates.run, self._table, gates.pre.numpy(), gates.mask.numpy()
        return *own, *places, *self._given, *self._left, gates.arity, self._options


class Nothing:
    """Tensors without entries, by whose types functions are compiled."""

    def __init__(self, dtype: torch.dtype) -> None:
        rows, memory = torch.empty(0, dtype=torch.int64), torch.empty(0, 0, 0, dtype=dtype)
        self.matrix = torch.empty(0, 0, dtype=dtype)
        self.table = torch.empty(0, COLUMNS, dtype=torch.int64)
        self.states = States(self.matrix, memory, 0, rows)
        self.sent = Sent(self.matrix, memory, rows, self.matrix, self.matrix, memory, rows, rows)

    def ends(self, kernel: NumbaStates) -> list[tuple[Any, Arguments]]:
        """What every backward pass ends with."""
        own = kernel._leaves(self.matrix, self.sent.memory)
        return [(leaves, (0, 0, *own))]


def is_compiled(function: Any, arguments: Arguments, compile_it: bool) -> bool:
    """Whether a function is there for arguments of these types."""
    signature = tuple(map(numba.typeof, arguments))
    if signature in function.overloads:
        return True
    if function._cache.load_overload(signature, function.targetctx) is None:
        if not compile_it:
            return False
        _say()
    function.compile(signature)  # or reads it
    return True


@cache
def _say() -> None:
    """Once a process: it may take longer than a first epoch."""
    LOG.info("compiling kernels for this machine, which takes up to a minute and is done once")
