"""A whole file to flat trees and their columns: read by several processes, and kept for the next time."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from dgltree.datasets import cache
from dgltree.datasets.formats import Bad, Format, open_format
from dgltree.datasets.formats.records import check_named
from dgltree.datasets.gather import Gathering, Stored
from dgltree.datasets.parallel import parts
from dgltree.datasets.reading import Reading

FEW = 10
"""Bad records that a message lists."""


def read_file(
    path: str | Path, reading: Reading, workers: int | None, cached: bool, progress: bool, named: bool
) -> Stored:
    """All that a file says; see :meth:`dgltree.datasets.TreeDataset.from_file`."""
    file = open_format(path, reading)
    if named and file.column_names is not None:
        check_named(file.source.path, file.column_names, reading)
    cached = cached and file.source.stream is None
    digest = cache.digest_of(file) if cached else ""
    known = cache.read(cache.cache_path(path), digest) if cached else None
    if known is not None:
        return known
    asked, file = file, file.with_notation()
    stored = _gathered(file, workers, progress)
    if cached:
        try:
            _keep(asked, digest, stored)
        except OSError as error:
            warnings.warn(f"what was read of {path} is not kept for the next time: {error}", stacklevel=3)
        else:
            return cache.read(cache.cache_path(path), digest) or stored  # whose temporary files then go
    return stored


def _keep(file: Format, digest: str, stored: Stored) -> None:
    """Leave what was read for the next time. Raises ``OSError`` where that cannot be, or should not."""
    rights = cache.rights_of(file)
    if cache.digest_of(file) != digest:
        raise OSError("it changed while it was read")
    cache.write(cache.cache_path(file.source.path), digest, stored, rights)


def _gathered(file: Format, workers: int | None, progress: bool) -> Stored:
    """All parts as one. Raises ``ValueError`` where there are no examples."""
    gathering = Gathering()
    with tqdm(unit="node", unit_scale=True, delay=1, disable=None if progress else True, desc="reading") as bar:
        for part in parts(file, workers):
            gathering.add(part)
            bar.update(0 if part.trees is None else part.trees.num_nodes)
    if not len(gathering):
        raise ValueError(f"{file.source.path}: no trees. {listed(gathering.bad)}")
    return gathering.finish(file.reading)


def listed(bad: Sequence[Bad]) -> str:
    """The first few bad records, and how many there are."""
    if not bad:
        return ""
    lines = [f"{len(bad)} could not be read:", *(f"  {each.where}: {each.message}" for each in bad[:FEW])]
    return "\n".join([*lines, f"  and {len(bad) - FEW} more"] if len(bad) > FEW else lines)
