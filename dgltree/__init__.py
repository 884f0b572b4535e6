"""dgltree: recursive neural networks on DGL and PyTorch. The public names."""

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

__all__ = [
    "BLANK",
    "Equation",
    "Ranking",
    "Tree",
    "TreeBatch",
    "Vocabulary",
    "batch",
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
