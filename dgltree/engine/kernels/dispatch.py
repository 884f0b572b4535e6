"""Which kernel runs a cell: by what the cell says, by device and dtype, and by what is installed and compiled."""

import builtins
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from math import prod
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from dgltree.engine.checks import check_weights
from dgltree.engine.contract import CellContract, Fused
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.fused_pass import CellPass, product_precision
from dgltree.engine.kernels.kernel import KernelShape, Shape, are_taken
from dgltree.engine.kernels.layout import Layout, gate_maps, layout
from dgltree.engine.schedule import Schedule
from dgltree.support.lazy import is_installed

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_paths import NumbaPaths

# ---------------------------------------------------------------------------------------------------------------------
# The backends, one a kind of device: their kernels found and compiled, or read from disk; a fault is reported once.


Key = tuple[str, tuple[int, ...], torch.dtype, bool, Shape | None]

INSTEAD = (
    "torch's operations run instead, which takes two to three times as long; DGLTREE_KERNELS=off silences this message"
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
        self.package = package
        self.install = install
        self.cache = cache
        self.families = families
        self.by_shape = by_shape
        self.known: dict[Key, Any] = {}
        """What was found: a kernel that is compiled, or None if there is none for this process."""

    def installed(self) -> bool:
        """Whether its package is there."""
        return is_installed(self.package.lower())

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
"""The backend of each type of device."""


MODES = ("on", "cached", "off", "required")
UNRELATED = ("reset_parameters", "fixed", "_abc_impl")
"""What a subclass may have of its own, in addition to what Python names, without other mathematics."""
MATHEMATICS = (
    "gates",
    "shared_gates",
    "products",
    "combine",
    "message_gates",
    "message",
    "send",
    "update",
    "drop",
    "step",
    "compute",
    "_combined",
    "split_inputs",
    "gate_maps",
    "sent",
    "act",
    "split",
)
"""The methods that a kernel stands for, and all functions of ours that they call."""


class NoKernelError(RuntimeError):
    """There is no kernel for a pass, within ``kernels("required")``."""


_mode: ContextVar[str | None] = ContextVar("kernels", default=None)


@contextmanager
def kernels(mode: str) -> Iterator[None]:
    """Within it passes run through kernels: "on", "cached" (those alone that need not be compiled first) or "off".

    With "required" a pass that has no kernel raises :class:`NoKernelError` with the reason; else torch's operations
    compute it.

    Elsewhere they are as ``DGLTREE_KERNELS`` in the environment says, or on; "off" there is off everywhere. It holds
    for the thread that enters it. Raises ``ValueError`` for another mode.
    """
    token = _mode.set(_checked(mode))
    try:
        yield
    finally:
        _mode.reset(token)


def fused_pass(
    cell: CellContract, weights: Mapping[str, Tensor], schedule: Schedule, record: bool, known: Layout | None = None
) -> CellPass | None:
    """A pass of the cell, as it is now, through its kernel on a GPU; None where there is none.

    Args:
        cell: any.
        weights: its ``map_weights``.
        schedule: of what.
        record: whether there may be a backward pass.
        known: the layout that was made when the batch was planned, if one was; one for another cell is not used.
    """
    if not schedule.steps or mode_now() == "off":
        return None
    fused = _fused_on_gpu(cell)
    if fused is None or not _takes(cell, weights):
        return None
    weight = next(iter(weights.values()))
    kernel = step_kernel(fused.family, fused.options, weight, record, _shapes(cell, schedule))
    if kernel is None:
        return None
    if known is None or not known.fits(cell):
        known = layout(schedule, cell)
    return CellPass(cell, fused, schedule, known, kernel, record)


def planned_layout(cell: CellContract, schedule: Schedule) -> Layout | None:
    """What passes of the cell through a kernel read of a schedule; None if there is no kernel for it.

    A loader plans for a cell on the CPU that is on a GPU later, so the layout is made where Triton is installed.
    """
    is_on_gpu = _fused_on_gpu(cell) is not None
    if not schedule.steps or not (is_on_gpu or TRITON.installed()):
        return None
    fused = get_fused(cell)
    if fused is None or not (is_on_gpu or fused.family in TRITON.families):
        return None
    planned = layout(schedule, cell)
    if is_on_gpu:
        planned.with_tiles()
    return planned


def has_kernel(cell: CellContract) -> bool:
    """Whether passes of the cell on its device run through a kernel, if that compiles."""
    if mode_now() == "off" or _fused_on_gpu(cell) is None:
        return False
    return BACKENDS[cell.first_weight.device.type].installed()


def _fused_on_gpu(cell: CellContract) -> Fused | None:
    """What a cell says of its kernel, if it is where that runs; passes on a CPU are compiled from its ``combine``."""
    backend = BACKENDS.get(cell.first_weight.device.type)
    if backend is None or backend is NUMBA:  # Numba's kernels are for paths and sequences
        return None
    fused = get_fused(cell)
    return fused if fused is not None and fused.family in backend.families else None


def _takes(cell: CellContract, weights: Mapping[str, Tensor]) -> bool:
    """Whether kernels take the weights of a cell: those that they know, and no other."""
    names = cell.weight_names
    return len(names) == len(weights) and are_taken(map(weights.get, names))


def _has_products(backend: Backend, weight: Tensor) -> bool:
    """Whether kernels multiply by a weight: those of Numba use torch's BLAS, where it was found."""
    return backend is not NUMBA or product_address(weight.dtype) is not None


def path_kernel(cell: CellContract) -> "tuple[type[NumbaPaths], Fused] | None":
    """The kernel for paths, without a backward pass: on a CPU with a BLAS, of cells that read children one by one."""
    fused = get_fused(cell)
    weights = cell.map_weights()
    if fused is None or not _takes(cell, weights):
        return None
    weight = next(iter(weights.values()))
    check_weights(cell, weights, weight.device)
    if BACKENDS.get(weight.device.type) is not NUMBA or not _has_products(NUMBA, weight):
        return None
    kernel = step_kernel(f"{fused.family} path", fused.options, weight, backward=False)
    return None if kernel is None else (kernel, fused)


def _shapes(cell: CellContract, schedule: Schedule) -> list[KernelShape]:
    """The shapes of a kernel for all steps of a pass."""
    schedule = schedule.with_leaf_step() if cell.leaf == "gates" else schedule
    [memory] = [shape for part, shape in cell.state.items() if part != "h"]
    depth = prod(memory[:-1])
    dropped = cell.training and cell.dropout > 0
    precision = product_precision(cell.first_weight.dtype)
    widths = {key: linear.affine.fan_out for key, linear in gate_maps(cell, schedule).items()}
    sizes = cell.hidden_size, depth
    return [KernelShape(key, *sizes, width, dropped, precision) for key, width in sorted(widths.items())]


def step_kernel(
    family: str, options: tuple[int, ...], weight: Tensor, backward: bool, shapes: Sequence[Shape] = ()
) -> Any | None:
    """The kernel of a family for weights of this device and dtype; None: torch's operations compute.

    Args:
        family: a key of a backend's ``families``.
        options: those of the kernel, as the family says.
        weight: any of them.
        backward: whether there may be a backward pass.
        shapes: of the steps of a pass, if the kernel is for one.

    Raises ``ValueError`` if ``DGLTREE_KERNELS`` is not a mode.
    """
    mode = mode_now()
    backend = BACKENDS.get(weight.device.type)
    if mode == "off" or backend is None or not are_taken([weight]):
        return None
    return backend.kernel(family, options, weight.dtype, backward, mode != "cached", shapes)


def get_fused(cell: CellContract) -> Fused | None:
    """What a cell says of its kernel; None too if a subclass has other mathematics than the class that says it.

    So has a cell on which a function was set, and one whose maps have hooks or a forward of their own.
    """
    if cell.called_maps():
        return None
    own = set(vars(cell))
    for kind in type(cell).__mro__:
        if "fused" in vars(kind):
            is_other = any(hasattr(kind, name) for name in own) or not is_as_written(kind)
            return None if is_other else cell.fused()
        own |= {name for name in vars(kind) if not name.startswith("__") and name not in UNRELATED}
    raise AssertionError("CellContract has it")


class WrittenFunction(NamedTuple):
    """A function of ours as it was when nobody had changed it, by where it is found."""

    where: type | dict[str, Any]
    """A class, or the globals of a module."""
    name: str
    function: FunctionType | None
    """None where there is none."""
    code: CodeType | None

    def is_unchanged(self) -> bool:
        """Whether it is there, and the same."""
        where = self.where
        now = where.get(self.name) if isinstance(where, dict) else getattr(where, self.name, None)
        return now is self.function and (now is None or now.__code__ is self.code)


_written: WeakKeyDictionary[type, list[WrittenFunction]] = WeakKeyDictionary()


def is_as_written(kind: type) -> bool:
    """Whether nobody has put something else in the place of a class's mathematics, or of what these call."""
    known = _written.get(kind)
    if known is not None and all(each.is_unchanged() for each in known):
        return True
    found: list[WrittenFunction] = []
    for name in MATHEMATICS:
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        if owner is None:
            found.append(WrittenFunction(kind, name, None, None))
            continue
        method = vars(owner)[name]
        is_own = isinstance(method, FunctionType) and method.__globals__["__name__"] == owner.__module__
        if not is_own or method.__code__.co_qualname != f"{owner.__qualname__}.{name}":
            return False
        found.append(WrittenFunction(kind, name, method, method.__code__))
        if not _helpers_are_as_written(method, found):
            return False
    _written[kind] = found
    return True


def _helpers_are_as_written(function: FunctionType, found: list[WrittenFunction]) -> bool:
    here = function.__globals__
    for name in function.__code__.co_names:
        if any(each.where is here and each.name == name for each in found):
            continue
        helper = here.get(name)
        if not isinstance(helper, FunctionType):
            if helper is None and hasattr(builtins, name):
                found.append(WrittenFunction(here, name, None, None))
            continue
        if not helper.__globals__["__name__"].startswith("dgltree.") or helper.__code__.co_qualname != name:
            return False
        is_new = all(helper is not each.function for each in found)
        found.append(WrittenFunction(here, name, helper, helper.__code__))
        if is_new and not _helpers_are_as_written(helper, found):
            return False
    return True


def refuse_if_required(why: str) -> None:
    """:class:`NoKernelError` within ``kernels("required")``, for what has no kernel."""
    if mode_now() == "required":
        raise NoKernelError(why)


def mode_now() -> str:
    """What passes do here: one of ``MODES``. ``ValueError`` if ``DGLTREE_KERNELS`` is none."""
    environment = _checked(os.environ.get("DGLTREE_KERNELS", "on"))
    return "off" if environment == "off" else _mode.get() or environment


def _checked(mode: str) -> str:
    if mode not in MODES:
        raise ValueError(f"kernels is {mode!r}; it must be one of {', '.join(MODES)} (see DGLTREE_KERNELS)")
    return mode
