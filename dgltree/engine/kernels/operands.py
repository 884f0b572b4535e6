"""The tensors that kernels read by their address: what they take, and how it is laid out."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

DTYPES = (torch.float32, torch.float64)
TENSOR_TYPES = (Tensor, nn.Parameter)


def are_taken(tensors: Iterable[Tensor | None]) -> bool:
    """Whether kernels take these weights: dense float32 or float64 of torch's own classes, with all biases.

    Whatever is not listed here, torch's operations compute: a map whose bias was taken out, half precision, a quantized
    or distributed subclass of Tensor.
    """
    return all(
        tensor is not None
        and type(tensor) in TENSOR_TYPES
        and tensor.dtype in DTYPES
        and tensor.layout is torch.strided
        for tensor in tensors
    )


def operand(tensor: Tensor) -> Tensor:
    """The same values as kernels read them: without gaps, and negative in memory, not by a bit of the tensor.

    What has to be copied is copied within the autograd graph: a copy that is made later gets no gradient.
    """
    return tensor.resolve_neg().contiguous()
