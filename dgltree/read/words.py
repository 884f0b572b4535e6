"""Sentences as language models read them: words without punctuation, in lower case, numbers as ``N``.

So the Penn Treebank of Mikolov is prepared, and so the published ON-LSTM program reads trees (Shen et al. 2019, arXiv
1810.09536).
"""

import re
from collections.abc import Iterator
from pathlib import Path

from dgltree.read.bracket import iter_treebank
from dgltree.read.text import read_text
from dgltree.trees.tree import Tree

# ---------------------------------------------------------------------------------------------------------------------
# Plain sentences as trees without structure: a root over the words.
#
# ``The cat sleeps.`` is ``Tree("sentence", [Tree("word", token="the"), ..., Tree("word", token=".")])``.


SENTENCE, WORD = "sentence", "word"
_WORD_OR_SIGN = re.compile(r"\w+(?:['\u2019.,-]\w+)*|[^\w\s]")
"""Letters and digits with what is inside of a word or number, ``don't``, ``3.5``, ``well-known``; or one mark."""


def read_sentence(text: str) -> Tree:
    """The words of a text and its punctuation, in lower case, under one root. ``ValueError`` for a text without any."""
    words = _WORD_OR_SIGN.findall(text.lower())
    if not words:
        raise ValueError("found no word; expected a sentence")
    return Tree(SENTENCE, [Tree(WORD, token=word) for word in words])


_TAGS = """CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN
VBP VBZ WDT WP WP$ WRB"""
WORD_TAGS = frozenset(_TAGS.split())
"""The 36 tags of words; the others are those of punctuation, ``$``, ``#`` and empty elements."""
PREPARED = "<word>"
"""The tag of the words of a file that is prepared already, which is in lower case throughout."""

_DIGITS = re.compile("[0-9]+")
_WORD = re.compile(r"[^\W_]|[%&]")
_AROUND = ',;:!?()[]{}"`\u201c\u201d\u00ab\u00bb'


def normalize_word(word: str) -> str:
    """Lower case, every run of digits ``N``; ``/`` and ``*`` are ``\\/`` and ``\\*``, as the treebank writes them."""
    return _DIGITS.sub("N", word.lower()).replace("/", r"\/").replace("*", r"\*")


def plain_words(sentence: str) -> list[str]:
    """The words of a sentence as they are, without the punctuation around them.

    A point is left to an abbreviation, but not to the last word.
    """
    words = [word.strip(_AROUND) for word in sentence.split()]
    words = [word for word in words if _WORD.search(word)]
    return [*words[:-1], words[-1].rstrip(".")] if words else []


def word_tree(tree: Tree) -> Tree | None:
    """A tree of the treebank without the leaves that are not words, normalized, and without what this leaves empty.

    Nodes of one child stay. None for a tree without a word, as of traces alone.
    """

    def keep(node: Tree, children: list[Tree | None]) -> Tree | None:
        if node.children:
            kept = [child for child in children if child is not None]
            return node.replace(children=kept) if kept else None
        if node.function not in WORD_TAGS and node.function != PREPARED:
            return None
        word = normalize_word(node.token or "")
        return node.replace(token="N" if word == "n" and node.function == PREPARED else word)

    return tree.fold(keep)


def read_word_trees(path: Path) -> tuple[list[Tree], int]:
    """The trees of words of a bracketed file, or of all ``*.mrg`` of a folder, and how many trees have no word.

    Raises ``FileNotFoundError`` for a folder without such files, and ``ValueError`` with the file for text that is no
    treebank, and where no tree has a word.
    """
    files = sorted(path.glob("*.mrg")) if path.is_dir() else [path]
    if not files:
        raise FileNotFoundError(
            f"{path}: no *.mrg file in this folder; give the folder of a treebank, or one bracketed file"
        )
    trees = [word_tree(tree) for file in files for tree in _trees(file)]
    kept = [tree for tree in trees if tree is not None]
    if not kept:
        raise ValueError(f"{path}: {len(trees)} trees without a word: every leaf is punctuation or a trace")
    return kept, len(trees) - len(kept)


def words_of(tree: Tree) -> list[str]:
    """The tokens of the leaves from left to right."""
    return [node.token or "" for node in tree.preorder() if not node.children]


def _trees(file: Path) -> Iterator[Tree]:
    try:
        yield from iter_treebank(read_text(file))
    except ValueError as error:
        raise ValueError(f"{file}: {str(error).removeprefix(f'{file}: ')}") from None
