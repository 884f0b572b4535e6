"""Parts of trees that an encoder reads: trees are changed in one part after another, and its vectors compared."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import batch, unbatch
from dgltree.batching.vocabulary import ANY_ARITY, UNKNOWN, Vocabulary
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.datasets.unseen import schema_of
from dgltree.encoders import Encoder
from dgltree.models.tree_model import evaluating
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.options import FitOptions
from dgltree.trees.tree import Tree

EQUAL = 1e-5
"""Vectors whose entries differ by less than this share of the largest one count as equal."""
MAX_CHANGED_EXAMPLES, MAX_EXAMPLE_NODES, MAX_TREE_NODES = 64, 200, 5000
"""How many examples are changed, of how many nodes they are where there are such, and how many of one tree are read."""

Change = Callable[[Tree, list[Tree]], Tree]
"""A function that takes a node and its changed children and returns the changed node."""


class InputSensitivity(NamedTuple):
    """The parts of some trees that an encoder reads."""

    reads: list[str]
    unseen: list[str]
    """The parts of these trees that make no difference to it."""

    def __str__(self) -> str:
        return " and ".join(part for part in (", ".join(self.reads[:-1]), *self.reads[-1:]) if part)


def measure_sensitivity(encoder: Encoder, data: TreeDataset) -> InputSensitivity:
    """The parts that an encoder reads of the trees of a data set, in whatever vocabulary that is.

    What no two of these trees differ in is neither read nor unseen.
    """
    known = data.as_read()
    trees = _some(known, encoder.vocabulary)
    inner, leaves = _functions(known)
    first = _vectors(encoder, trees)

    def seen(change: Change | None, nested: bool = False) -> bool | None:
        """Whether a change of trees changes their vectors; None if it changes no tree."""
        changed = [_nested(tree) if change is None else tree.fold(change) for tree in trees]
        if changed == trees:
            return None
        return bool(((_vectors(encoder, changed) - first).abs().amax(1) > EQUAL * first.abs().amax(1)).any())

    tokens = [token for token in encoder.vocabulary.tokens if token != UNKNOWN] or [UNKNOWN]
    of_tokens = seen(_with_tokens(tokens))
    if tokens == [UNKNOWN] and any(node.token is not None for tree in trees for node in tree.preorder()):
        of_tokens = False
    schema = schema_of(data)
    is_in_order = schema is None or schema.is_ordered  # otherwise the reader has sorted the children
    parts = [
        (
            seen(_renamed(encoder.vocabulary, inner)),
            "functions",
            f"the function of an inner node (one of {len(inner):,})",
        ),
        (seen(_renamed(encoder.vocabulary, leaves, 0)), "", f"the function of a leaf (one of {len(leaves):,})"),
        (of_tokens, "tokens", "tokens"),
        (seen(_moved), "numbers", "numbers"),
        (seen(_flipped) if is_in_order else None, "the order of children", "the order of children"),
        (seen(None), "", "the inner nodes"),
    ]
    return InputSensitivity(
        [name for found, name, _ in parts if found and name], [what for found, _, what in parts if found is False]
    )


def describe_default_parts(data: TreeDataset, min_count: int) -> str:
    """The parts that a training would read of a data set with these options alone, as text."""
    chosen = choose_encoder(data, FitOptions(min_count=min_count))
    found = measure_sensitivity(chosen.made(), chosen.read(data))
    unseen = "".join(f"\n  it ignores {what}" for what in found.unseen)
    by_itself = "\n  numeric leaves are read as numbers" if chosen.numbers else ""
    return f"unless an encoder is named, fit trains {chosen.name}, which reads {found}{by_itself}{unseen}"


def all_equal(vectors: Tensor) -> bool:
    """Whether the rows of (B, n) are the same except for rounding."""
    return len(vectors) > 1 and bool((vectors - vectors[0]).abs().max() <= EQUAL * vectors.abs().max())


def _some(data: TreeDataset, vocabulary: Vocabulary) -> list[Tree]:
    """Trees of some examples, in the names that a model knows: of a pair both."""
    small = torch.argsort(data.sizes, stable=True)
    small = small[: max(1, int((data.sizes <= MAX_EXAMPLE_NODES).sum()))]
    rows = small[:: len(small) // MAX_CHANGED_EXAMPLES + 1].tolist()
    return list(map(_small_part, unbatch(data.select(rows).within(vocabulary).trees)))


def _small_part(tree: Tree) -> Tree:
    """A tree, or the part of it that has few enough nodes and is found by going to the largest child."""
    while tree.size > MAX_TREE_NODES:
        tree = max(tree.children, key=lambda child: child.size)
    return tree


def _vectors(encoder: Encoder, trees: Sequence[Tree]) -> Tensor:
    with evaluating(encoder):
        return encoder(batch(trees, encoder.vocabulary), share=True)


def _functions(data: TreeDataset) -> tuple[set[str], set[str]]:
    """The functions of inner nodes, and those of leaves."""
    inner: set[int] = set()
    leaves: set[int] = set()
    for block in data.blocks():
        above = block.trees.arity > 0
        inner |= set(block.trees.function[above].unique().tolist())
        leaves |= set(block.trees.function[~above].unique().tolist())
    names = [name for name, _ in data.own_vocabulary.functions]
    return {names[f] for f in inner}, {names[f] for f in leaves}


def _renamed(vocabulary: Vocabulary, functions: set[str], most: float = math.inf) -> Change:
    """Nodes of up to ``most`` children with the next one of these functions that has as many."""
    least = min(most, 1)

    def change(node: Tree, children: list[Tree]) -> Tree:
        names = [
            name for name, arity in vocabulary.functions if name in functions and arity in (len(children), ANY_ARITY)
        ]
        if names and least <= len(children) <= most:
            place = names.index(node.function) if node.function in names else -1
            node = node.replace(function=names[(place + 1) % len(names)])
        return node.replace(children=children)

    return change


def _with_tokens(tokens: Sequence[str]) -> Change:
    """Each token replaced by the next one."""
    following = dict(zip(tokens, [*tokens[1:], tokens[0]], strict=True))

    def change(node: Tree, children: list[Tree]) -> Tree:
        token = None if node.token is None else following.get(node.token, tokens[0])
        return node.replace(children=children, token=token)

    return change


def _moved(node: Tree, children: list[Tree]) -> Tree:
    """Each number, another one."""
    return node.replace(children=children, value=None if node.value is None else -node.value - 1)


def _flipped(node: Tree, children: list[Tree]) -> Tree:
    return node.replace(children=children[::-1])


def _nested(tree: Tree) -> Tree:
    """Nest the same leaves in their order, and the same functions of as many children, in another way: of the first
    node where that can be, f(g(a, b), c) becomes f(a, g(b, c)), or the other way round."""
    for node in tree.preorder():
        first, *others = node.children or (None,)
        if first is not None and first.children and others:
            inner = first.replace(children=(*first.children[1:], others[0]))
            return _replaced(tree, node, node.replace(children=(first.children[0], inner, *others[1:])))
        if others and others[-1].children:
            *before, last = node.children
            inner = last.replace(children=(before[-1], *last.children[:-1]))
            return _replaced(tree, node, node.replace(children=(*before[:-1], inner, last.children[-1])))
    return tree


def _replaced(tree: Tree, old: Tree, new: Tree) -> Tree:
    return tree.fold(lambda node, children: new if node is old else node.replace(children=children))
