"""dgltree: recursive neural networks on DGL and PyTorch. The public names."""

from importlib import import_module

from dgltree.above import register

TYPE_CHECKING = False  # typing's own, without waiting for typing
if TYPE_CHECKING:
    from typing import Any

    from dgltree.batching.batch import TreeBatch, batch, unbatch
    from dgltree.batching.select import select
    from dgltree.batching.vocabulary import Vocabulary
    from dgltree.datasets import TreeDataset
    from dgltree.engine.frontiers import topo_plan
    from dgltree.engine.planned import PlannedBatch, plan
    from dgltree.engine.propagate import propagate, root_states
    from dgltree.engine.runner import prop_nodes_topo
    from dgltree.equations.checking.check import check
    from dgltree.equations.checking.distractors import distractors
    from dgltree.equations.checking.marks import Checked
    from dgltree.equations.completion.answers import Verification, complete, verify
    from dgltree.equations.completion.result import Completion
    from dgltree.models.checkpoint import load, save
    from dgltree.ranking.pretrained.fillers import shipped_fillers
    from dgltree.ranking.pretrained.published import load_published
    from dgltree.ranking.pretrained.shipped import open_model
    from dgltree.ranking.ranker import Ranker, Ranking, rank
    from dgltree.read.infix import read_equation, read_infix
    from dgltree.read.infix_writer import write_equation, write_infix
    from dgltree.training.estimators import TreeClassifier, TreeEncoderTransformer, TreeRegressor
    from dgltree.training.fitting import fit
    from dgltree.training.trained_model import TrainedModel
    from dgltree.trees.binarize import binarize, unbinarize
    from dgltree.trees.equation import BLANK, Equation
    from dgltree.trees.tree import Tree

_MODULES = {
    "batching.batch": ("TreeBatch", "batch", "unbatch"),
    "batching.select": ("select",),
    "batching.vocabulary": ("Vocabulary",),
    "datasets": ("TreeDataset",),
    "engine.planned": ("PlannedBatch", "plan"),
    "engine.propagate": ("propagate", "root_states"),
    "engine.runner": ("prop_nodes_topo",),
    "engine.frontiers": ("topo_plan",),
    "equations.checking.check": ("check",),
    "equations.checking.marks": ("Checked",),
    "equations.checking.distractors": ("distractors",),
    "equations.completion.answers": ("Verification", "complete", "verify"),
    "equations.completion.result": ("Completion",),
    "ranking.pretrained.fillers": ("shipped_fillers",),
    "ranking.pretrained.published": ("load_published",),
    "ranking.ranker": ("Ranker", "Ranking", "rank"),
    "ranking.pretrained.shipped": ("open_model",),
    "models.checkpoint": ("load", "save"),
    "read.infix": ("read_equation", "read_infix"),
    "read.infix_writer": ("write_equation", "write_infix"),
    "training.estimators": ("TreeClassifier", "TreeEncoderTransformer", "TreeRegressor"),
    "training.fitting": ("fit",),
    "training.trained_model": ("TrainedModel",),
    "trees.binarize": ("binarize", "unbinarize"),
    "trees.equation": ("BLANK", "Equation"),
    "trees.tree": ("Tree",),
}
"""Where each name is from. It is imported when it is first asked for: torch takes a second, which a command that is
stopped, or that only prints its help, need not wait for; and some need packages that the others do without."""


register(
    {
        "states_of": "dgltree.engine.propagate",
        "downward_states": "dgltree.engine.downward",
        "ListGuesser": "dgltree.ranking.list_guesser",
        **dict.fromkeys(("Ranker", "Ranking", "rank"), "dgltree.ranking.ranker"),
        **dict.fromkeys(("listops_model", "logic_model", "open_model"), "dgltree.ranking.pretrained.shipped"),
        "load_published": "dgltree.ranking.pretrained.published",
        "shipped_fillers": "dgltree.ranking.pretrained.fillers",
    }
)
# A call of a cell is a pass of the engine, a guess is a network's; the rest are names that dgltree.equations had before
# ranking was a package of its own, until 0.4.

_PACKAGES = (
    "batching",
    "cells",
    "datasets",
    "encoders",
    "engine",
    "equations",
    "induction",
    "models",
    "plotting",
    "ranking",
    "read",
    "training",
    "trees",
)
"""Folders with further public names: ``dgltree.cells.TreeLSTM``."""


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        return _version()
    if name in _PACKAGES:
        return import_module(f"dgltree.{name}")
    for module, names in _MODULES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(f"dgltree.{module}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dgltree")
    except PackageNotFoundError:
        return "0+unknown"  # run from a checkout that was not installed


def __dir__() -> list[str]:
    hidden = {"import_module", "TYPE_CHECKING"}
    return sorted({*globals(), *__all__, *_PACKAGES, "__version__"} - hidden)


__all__ = [
    "BLANK",
    "Checked",
    "Completion",
    "Equation",
    "PlannedBatch",
    "Ranker",
    "Ranking",
    "TrainedModel",
    "Tree",
    "TreeBatch",
    "TreeClassifier",
    "TreeDataset",
    "TreeEncoderTransformer",
    "TreeRegressor",
    "Verification",
    "Vocabulary",
    "batch",
    "binarize",
    "check",
    "complete",
    "distractors",
    "fit",
    "load",
    "load_published",
    "open_model",
    "plan",
    "prop_nodes_topo",
    "propagate",
    "rank",
    "read_equation",
    "read_infix",
    "root_states",
    "save",
    "select",
    "shipped_fillers",
    "topo_plan",
    "unbatch",
    "unbinarize",
    "verify",
    "write_equation",
    "write_infix",
]
