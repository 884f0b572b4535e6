"""A whole file to flat trees and their columns: detected, read by several processes, and kept for the next time."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from dgltree.batching.batch import TreeBatch
from dgltree.batching.select import select
from dgltree.datasets import cache
from dgltree.datasets.flat import join
from dgltree.datasets.parallel import default_workers, parts
from dgltree.datasets.parse import Bad, Part
from dgltree.datasets.reading import Reading
from dgltree.datasets.sources import Source, fields_of, lines_of, open_source, tree_columns, tree_text
from dgltree.read.notations import detect

SAMPLE = 100
"""Trees at a file's beginning that its notation is told by."""
LARGE = 1 << 20
"""Bytes from which on a file is worth starting processes for."""
FEW = 10
"""Bad records that a message lists."""
Columns = dict[str, Any]


def read_file(
    path: str | Path, reading: Reading, workers: int | None, cached: bool, progress: bool
) -> tuple[TreeBatch, Columns]:
    """Flat trees and, by name, what stands beside them; see :meth:`dgltree.datasets.TreeDataset.from_file`."""
    source = open_source(path, reading)
    cached = cached and source.stream is None
    digest = cache.digest_of(source) if cached else ""
    known = cache.read(cache.cache_path(path), digest) if cached else None
    if known is not None:
        return known
    source = with_notation(source)
    trees, columns = _gather(_parts(source, workers, progress), source.path)
    columns["reading"] = source.reading.to_json()
    if cached:
        try:
            cache.write(cache.cache_path(path), digest, trees, columns)
        except OSError as error:
            warnings.warn(f"what was read of {path} is not kept for the next time: {error}", stacklevel=3)
    return trees, columns


def with_notation(source: Source) -> Source:
    """The source with its notation, told by its first trees where it has columns or lines of them.

    Raises ``ValueError`` where no notation reads any of them.
    """
    if source.reading.notation is not None or source.format in ("conllu", "python"):
        return source
    if source.reading.keys != Reading.keys:
        return replace(source, reading=replace(source.reading, notation="json"))
    texts, error = _sample(source)
    if not texts:
        raise ValueError(f"{source.path}: no trees at the beginning of the file{error}")
    try:
        return replace(source, reading=replace(source.reading, notation=detect(texts)))
    except ValueError as error:
        raise ValueError(f"{source.path}: {error}") from None


def _sample(source: Source) -> tuple[list[str], str]:
    """Texts of trees, and why there is none; a bad record among them is reported when the file is read."""
    texts, why = [], ""
    for raw in _first_records(source):
        try:
            fields = fields_of(source, raw)
            found = [tree_text(fields[name]) for name in tree_columns(source) if fields.get(name)]
            texts += found
            if not found:
                names = ", ".join(map(repr, fields))
                why = why or f": no {source.reading.tree!r} among {names}; --tree names another column"
        except ValueError as error:
            why = why or f": {error}"
    return texts, why


def _first_records(source: Source) -> list[Any]:
    """The first records, which a stream still gives afterwards."""
    if source.stream is None:
        chunk = next(source.chunks(), None)
        return [] if chunk is None else chunk.raw[:SAMPLE]
    if len(source.peeked) <= 1:
        source.peeked += tuple(islice(lines_of(source.stream, source.reading.max_line), SAMPLE))
    return list(source.peeked[source.header :])


def _parts(source: Source, workers: int | None, progress: bool) -> list[Part]:
    if workers is None:
        path = Path(source.path)
        large = source.stream is not None or path.is_dir() or path.stat().st_size > LARGE
        workers = default_workers() if large else 0
    found: list[Part] = []
    with tqdm(unit="node", unit_scale=True, delay=1, disable=None if progress else True, desc="reading") as bar:
        for part in parts(source, workers):
            found.append(part)
            bar.update(0 if part.trees is None else part.trees.num_nodes)
    return found


def _gather(found: list[Part], path: str) -> tuple[TreeBatch, Columns]:
    """All parts as one; an example whose id was there before is bad. ``ValueError`` where there are no examples."""
    names = ("lines", "labels", "splits", "ids", "bad")
    columns = {name: [value for part in found for value in getattr(part, name)] for name in names}
    if not columns["lines"]:
        raise ValueError(f"{path}: no trees. {listed(columns['bad'])}")
    trees = join([part.trees for part in found if part.trees is not None])
    found.clear()
    twice = _twice(columns)
    if twice:
        columns["bad"] = sorted([*columns["bad"], *twice.values()])
        each = len(trees) // len(columns["lines"])
        kept = [i for i in range(len(columns["lines"])) if i not in twice]
        trees = select(trees, (torch.tensor(kept).unsqueeze(1) * each + torch.arange(each)).flatten())
        columns |= {name: [columns[name][i] for i in kept] for name in names[:-1]}
    return trees, columns


def _twice(columns: Columns) -> dict[int, Bad]:
    """The examples whose id stands on a line before."""
    first: dict[str, int] = {}
    found = {}
    for i, (name, line) in enumerate(zip(columns["ids"], columns["lines"], strict=True)):
        if name is not None and first.setdefault(name, i) != i:
            found[i] = Bad(line, f"the id {name!r} stands on line {columns['lines'][first[name]]} already")
    return found


def listed(bad: Sequence[Bad]) -> str:
    """The first few bad records, and how many there are."""
    if not bad:
        return ""
    lines = [f"{len(bad)} could not be read:", *(f"  line {line}: {message}" for line, message in bad[:FEW])]
    return "\n".join([*lines, f"  and {len(bad) - FEW} more"] if len(bad) > FEW else lines)
