"""A machine unlike this one: a pytest plugin in which matrix products round as another BLAS might.

    .venv/bin/python -m pytest -p other_blas --fast tests/engine

A BLAS adds up a row of a product in an order that depends on the sizes of the whole product, on the row's place in it
and on the number of threads, so the same row may end in other bits in another product. Here each row of a product of
torch (mm, addmm, bmm, baddbmm) and of compiled kernels (gemm by its address) moves by at most a unit in the last place,
chosen by a hash of these. Whole numbers stay exact. A test that fails here claims bits that rest on one BLAS.

Tests that compare bits for a reason that does not hold here are listed in ``other_blas.tsv``, each with its reason.
"""

import csv
import ctypes
import warnings
import zlib
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

EXCEPT = Path(__file__).with_suffix(".tsv")
aten = torch.ops.aten
_library = torch.library.Library("aten", "IMPL")


@lru_cache(4096)
def shifts(rows: int, columns: int, inner: int, threads: int) -> np.ndarray:
    """(rows,) of -1, 0 and 1: by how many units in the last place each row of such a product moves."""
    seed = zlib.crc32(f"{rows} {columns} {inner} {threads}".encode())
    return ((np.arange(rows, dtype=np.uint64) * 2654435761 + seed) >> np.uint64(7)).astype(np.int64) % 3 - 1


def moved(out: Tensor, inner: int) -> Tensor:
    """A product (..., rows, columns), whose rows move."""
    if out.dtype not in (torch.float32, torch.float64) or not out.numel():
        return out
    shift = torch.from_numpy(shifts(*out.shape[-2:], inner, torch.get_num_threads())).to(out.dtype)[:, None]
    beside = torch.nextafter(out, torch.where(shift > 0, torch.inf, -torch.inf).to(out.dtype))
    return torch.where((shift == 0) | (out == out.round()) | ~out.isfinite(), out, beside)


def mm(a: Tensor, b: Tensor) -> Tensor:
    return moved(aten.mm.out(a, b, out=a.new_empty(len(a), b.shape[1])), a.shape[1])


def addmm(bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    out = a.new_empty(len(a), b.shape[1])
    return moved(aten.addmm.out(bias, a, b, beta=beta, alpha=alpha, out=out), a.shape[1])


def bmm(a: Tensor, b: Tensor) -> Tensor:
    return moved(aten.bmm.out(a, b, out=a.new_empty(*a.shape[:2], b.shape[2])), a.shape[2])


def baddbmm(bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    out = a.new_empty(*a.shape[:2], b.shape[2])
    return moved(aten.baddbmm.out(bias, a, b, beta=beta, alpha=alpha, out=out), a.shape[2])


POINTERS = [ctypes.c_void_p] * 13
GEMM = ctypes.CFUNCTYPE(None, *POINTERS)


@cache
def other_gemm(address: int, dtype: torch.dtype) -> ctypes._CFuncPtr:
    """The product of an address, by Fortran's rules, whose columns (the rows of dgltree's arrays) move."""
    product, number = GEMM(address), np.float32 if dtype == torch.float32 else np.float64

    def whole(pointer: int) -> int:
        return ctypes.c_int64.from_address(pointer).value

    def run(*given: int) -> None:
        product(*given)
        m, n, k, stride = (whole(given[i]) for i in (2, 3, 4, 12))
        memory = (ctypes.c_char * (number().itemsize * ((n - 1) * stride + m))).from_address(given[11])
        flat = np.frombuffer(memory, number)
        out = np.lib.stride_tricks.as_strided(flat, (n, m), (stride * flat.itemsize, flat.itemsize))
        shift = shifts(n, m, k, torch.get_num_threads())[:, None]
        beside = np.nextafter(out, np.where(shift > 0, np.inf, -np.inf).astype(number))
        out[:] = np.where((shift == 0) | (out == np.round(out)) | ~np.isfinite(out), out, beside)

    return GEMM(run)


def pytest_configure(config: pytest.Config) -> None:
    """Replace the products; what reads their address has not been imported yet."""
    from dgltree.engine.kernels import blas

    with warnings.catch_warnings(action="ignore", category=UserWarning):  # an operator is replaced, as it should
        for product in (mm, addmm, bmm, baddbmm):
            _library.impl(product.__name__, product, "CPU")
    plain = blas.product_address

    @cache
    def product_address(dtype: torch.dtype) -> int | None:
        address = plain(dtype)
        return address and ctypes.cast(other_gemm(address, dtype), ctypes.c_void_p).value

    blas.product_address = product_address


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the table lists."""
    with EXCEPT.open(encoding="utf-8", newline="") as file:
        reasons = dict(list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:])
    for item in items:
        for test, reason in reasons.items():
            if item.nodeid == test or item.nodeid.startswith(f"{test}["):
                item.add_marker(pytest.mark.skip(reason=f"rests on one BLAS: {reason}"))
