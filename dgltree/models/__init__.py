"""An encoder and a readout together, and their files."""

from dgltree.models.checkpoint import load, save
from dgltree.models.readouts import ClassifierReadout, EquationReadout, NumberReadout, PairReadout
from dgltree.models.tree_model import EquationModel, PairModel, TreeModel, evaluating

__all__ = [
    "ClassifierReadout",
    "EquationModel",
    "EquationReadout",
    "NumberReadout",
    "PairModel",
    "PairReadout",
    "TreeModel",
    "evaluating",
    "load",
    "save",
]
