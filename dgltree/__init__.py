"""dgltree: recursive neural networks on DGL and PyTorch. The public names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dgltree.batching.batch import TreeBatch, batch, unbatch
from dgltree.batching.select import select
from dgltree.batching.vocabulary import Vocabulary
from dgltree.engine.planned import PlannedBatch, plan
from dgltree.engine.propagate import propagate, root_states
from dgltree.equations.published import load_published
from dgltree.equations.ranker import Ranker, Ranking, rank
from dgltree.equations.shipped import open_model, shipped_fillers
from dgltree.equations.verify import verify
from dgltree.models.checkpoint import load, save
from dgltree.read.infix import read_equation, read_infix, write_equation, write_infix
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    from dgltree.datasets import TreeDataset
    from dgltree.training.fitting import fit
    from dgltree.training.trained import TrainedModel

_LATER = {
    "TreeDataset": "dgltree.datasets",
    "TrainedModel": "dgltree.training.trained",
    "fit": "dgltree.training.fitting",
}
"""Imported when they are first asked for: they need packages that the rest does without."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BLANK",
    "Equation",
    "PlannedBatch",
    "Ranker",
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
    "plan",
    "propagate",
    "rank",
    "read_equation",
    "read_infix",
    "root_states",
    "save",
    "select",
    "shipped_fillers",
    "unbatch",
    "verify",
    "write_equation",
    "write_infix",
]
