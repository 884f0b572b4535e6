"""How batches and plans travel: between processes in one message, to a device in one piece of memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from math import prod
from typing import Any, Self

import torch
from torch import Tensor

ARRAYS = "pickled as arrays"
"""The key, in a pickled state, of the names of the tensors that it has as arrays."""
PLAIN_DTYPES = (torch.int64, torch.float32, torch.float64)


class PickledAsArrays:
    """A dataclass that pickles plain tensors on the CPU, of ``PLAIN_DTYPES`` and without gradients, as numpy arrays.

    Between processes torch hands over every tensor by a file of its own; what has many small ones is sent, as arrays,
    in one message at a fraction of the cost. Values that are computed from the fields on first use are not sent.
    """

    def __getstate__(self) -> dict[str, Any]:
        state = {}
        names = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if _is_plain(value):
                value = value.numpy()
                names.append(field.name)
            state[field.name] = value
        state[ARRAYS] = names
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in state.pop(ARRAYS):
            state[name] = torch.from_numpy(state[name])
        self.__dict__.update(state)


def _is_plain(value: Any) -> bool:
    if not isinstance(value, Tensor) or value.requires_grad:
        return False
    return value.device.type == "cpu" and value.dtype in PLAIN_DTYPES


class Movable(PickledAsArrays, ABC):
    """A value made of tensors: many small ones, which are copied to a device by one copy."""

    @abstractmethod
    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """A copy with ``function`` of every tensor that is to be where the model is."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where those tensors are."""

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """A copy on a device, or the value itself if it is there.

        Args:
            device: where to; if all is there already nothing is copied.
            non_blocking: as of ``torch.Tensor.to``: from pinned memory to a GPU, the copy runs while Python continues.

        Raises ``TypeError`` for a dtype, and ``ValueError`` for a device that the machine lacks.
        """
        if isinstance(device, torch.dtype):
            raise TypeError(f"device is {device}, but ids keep their dtype: change the dtype of the cell or of x")
        wanted = check_device(device)
        # A device without an index is any of its kind.
        is_same_index = wanted.index in (None, self.device.index)
        if self.device.type == wanted.type and is_same_index:
            return self
        return self._together(lambda memory: memory.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """A copy in one piece of pinned memory, of which a copy to a GPU need not be waited for."""
        return self._together(lambda memory: memory.pin_memory())

    def _together(self, function: Callable[[Tensor], Tensor]) -> Self:
        """A copy by one call of ``function``: ``map`` lists the tensors first, then it puts in their copies."""
        tensors = {}

        def collect(tensor: Tensor) -> Tensor:
            tensors[id(tensor)] = tensor
            return tensor

        self.map(collect)
        copies = together(list(tensors.values()), function)
        copy_of = dict(zip(tensors, copies, strict=True))
        return self.map(lambda tensor: copy_of[id(tensor)])


def check_device(device: torch.device | str) -> torch.device:
    """The device. Raises ``ValueError`` for one that torch does not know or that the machine lacks."""
    try:
        checked = torch.device(device)
    except RuntimeError:
        raise ValueError(f"device is {device!r}; give a torch device, such as 'cpu', 'cuda' or 'cuda:1'") from None
    if checked.type != "cuda":
        return checked
    count = 0
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
    if not count:
        raise ValueError(f"device is {str(checked)!r}, but torch finds no GPU")
    if (checked.index or 0) >= count:
        raise ValueError(f"device is {str(checked)!r}, but there is only {count}, numbered from 0")
    return checked


def together(tensors: Sequence[Tensor], function: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Copies of tensors by one call of ``function``, which copies the memory of all of them, (bytes,) uint8.

    Tensors that require gradients are copied one by one, because a view of bytes has no gradient.
    """
    copies = {}
    plain = []
    for tensor in tensors:
        if tensor.requires_grad:
            copies[id(tensor)] = function(tensor)
        else:
            plain.append(tensor)
    # The largest elements come first, so that each tensor begins at a multiple of the size of its elements.
    plain.sort(key=Tensor.element_size, reverse=True)
    if plain:
        memory = function(_one_piece(plain))
        start = 0
        for tensor in plain:
            size = _bytes(tensor)
            elements = memory.narrow(0, start, size).view(tensor.dtype)
            copies[id(tensor)] = elements.view(tensor.shape)
            start += size
    return [copies[id(tensor)] for tensor in tensors]


def _bytes(tensor: Tensor) -> int:
    return prod(tensor.shape) * tensor.element_size()


def _one_piece(tensors: Sequence[Tensor]) -> Tensor:
    """(bytes,) uint8, the memory of tensors one after another; without a copy if it is one piece already."""
    first = tensors[0]
    address = first.untyped_storage().data_ptr()
    start = first.storage_offset() * first.element_size()
    end = start
    for tensor in tensors:
        in_same_storage = tensor.untyped_storage().data_ptr() == address
        follows = tensor.storage_offset() * tensor.element_size() == end
        if not (in_same_storage and follows and tensor.is_contiguous()):
            return _copied_pieces(tensors)
        end += _bytes(tensor)
    first_bytes = first.view(-1).view(torch.uint8)
    return first_bytes.as_strided((end - start,), (1,), start)


def _copied_pieces(tensors: Sequence[Tensor]) -> Tensor:
    empty = torch.empty(0, dtype=torch.uint8, device=tensors[0].device)
    pieces = [empty]
    for tensor in tensors:
        if tensor.numel():  # a tensor without elements has no view as bytes
            pieces.append(tensor.reshape(-1).view(torch.uint8))
    return torch.cat(pieces)
