"""Ids that occur twice in a table, found by the cluster: no process holds all of them."""

import pickle
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.formats.source import TOO_LONG
from dgltree.datasets.loading.gather import Ids
from dgltree.scale.pipeline import LIGHT
from dgltree.scale.tables import RowGroups
from dgltree.scale.trees import TreeJob

IDS_PER_TASK = 5_000_000
"""Ids that are compared with each other by one task, about."""


def find_repeated(job: TreeJob, spans: list[RowGroups]) -> dict[tuple[str, int], Bad]:
    """By file and line the records whose id a record before had that could be read, as in one process."""
    column = job.reading.id
    if column not in job.columns:
        return {}
    twice = _several(column, spans, job.max_line)
    ids, found = Ids(), {}
    for i in sorted(twice):
        span = spans[i]
        for rows in span.read(job.columns, set(span.blocks()), job.max_line):
            for line in sorted(twice[i].intersection(range(rows.first, rows.first + len(rows.records)))):
                part = job.parsed(Chunk(line, [rows.records[line - rows.first]]), rows.file)
                for bad in ids.repeated(part.ids, part.lines, part.files).values():
                    found[bad.file, bad.line] = bad
    return found


def _several(column: str, spans: list[RowGroups], max_line: int) -> dict[int, set[int]]:
    """By number of the span the lines whose ids, or their hashes, occur more than once."""
    from ray.data import from_items

    items = [{"number": i, "span": pickle.dumps(span)} for i, span in enumerate(spans)]
    parts = 1 + sum(span.rows for span in spans) // IDS_PER_TASK
    hashes = from_items(items).map_batches(_hashes, batch_size=1, fn_args=[column, max_line], num_cpus=LIGHT)
    groups = hashes.groupby("hash", num_partitions=parts).map_groups(_all_of_several, batch_format="numpy")
    found = defaultdict[int, set[int]](set)
    for row in groups.iter_rows():
        found[int(row["number"])].add(int(row["line"]))
    return found


def _hashes(batch: dict[str, Any], column: str, max_line: int) -> Iterator[dict[str, np.ndarray]]:
    from pandas.util import hash_array

    span = pickle.loads(batch["span"][0])
    for rows in span.read([column], set(span.blocks()), max_line):
        values = [None if record == TOO_LONG else record[column] for record in rows.records]
        named = [i for i, value in enumerate(values) if value not in (None, "")]
        texts = np.array([str(values[i]) for i in named], object)
        lines = np.array(named, np.int64) + rows.first
        number = np.full(len(lines), batch["number"][0], np.int64)
        yield {"hash": hash_array(texts, categorize=False).view(np.int64), "number": number, "line": lines}


def _all_of_several(group: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: group[name] if len(group["line"]) > 1 else group[name][:0] for name in ("number", "line")}
