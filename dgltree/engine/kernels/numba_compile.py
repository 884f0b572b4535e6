"""The common part of all Numba kernels: how they are compiled, and exponentials that LLVM can put into one register.

Numba keeps compiled code on disk by the size and time of the kernel's own file. What a kernel calls, such as the
functions below, is compiled into it: here code is kept for one state of all files of this folder.
"""

import hashlib
import logging
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch
from numba import njit, types
from numba.extending import intrinsic, overload

from dgltree.engine.kernels.kernel import States

FLAGS: dict[str, Any] = {"fastmath": {"contract", "reassoc", "arcp", "nsz"}, "error_model": "numpy"}
"""Sums in any order, products and sums in one; but not "nnan" and "ninf": NaN and infinity pass as in torch. Python's
error model would check every division, and keep LLVM from taking several at once."""

SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
"""Digest of the files whose functions kernels call."""


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Decorates a kernel: without Python's lock, kept on disk for these ``SOURCES``, and put whole into its callers.

    A function that is called and not put in is linked: the process that compiles it to its own code of it, later ones
    to the copy that LLVM optimised with the caller, whose last bits may differ.
    """
    made = njit(nogil=True, cache=True, forceinline=True, **FLAGS)(function)
    made._cache._cache_file._source_stamp = SOURCES
    return made


@compile_kernel
def copy(into, of):
    """Into (n,): of (n,). In ``into[:] = of`` Numba compiles messages of errors as well, half of a kernel's time."""
    for j in range(len(into)):
        into[j] = of[j]


AS_WRITTEN: dict[str, Any] = {"fastmath": {"contract", "nsz"}, "error_model": "numpy"}
"""For functions in which the order of operations is what makes them accurate: LLVM would make (p + 1) s - 1 of
p s + (s - 1), and lose all of a small p."""

_TERMS = [1 / math.factorial(k) for k in range(15)]
_S0, _S1, _S2, _S3, _S4, _S5, _S6, _S7 = (np.float32(term) for term in _TERMS[:8])
_D0, _D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10, _D11, _D12, _D13, _D14 = _TERMS
_LEAST = np.float32(-88)
_MOST = np.float32(88.9)  # beyond them 0 and infinity
_LOG2_E = np.float32(math.log2(math.e))
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
_HALF = np.float32(0.5)
_ONE = np.float32(1)
_TWO = np.float32(2)
_SATURATED = np.float32(20)  # of 2 x: beyond, tanh is 1 in float32; in float64 beyond 40


@intrinsic
def _as_float(typingctx: Any, bits: Any) -> Any:
    """A float32 or float64 out of its bits, an int32 or int64."""
    result = types.float32 if bits == types.int32 else types.float64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(result))

    return result(bits), generate


def series(x):
    """e^x for \\|x\\| <= 1/2, to the last bit or two of float32 or float64; in kernels only."""
    raise NotImplementedError


@overload(series, jit_options=FLAGS)
def _series(x):
    if x == types.float32:
        return lambda x: _S0 + x * (_S1 + x * (_S2 + x * (_S3 + x * (_S4 + x * (_S5 + x * (_S6 + x * _S7))))))

    def double(x):
        high = _D7 + x * (_D8 + x * (_D9 + x * (_D10 + x * (_D11 + x * (_D12 + x * (_D13 + x * _D14))))))
        return _D0 + x * (_D1 + x * (_D2 + x * (_D3 + x * (_D4 + x * (_D5 + x * (_D6 + x * high))))))

    return double


def exponential(x):
    """e^x = 2^k e^f, the power of 2 written as bits of a float; in kernels only.

    The comparisons let NaN pass; what becomes of its k does not matter then.
    """
    raise NotImplementedError


