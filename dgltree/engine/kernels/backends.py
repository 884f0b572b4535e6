"""The backends, one a kind of device: their kernels found and compiled, or read from disk; a fault is reported once."""

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

from dgltree.engine.kernels.kernel import Shape

Key = tuple[str, tuple[int, ...], torch.dtype, bool, Shape | None]

INSTEAD = (
    "cells use torch's operations instead, which takes two to three times as long; DGLTREE_KERNELS=off silences this "
    "message"
)


class Backend:
    """The kernels of one package.

    Args:
        package: its name, as people write it; in lower case it is that of its module.
        install: what installs it.
        cache: the variable of the environment that says where compiled code is kept.
        families: ``module.class`` of each family that has a kernel.
        by_shape: whether a kernel is compiled for each shape of rows.
    """

    def __init__(
        self, package: str, install: str, cache: str, families: Mapping[str, str], by_shape: bool = False
    ) -> None:
        self.package, self.install, self.cache, self.families = package, install, cache, families
        self.by_shape = by_shape
        self.known: dict[Key, Any] = {}
        """What was found: a kernel that is compiled, or None if there is none for this process."""

    def installed(self) -> bool:
        """Whether its package is there."""
        return find_spec(self.package.lower()) is not None

    def kernel(
        self,
        family: str,
        options: tuple[int, ...],
        dtype: torch.dtype,
        backward: bool,
        compile_it: bool,
        shapes: Sequence[Shape] = (),
    ) -> Any | None:
        """The kernel, compiled, or None if that fails, or would have to be done first and ``compile_it`` is False.

        None too for a family without one. ``shapes`` are those of a pass, for a backend that compiles for each.
        """
        if family not in self.families:
            return None
        for shape in shapes if self.by_shape else [None]:
            key = family, options, dtype, backward, shape
            if key not in self.known and not self._compiled(key, compile_it):
                return None
            if self.known[key] is None:
                return None
        return self.load(family)

    def _compiled(self, key: Key, compile_it: bool) -> bool:
        """Whether it is known now what there is; not if it would have to be compiled and may not."""
        family, options, dtype, backward, shape = key
        try:
            kernel = self.load(family)
            if not kernel.compile(options, dtype, backward, compile_it, *([] if shape is None else [shape])):
                return False
            self.known[key] = kernel
        except ModuleNotFoundError as error:
            package = self.package.lower()
            if error.name == package:
                self._give_up(key, f"{self.package} is not installed ({self.install})" if compile_it else None)
            elif (error.name or "").startswith(f"{package}."):  # code on disk of another version, read while it changes
                self._give_up(key, self._told(error))
            else:
                raise
        except Exception as error:
            self._give_up(key, self._told(error))
        return True

    def load(self, family: str) -> Any:
        """The class of kernels of a family."""
        module, name = self.families[family].split(".")
        return getattr(import_module(f"dgltree.engine.kernels.{module}"), name)

    def _told(self, error: Exception) -> str:
        if "no locator available" in str(error) or isinstance(error, OSError):
            return (
                f"the compiled code of dgltree's kernels cannot be stored; set {self.cache} to a writable "
                f"folder ({error})"
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
        "stack": "numba_pass.NumbaRuns",
        "lstm": "numba_pass.NumbaRuns",
        "sum": "numba_sum.SumRuns",
        "stack path": "numba_paths.NumbaPaths",
        "lstm path": "numba_paths.NumbaPaths",
        "on_lstm": "numba_on_lstm.ONLSTMKernel",
        "slots": "numba_slots.SlotKernel",
        "beams": "numba_beams.BeamKernel",
        "pairs": "numba_beams.PairKernel",
    },
)
TRITON = Backend(
    "Triton",
    "pip install triton",
    "TRITON_CACHE_DIR",
    {
        "stack": "triton_stack.TritonStackKernel",
        "lstm": "triton_lstm.TritonLSTMKernel",
        "on_lstm": "triton_on_lstm.TritonONLSTM",
        "ordered_memory": "triton_memory.TritonMemory",
    },
    by_shape=True,
)
BACKENDS = {"cpu": NUMBA, "cuda": TRITON}
"""By the type of a device."""
