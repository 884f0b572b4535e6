"""Trees of NLTK as ours: ``Tree("NP", ["the", "cat"])`` there is a node with two leaves ``word`` here."""

from typing import Any

from dgltree.read.text import Row, trees_of
from dgltree.trees.tree import Tree


def is_nltk(value: Any) -> bool:
    """Whether a value is an ``nltk.Tree``, which is a list with a label; NLTK need not be installed."""
    return isinstance(value, list) and callable(getattr(value, "label", None))


def from_nltk(tree: Any) -> Tree:
    """The tree of an ``nltk.Tree``.

    A node whose only child is a text is a leaf with a token, as in a treebank; a text next to others is a leaf
    ``word``. A root without a label is taken off, as :func:`dgltree.read.bracket.read_treebank` does.

    Raises ``ValueError`` for a node without a label or without children, and for a leaf that is not a text.
    """
    while not _label(tree) and len(tree) == 1 and is_nltk(tree[0]):
        tree = tree[0]
    rows: list[Row] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            rows.append(("word", node, 0))
            continue
        if not is_nltk(node):
            raise ValueError(f"found {node!r:.40} in an nltk.Tree; expected strings and trees")
        label = _label(node)
        if not label:
            raise ValueError("a node of an nltk.Tree has no label; expected a name")
        if not len(node):
            raise ValueError(f"the node {label!r} of an nltk.Tree has no children; expected at least one word")
        if len(node) == 1 and isinstance(node[0], str):
            rows.append((label, node[0], 0))
            continue
        rows.append((label, None, len(node)))
        stack.extend(reversed(list(node)))
    return trees_of(rows)[0]


def _label(node: Any) -> str:
    label = node.label()
    return "" if label is None else str(label)
