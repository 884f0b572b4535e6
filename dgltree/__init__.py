"""dgltree: recursive neural networks on DGL and PyTorch. The public names."""

from importlib import import_module

from dgltree.support.moved import tell_moved_modules

TYPE_CHECKING = False  # typing's own, without waiting for typing
if TYPE_CHECKING:
    from typing import Any

    from dgltree.batching.batch import TreeBatch, batch, unbatch
    from dgltree.batching.vocabulary import Vocabulary
    from dgltree.datasets import TreeDataset
    from dgltree.engine.frontiers import topo_plan, topological_nodes_generator
    from dgltree.engine.planned import PlannedBatch, plan
    from dgltree.engine.propagate import propagate, root_states
    from dgltree.engine.runner import prop_nodes, prop_nodes_topo
    from dgltree.equations.completion.result import Completion
    from dgltree.equations.completion.verification import Verification, verify
    from dgltree.equations.marking.check import check
    from dgltree.equations.marking.marks import Checked
    from dgltree.exporting.export import export
    from dgltree.models.checkpoint import load, save
    from dgltree.ranking.completion import complete
    from dgltree.ranking.pretrained import load_published, open_model
    from dgltree.ranking.pretrained_files import shipped_fillers
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
    "batching.batch": (
        "TreeBatch",
        "batch",
        "unbatch",
    ),
    "batching.vocabulary": ("Vocabulary",),
    "datasets": ("TreeDataset",),
    "engine.frontiers": (
        "topo_plan",
        "topological_nodes_generator",
    ),
    "engine.planned": (
        "PlannedBatch",
        "plan",
    ),
    "engine.propagate": (
        "propagate",
        "root_states",
    ),
    "engine.runner": (
        "prop_nodes",
        "prop_nodes_topo",
    ),
    "equations.completion.result": ("Completion",),
    "equations.completion.verification": (
        "Verification",
        "verify",
    ),
    "equations.marking.check": ("check",),
    "equations.marking.marks": ("Checked",),
    "exporting.export": ("export",),
    "models.checkpoint": (
        "load",
        "save",
    ),
    "ranking.completion": ("complete",),
    "ranking.pretrained": (
        "load_published",
        "open_model",
    ),
    "ranking.pretrained_files": ("shipped_fillers",),
    "ranking.ranker": (
        "Ranker",
        "Ranking",
        "rank",
    ),
    "read.infix": (
        "read_equation",
        "read_infix",
    ),
    "read.infix_writer": (
        "write_equation",
        "write_infix",
    ),
    "training.estimators": (
        "TreeClassifier",
        "TreeEncoderTransformer",
        "TreeRegressor",
    ),
    "training.fitting": ("fit",),
    "training.trained_model": ("TrainedModel",),
    "trees.binarize": (
        "binarize",
        "unbinarize",
    ),
    "trees.equation": (
        "BLANK",
        "Equation",
    ),
    "trees.tree": ("Tree",),
}
"""Where each name is from. It is imported when it is first asked for: torch takes a second, which a command that is
stopped, or that only prints its help, need not wait for; and some need packages that the others do without."""


tell_moved_modules()

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
    hidden = {"import_module", "tell_moved_modules", "TYPE_CHECKING", "support"}  # nothing in support is public
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
    "export",
    "fit",
    "load",
    "load_published",
    "open_model",
    "plan",
    "prop_nodes",
    "prop_nodes_topo",
    "propagate",
    "rank",
    "read_equation",
    "read_infix",
    "root_states",
    "save",
    "shipped_fillers",
    "topo_plan",
    "topological_nodes_generator",
    "unbatch",
    "unbinarize",
    "verify",
    "write_equation",
    "write_infix",
]
