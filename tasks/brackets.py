"""How much of the given trees an encoder induced."""

from dgltree import TreeBatch, unbatch
from dgltree.encoders import Encoder
from dgltree.induction.binary_trees import without_tokens
from dgltree.induction.evalb import Corpus, Parameters, Sentence, score

PARAMETERS = Parameters(labelled=False)


class InducedBrackets:
    """Unlabelled brackets of the trees that an encoder induced, against those of the trees it read as sequences."""

    def __init__(self) -> None:
        self._sentences: list[Sentence] = []

    def update(self, encoder: Encoder, trees: TreeBatch) -> None:
        """Add a batch. Brackets read with the words are taken out of the induced trees first, as in the papers.

        Where leaves alone are read, a bracket is a word of its sentence.
        """
        read = () if encoder.config["order"] == "leaves" else ("(", ")")
        induced = [without_tokens(tree, read) for tree in encoder.trees(trees)]
        self._sentences += score(unbatch(trees.to("cpu")), induced, PARAMETERS).sentences

    @property
    def f1(self) -> float:
        """Of all brackets together, 0 to 1."""
        return Corpus(tuple(self._sentences), PARAMETERS).f1 / 100
