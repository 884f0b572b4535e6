"""Which tree molecules have in a training: of ring systems and chains, or of atoms."""

import math
from collections.abc import Mapping

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.smiles import TREES
from dgltree.training.baseline.choice import score
from dgltree.training.deciding import learnt_from
from dgltree.training.options import FitOptions
from dgltree.training.processes import say


def choose_notation(trees: Mapping[str, Mapping[str, TreeDataset]], settings: FitOptions) -> str:
    """The notation whose counts of subtrees predict the labels best, by cross-validation on the training examples.

    Args:
        trees: by notation, the files of the training, read in this way.
        settings: of the training.
    """
    scores = {}
    for name in TREES:
        found = score(*learnt_from(trees[name], settings))
        scores[name] = -math.inf if math.isnan(found) else found
    best = max(TREES, key=lambda name: scores[name])
    if math.isfinite(scores[best]):
        listed = ", ".join(f"{TREES[name]} {scores[name]:.3f}" for name in TREES)
        say(
            f"molecules are read as trees of {TREES[best]}, from which a baseline predicts best in cross-validation "
            f"({listed}); --notation {' or '.join(TREES)} sets it"
        )
    return best
