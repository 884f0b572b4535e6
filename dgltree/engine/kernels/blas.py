"""The matrix products of the BLAS that torch brings: where they lie in memory, tried before they are used."""

import ctypes
from functools import cache
from typing import Any

import numpy as np
import torch

from dgltree.support.torch_internals import library

NAMES: dict[torch.dtype, tuple[str, type[np.floating]]] = {
    torch.float32: ("sgemm_", np.float32),
    torch.float64: ("dgemm_", np.float64),
}


@cache
def product_address(dtype: torch.dtype) -> int | None:
    """The address of the product of matrices (BLAS's gemm, by Fortran's rules); None if there is none that is right.

    It is looked for in torch's library and in what that was linked with.
    """
    if dtype not in NAMES:
        return None
    name, number = NAMES[dtype]
    try:
        function = ctypes.CDLL(library())[name]
    except (OSError, AttributeError):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value if _is_right(function, number) else None


def _is_right(function: Any, number: type[np.floating]) -> bool:
    """Whether it computes a small product of whole numbers, added to what was there.

    Sizes are 64-bit integers: of those, a BLAS with 32-bit ones reads the lower half.
    """
    a = np.arange(6, dtype=number).reshape(3, 2)
    b = np.arange(8, dtype=number).reshape(4, 2)  # in memory
    c = np.ones((4, 3), number)
    sizes = [np.array(size, np.int64) for size in (3, 4, 2)]
    two = np.array(2, np.int64)
    one = np.array(1, number)
    function.restype = None
    function(
        *(ctypes.c_char_p(kind) for kind in (b"T", b"N")),
        *(ctypes.c_void_p(array.ctypes.data) for array in (*sizes, one, a, two, b, two, one, c, sizes[0])),
    )
    return bool((c == b @ a.T + 1).all())
