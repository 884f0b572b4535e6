"""An encoder and a readout together, language models, and their files."""

from dgltree.models.checkpoint import load, save
from dgltree.models.language_model import LanguageModel, load_language_model, save_language_model
from dgltree.models.readouts import (
    ClassifierReadout,
    EquationReadout,
    GELUClassifierReadout,
    GELUPairReadout,
    NumberReadout,
    PairReadout,
)
from dgltree.models.tree_model import EquationModel, PairModel, TreeModel, evaluating

__all__ = [
    "ClassifierReadout",
    "EquationModel",
    "EquationReadout",
    "GELUClassifierReadout",
    "GELUPairReadout",
    "LanguageModel",
    "NumberReadout",
    "PairModel",
    "PairReadout",
    "TreeModel",
    "evaluating",
    "load",
    "load_language_model",
    "save",
    "save_language_model",
]
