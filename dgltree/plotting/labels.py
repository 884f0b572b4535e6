"""Where names stand in a picture, so that none covers another."""

from collections.abc import Sequence

import numpy as np

GAP = 0.05  # of the axis' height, between two labels
LABEL = np.array([0.14, 0.035])  # of the width and height of all points: the room of a name among them


def apart(places: Sequence[float]) -> list[float]:
    """Rising places at least GAP from each other, as near to the given ones as can be: a crowd keeps its middle."""
    crowds: list[list[float]] = []  # what is left of each place when the gaps below it are taken out
    for number, place in enumerate(places):
        crowds.append([place - GAP * number])
        while len(crowds) > 1 and np.mean(crowds[-2]) > np.mean(crowds[-1]):
            last = crowds.pop()
            crowds[-1] += last
    level = [float(np.mean(crowd)) for crowd in crowds for _ in crowd]
    return [at + GAP * number for number, at in enumerate(level)]


def free_place(own: np.ndarray, placed: Sequence[np.ndarray], extent: np.ndarray) -> np.ndarray:
    """The point of a class nearest to its middle of which the label covers no other, or the nearest if all do."""
    order = own[np.linalg.norm(own - np.median(own, axis=0), axis=1).argsort(kind="stable")]
    free = [p for p in order if all((np.abs(p - other) > LABEL * extent).any() for other in placed)]
    return free[0] if free else order[0]
