"""The command: ``python -m benchmarks.sets.word_tags``; parts of speech of words in plain sentences, without trees.

The sentences are those of Universal Dependencies (English Web Treebank). Models differ only in their input: the word's
vector; this and the vector of the sentence; the word's vector in context, by attention to the nodes above it in the
trees of the Efficient Beam Tree; or the state of a bidirectional LSTM. The last line of each training is the share of
test words whose tag is right, at the best epoch in validation.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dgltree.encoders import SequenceEfficientBeamTree
from dgltree.encoders.sequence.linearization import PADDING

MIN_WORD_COUNT, UNKNOWN_ID = 2, 1  # how often a word occurs that has a vector of its own, and the id of all others
DROPOUT, RATE, WORDS = 0.1, 2e-3, 800  # of a batch


class Sentences(NamedTuple):
    """Words and their tags, by number."""

    words: list[Tensor]
    tags: list[Tensor]


class Tagger(nn.Module):
    """Scores of tags for the words of padded sentences.

    Args:
        way: a key of ``WAYS``.
        size: the number of words that have a vector.
        tags: how many there are.
        n: width of the vectors, even.
    """

    def __init__(self, way: str, size: int, tags: int, n: int) -> None:
        super().__init__()
        self.way = way
        self.embedding, self.dropout = nn.Embedding(size, n, padding_idx=PADDING), nn.Dropout(DROPOUT)
        dropouts: dict[str, Any] = {"dropout": DROPOUT, "cell_dropout": DROPOUT}
        self.lstm = nn.LSTM(n, n // 2, batch_first=True, bidirectional=True) if way == "lstm" else None
        trees = SequenceEfficientBeamTree(size, n, in_context=way == "context", **dropouts)
        self.trees = trees if way in ("context", "root") else None
        self.readout = nn.Linear(2 * n, tags)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, tags) of words (B, T)."""
        x = self.dropout(self.embedding(ids))
        around = torch.zeros_like(x)
        if self.lstm is not None:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
            around, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        elif self.way == "context":
            assert self.trees is not None
            around = self.trees.words_in_context(ids, lengths)
        elif self.trees is not None:
            around = self.trees(ids, lengths).unsqueeze(1).expand_as(x)
        scores: Tensor = self.readout(torch.cat([x, around], 2))
        return scores


WAYS = {"word": "the word alone", "root": "with the sentence", "context": "in context", "lstm": "LSTM, both directions"}


def main(arguments: Sequence[str]) -> None:
    """Run the program's command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sets.word_tags", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no epoch after this time")
    parser.add_argument("--hidden-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    folder = Path(os.environ.get("DGLTREE_DATA", "data")) / "ud"
    texts = {name: _read(folder / f"ewt-{name}.conllu") for name in ("train", "dev", "test")}
    counts = Counter(word for sentence in texts["train"] for word, _ in sentence)
    words = {
        word: i for i, word in enumerate((w for w, count in counts.items() if count >= MIN_WORD_COUNT), UNKNOWN_ID + 1)
    }
    tags = {tag: i for i, tag in enumerate(sorted({tag for sentence in texts["train"] for _, tag in sentence}))}
    data = {name: _numbers(sentences, words, tags) for name, sentences in texts.items()}
    for way in options.ways:
        torch.manual_seed(options.seed)
        tagger = Tagger(way, len(words) + UNKNOWN_ID + 1, len(tags), options.hidden_size)
        _train(tagger, data, options.epochs, options.seconds)


def _read(path: Path) -> list[list[tuple[str, str]]]:
    """Words and tags of each sentence, in the order of the text. Columns: id, form, lemma, tag."""
    blocks = path.read_text("utf-8").strip().split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n") if not line.startswith("#")] for block in blocks]
    return [[(row[1], row[3]) for row in sentence if row[0].isdecimal()] for sentence in rows]


def _numbers(sentences: list[list[tuple[str, str]]], words: dict[str, int], tags: dict[str, int]) -> Sentences:
    ids = [torch.tensor([words.get(word, UNKNOWN_ID) for word, _ in sentence]) for sentence in sentences]
    return Sentences(ids, [torch.tensor([tags[tag] for _, tag in sentence]) for sentence in sentences])


def _batches(data: Sentences, generator: torch.Generator | None) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Ids (B, T), lengths (B,) and tags (B, T) of sentences of similar lengths; in any order with a generator."""
    draw = torch.zeros(len(data.words)) if generator is None else torch.rand(len(data.words), generator=generator)
    order = sorted(range(len(data.words)), key=lambda i: (len(data.words[i]), float(draw[i])))
    parts, here = list[list[int]](), list[int]()
    for i in order:
        if here and (len(here) + 1) * len(data.words[i]) > WORDS:
            parts, here = [*parts, here], []
        here.append(i)
    parts.append(here)
    if generator is not None:
        parts = [parts[i] for i in torch.randperm(len(parts), generator=generator).tolist()]
    pad = nn.utils.rnn.pad_sequence
    lengths = [torch.tensor([len(data.words[i]) for i in part]) for part in parts]
    ids = [pad([data.words[i] for i in part], True, PADDING) for part in parts]
    tags = [pad([data.tags[i] for i in part], True, -1) for part in parts]
    return list(zip(ids, lengths, tags, strict=True))


def _train(tagger: Tagger, data: dict[str, Sentences], epochs: int, seconds: float) -> None:
    optimizer, generator = torch.optim.AdamW(tagger.parameters(), RATE), torch.Generator().manual_seed(0)
    started, best, chosen, answer = time.monotonic(), 0.0, 0, 0.0
    for epoch in range(epochs):
        if time.monotonic() - started > seconds:
            break
        tagger.train()
        for ids, lengths, tags in _batches(data["train"], generator):
            scores = tagger(ids, lengths)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten(), ignore_index=-1)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(tagger.parameters(), 5.0)
            optimizer.step()
        found = _accuracy(tagger, data["dev"])
        taken = time.monotonic() - started
        print(f"{WAYS[tagger.way]}: epoch {epoch}, validation {found:.4f}, {taken:.0f} s", flush=True)
        if found > best:
            best, answer, chosen = found, _accuracy(tagger, data["test"]), epoch
    print(f"{WAYS[tagger.way]}: test {answer:.4f}, of epoch {chosen}", flush=True)


def _accuracy(tagger: Tagger, data: Sentences) -> float:
    """The share of words whose tag is right."""
    tagger.eval()
    right, count = 0, 0
    with torch.no_grad():
        for ids, lengths, tags in _batches(data, None):
            there = tags >= 0
            right += int((tagger(ids, lengths).argmax(2) == tags)[there].sum())
            count += int(there.sum())
    return right / count


if __name__ == "__main__":
    main(sys.argv[1:])
