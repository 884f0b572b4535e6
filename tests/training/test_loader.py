"""Processes that make batches do not keep what the training process had freed."""

import ctypes
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from dgltree.training.stepping.data import batch_loader

MEGABYTES, MOST = 200, 100
PIECE = 1_000_000
"""Bytes."""


class Resident:
    """Its one example is the memory of the process that reads it, in MB."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, row: int) -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096 / 1e6


def filled() -> list[Tensor]:
    return [torch.ones(PIECE, dtype=torch.uint8) for _ in range(MEGABYTES)]


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="no Linux with glibc"
)
def test_a_worker_does_not_hold_what_was_freed_before_it_was_forked() -> None:
    filled()  # glibc maps such pieces by themselves until it has seen that they are freed
    freed = filled()
    above = torch.ones(PIECE, dtype=torch.uint8)  # keeps the heap from shrinking in the parent
    del freed
    with_all, without = (
        next(iter(loader)).item() for loader in (DataLoader(Resident(), num_workers=1), batch_loader(Resident()))
    )
    assert len(above) and with_all - without > MOST
