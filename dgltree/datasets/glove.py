"""GloVe's text files of word vectors (Pennington et al. 2014): a word and d numbers per line, between single spaces.

Words may hold spaces themselves (``. . .`` in the file of 840 billion tokens), so the last d fields are the numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import torch
from torch import Tensor


@dataclass(frozen=True)
class WordVectors:
    """The vectors of those words that a file has."""

    words: tuple[str, ...]
    """The words that were asked for."""
    index: Tensor
    """(K,) int64, ascending: the positions in ``words`` of the K words found."""
    vectors: Tensor
    """(K, d) float32."""
    lowered: int
    """How many of them were found in lower case only."""

    def coverage(self, counts: Mapping[str, int] | None = None) -> str:
        """How many of the words were found, as a sentence; with ``counts`` of the words, how much of a text also."""
        found = len(self.index)
        sentence = f"{found:,} of {len(self.words):,} words have a vector ({_percent(found, len(self.words))})"
        if self.lowered:
            sentence += f", {self.lowered:,} of these words by their lower-case form"
        if counts is not None:
            covered = sum(counts.get(self.words[i], 0) for i in self.index.tolist())
            sentence += f"; {_percent(covered, sum(counts.values()))} of all occurrences"
        return sentence


def read_glove(path: str | Path, words: Sequence[str], size: int, *, lowercase: bool = True) -> WordVectors:
    """The vectors of ``words``, all different; no others are kept, so memory is O(words), whatever the file's length.

    Args:
        path: the text file, UTF-8.
        words: what to look for, such as a vocabulary's tokens: the positions found are then token ids.
        size: d, the width of a vector.
        lowercase: whether a word that the file lacks gets the vector of its lower-case form.

    A word that occurs twice in the file has its first vector. Shows progress on a terminal when it takes long.

    Raises ``FileNotFoundError``, and ``ValueError`` for an empty file, and with the line number for bytes that are no
    UTF-8 and a line of another width; the numbers are read, and refused if they are none or not finite, in lines of
    wanted words only.
    """
    wanted = {*words, *(word.lower() for word in words if lowercase)}
    known: dict[str, Tensor] = {}
    number = 0
    for number, line in _lines(Path(path)):
        try:
            word, fields = _word(line, size)
            if word in wanted and word not in known:
                known[word] = _numbers(word, fields)
        except ValueError as error:  # UnicodeDecodeError is one
            raise ValueError(f"{path}, line {number}: {error}") from None
    if not number:
        raise ValueError(f"{path} is empty; expected a word and {size} numbers per line")
    spelled = [word if word in known or not lowercase else word.lower() for word in words]
    index = [i for i, spelling in enumerate(spelled) if spelling in known]
    vectors = torch.stack([known[spelled[i]] for i in index]) if index else torch.empty(0, size)
    lowered = sum(spelled[i] != words[i] for i in index)
    return WordVectors(tuple(words), torch.tensor(index, dtype=torch.int64), vectors, lowered)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Line numbers, from 1, and lines without their ends. Only a line feed ends one: words hold other breaks."""
    from tqdm import tqdm

    bar = tqdm(total=path.stat().st_size, desc=path.name, unit="B", unit_scale=True, delay=2, disable=None)
    with path.open("rb") as file, bar:
        for number, line in enumerate(file, 1):
            bar.update(len(line))
            yield number, line.rstrip(b" \r\n")


def _word(line: bytes, size: int) -> tuple[str, list[str]]:
    """The word of a line and its ``size`` fields."""
    fields = line.decode().split(" ")
    width = len(fields) - 1
    if width > size:  # a word with spaces, unless its last piece is a number: then the vectors are wider
        width = size + sum(1 for _ in takewhile(_is_number, reversed(fields[1:-size])))
    if width != size:
        raise ValueError(f"found {width} numbers after the word {fields[0]!r}; expected {size}")
    return " ".join(fields[:-size]), fields[-size:]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _numbers(word: str, fields: list[str]) -> Tensor:
    """(d,) float32."""
    wrong = next((field for field in fields if not _is_number(field)), None)
    if wrong is not None:
        raise ValueError(f"found {wrong!r} in the vector of {word!r}; expected a number")
    vector = torch.tensor([float(field) for field in fields], dtype=torch.float32)
    infinite = torch.nonzero(~vector.isfinite())
    if len(infinite):
        raise ValueError(f"found {fields[int(infinite[0])]!r} in the vector of {word!r}; expected a finite float32")
    return vector


def _percent(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.1%}"
