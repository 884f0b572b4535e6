"""A second device for tests: tensors that say they are on "cuda:0", and lie on the CPU.

It tests placement: where tensors are, what is mixed, what is read back. It is no GPU, and says nothing of kernels,
speed or memory. Random numbers are the CPU's, so that a training gives the bits that it gives there.

Within :func:`second_device` torch.cuda says that there is one GPU. Every operation on its tensors runs on the CPU
behind them. An operation that mixes devices fails as on a GPU, and so does one in a process that was forked. What a GPU
would have to be waited for is counted, with the line of ours that asked for it.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import dgltree

DEVICE = torch.device("cuda", 0)
HIDDEN = torch.device("meta", 1)
"""Where torch's C++ takes the tensors to be: all operations of "meta" come to Python, and nobody else uses index 1."""
MEMORY = 16 << 30
"""Bytes of the device."""
ROOT = Path(dgltree.__file__).parents[1]
OURS = tuple(f"{ROOT / package}{os.sep}" for package in ("dgltree", "tasks"))
aten = torch.ops.aten
WAITS = {
    aten._local_scalar_dense.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
    aten.repeat_interleave.Tensor,
    aten.bincount.default,
    aten.equal.default,
}
"""Operations whose result, or its size, the host has to know."""
MIXED = {aten.copy_.default, aten._pack_padded_sequence.default}
"""Operations that take tensors of both devices."""
INDEXED = {
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
    aten._unsafe_index.Tensor,
    aten._unsafe_index_put.default,
}


