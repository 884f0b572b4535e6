"""Runs of equal entries, and ranges one after another, of numpy arrays."""

from itertools import pairwise

import numpy as np


def run_lengths(*keys: np.ndarray) -> list[tuple[int, int]]:
    """``(start, stop)`` of the runs in which all keys stay the same."""
    changed = np.ones(len(keys[0]) + 1, bool)
    changed[1:-1] = False
    for key in keys:
        changed[1:-1] |= key[1:] != key[:-1]
    bounds = np.flatnonzero(changed).tolist() if len(keys[0]) else []
    return list(pairwise(bounds))


def ranges(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The numbers from start to start + length - 1 of each range, one range after another."""
    first = np.repeat(start - (np.cumsum(length) - length), length)
    return np.arange(len(first)) + first
