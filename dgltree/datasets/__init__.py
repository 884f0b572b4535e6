"""Own trees: from files to labelled, flat data sets, and from these to batches."""

from dgltree.datasets.batches import UNSEEN, Collate, Graphs, NodeBatches, label_numbers
from dgltree.datasets.formats import Bad
from dgltree.datasets.settings.read_settings import Reading
from dgltree.datasets.splitting.splits import split
from dgltree.datasets.tree_dataset import TreeDataset

__all__ = ["UNSEEN", "Bad", "Collate", "Graphs", "NodeBatches", "Reading", "TreeDataset", "label_numbers", "split"]
