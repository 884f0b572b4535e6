"""Memory of passes that are done, for later ones.

What a pass keeps of products is tens of megabytes, which malloc gives back to the system. To get them again costs a
pass of large batches a fifth of its time: the system clears each page.
"""

from threading import Lock
from typing import Any

import numpy as np

MOST_BYTES = 2**27
"""Bytes of all that is kept."""
LEAST_BYTES = 2**16
"""Bytes of the smallest block that is worth keeping."""
Buffer = np.ndarray[Any, np.dtype[np.uint8]]
_lock = Lock()
_spare: list[Buffer] = []
"""The one that was given back last at the end."""


def take(size: int) -> Buffer:
    """Memory of at least so many bytes, at most twice as many, with whatever is in it."""
    if size < LEAST_BYTES:
        return np.empty(size, np.uint8)
    with _lock:
        fitting = [place for place, spare in enumerate(_spare) if size <= len(spare) <= 2 * size]
        if fitting:
            return _spare.pop(min(fitting, key=lambda place: len(_spare[place])))
    return np.empty(size, np.uint8)


def give_back(buffer: Buffer) -> None:
    """Keeps memory which nobody reads any more; the oldest makes room."""
    if len(buffer) < LEAST_BYTES:
        return
    with _lock:
        _spare.append(buffer)
        while sum(map(len, _spare)) > MOST_BYTES:
            del _spare[0]
