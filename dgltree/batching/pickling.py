"""How batches and plans travel from a data loader's worker to the model."""

from dataclasses import fields
from typing import Any

import numpy as np
import torch
from torch import Tensor


class PickledAsArrays:
    """A dataclass that pickles plain tensors on the CPU, of the dtypes below and without gradients, as numpy arrays.

    Between processes torch hands over every tensor by a file of its own; what has many small ones is sent, as arrays,
    in one message at a fraction of the cost. Values that are computed from the fields on first use are not sent.
    """

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value.numpy() if _is_plain(value) else value for name, value in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            self.__dict__[name] = torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and value.device.type == "cpu"
        and value.dtype in (torch.int64, torch.float32, torch.float64)
        and not value.requires_grad
    )
