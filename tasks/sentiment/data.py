"""The Stanford Sentiment Treebank (Socher et al. 2013) as data sets, with five classes, or two, at every node."""

from pathlib import Path

from dgltree import Tree, TreeDataset, Vocabulary
from dgltree.read.bracket import iter_sst
from dgltree.support.lazy import cached_property
from tasks.data import data_folder
from tasks.fit_cli import Sets

NEUTRAL = 2
TWO = (0, 0, None, 1, 1)
"""The class of two for very negative, negative, neutral, positive and very positive of the treebank."""


class SentimentTreebank:
    """``train.txt``, ``dev.txt`` and ``test.txt``.

    Args:
        folder: where the files are; by default the folder ``sst`` in the one that DGLTREE_DATA names.
        min_count: a word that occurs fewer times in the training trees becomes the unknown word.
        classes: 5, or 2: negative and positive. A neutral sentence is then left out, and a neutral phrase has no label.
        lowercase: whether words are read in lower case.
        seed: of a training; the data do not depend on it.

    Raises ``ValueError`` without a folder, for another number of classes, for a file without trees and for text that is
    no sentiment tree, and ``FileNotFoundError`` for a file that is not there.
    """

    def __init__(
        self,
        folder: Path | None = None,
        min_count: int = 2,
        classes: int = 5,
        lowercase: bool = False,
        seed: int = 0,
    ) -> None:
        if classes not in (2, 5):
            raise ValueError(f"classes is {classes}; it must be 5, or 2 for negative and positive without neutral")
        self.folder = folder or data_folder("sst")
        self.min_count = min_count
        self.classes = classes
        self.lowercase = lowercase

    @cached_property
    def train(self) -> list[Tree]:
        return self._read("train")

    @cached_property
    def validation(self) -> list[Tree]:
        return self._read("dev")

    @cached_property
    def test(self) -> list[Tree]:
        return self._read("test")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary of the training trees alone."""
        return Vocabulary.from_trees(self.train, unk=True, min_count=self.min_count)

    def sets(self) -> Sets:
        """All of them as data sets; the label of a tree is that of its root."""
        train, validation, test = (TreeDataset(trees) for trees in (self.train, self.validation, self.test))
        return Sets(train, validation, {"test": test}, self.vocabulary, [str(i) for i in range(self.classes)])

    def _read(self, part: str) -> list[Tree]:
        file = self.folder / f"{part}.txt"
        trees = read_trees(file, self.lowercase)
        if self.classes == 2:
            trees = [tree for tree in trees if tree.label != NEUTRAL]
        if not trees:
            raise ValueError(f"{file} has neutral sentences only, which classes=2 leaves out")
        return [tree.fold(_of_two_classes) for tree in trees] if self.classes == 2 else trees


def read_trees(file: Path, lowercase: bool = False) -> list[Tree]:
    """The trees of a file, in order; errors as in :class:`SentimentTreebank`."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; the folder holds train.txt, dev.txt and test.txt")
    try:
        trees = list(iter_sst(file.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if not trees:
        raise ValueError(f"{file} has no trees; expected lines such as (3 (2 The) (4 Rock))")
    return [tree.fold(_lowered) for tree in trees] if lowercase else trees


def _lowered(node: Tree, children: list[Tree]) -> Tree:
    return node.replace(children=children, token=node.token and node.token.lower())


def _of_two_classes(node: Tree, children: list[Tree]) -> Tree:
    assert isinstance(node.label, int)
    return node.replace(children=children, label=TWO[node.label])
