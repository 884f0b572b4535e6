"""Numba: matrix products within compiled code, by a BLAS whose address is handed over.

An address is an argument, because Numba does not keep code on disk that has one in it.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dgltree.engine.kernels.numba_compile import compile_kernel

AS_IT_LIES = ord("N")
TRANSPOSED = ord("T")


@intrinsic
def pointer(typingctx: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


@intrinsic
def gemm(typingctx: Any, blas: Any, kinds: Any, sizes: Any, a: Any, b: Any, beta: Any, c: Any) -> Any:
    """``c = a b + beta c`` by Fortran's rules: two kinds, sizes (m, n, k, lda, ldb, ldc), and arrays of one dtype."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def held(value: Any) -> Any:
            place = cgutils.alloca_once(builder, value.type)
            builder.store(value, place)
            return place

        def data(which: int) -> Any:
            return context.make_array(signature.args[which])(context, builder, args[which]).data

        address = args[0]
        kinds = args[1]
        sizes = args[2]
        beta = args[5]
        letters = [held(builder.trunc(kind, ir.IntType(8))) for kind in cgutils.unpack_tuple(builder, kinds)]
        m, n, k, lda, ldb, ldc = (held(size) for size in cgutils.unpack_tuple(builder, sizes))
        one = held(ir.Constant(beta.type, 1.0))
        given = [*letters, m, n, k, one, data(3), lda, data(4), ldb, held(beta), data(6), ldc]
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
        builder.call(builder.inttoptr(address, kind.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(blas, kinds, sizes, a, b, beta, c), generate


@compile_kernel
def multiply(blas, v, weight, out, beta):
    """``out = v weight^T + beta out``: (rows, in), (out, in) and the first columns of (rows, out or more)."""
    rows = len(v)
    fan_in = weight.shape[1]
    fan_out = weight.shape[0]
    if not fan_in:
        if beta == 0:
            out[:] = 0
    elif rows:
        sizes = fan_out, rows, fan_in, fan_in, fan_in, out.shape[1]
        gemm(blas, (TRANSPOSED, AS_IT_LIES), sizes, weight, v, out.dtype.type(beta), out)


@compile_kernel
def multiply_back(blas, d_out, weight, into, beta):
    """``into = d_out weight + beta into``: the first columns of (rows, out or more), (out, in) and (rows, in)."""
    fan_in = weight.shape[1]
    fan_out = weight.shape[0]
    if fan_in and len(into):
        sizes = fan_in, len(into), fan_out, fan_in, d_out.shape[1], fan_in
        gemm(blas, (AS_IT_LIES, AS_IT_LIES), sizes, weight, d_out, into.dtype.type(beta), into)
