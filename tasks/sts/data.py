"""Sentences to learn from, and pairs of sentences with how alike people find them."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from dgltree import Vocabulary

SETS = ("sts12_test", "sts13_test", "sts14_test", "sts15_test", "sts16_test", "stsb_test", "sick_test")
WORD = re.compile(r"[a-z]+|[0-9]+|[^\sa-z0-9]")
MIN_WORDS, MAX_WORDS = 4, 60
"""Words of a sentence to learn from."""


def words_of(text: str) -> list[str]:
    """Lower-case words, numbers and signs: ``"It's 5."`` is ``["it", "'", "s", "N", "."]``, numbers as PTB has them."""
    return ["N" if word.isdigit() else word for word in WORD.findall(text.lower())]


def corpus(folder: Path, parts: Sequence[str], most_words: int) -> list[list[str]]:
    """Sentences of the parts "small", "ud" and "ptb", one after the other, up to so many words in all."""
    found = []
    count = 0
    for part in parts:
        for text in _texts(folder, part):
            words = words_of(text)
            if MIN_WORDS <= len(words) <= MAX_WORDS:
                found.append(words)
                count += len(words)
            if count >= most_words:
                return found
    return found


def _texts(folder: Path, part: str) -> Iterable[str]:
    if part == "small":
        return _lines(folder / "sts" / "small_train.txt")
    if part == "ud":
        lines = _lines(folder / "ud" / "ewt-train.conllu")
        return (line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))
    if part == "ptb":  # <unk> is a word that the vocabulary lacks, in whatever corpus
        return (line.replace("<unk>", "").strip() for line in _lines(folder / "language" / "ptb.train.txt"))
    raise ValueError(f"the corpus is {part!r}; it must be small, ud or ptb")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def vocabulary_of(sentences: Iterable[Sequence[str]], size: int) -> Vocabulary:
    """The most frequent words, and ``<unk>``, as words and phrases of two."""
    counts = Counter(word for sentence in sentences for word in sentence)
    words = sorted(counts, key=lambda word: (-counts[word], word))[:size]
    return Vocabulary([("phrase", 2), ("word", 0)], words, unk=True)


def pad(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Ids (B, T) and lengths (B,)."""
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    ids = torch.zeros(len(sentences), int(lengths.max()), dtype=torch.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = torch.tensor([vocabulary.token_id(word) for word in sentence])
    return ids, lengths


def pairs(path: Path) -> tuple[list[list[str]], list[list[str]], list[float]]:
    """The two sentences of each pair, and its score."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    first, second = ([words_of(row[column]) or ["."] for row in rows] for column in ("sent1", "sent2"))
    return first, second, [float(row["score"]) for row in rows]
