"""Batches made in another process, which holds no memory of the one that trains."""

import ctypes
import sys
from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader

from dgltree.batching.moving import Movable


def batch_loader(examples: Any, workers: int = 1, **options: Any) -> DataLoader[Any]:
    """Batches of examples, made by other processes while the model computes.

    Args:
        examples: a data set, or the numbers of its examples.
        workers: processes; 0: none.
        options: of torch's ``DataLoader``.
    """
    return DataLoader(examples, num_workers=workers, worker_init_fn=without_freed_memory, **options)


M = TypeVar("M", bound=Movable)


def sent(batch: M, device: torch.device) -> M:
    """A batch on a device; to a GPU by pinned memory, so that the copy runs while Python goes on."""
    return batch.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else batch.to(device)


def without_freed_memory(worker: int) -> None:
    """Give what the training process had freed back to the system, in a worker; on Linux with glibc.

    Until it is used again, freed memory stays in the heap, of which a fork has a copy. The training process soon writes
    there again, and from then on the memory would be held twice, by a worker that never reads it.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
