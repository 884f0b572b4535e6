"""Chunks of a source to parts, in order, by several processes: memory holds a few of them at a time."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from torch.utils.data import DataLoader, Dataset

from dgltree.datasets.parse import Part, parse
from dgltree.datasets.sources import Chunk, Source


class _Parser(Dataset[Part]):
    """A data set whose indices are the chunks themselves, so that a loader's workers parse what it hands them."""

    def __init__(self, source: Source) -> None:
        self.source = replace(source, stream=None, peeked=())  # which stay with the process that reads

    def __getitem__(self, chunk: Chunk) -> Part:
        return parse(self.source, chunk)


def parts(source: Source, workers: int) -> Iterator[Part]:
    """The chunks of a source, parsed; with ``workers`` of 0 by this process."""
    sampler: Any = source.chunks()
    loader: Any = DataLoader
    yield from loader(_Parser(source), batch_size=None, sampler=sampler, num_workers=workers, collate_fn=_as_it_is)


def _as_it_is(part: Part) -> Part:
    return part


def default_workers() -> int:
    """One process a core: the one that gathers what they read has little to do."""
    return os.cpu_count() or 1
