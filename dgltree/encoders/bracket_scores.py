"""Brackets of the trees that an encoder finds by itself, against those of the trees that it read."""

from typing import cast

import torch

from dgltree.batching.batch import TreeBatch, unbatch
from dgltree.encoders.encoder import Encoder, Parse
from dgltree.encoders.sequence_encoder import SequenceEncoder
from dgltree.induction.binary_trees import without_tokens
from dgltree.induction.evalb import Corpus, Parameters, SentenceScore, score

PARAMETERS = Parameters(labelled=False)


def score_induced(encoder: SequenceEncoder, trees: TreeBatch) -> Corpus:
    """Unlabelled brackets of the trees that an encoder finds over words, against those of the trees that it reads.

    Args:
        encoder: one that induces trees (``encoder.induces_trees``) and reads words alone, in the mode that it is in.
        trees: B given trees, in the encoder's vocabulary; the sentences are their words.

    Returns recall, precision and F1 of all B together, in percent, and those of each.

    Raises ``ValueError`` for an encoder that induces no trees, or that reads functions, too.
    """
    if not encoder.induces_trees:
        encoder.trees(trees)  # says why
    if not words_are_leaves(encoder):
        raise ValueError(
            f"the encoder reads trees in the order {encoder.order!r}; build the encoder with order='leaves' or "
            "'unlabelled', so that it reads the words of the given trees"
        )
    sequences = encoder.plan(trees, share=False)
    found = InducedBrackets()
    with torch.no_grad():
        found.update(encoder, trees, encoder.encoded(sequences).parse)
    return found.corpus


def words_are_leaves(encoder: Encoder) -> bool:
    """Whether an encoder reads leaves and no functions of inner nodes: its trees have the words of those read."""
    return isinstance(encoder, SequenceEncoder) and encoder.order in ("leaves", "unlabelled")


class InducedBrackets:
    """Unlabelled brackets of the trees that an encoder induced, against those of the trees it read, batch by batch."""

    def __init__(self) -> None:
        self._sentences: list[SentenceScore] = []

    def update(self, encoder: Encoder, trees: TreeBatch, parse: Parse | None) -> None:
        """Add a batch and what a pass found in it. Brackets among the words are taken out first, as in the papers.

        Where leaves alone are read, a bracket is a word of its sentence.
        """
        assert parse is not None
        encoder = cast(SequenceEncoder, encoder)
        read = () if encoder.order == "leaves" else ("(", ")")
        induced = [without_tokens(tree, read) for tree in parse.trees(encoder.words(trees))]
        self._sentences += score(unbatch(trees.to("cpu")), induced, PARAMETERS).sentences

    @property
    def corpus(self) -> Corpus:
        """The scores of all batches."""
        return Corpus(tuple(self._sentences), PARAMETERS)

    @property
    def f1(self) -> float:
        """The F1 of all brackets together, 0 to 1."""
        return self.corpus.f1 / 100
