"""An encoder and a readout together, and their files."""

from dgltree.models.checkpoint import load, save
from dgltree.models.readout import (
    ClassifierReadout,
    EquationModel,
    EquationReadout,
    NumberReadout,
    PairModel,
    PairReadout,
    TreeModel,
    evaluating,
)

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
