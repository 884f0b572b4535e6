"""The trees that a model was trained on, as digests next to it, by which an evaluation finds them again."""

from pathlib import Path

import numpy as np

from dgltree.datasets.splitting.duplicates import tree_digests
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.files import replacing
from dgltree.training.folder import TRAINED_ON

MAX_DIGESTS = 1_000_000
"""Training examples up to which their digests are kept, 8 bytes per tree."""


def remember(train: TreeDataset, folder: Path) -> None:
    """Write the digests of the trees of a training set as they were read, or no file for very many examples."""
    (folder / TRAINED_ON).unlink(missing_ok=True)
    if len(train) > MAX_DIGESTS:
        return
    with replacing(folder / TRAINED_ON) as beside, beside.open("wb") as file:
        np.save(file, np.unique(tree_digests(train.as_read()), axis=0), allow_pickle=False)


def also_trained_on(data: TreeDataset, folder: Path) -> int:
    """How many examples of a data set have the trees of a training example; errors as of :func:`trained_on`."""
    return int(trained_on(data, folder).sum())


def trained_on(data: TreeDataset, folder: Path) -> np.ndarray:
    """(E,) bool, the examples of a data set that have the trees of a training example; none if none were kept.

    Raises ``ValueError`` for a damaged file.
    """
    file = folder / TRAINED_ON
    if not file.exists():
        return np.zeros(len(data), bool)
    try:
        kept = np.load(file, allow_pickle=False)
        if kept.dtype != np.uint64 or kept.ndim != 2 or kept.shape[1] != data.each:
            raise ValueError(f"digests of type {kept.dtype} and shape {kept.shape}")
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{file}: damaged ({error}); delete it to evaluate without this check") from None
    own = set(map(tuple, kept.tolist()))
    return np.array([tuple(digests) in own for digests in tree_digests(data.as_read()).tolist()])
