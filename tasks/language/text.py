"""Running text: a sentence a line, words between spaces, as the Penn Treebank of Mikolov is prepared."""

from pathlib import Path

import torch
from torch import Tensor

from dgltree.batching.vocabulary import UNKNOWN, Vocabulary
from dgltree.models.language_model import END
from dgltree.read.text import one_line, read_text

LONGEST_WORD = 1000
"""Letters; a longer one is not a word, but a text without spaces."""
MOST_UNKNOWN = 0.5
"""The share of unknown words from which on a text is not one of the same kind."""


def read_sentences(file: Path) -> list[list[str]]:
    """The words of each line; lines without a word are left out.

    Raises ``FileNotFoundError``, and ``ValueError`` for a file without words, of bracketed trees, or with a word of
    more than 1,000 letters, with its line.
    """
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; the folder holds NAME.train.txt, NAME.valid.txt, NAME.test.txt")
    sentences: list[list[str]] = []
    for number, line in enumerate(read_text(file).splitlines(), 1):
        words = line.split()
        if not sentences and line.lstrip().startswith("("):
            raise ValueError(
                f"{file}, line {number}: a bracketed tree; expected words between spaces, as 'mr. <unk> is'"
            )
        longest = max(words, key=len, default="")
        if len(longest) > LONGEST_WORD:
            raise ValueError(
                f"{file}, line {number}: a word of {len(longest):,} letters, {one_line(longest, 40)!r}; "
                "expected words between spaces"
            )
        if words:
            sentences.append(words)
    if not sentences:
        raise ValueError(f"{file} has no words; expected one sentence per line, with spaces between words")
    return sentences


def vocabulary_of(sentences: list[list[str]]) -> Vocabulary:
    """The words in the order in which they come first, and ``<eos>``."""
    words = dict.fromkeys(word for sentence in sentences for word in (*sentence, END))
    return Vocabulary((), words, unk=UNKNOWN in words)


def stream(file: Path, sentences: list[list[str]], vocabulary: Vocabulary) -> Tensor:
    """(L,) int64: the words of all sentences, ``<eos>`` after each.

    Raises ``ValueError`` naming the file if half of its words or more are unknown, or one is and there is no
    ``<unk>``.
    """
    words = [word for sentence in sentences for word in (*sentence, END)]
    unknown = [word for word in words if not vocabulary.knows_token(word)]
    if unknown and (not vocabulary.unk or len(unknown) >= MOST_UNKNOWN * len(words)):
        raise ValueError(
            f"{file}: {len(unknown):,} of {len(words):,} words are not in the training text, the first "
            f"{one_line(unknown[0], 40)!r}; expected text that is prepared as the training text is"
        )
    return torch.tensor([vocabulary.token_id(word) for word in words])


def columns(text: Tensor, count: int) -> Tensor:
    """(count, L // count), one stretch of the text a row; the rest is left out. ``ValueError`` for too short a text."""
    length = len(text) // count
    if length < 2:
        raise ValueError(f"a text of {len(text)} words in {count} columns; expected two words or more in each")
    return text[: count * length].view(count, length)


def parts(text: Tensor, lengths: list[int]) -> list[tuple[Tensor, Tensor]]:
    """Words and the words after them, (columns, length) each, of parts of these lengths, until the text ends."""
    found = []
    start = 0
    for length in lengths:
        end = min(start + length, text.shape[1] - 1)
        found.append((text[:, start:end], text[:, start + 1 : end + 1]))
        start = end
        if start >= text.shape[1] - 1:
            break
    return found
