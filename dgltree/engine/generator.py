"""The generator of random numbers as a step of a pass found it, for drawing the same masks of dropout once more."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from dgltree.cells.base import CellBase


def generator_state(cell: CellBase) -> Tensor | None:
    """What the generator of random numbers is, if a step draws from it."""
    return device_generator_state(next(cell.parameters()).device) if cell.training and cell.dropout else None


def device_generator_state(device: torch.device) -> Tensor:
    """What the generator of random numbers of a device is."""
    return torch.get_rng_state() if device.type == "cpu" else torch.cuda.get_rng_state(device)


@contextmanager
def generator_at(state: Tensor | None, device: torch.device) -> Iterator[None]:
    """The generator as it was; afterwards it continues as if nothing had been drawn."""
    if state is None:
        yield
        return
    with torch.random.fork_rng([] if device.type == "cpu" else [device]):
        if device.type == "cpu":
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, device)
        yield
