"""dgltree: recursive neural networks on DGL and PyTorch. The public names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dgltree.batch import TreeBatch, batch, unbatch
from dgltree.checkpoint import load, save
from dgltree.equation import BLANK, Equation
from dgltree.propagate import propagate
from dgltree.published import load_published
from dgltree.rank import Ranking, rank
from dgltree.read.infix import read_equation, read_infix, write_equation, write_infix
from dgltree.select import select
from dgltree.shipped import open_model, shipped_fillers
from dgltree.tree import Tree
from dgltree.verify import verify
from dgltree.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgltree.dataset import TreeDataset
    from dgltree.trained import TrainedModel
    from dgltree.training.fit import fit

_LATER = {"TreeDataset": "dgltree.dataset", "TrainedModel": "dgltree.trained", "fit": "dgltree.training.fit"}
"""Imported when they are first asked for: they need packages that the rest does without."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BLANK",
    "Equation",
    "Ranking",
    "TrainedModel",
    "Tree",
    "TreeBatch",
    "TreeDataset",
    "Vocabulary",
    "batch",
    "fit",
    "load",
    "load_published",
    "open_model",
    "propagate",
    "rank",
    "read_equation",
    "read_infix",
    "save",
    "select",
    "shipped_fillers",
    "unbatch",
    "verify",
    "write_equation",
    "write_infix",
]
