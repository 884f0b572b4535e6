"""Numba: rows of the families that read their children one by one, as one function for the loops around them.

The type of the options says which family's it is: six numbers of a stack (``numba_stack.py``), none of a Tree-LSTM
(``numba_lstm.py``). Numba keeps no code on disk that gets a function as an argument, which would be the obvious way.
"""

from typing import Any

from numba import types
from numba.extending import overload

from dgltree.engine.kernels import numba_lstm, numba_stack
from dgltree.engine.kernels.numba_compile import FLAGS

INLINED: dict[str, Any] = {**FLAGS, "forceinline": True}


def forward_rows(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    """New states of rows ``lo:hi``, from pre-activations without bias, which become gates; in kernels only.

    Args:
        lo, hi: the rows.
        run: of the table, that ``lo`` is in.
        table: (runs, 6) int64, see :class:`dgltree.engine.kernels.layout.Layout`.
        gates: (slots, widths), where a row's slot is that of its run and its place there.
        bias: (matrices, widths).
        mask: (rows from the run's first on, n), what dropout multiplies u by; (0, n) without dropout.
        children: (edges,) int64, the children's rows.
        base: rows under it have a memory of zeros, which lies nowhere.
        memory: (R - base, rows of a memory, n).
        h: (R, n).
        arity: of these rows.
        depth, kept: how many rows of memory are read, and written.
        options: of the family.
    """
    raise NotImplementedError


def backward_rows(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_memory, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    """Gradients of the pre-activations of rows ``lo:hi``, in the place of the gates; in kernels only.

    Args:
        lo, hi, run, table, gates, mask, children, base, memory, arity, options: as in :func:`forward_rows`.
        d_memory, given_h, given_memory, pointer, edges, parents, kept_gates, sent: those of
            :class:`dgltree.engine.kernels.kernel.Sent`; d_memory may be memory.
    """
    raise NotImplementedError


@overload(forward_rows, jit_options=INLINED)
def _forward_rows(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    return (numba_stack if isinstance(options, types.UniTuple) else numba_lstm).forward.py_func


@overload(backward_rows, jit_options=INLINED)
def _backward_rows(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_memory, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    return (numba_stack if isinstance(options, types.UniTuple) else numba_lstm).backward.py_func
