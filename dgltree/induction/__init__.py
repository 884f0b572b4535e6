"""Trees from merges, attention or distances, and how well they match given trees (EVALB)."""

from dgltree.induction.binary_trees import (
    balanced,
    left_branching,
    random_tree,
    right_branching,
    tree_from_attention,
    tree_from_distances,
    without_tokens,
)
from dgltree.induction.merges import merged_batch, merged_trees

__all__ = [
    "balanced",
    "left_branching",
    "merged_batch",
    "merged_trees",
    "random_tree",
    "right_branching",
    "tree_from_attention",
    "tree_from_distances",
    "without_tokens",
]
