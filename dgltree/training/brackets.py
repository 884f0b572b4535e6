"""Brackets of the trees that an encoder finds by itself, against those of the trees that it read."""

from typing import cast

from dgltree.batching.batch import TreeBatch, unbatch
from dgltree.encoders import Encoder, Parse, SequenceEncoder
from dgltree.induction.binary_trees import without_tokens
from dgltree.induction.evalb import Corpus, Parameters, SentenceScore, score

PARAMETERS = Parameters(labelled=False)


def words_are_leaves(encoder: Encoder) -> bool:
    """Whether an encoder reads leaves and no functions of inner nodes: its trees have the words of those read."""
    return encoder.config["order"] in ("leaves", "unlabelled")


class InducedBrackets:
    """Unlabelled brackets of the trees that an encoder induced, against those of the trees it read as sequences."""

    def __init__(self) -> None:
        self._sentences: list[SentenceScore] = []

    def update(self, encoder: Encoder, trees: TreeBatch, parse: Parse | None) -> None:
        """Add a batch and what a pass found in it. Brackets among the words are taken out first, as in the papers.

        Where leaves alone are read, a bracket is a word of its sentence.
        """
        assert parse is not None
        read = () if encoder.config["order"] == "leaves" else ("(", ")")
        induced = [without_tokens(tree, read) for tree in parse.trees(cast(SequenceEncoder, encoder).words(trees))]
        self._sentences += score(unbatch(trees.to("cpu")), induced, PARAMETERS).sentences

    @property
    def f1(self) -> float:
        """Of all brackets together, 0 to 1."""
        return Corpus(tuple(self._sentences), PARAMETERS).f1 / 100
