"""Trees that an encoder induced, and how well they match given ones."""

from dgltree.induction.binary_trees import (
    balanced,
    left_branching,
    random_tree,
    right_branching,
    tree_from_attention,
    tree_from_distances,
    without_tokens,
)

__all__ = [
    "balanced",
    "left_branching",
    "random_tree",
    "right_branching",
    "tree_from_attention",
    "tree_from_distances",
    "without_tokens",
]
