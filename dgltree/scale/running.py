"""A job over all rows of a table, to a folder of Parquet files: what was begun is finished by the same call."""

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tqdm import tqdm

from dgltree.datasets.batches import UNSEEN
from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.formats.source import TOO_LONG
from dgltree.datasets.labels import check_known, where
from dgltree.datasets.loading.gather import Ids
from dgltree.scale.cluster import LOCAL, start_cluster
from dgltree.scale.folder import OutFolder
from dgltree.scale.job import TableJob
from dgltree.scale.pipeline import LIGHT, blocks, resources
from dgltree.scale.tables import FOOTERS, RowGroups, Tables, open_tables
from dgltree.scale.trees import Evaluate, TreeJob
from dgltree.training.objectives.metrics import Evaluation

if TYPE_CHECKING:
    import pyarrow


# Ids that occur twice in a table, found by the cluster: no process holds all of them.
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


Report = Callable[[list[Bad], int], None]
"""Called with the first few records of a block that could not be answered, and with their number."""


@dataclass(frozen=True)
class Outcome:
    """The content of the output folder."""

    rows: int
    left_out: int
    """Records without a row, or without an answer in it."""
    evaluation: Evaluation | None = None
    """Of :class:`dgltree.scale.Evaluate`."""


def run(
    job: TableJob,
    data: str | Path,
    out: str | Path,
    address: str = LOCAL,
    device: str | None = None,
    progress: bool = False,
    report: Report = lambda bad, count: None,
) -> Outcome:
    """Answer all rows of a Parquet file, or of all files in a folder, by a cluster of Ray.

    The output is a folder of Parquet files whose names are in the order of the rows. A file is whole or not there; a
    call that was killed is finished by the same one, which only makes the files that are missing.

    Args:
        job: what is done to the rows.
        data: path or URL of any file system that fsspec knows.
        out: path or URL of the folder, on a file system that all machines of the cluster share.
        address: of a running cluster; ``local`` starts one on this machine. A cluster that this process is connected to
            already is used as it is.
        device: ``cpu`` or ``cuda``; default: GPUs if the cluster has some.
        progress: whether to show a progress bar.
        report: called with the records that cannot be answered, as they come.

    Raises ``FileNotFoundError``; and ``ValueError`` for data that is not Parquet or lacks a column, for a folder that
    holds something else than what this call made, where Ray is not installed or no cluster answers, and where not one
    record has a label to be compared with.
    """
    tables, folder = open_tables(str(data)), OutFolder(str(out))
    job.opened(tables.path, tables.columns, partial(tables.sample, max_line=job.max_line))
    with folder.owned():
        return _answered(job, tables, folder, address, device, progress, report)


def _answered(
    job: TableJob,
    tables: Tables,
    folder: OutFolder,
    address: str,
    device: str | None,
    progress: bool,
    report: Report,
) -> Outcome:
    """Make the files that are missing, and read them all; arguments as of :func:`run`."""
    folder.claim({**job.settings(), "data": tables.digest, "size of blocks": [job.rows, job.size]})
    spans = tables.spans(job.rows, job.size)
    written = folder.written()
    if missing := [span for span in spans if not written.issuperset(span.blocks())]:
        with start_cluster(address), as_here():
            resources(device)  # before the ids are looked at, which may take long
            if isinstance(job, TreeJob):
                job.repeated = find_repeated(job, spans)
            counts = {name: count for span in spans for name, count in span.blocks().items()}
            there = sum(count for name, count in counts.items() if name in written)
            with tqdm(
                total=tables.rows, initial=there, unit="record", unit_scale=True, disable=None if progress else True
            ) as bar:
                for done in blocks(job, missing, counts.keys() - written, folder, device):
                    report(done.bad, done.left_out)
                    bar.update(done.records)
    folder.sweep()
    names = [name for span in spans for name in span.blocks()]
    return _evaluated(job, names, folder) if isinstance(job, Evaluate) else _counted(names, folder)


def _counted(names: list[str], folder: OutFolder) -> Outcome:
    rows = left_out = 0
    for table, lost in _read(names, folder, []):
        rows, left_out = rows + table.num_rows, left_out + lost
    return Outcome(rows, left_out)


def _evaluated(job: Evaluate, names: list[str], folder: OutFolder) -> Outcome:
    """The same, and the metrics of what was written."""
    rows = left_out = 0
    objective = job.model.objective
    metrics, some, known = objective.metrics(), [], not objective.classes
    for table, lost in _read(names, folder, ["label", *objective.answer_columns]):
        rows, left_out = rows + table.num_rows, left_out + lost
        if table.num_rows:
            columns = [torch.from_numpy(table[name].to_numpy().copy()) for name in objective.answer_columns]
            answers = torch.stack(columns, 1).view(-1, *objective.shape)
            some = table["label"].to_pylist()
            targets = objective.targets(some)
            known = known or bool((targets != UNSEEN).any())
            metrics.update(answers, targets)
    if not rows:
        raise ValueError(f"no example can be used: not one of {left_out} has a label ({where(job.reading)})")
    if not known:
        check_known(some, objective.classes)
    return Outcome(rows, left_out, metrics.found())


def _read(names: list[str], folder: OutFolder, columns: list[str]) -> Iterator[tuple["pyarrow.Table", int]]:
    """Columns of all blocks, some at a time: of an object store each takes a round trip."""
    with ThreadPoolExecutor(FOOTERS) as pool:
        for start in range(0, len(names), FOOTERS):
            yield from pool.map(lambda name: folder.read(name, columns), names[start : start + FOOTERS])


TOLD = "\nFailed to "
"""How what Ray Data adds to a message begins: how often it tried, and how to let it try more often."""


@contextmanager
def as_here() -> Iterator[None]:
    """A block that raises what a worker raised, as if it had been raised here; and what Ray itself says in one line."""
    from ray.exceptions import RayError, RayTaskError

    try:
        yield
    except RayTaskError as error:
        cause = error.cause
        if cause.args and isinstance(cause.args[0], str):
            cause.args = (cause.args[0].partition(TOLD)[0], *cause.args[1:])
        raise cause from None
    except RayError as error:
        raise OSError(f"the Ray cluster failed: {' '.join(str(error).split())}") from None
