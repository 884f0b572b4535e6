"""The words and trees of ListOps (:mod:`dgltree.read.listops`)."""

from collections.abc import Sequence

from dgltree import Tree, Vocabulary
from dgltree.read.bracket import read_unlabelled
from dgltree.read.listops import DIGITS, END, OPERATORS, bracketed

VOCABULARY = Vocabulary([("phrase", 2), ("word", 0)], [*OPERATORS, END, *DIGITS])


def tree(words: Sequence[str]) -> Tree:
    """The tree of an expression, binarised as its published text."""
    return read_unlabelled(bracketed(words))
