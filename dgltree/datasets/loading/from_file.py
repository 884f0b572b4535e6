"""A whole file to flat trees and their columns: read by several processes, and kept for the next time."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from dgltree.datasets.formats import Bad, Format, open_format
from dgltree.datasets.formats.records import check_named
from dgltree.datasets.loading import cache
from dgltree.datasets.loading.gather import Gathering, Stored
from dgltree.datasets.loading.parallel import parts
from dgltree.datasets.settings.read_settings import Reading, names_of

MAX_LISTED_RECORDS = 10
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
    stored = cache.read(cache.cache_path(path), digest) if cached else None
    if stored is None:
        stored = _read(path, file, digest, workers, progress)
    _check_features_found(file.source.path, stored, reading)
    if named:
        _check_found(file.source.path, stored, reading)
    return stored


def _read(path: str | Path, file: Format, digest: str, workers: int | None, progress: bool) -> Stored:
    """From the file itself; with a digest it is kept for the next time."""
    asked, file = file, file.with_notation()
    stored = _gathered(file, workers, progress)
    if digest:
        try:
            _keep(asked, digest, stored)
        except OSError as error:
            warnings.warn(f"the cache of {path} could not be written: {error}", stacklevel=4)
        else:
            return cache.read(cache.cache_path(path), digest) or stored  # whose temporary files then go
    return stored


def _check_found(path: str, stored: Stored, reading: Reading) -> None:
    """``ValueError`` if the settings name a place of splits or groups, and no record has any there."""
    columns = stored.columns
    for option, column in (("split", "splits"), ("split_from", "splits"), ("group_by", "groups")):
        place = getattr(reading, option)
        if place != getattr(Reading, option) and not any(columns[column]):
            what = "a column or a comment" if option == "split" else "COLUMN or COLUMN:REGEX with a match in it"
            raise ValueError(f"{path}: --{option.replace('_', '-')} is {place!r}, which no record has; give {what}")


def _check_features_found(path: str, stored: Stored, reading: Reading) -> None:
    """``ValueError`` if no record of several has a value in a column that is read next to the trees."""
    rows, names = stored.columns["features"], names_of(reading.features)
    if not names or len(rows) < 2:
        return
    left = set(range(len(names)))
    for row in rows:
        left -= {k for k in left if row is not None and json.loads(row)[k] is not None}
        if not left:
            return
    raise ValueError(f"{path}: no record has a value in the column {names[min(left)]!r} (--features)")


def _keep(file: Format, digest: str, stored: Stored) -> None:
    """Leave what was read for the next time. Raises ``OSError`` if that cannot be, or should not."""
    rights = cache.rights_of(file)
    if cache.digest_of(file) != digest:
        raise OSError("it changed while it was read")
    cache.write(cache.cache_path(file.source.path), digest, stored, rights)


def _gathered(file: Format, workers: int | None, progress: bool) -> Stored:
    """All parts as one. Raises ``ValueError`` if there are no examples."""
    gathering = Gathering()
    with tqdm(unit="node", unit_scale=True, delay=1, disable=None if progress else True, desc="reading") as bar:
        for part in parts(file, workers):
            gathering.add(part)
            bar.update(0 if part.trees is None else part.trees.num_nodes)
    if not len(gathering):
        raise ValueError(f"{file.source.path}: no trees. {list_bad_records(gathering.bad)}")
    return gathering.finish(file.reading)


def list_bad_records(bad: Sequence[Bad]) -> str:
    """The first few bad records, and how many there are."""
    if not bad:
        return ""
    lines = [
        f"{len(bad)} could not be read:",
        *(f"  {each.where}: {each.message}" for each in bad[:MAX_LISTED_RECORDS]),
    ]
    return "\n".join(
        [*lines, f"  and {len(bad) - MAX_LISTED_RECORDS} more"] if len(bad) > MAX_LISTED_RECORDS else lines
    )
