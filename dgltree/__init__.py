"""dgltree: recursive neural networks on DGL and PyTorch. The public names."""

from dgltree.batch import TreeBatch, batch, unbatch
from dgltree.equation import BLANK, Equation
from dgltree.propagate import propagate
from dgltree.tree import Tree
from dgltree.vocabulary import Vocabulary

__all__ = ["BLANK", "Equation", "Tree", "TreeBatch", "Vocabulary", "batch", "propagate", "unbatch"]
