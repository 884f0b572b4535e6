"""Records in chunks, so that memory does not grow with the file and several processes have work to share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

CHUNK = 1 << 18
"""Bytes of records in a chunk, about: some milliseconds' work for a process."""


@dataclass
class Chunk:
    """Some consecutive records of a source, as they are in it."""

    first: int
    """The number of the first line, sentence, row or file, from 1."""
    raw: list[Any]
    """Lines as bytes; sentences of them; rows of a table; paths of source files."""


def cut_into_chunks(items: Iterable[Any], size: Callable[[Any], int], first: int = 1) -> Iterator[Chunk]:
    """Items in chunks of about ``CHUNK`` bytes."""
    chunk, bytes_held = Chunk(first, []), 0
    for item in items:
        chunk.raw.append(item)
        bytes_held += size(item) + 1
        if bytes_held >= CHUNK:
            yield chunk
            chunk, bytes_held = Chunk(chunk.first + len(chunk.raw), []), 0
    if chunk.raw:
        yield chunk
