"""Lists one after another in numpy arrays (CSR, as the children of a forest): segments, pointers and ranges.

List i is ``values[pointer[i] : pointer[i + 1]]``.
"""

from itertools import pairwise

import numpy as np


def run_lengths(*keys: np.ndarray) -> list[tuple[int, int]]:
    """``(start, stop)`` of the segments in which all keys, (n,) each, stay the same."""
    starts = np.flatnonzero(starts_segment(*keys)).tolist()
    starts.append(len(keys[0]))
    return list(pairwise(starts))


def starts_segment(*keys: np.ndarray) -> np.ndarray:
    """(n,) bool, whether an entry is the first or any key, (n,), differs from that of the entry before."""
    is_start = np.zeros(len(keys[0]), bool)
    is_start[:1] = True
    for key in keys:
        is_start[1:] |= key[1:] != key[:-1]
    return is_start


def offsets(lengths: np.ndarray) -> np.ndarray:
    """(n + 1,) int64, the pointer of lists of these lengths: 0, then the sum of the first 1, 2, ... of them."""
    pointer = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=pointer[1:])
    return pointer


def ranges(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The numbers from start to start + length - 1 of each range, one range after another."""
    # A number is its index in the result plus a distance that is the same for all of its range.
    first_index = np.cumsum(length) - length
    distance = np.repeat(start - first_index, length)
    return np.arange(len(distance)) + distance
