"""Which subtrees decide what a model answers: each is hidden in turn, and the change of the answer is its effect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import unbatch
from dgltree.batching.vocabulary import UNKNOWN, Vocabulary
from dgltree.datasets.feature_columns import FeatureColumns
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.objectives import Objective
from dgltree.trees.tree import Tree

MOST_NODES = 1000
"""Nodes of an example: each node makes a tree with one subtree hidden."""
SHARE = 0.5
"""Share of a subtree's evidence that one inside of it must have to be named before it."""


@dataclass(frozen=True)
class Effect:
    """The contribution of one subtree to the answer."""

    tree: Tree
    """The subtree."""
    side: int
    """Which tree of a pair it is part of, 0 or 1; 0 for single trees."""
    node: int
    """Index of its root in preorder; 0 is the root of the whole tree."""
    parent: int
    """The place of its parent."""
    effect: float
    """How much the probability of the predicted class, or the number, falls if the subtree is hidden."""
    evidence: float
    """How much the log-odds of that class fall, in nats, or the number again: what effects are ranked by, because a
    probability near 1 hardly changes while there is some evidence left."""


@dataclass(frozen=True)
class ColumnEffect:
    """The contribution of a column next to the tree to the answer."""

    name: str
    value: str | None
    """The value as it was read; None: it is missing."""
    effect: float
    evidence: float
    """The evidence, as in :class:`Effect`, if the column is read as a number at its median, or as no category."""


@dataclass(frozen=True)
class Explanation:
    """The answer to an example, and what each of its subtrees adds to it."""

    trees: tuple[Tree, ...]
    """The example as the model reads it: one tree, or the two of a pair."""
    answer: Tensor
    """(C,) probabilities or () a number, as ``predict`` gives it."""
    prediction: str | float
    """The most probable class, or the number."""
    support: float
    """The probability of that class, or the number."""
    effects: tuple[Effect, ...]
    """Effects of all subtrees but the whole trees, in preorder."""
    columns: tuple[ColumnEffect, ...] = ()
    """Effects of the columns that the model reads next to the trees."""

    @property
    def ranked(self) -> list[Effect]:
        """The effects by their evidence, those last that a smaller subtree inside explains.

        Whatever contains a decisive subtree has evidence as well. So a subtree comes behind all others if one inside
        of it has evidence of the same sign and at least half as much.
        """
        lowest: dict[tuple[int, int], float] = {}
        highest: dict[tuple[int, int], float] = {}
        explained: dict[tuple[int, int], bool] = {}
        for each in reversed(self.effects):  # children before their parents
            own = (each.side, each.node)
            above = (each.side, each.parent)
            low = lowest.get(own, 0.0)
            high = highest.get(own, 0.0)
            explained[own] = 0 < SHARE * abs(each.evidence) <= (high if each.evidence > 0 else -low)
            lowest[above] = min(lowest.get(above, 0.0), low, each.evidence)
            highest[above] = max(highest.get(above, 0.0), high, each.evidence)
        return sorted(self.effects, key=lambda each: (explained[each.side, each.node], -abs(each.evidence)))


def explain(
    data: TreeDataset,
    answers: Callable[[TreeDataset], Tensor],
    objective: Objective,
    features: FeatureColumns | None = None,
) -> list[Explanation]:
    """A model's answer to each example, and the reasons.

    Args:
        data: the examples, in the model's vocabulary.
        answers: of the model to other examples, (E, C) probabilities or (E,) numbers.
        objective: the kind of its answers.
        features: the columns that it reads next to the trees.

    Raises ``ValueError`` for an example of too many nodes.
    """
    as_read = data.as_read()
    known = data.own_vocabulary
    return [_explained(as_read.select([i]), known, answers, objective, features) for i in range(len(data))]


def _explained(
    example: TreeDataset,
    known: Vocabulary,
    answers_of: Callable[[TreeDataset], Tensor],
    objective: Objective,
    features: FeatureColumns | None,
) -> Explanation:
    trees = tuple(unbatch(example.trees))
    size = sum(tree.size for tree in trees)
    if size > MOST_NODES:
        where = example.bad_at(0, "").where
        raise ValueError(f"{where}: the tree has {size:,} nodes; explain takes trees of up to {MOST_NODES:,} nodes")
    places = [(side, *place) for side, tree in enumerate(trees) for place in _places(tree)]
    every = [trees, *(_hidden(trees, side, path, known) for side, _, _, _, path in places)]
    spans = [] if features is None or example.feature_rows is None else list(features.spans)
    every += [trees] * len(spans)
    given: list[Any] = every if len(trees) == 2 else [tree for (tree,) in every]
    reading = replace(example.reading, binarize=None, features=None)  # the first was done when the trees were read
    changed = TreeDataset(given, reading=reading)
    if example.feature_rows is not None:
        changed = changed.within(known)
        changed.feature_rows = np.repeat(example.feature_rows, len(every), 0)
        for row, (_, span) in enumerate(spans, len(every) - len(spans)):
            changed.feature_rows[row, span] = 0
    answers = answers_of(changed)
    support = objective.support(answers).double()
    prediction = objective.predicted(answers[:1])[0].item()
    evidence = objective.evidence(support)
    effects = torch.stack([support[0] - support[1:], evidence[0] - evidence[1:]], 1).tolist()
    return Explanation(
        trees,
        answers[0],
        objective.classes[int(prediction)] if objective.classes else prediction,
        float(support[0]),
        tuple(
            Effect(tree, side, node, parent, *effect)
            for (side, tree, node, parent, _), effect in zip(places, effects[: len(places)], strict=True)
        ),
        tuple(
            ColumnEffect(name, example.feature_table([name])[0][0], *effect)
            for (name, _), effect in zip(spans, effects[len(places) :], strict=True)
        ),
    )


Path = tuple[tuple[Tree, int], ...]
"""From a root to a node: each node above, and the position of the child that leads on."""


def _places(tree: Tree) -> list[tuple[Tree, int, int, Path]]:
    """Every node but the root in preorder, with its place, that of its parent, and the path to it."""
    found: list[tuple[Tree, int, int, Path]] = []
    stack: list[tuple[Tree, int, Path]] = [(tree, -1, ())]
    count = 0
    while stack:
        node, parent, path = stack.pop()
        if path:
            found.append((node, count, parent, path))
        below = [(child, count, (*path, (node, slot))) for slot, child in enumerate(node.children)]
        stack.extend(reversed(below))
        count += 1
    return found


def _hidden(trees: Sequence[Tree], side: int, path: Path, known: Vocabulary) -> tuple[Tree, ...]:
    """The example with one subtree replaced by a leaf that says nothing."""
    above, slot = path[-1]
    made = _nothing(above.children[slot], known)
    for node, slot in reversed(path):
        made = node.replace(children=(*node.children[:slot], made, *node.children[slot + 1 :]))
    return (*trees[:side], made, *trees[side + 1 :])


def _nothing(tree: Tree, known: Vocabulary) -> Tree:
    """A leaf with an unknown token; if the model has no unknown leaf, its function is that of the first leaf."""
    leaf = tree
    while leaf.children:
        leaf = leaf.children[0]
    function = UNKNOWN if known.find_function(UNKNOWN, 0) is not None else leaf.function
    return Tree(function, token=UNKNOWN if known.unk else None)
