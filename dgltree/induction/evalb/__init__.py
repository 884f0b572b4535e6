"""Brackets of a tree against those of the right tree, counted as the EVALB scorer counts them (Sekine and Collins).

A sentence is a forest, a sequence of trees in the form of :func:`dgltree.read.bracket.read_treebank`: usually one
tree, several if a parser found no common root, none if it found nothing. Inner nodes are brackets, leaves are
words, and a leaf's function is its tag. The trees that :mod:`dgltree.induction` makes are of this form; score those
with ``Parameters(labelled=False)``.

What EVALB's manual leaves open, as its program does it: the label of a bracket ends before its first ``-`` or ``=``; a
bracket around nothing is dropped; a bracket of the one tree matches at most one of the other, outer ones first; a
bracket of the test tree that crosses any of the gold tree counts once; and a sentence without a word in the test tree
is skipped.
"""

from dgltree.induction.evalb.parameters import Parameters, read_parameters
from dgltree.induction.evalb.scoring import Corpus, SentenceScore, Status, read_forests, score, score_sentence

__all__ = [
    "Corpus",
    "Parameters",
    "SentenceScore",
    "Status",
    "read_forests",
    "read_parameters",
    "score",
    "score_sentence",
]
