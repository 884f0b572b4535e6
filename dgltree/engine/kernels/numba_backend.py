"""Numba's kernels: found, compiled or read from where compiled code is kept; a fault is told once."""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

import torch

from dgltree.cells.fused import Fused

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_kernel import NumbaKernel
    from dgltree.engine.kernels.numba_sum import SumKernel

    CompiledKernel = type[NumbaKernel] | type[SumKernel]

Key = tuple[Fused, torch.dtype, bool]

FAMILIES = {"stack": "numba_stack.StackKernel", "lstm": "numba_lstm.LSTMKernel", "sum": "numba_sum.SumKernel"}
INSTEAD = (
    "cells run on torch's operations instead, which takes two to three times as long; DGLTREE_KERNELS=off is silent"
)

_known: "dict[Key, CompiledKernel | None]" = {}
"""What was found: a kernel that is compiled, or None where there is none for this process."""


def numba_kernel(fused: Fused, dtype: torch.dtype, backward: bool, compile_it: bool) -> "CompiledKernel | None":
    """The kernel, compiled, or None where that fails, or would have to be done first and ``compile_it`` is False."""
    key = fused, dtype, backward
    if key not in _known:
        try:
            kernel = _class_of(fused.family)
            if not kernel.compile(fused.options, dtype, backward, compile_it):
                return None
            _known[key] = kernel
        except ModuleNotFoundError as error:
            if error.name != "numba":
                raise
            _give_up(key, "Numba is not installed (pip install numba)" if compile_it else None)
        except Exception as error:
            _give_up(key, _told(error))
    return _known[key]


def _class_of(family: str) -> "CompiledKernel":
    module, name = FAMILIES[family].split(".")
    found: CompiledKernel = getattr(import_module(f"dgltree.engine.kernels.{module}"), name)
    return found


def _told(error: Exception) -> str:
    if "no locator available" in str(error) or isinstance(error, OSError):
        return (
            "there is no place for the compiled code of dgltree's kernels; set NUMBA_CACHE_DIR to a folder that can be "
            f"written ({error})"
        )
    lines = str(error).strip().splitlines()
    return f"Numba cannot compile dgltree's kernels ({type(error).__name__}: {lines[-1] if lines else ''})"


def _give_up(key: Key, why: str | None) -> None:
    """Say it once, whatever the kernels that are asked for later."""
    if why is not None and None not in _known.values():
        warnings.warn(f"{why}: {INSTEAD}", RuntimeWarning, stacklevel=2)
    _known[key] = None
