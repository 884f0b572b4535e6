"""Plain sentences as trees without structure: a root over the words.

``The cat sleeps.`` is ``Tree("sentence", [Tree("word", token="the"), ..., Tree("word", token=".")])``.
"""

import re

from dgltree.trees.tree import Tree

SENTENCE, WORD = "sentence", "word"
_WORD = re.compile(r"\w+(?:['\u2019.,-]\w+)*|[^\w\s]")
"""Letters and digits with what is inside of a word or number, ``don't``, ``3.5``, ``well-known``; or one mark."""


def read_sentence(text: str) -> Tree:
    """The words of a text and its punctuation, in lower case, under one root. ``ValueError`` for a text without any."""
    words = _WORD.findall(text.lower())
    if not words:
        raise ValueError("found no word; expected a sentence")
    return Tree(SENTENCE, [Tree(WORD, token=word) for word in words])