@overload(exponential, jit_options=FLAGS)
def _exponential(x):
    if x == types.float32:

        def single(x):
            z = _LEAST if x < _LEAST else x
            z = _MOST if z > _MOST else z
            k = np.floor(z * _LOG2_E + _HALF)
            power = _as_float(np.int32((np.int32(k) + 127) << 23))
            e = series((z - k * _LN2_HIGH) - k * _LN2_LOW) * power  # ahead of the choice, so that it is not a branch
            return e if x == x else x

        return single

    def double(x):
        z = -708.9 if x < -708.9 else x
        z = 709.9 if z > 709.9 else z
        k = np.floor(z * 1.4426950408889634 + 0.5)
        power = _as_float((np.int64(np.int32(k)) + 1023) << 52)
        e = series((z - k * 0.6931471803691238) - k * 1.9082149292705877e-10) * power
        return e if x == x else x

    return double


def sigmoid(x):
    """1 / (1 + e^-x); in kernels only."""
    raise NotImplementedError


@overload(sigmoid, jit_options=FLAGS)
def _sigmoid(x):
    if x == types.float32:
        return lambda x: _ONE / (_ONE + exponential(-x))
    return lambda x: 1.0 / (1.0 + exponential(-x))


def tanh(x):
    """e / (e + 2) with e = e^2x - 1, to a few units in the last place at every x; in kernels only.

    As in ``exponential`` 2 x = k ln 2 + f, but e = (e^f - 1) 2^k + (2^k - 1): near 0, k is 0 and nothing is taken away.
    """
    raise NotImplementedError


@overload(tanh, jit_options=AS_WRITTEN)
def _tanh(x):
    if x == types.float32:

        def single(x):
            z = x + x
            z = -_SATURATED if z < -_SATURATED else z
            z = _SATURATED if z > _SATURATED else z
            k = np.floor(z * _LOG2_E + _HALF)
            power = _as_float(np.int32((np.int32(k) + 127) << 23))
            f = (z - k * _LN2_HIGH) - k * _LN2_LOW
            p = f * (_S1 + f * (_S2 + f * (_S3 + f * (_S4 + f * (_S5 + f * (_S6 + f * _S7))))))
            e = p * power + (power - _ONE)
            t = e / (e + _TWO)
            return t if x == x else x

        return single

    def double(x):
        z = x + x
        z = -40.0 if z < -40.0 else z
        z = 40.0 if z > 40.0 else z
        k = np.floor(z * 1.4426950408889634 + 0.5)
        power = _as_float((np.int64(np.int32(k)) + 1023) << 52)
        f = (z - k * 0.6931471803691238) - k * 1.9082149292705877e-10
        high = _D7 + f * (_D8 + f * (_D9 + f * (_D10 + f * (_D11 + f * (_D12 + f * (_D13 + f * _D14))))))
        p = f * (_D1 + f * (_D2 + f * (_D3 + f * (_D4 + f * (_D5 + f * (_D6 + f * high))))))
        e = p * power + (power - 1.0)
        t = e / (e + 2.0)
        return t if x == x else x

    return double


@compile_kernel
def activate(a: np.ndarray, b: np.ndarray, n: int) -> None:
    """Pre-activations (widths,) with their bias, in place: tanh of the first n, sigmoid of the rest."""
    u = a[:n]
    v = b[:n]
    s = a[n:]
    t = b[n:]
    for j in range(len(u)):
        u[j] = tanh(u[j] + v[j])
    for j in range(len(s)):
        s[j] = sigmoid(s[j] + t[j])


# ---------------------------------------------------------------------------------------------------------------------
# Numba compiles a function for the types of its arguments: what they are, and whether that is done.


Arguments = tuple[Any, ...]
LOG = logging.getLogger(__name__)


class Nothing:
    """Tensors without entries, by whose types functions are compiled."""

    def __init__(self, dtype: torch.dtype) -> None:
        rows = torch.empty(0, dtype=torch.int64)
        memory = torch.empty(0, 0, 0, dtype=dtype)
        self.matrix = torch.empty(0, 0, dtype=dtype)
        self.states = States(self.matrix, memory, 0, rows)


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
    LOG.info("compiling kernels for this machine once, which takes up to a minute")