class Elsewhere(Tensor):
    """A tensor on the second device."""

    behind: Tensor

    @staticmethod
    def __new__(cls, behind: Tensor) -> "Elsewhere":
        made: Elsewhere = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            behind.shape,
            strides=behind.stride(),
            storage_offset=behind.storage_offset(),
            dtype=behind.dtype,
            layout=behind.layout,
            device=HIDDEN,
        )
        made.behind = behind
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert Device.now is not None, "a tensor of the second device was used outside of it"
        return Device.now.run(function, args, kwargs or {})

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return DEVICE

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True

    @property
    def is_meta(self) -> bool:  # type: ignore[override]
        return False

    def get_device(self) -> int:
        return 0

    def data_ptr(self) -> int:
        return self.behind.data_ptr()

    def untyped_storage(self) -> Any:
        return self.behind.untyped_storage()

    def __repr__(self, *_: Any, **__: Any) -> str:
        return f"Elsewhere({self.behind!r})"

    def __format__(self, form: str) -> str:
        return format(self.detach().cpu(), form)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.detach().cpu().__reduce_ex__(protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tensor":
        copied: Tensor = self.detach().clone().requires_grad_(self.requires_grad)
        if isinstance(self, torch.nn.Parameter):
            copied = torch.nn.Parameter(copied, self.requires_grad)
        memo[id(self)] = copied
        return copied


class Device(TorchDispatchMode):
    """The device, and what was read of it."""

    now: "Device | None" = None

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()
        """By the line of ours, how often the host had to wait for a value or a size."""
        self.copies: Counter[str] = Counter()
        """By the line of ours, what was copied to the device after the host had waited for its stream."""
        self.flights: Counter[str] = Counter()
        """The same with ``non_blocking``, for which CUDA waits only until it has read the memory."""
        self.pinned: set[int] = set()
        self.used: set[str] = set()
        """The names of the operations that ran on it."""
        self._process = os.getpid()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(function, args, kwargs or {})

    def run(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """An operation, on the CPU."""
        if not torch.is_inference_mode_enabled():
            return self._run(function, args, kwargs)
        with torch.inference_mode(False), torch.no_grad():  # tensors of that mode have no versions, of which views ask
            return self._run(function, args, kwargs)

    def _run(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        given: list[Any] = []
        plain_args, plain_kwargs = _flattened(args, given), {name: _flattened(kwargs[name], given) for name in kwargs}
        ours = {id(each.behind): each for each in given if isinstance(each, Elsewhere)}
        target = kwargs.get("device")
        there = _is_ours(target)
        if kwargs.get("pin_memory"):
            made = function(*args, **{**kwargs, "pin_memory": False})
            self.pinned.add(made.untyped_storage().data_ptr())
            return made
        if not ours and not there:
            return function(*args, **kwargs)
        self.used.add(function.__name__.split(".")[0])
        assert os.getpid() == self._process, f"a forked process used the device: {function} at {line_of_ours()}"
        if function is aten._to_copy.default and not ours:
            self._count(self.flights if kwargs.get("non_blocking") else self.copies)
        back = bool(ours) and target is not None and not there
        self._look(function, args, given, back, kwargs)
        if "device" in plain_kwargs:
            plain_kwargs["device"] = torch.device("cpu")
        plain_kwargs.pop("non_blocking", None) if function is aten._to_copy.default else None
        found = function(*plain_args, **plain_kwargs)
        if back:
            return found
        if function is aten._pack_padded_sequence.default:  # torch keeps the sizes of batches on the CPU
            return Elsewhere(found[0]), found[1]
        if function is aten.copy_.default and not isinstance(args[0], Elsewhere):
            return args[0]
        return self._wrapped(found, ours)

    def _wrapped(self, each: Any, ours: dict[int, Elsewhere]) -> Any:
        if isinstance(each, list | tuple):
            return type(each)([self._wrapped(one, ours) for one in each])
        if not isinstance(each, Tensor) or isinstance(each, Elsewhere):
            return each
        known = ours.get(id(each))
        if known is not None:
            assert known.shape == each.shape, "an operation in place changed a shape"
            return known
        return Elsewhere(each)

    def _look(self, function: Any, args: Sequence[Any], given: list[Any], back: bool, names: Any) -> None:
        """Refuse an operation that mixes devices, and count one that waits."""
        apart = [e for e in given if isinstance(e, Tensor) and not isinstance(e, Elsewhere) and e.dim()]
        here = any(isinstance(each, Elsewhere) for each in given)
        if function in INDEXED and here:
            indices = [each for each in args[1] if each is not None]
            scalar = len(args) > 2 and args[2].numel() == 1 and not isinstance(args[2], Elsewhere)
            if any(each.dtype in (torch.bool, torch.uint8) for each in indices) and not (scalar and len(indices) == 1):
                self._count(self.reads)
            if any(not isinstance(each, Elsewhere) for each in indices):
                self._count(self.copies)
            apart = [each for each in apart if all(each is not index for index in indices)]
        if function is aten.copy_.default:
            if not isinstance(args[0], Elsewhere):
                self._count(self.reads)
            elif not isinstance(args[1], Elsewhere):
                self._count(self.copies)
        if apart and here and function not in MIXED:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {DEVICE} and cpu! "
                f"({function})"
            )
        sized = function is not aten.repeat_interleave.Tensor or "output_size" not in names
        if back or (here and function in WAITS and sized):
            self._count(self.reads)

    def pinned_copy(self, tensor: Tensor) -> Tensor:
        """A copy in pinned memory."""
        assert not isinstance(tensor, Elsewhere), "memory of the device cannot be pinned"
        made = tensor.clone()
        self.pinned.add(made.untyped_storage().data_ptr())
        return made

    def is_pinned(self, tensor: Tensor) -> bool:
        return not isinstance(tensor, Elsewhere) and tensor.untyped_storage().data_ptr() in self.pinned

    def _count(self, into: Counter[str]) -> None:
        into[line_of_ours()] += 1


class Made(TorchFunctionMode):
    """The calls by which torch's C++ makes tensors without asking the device."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.cuda:
            return args[0].to(DEVICE)
        if function in (torch.Tensor.pin_memory, torch.Tensor.is_pinned):
            assert Device.now is not None
            pinning = Device.now.is_pinned if function is torch.Tensor.is_pinned else Device.now.pinned_copy
            return pinning(args[0])
        if function is torch.Tensor.to:  # which asks the device for its index
            args = [DEVICE if isinstance(each, str | torch.device) and _is_ours(each) else each for each in args]
            kwargs |= {"device": DEVICE} if _is_ours(kwargs.get("device")) else {}
        if function is torch.Tensor.tolist and isinstance(args[0], Elsewhere):
            return args[0].detach().cpu().tolist()
        if function in (torch.tensor, torch.as_tensor) and _is_ours(kwargs.get("device")):
            del kwargs["device"]
            return function(*args, **kwargs).to(DEVICE)
        if function is torch.Tensor.new_tensor and isinstance(args[0], Elsewhere):
            return torch.tensor(args[1], dtype=kwargs.get("dtype", args[0].dtype)).to(DEVICE)
        return function(*args, **kwargs)


def _flattened(each: Any, into: list[Any]) -> Any:
    """An argument with what lies behind its tensors instead of them; all its parts are added to a list."""
    if isinstance(each, list | tuple):  # pytree does this too, and takes half of a test for it
        return type(each)([_flattened(one, into) for one in each])
    into.append(each)
    return each.behind if isinstance(each, Elsewhere) else each


def _is_ours(device: Any) -> bool:
    return device is not None and torch.device(device) in (DEVICE, HIDDEN, torch.device("cuda"))


def line_of_ours() -> str:
    """``file:line`` of the nearest caller in dgltree or tasks."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            return f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"
        frame = frame.f_back
    return "elsewhere"


def _nothing() -> Callable[..., None]:
    """A function that does nothing; each of its own, because torch knows functions by their identity."""
    return lambda *_, **__: None


@contextmanager
def second_device() -> Iterator[Device]:
    """Within it there is a second device, "cuda"."""
    cuda: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda *_: "a second device",
        "get_device_capability": lambda *_: (8, 0),
        "mem_get_info": lambda *_: (MEMORY, MEMORY),
        "memory_reserved": lambda *_: 0,
        "memory_allocated": lambda *_: 0,
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "set_rng_state": lambda state, *_: torch.set_rng_state(state),
        "get_rng_state_all": list,
        "is_bf16_supported": lambda *_: True,
        "_exchange_device": lambda *_: 0,
        "_maybe_exchange_device": lambda *_: 0,
    }
    for name in ("_lazy_init", "set_device", "synchronize", "empty_cache", "manual_seed_all", "set_rng_state_all"):
        cuda[name] = _nothing()
    device = Device()
    with ExitStack() as stack:
        for name, instead in cuda.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, instead))
        stream = SimpleNamespace(is_capturing=lambda: False)  # what optimizers ask for where torch was built with CUDA
        stack.enter_context(mock.patch.object(torch.accelerator, "current_stream", lambda *_: stream))
        stack.enter_context(mock.patch.object(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False))
        stack.enter_context(mock.patch.object(torch.backends.cudnn, "is_acceptable", lambda tensor: False))
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, False)
        torch.__future__.set_overwrite_module_params_on_conversion(True)  # new tensors: one has a new one behind it
        stack.callback(torch._C._set_only_lift_cpu_tensors, False)
        torch._C._set_only_lift_cpu_tensors(True)  # so that torch.tensor(..., device=...) comes here, too
        stack.enter_context(mock.patch.object(Device, "now", device))
        stack.enter_context(device)
        stack.enter_context(Made())
        yield device
