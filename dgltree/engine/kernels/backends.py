"""The backends, one a kind of device: their kernels found and compiled, or read from disk; a fault is reported once."""

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import torch

Key = tuple[str, tuple[int, ...], torch.dtype, bool]

INSTEAD = (
    "cells run on torch's operations instead, which takes two to three times as long; DGLTREE_KERNELS=off is silent"
)


class Backend:
    """The kernels of one package.

    Args:
        package: its name, as people write it; in lower case it is that of its module.
        install: what installs it.
        cache: the variable of the environment that says where compiled code is kept.
        families: ``module.class`` of each family that has a kernel.
    """

    def __init__(self, package: str, install: str, cache: str, families: Mapping[str, str]) -> None:
        self.package, self.install, self.cache, self.families = package, install, cache, families
        self.known: dict[Key, Any] = {}
        """What was found: a kernel that is compiled, or None where there is none for this process."""

    def kernel(
        self, family: str, options: tuple[int, ...], dtype: torch.dtype, backward: bool, compile_it: bool
    ) -> Any | None:
        """The kernel, compiled, or None where that fails, or would have to be done first and ``compile_it`` is False.

        None too for a family without one.
        """
        key = family, options, dtype, backward
        if key not in self.known and family in self.families:
            try:
                kernel = self.load(family)
                if not kernel.compile(options, dtype, backward, compile_it):
                    return None
                self.known[key] = kernel
            except ModuleNotFoundError as error:
                if error.name != self.package.lower():
                    raise
                self._give_up(key, f"{self.package} is not installed ({self.install})" if compile_it else None)
            except Exception as error:
                self._give_up(key, self._told(error))
        return self.known.get(key)

    def load(self, family: str) -> Any:
        """The class of kernels of a family."""
        module, name = self.families[family].split(".")
        return getattr(import_module(f"dgltree.engine.kernels.{module}"), name)

    def _told(self, error: Exception) -> str:
        if "no locator available" in str(error) or isinstance(error, OSError):
            return (
                f"there is no place for the compiled code of dgltree's kernels; set {self.cache} to a folder that can "
                f"be written ({error})"
            )
        lines = str(error).strip().splitlines()
        return f"{self.package} cannot compile dgltree's kernels ({type(error).__name__}: {lines[-1] if lines else ''})"

    def _give_up(self, key: Key, why: str | None) -> None:
        """Say it once, whatever the kernels that are asked for later."""
        if why is not None and None not in self.known.values():
            warnings.warn(f"{why}: {INSTEAD}", RuntimeWarning, stacklevel=2)
        self.known[key] = None


NUMBA = Backend(
    "Numba",
    "pip install numba",
    "NUMBA_CACHE_DIR",
    {
        "stack": "numba_stack.NumbaStackKernel",
        "lstm": "numba_lstm.NumbaLSTMKernel",
        "sum": "numba_sum.SumKernel",
        "on_lstm": "numba_on_lstm.ONLSTMKernel",
        "stack pass": "numba_stack.StackRuns",
        "lstm pass": "numba_lstm.LSTMRuns",
        "sum pass": "numba_sum.SumRuns",
        "stack path": "numba_stack.StackPaths",
        "lstm path": "numba_lstm.LSTMPaths",
    },
)
TRITON = Backend(
    "Triton",
    "pip install triton",
    "TRITON_CACHE_DIR",
    {"stack": "triton_stack.TritonStackKernel", "lstm": "triton_lstm.TritonLSTMKernel"},
)
BACKENDS = {"cpu": NUMBA, "cuda": TRITON}
"""By the type of a device."""
