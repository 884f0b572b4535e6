"""Own trees: from files to labelled, flat data sets, and from these to batches."""

from dgltree.dataset.batches import UNSEEN, Collate, Graphs, NodeBatches, label_numbers
from dgltree.dataset.parse import Bad
from dgltree.dataset.reading import Reading
from dgltree.dataset.split import split
from dgltree.dataset.tree_dataset import TreeDataset

__all__ = ["UNSEEN", "Bad", "Collate", "Graphs", "NodeBatches", "Reading", "TreeDataset", "label_numbers", "split"]
