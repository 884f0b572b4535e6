"""How batches and plans travel: between processes in one message, to a device in one piece of memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from math import prod
from typing import Any, Self

import torch
from torch import Tensor

ARRAYS = "pickled as arrays"
"""The key of the names of tensors that were pickled so."""


# How batches and plans travel from a data loader's worker to the model.
class PickledAsArrays:
    """A dataclass that pickles plain tensors on the CPU, of the dtypes below and without gradients, as numpy arrays.

    Between processes torch hands over every tensor by a file of its own; what has many small ones is sent, as arrays,
    in one message at a fraction of the cost. Values that are computed from the fields on first use are not sent.
    """

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        arrays = {name: value.numpy() for name, value in state.items() if _is_plain(value)}
        return {**state, **arrays, ARRAYS: list(arrays)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = {name: torch.from_numpy(state[name]) for name in state.pop(ARRAYS)}
        self.__dict__.update(state, **arrays)


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and value.device.type == "cpu"
        and value.dtype in (torch.int64, torch.float32, torch.float64)
        and not value.requires_grad
    )


class Movable(PickledAsArrays, ABC):
    """A value made of tensors: many small ones, which are copied to a device by one copy."""

    @abstractmethod
    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The same with ``function`` of every tensor that is to be where the model is."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where those tensors are."""

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """The same on a device.

        Args:
            device: where to; if all is there already nothing is copied.
            non_blocking: as of ``torch.Tensor.to``: from pinned memory to a GPU, the copy runs while Python continues.
        """
        if isinstance(device, torch.dtype):
            raise TypeError(f"device is {device}; ids keep their dtype: change that of the cell, or of x alone")
        if _same(self.device, check_device(device)):
            return self
        return self._together(lambda memory: memory.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """The same in one piece of pinned memory, of which a copy to a GPU need not be waited for."""
        return self._together(lambda memory: memory.pin_memory())

    def _together(self, function: Callable[[Tensor], Tensor]) -> Self:
        tensors: dict[int, Tensor] = {}

        def collect(tensor: Tensor) -> Tensor:
            tensors[id(tensor)] = tensor
            return tensor

        self.map(collect)
        found = dict(zip(tensors, together(list(tensors.values()), function), strict=True))
        return self.map(lambda tensor: found[id(tensor)])


def check_device(device: torch.device | str) -> torch.device:
    """The device. ``ValueError`` for one that torch does not know or that the machine lacks."""
    try:
        known = torch.device(device)
    except RuntimeError:
        raise ValueError(f"device is {device!r}; give one of torch, such as 'cpu', 'cuda' or 'cuda:1'") from None
    if known.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (known.index or 0) >= count:
            there = "no GPU that torch can use" if not count else f"only {count}, numbered from 0"
            raise ValueError(f"device is {str(known)!r}; there is {there}")
    return known


def together(tensors: Sequence[Tensor], function: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """The tensors, by one call of ``function``, which copies the memory of all of them, (bytes,) uint8.

    Those that require gradients are copied one by one, so that these find back.
    """
    plain = [tensor for tensor in tensors if not tensor.requires_grad]
    plain.sort(key=lambda tensor: -tensor.element_size())  # so that each begins where its elements may lie
    copied = {id(tensor): function(tensor) for tensor in tensors if tensor.requires_grad}
    if plain:
        memory, start = function(_one_piece(plain)), 0
        for tensor in plain:
            size = prod(tensor.shape) * tensor.element_size()
            copied[id(tensor)] = memory.narrow(0, start, size).view(tensor.dtype).view(tensor.shape)
            start += size
    return [copied[id(tensor)] for tensor in tensors]


def _one_piece(tensors: Sequence[Tensor]) -> Tensor:
    """(bytes,) uint8, the memory of tensors one after another; without a copy where they lie like that."""
    first, total = tensors[0], sum(prod(tensor.shape) * tensor.element_size() for tensor in tensors)
    storage, start = first.untyped_storage(), first.storage_offset() * first.element_size()
    place = start
    for tensor in tensors:
        if (
            tensor.untyped_storage().data_ptr() != storage.data_ptr()
            or tensor.storage_offset() * tensor.element_size() != place
            or not tensor.is_contiguous()
        ):
            filled = [each.reshape(-1).view(torch.uint8) for each in tensors if each.numel()]  # 0 bytes have no view
            return torch.cat([torch.empty(0, dtype=torch.uint8, device=first.device), *filled])
        place += prod(tensor.shape) * tensor.element_size()
    return first.view(-1).view(torch.uint8).as_strided((total,), (1,), start)


def _same(here: torch.device, there: torch.device) -> bool:
    """Whether ``there`` names the device ``here``; one without an index is any of its kind."""
    return here.type == there.type and there.index in (None, here.index)
