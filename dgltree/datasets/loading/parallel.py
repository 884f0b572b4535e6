"""Chunks of a file to parts, in order, by several processes: memory holds a few of them at a time."""

from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader, Dataset

from dgltree.cores import cores
from dgltree.datasets.formats import Format
from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.loading.parse import ParsedChunk, parse


class _Parser(Dataset[ParsedChunk]):
    """A data set whose indices are the chunks themselves, so that a loader's workers parse what it hands them."""

    def __init__(self, file: Format) -> None:
        self.file = file

    def __getitem__(self, chunk: Chunk) -> ParsedChunk:
        return parse(self.file, chunk)


def parts(file: Format, workers: int | None = None) -> Iterator[ParsedChunk]:
    """The chunks of a file, parsed; with ``workers`` of 0 by this process. Default: as many as it is worth."""
    if workers is None:
        workers = default_workers() if file.source.large else 0
    sampler: Any = file.chunks()
    loader: Any = DataLoader
    yield from loader(_Parser(file), batch_size=None, sampler=sampler, num_workers=workers, collate_fn=_as_it_is)


def _as_it_is(part: ParsedChunk) -> ParsedChunk:
    return part


def default_workers() -> int:
    """One process a core: the one that gathers what they read has little to do."""
    return cores()
