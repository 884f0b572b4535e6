"""Models of an encoder and a readout, autoencoders, language models, and the files of all of these."""

from dgltree.models.autoencoder import Autoencoder, Swept, make_autoencoder
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
    "Autoencoder",
    "ClassifierReadout",
    "EquationModel",
    "EquationReadout",
    "GELUClassifierReadout",
    "GELUPairReadout",
    "LanguageModel",
    "NumberReadout",
    "PairModel",
    "PairReadout",
    "Swept",
    "TreeModel",
    "evaluating",
    "load",
    "load_language_model",
    "make_autoencoder",
    "save",
    "save_language_model",
]
