"""Labels as scikit-learn's users give them: arrays, lists and columns, one label of each tree."""

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d


def labels_of(y: Any) -> np.ndarray:
    """(E,) labels of one type. ``ValueError`` for several labels of a tree, and naming the first that is missing."""
    if y is None:
        raise ValueError("no labels: fit requires y to be passed, but the target y is None")
    if hasattr(y, "toarray"):
        raise ValueError("the labels are a sparse matrix; give one label per tree")
    given = y if hasattr(y, "__array__") else list(y)
    ragged = not hasattr(given, "__array__") and any(isinstance(label, list | tuple | set) for label in given)
    if ragged:
        raise ValueError("some labels are lists; give one label per tree")
    found = np.asarray(given)
    if found.ndim > 1 and found.shape[1] != 1:
        raise ValueError(f"y has the shape {found.shape}; give one label per tree")
    found = column_or_1d(found, warn=True)
    for i, label in enumerate(found.tolist()):
        if label is None or label != label:
            raise ValueError(f"Input y contains NaN: the label of tree {i + 1} is {label!r}; every tree needs one")
        if isinstance(label, float) and np.isinf(label):
            raise ValueError(f"Input y contains infinity: the label of tree {i + 1} is {label!r}")
    return found.astype(str) if found.dtype.kind == "O" and len({type(label) for label in found}) > 1 else found


def names_of(classes: np.ndarray) -> list[str]:
    """The labels of these classes in a model: their texts if these differ and can be labels, else 0, 1 and so on."""
    names = [str(name) for name in classes.tolist()]
    fit = len(set(names)) == len(names) and all(name and name.isprintable() and name == name.strip() for name in names)
    return names if fit else [str(i) for i in range(len(names))]


def numbers_of(y: Any) -> np.ndarray:
    """(E,) float64. ``ValueError`` as of :func:`labels_of`, and naming the first label that is not a number."""
    found = labels_of(y)
    try:
        return found.astype(float)
    except (TypeError, ValueError):
        wrong = next(i for i, label in enumerate(found.tolist()) if not _is_number(label))
        raise ValueError(f"the label of tree {wrong + 1} is {found.tolist()[wrong]!r}; a number is needed") from None


def _is_number(label: Any) -> bool:
    try:
        return bool(np.isfinite(float(label)))
    except (TypeError, ValueError):
        return False
