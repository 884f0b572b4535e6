"""A whole file to flat trees and their columns: read by several processes, and kept for the next time."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from dgltree.batching.batch import TreeBatch
from dgltree.batching.select import select
from dgltree.datasets import cache
from dgltree.datasets.flat import join
from dgltree.datasets.formats import Bad, Format, open_format
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.formats.records import check_named
from dgltree.datasets.ids import Ids
from dgltree.datasets.parallel import parts
from dgltree.datasets.parse import Part
from dgltree.datasets.reading import Reading

FEW = 10
"""Bad records that a message lists."""
Columns = dict[str, Any]


def read_file(
    path: str | Path, reading: Reading, workers: int | None, cached: bool, progress: bool, named: bool
) -> tuple[TreeBatch, Columns]:
    """Flat trees and, by name, what stands beside them; see :meth:`dgltree.datasets.TreeDataset.from_file`."""
    file = open_format(path, reading)
    if named and file.column_names is not None:
        check_named(file.source.path, file.column_names, reading)
    cached = cached and file.source.stream is None
    digest = cache.digest_of(file) if cached else ""
    known = cache.read(cache.cache_path(path), digest) if cached else None
    if known is None:
        asked, file = file, file.with_notation()
        known = trees, columns = _gather(_parts(file, workers, progress), file.source.path)
        columns["reading"] = file.reading.to_json()
        if cached:
            try:
                _keep(asked, digest, trees, columns)
            except OSError as error:
                warnings.warn(f"what was read of {path} is not kept for the next time: {error}", stacklevel=3)
    if named:
        _check_found(file.source.path, known[1], reading)
    return known


def _check_found(path: str, columns: Columns, reading: Reading) -> None:
    """``ValueError`` where the settings say where splits or groups stand, and no record has any there."""
    for option, column in (("split", "splits"), ("split_from", "splits"), ("group_by", "groups")):
        place = getattr(reading, option)
        if place != getattr(Reading, option) and not any(columns[column]):
            what = "a column or a comment" if option == "split" else "COLUMN or COLUMN:REGEX with a match in it"
            raise ValueError(f"{path}: --{option.replace('_', '-')} is {place!r}, which no record has; give {what}")


def _keep(file: Format, digest: str, trees: TreeBatch, columns: Columns) -> None:
    """Leave what was read for the next time. Raises ``OSError`` where that cannot be, or should not."""
    rights = cache.rights_of(file)
    if cache.digest_of(file) != digest:
        raise OSError("it changed while it was read")
    cache.write(cache.cache_path(file.source.path), digest, trees, columns, rights)


def _parts(file: Format, workers: int | None, progress: bool) -> list[Part]:
    found: list[Part] = []
    with tqdm(unit="node", unit_scale=True, delay=1, disable=None if progress else True, desc="reading") as bar:
        for part in parts(file, workers):
            found.append(part)
            bar.update(0 if part.trees is None else part.trees.num_nodes)
    return found


def _gather(found: list[Part], path: str) -> tuple[TreeBatch, Columns]:
    """All parts as one; an example whose id was there before is bad. ``ValueError`` where there are no examples."""
    names = ("lines", "labels", "splits", "ids", "groups", "files", "bad")
    columns = {name: [value for part in found for value in getattr(part, name)] for name in names}
    if not columns["lines"]:
        raise ValueError(f"{path}: no trees. {listed(columns['bad'])}")
    trees = join([part.trees for part in found if part.trees is not None])
    found.clear()
    twice = Ids().repeated(columns["ids"], columns["lines"], columns["files"])
    if twice:
        columns["bad"] = in_order([*columns["bad"], *twice.values()])
        each = len(trees) // len(columns["lines"])
        kept = [i for i in range(len(columns["lines"])) if i not in twice]
        trees = select(trees, (torch.tensor(kept).unsqueeze(1) * each + torch.arange(each)).flatten())
        columns |= {name: [columns[name][i] for i in kept] for name in names[:-1]}
    return trees, columns


def listed(bad: Sequence[Bad]) -> str:
    """The first few bad records, and how many there are."""
    if not bad:
        return ""
    lines = [f"{len(bad)} could not be read:", *(f"  {each.where}: {each.message}" for each in bad[:FEW])]
    return "\n".join([*lines, f"  and {len(bad) - FEW} more"] if len(bad) > FEW else lines)
