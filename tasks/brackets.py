"""How much of the given trees an encoder found by itself."""

from dgltree import TreeBatch, unbatch
from dgltree.encoders import InducingEncoder
from dgltree.induction.binary_trees import without_tokens
from dgltree.induction.evalb import Corpus, Parameters, Sentence, score

PARAMETERS = Parameters(labelled=False)


class FoundBrackets:
    """Unlabelled brackets of the trees that an encoder found, against those of the trees it read as sequences."""

    def __init__(self) -> None:
        self._sentences: list[Sentence] = []

    def update(self, encoder: InducingEncoder, trees: TreeBatch) -> None:
        """Add a batch. Words that are brackets are taken out of the found trees first, as in the papers."""
        found = [without_tokens(tree, "()") for tree in encoder.trees(trees)]
        self._sentences += score(unbatch(trees.to("cpu")), found, PARAMETERS).sentences

    @property
    def f1(self) -> float:
        """Of all brackets together, 0 to 1."""
        return Corpus(tuple(self._sentences), PARAMETERS).f1 / 100
