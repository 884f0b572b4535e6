"""Where the host waits for a GPU."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def syncs() -> Iterator[list[warnings.WarningMessage]]:
    """The synchronizing operations that run within it, one warning each."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        found.clear()  # the first time in a process, torch warns that the mode itself is a prototype
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
