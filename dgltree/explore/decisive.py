"""Which subtrees decide an answer, by the places that the page gives the nodes of an example."""

from typing import Any

from dgltree.datasets.settings.read_settings import Reading
from dgltree.explore.as_given import write_tree
from dgltree.training.explaining import Explanation

LISTED = 5
"""Subtrees of the list."""


def decisive(found: Explanation, reading: Reading) -> dict[str, Any]:
    """The effect of each node, and the first subtrees of the ranking, in the notation of their file.

    ``effects`` has one entry a node, in the order in which all trees of the example are drawn: by how much the
    probability of the predicted class, or the number, falls without the subtree below it; None for a root.
    """
    starts = [0, found.trees[0].size]
    effects: list[float | None] = [None] * sum(tree.size for tree in found.trees)
    for each in found.effects:
        effects[starts[each.side] + each.node] = each.effect
    return {
        "prediction": found.prediction,
        "support": found.support,
        "effects": effects,
        "ranked": [
            {
                "node": starts[each.side] + each.node,
                "subtree": write_tree(each.tree, reading),
                "effect": each.effect,
                "evidence": each.evidence,
            }
            for each in found.ranked[:LISTED]
        ],
    }
