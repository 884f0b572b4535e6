"""A job answers all rows of a table, into a folder of Parquet files; what was begun is finished by the same call.

Ray Data takes the rows through reading, planning, the model and writing, each in processes of its own, on a cluster of
this machine alone or on one that runs already. The folder may be wherever fsspec writes.
"""

import json
import logging
import os
import pickle
import signal
import socket
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
import torch
from tqdm import tqdm

from dgltree.datasets.batches import UNSEEN
from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.formats.source import TOO_LONG, Chunk
from dgltree.datasets.labels import check_known, where
from dgltree.datasets.loading.from_file import MAX_LISTED_RECORDS, Ids
from dgltree.read.json_text import write_json
from dgltree.scale.job import TableJob, join_rows
from dgltree.scale.tables import FOOTERS, SUFFIX, RowGroups, Tables, locate, open_tables
from dgltree.scale.tree_jobs import Evaluate, TreeJob
from dgltree.support.files import OWNER, differences, lock_folder, reworded
from dgltree.training import own_cells
from dgltree.training.cpu_threads import cores
from dgltree.training.objectives.metrics import Evaluation

if TYPE_CHECKING:
    import pyarrow
    import ray

RUN = "_run.json"
"""Readers of Parquet folders pass over names that begin like this."""
PART_SUFFIX = ".part"
LEFT_OUT = b"dgltree.left_out"
"""The key in the metadata of a file of how many records of its block have no row, or none with an answer."""
LIGHT, PLAN, MODEL = 0.1, 0.9, 1.0
"""CPUs of a task that reads or writes, of one that plans, and of a model without a GPU: with three, two plan."""
MIN_WORKERS = 2
FEWER = 8
"""Planning takes this many times as long as reading, or writing, at least."""
IDS_PER_TASK = 5_000_000
"""Ids that are compared with each other by one task, about: no process holds all of them."""
LOCAL = "local"
STORE = 1 << 30
"""Bytes of shared memory for what is on its way between processes here; what is more is spilled to the disk."""
LOOPBACK = "127.0.0.1"
ANY_ADDRESS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's setting for its processes to listen on all addresses or, with 0, on that of the node alone."""
WAIT = 5.0  # seconds for an address to answer
MISSING = "Ray is not installed (the extra 'ray' of dgltree); install it with: pip install 'ray[data]'"
TOLD = "\nFailed to "
"""How what Ray Data adds to a message begins: how often it tried, and how to let it try more often."""
Report = Callable[[list[Bad], int], None]
"""Called with the first few records of a block that could not be answered, and with their number."""


@dataclass(frozen=True)
class Outcome:
    """The content of the output folder."""

    rows: int
    left_out: int
    """Records without a row, or without an answer in it."""
    evaluation: Evaluation | None = None
    """The metrics of :class:`dgltree.scale.Evaluate`."""


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
    tables = open_tables(str(data))
    folder = OutFolder(str(out))
    job.opened(tables.path, tables.columns, partial(tables.sample, max_line=job.max_line))
    with folder.owned():
        return _answered(job, tables, folder, address, device, progress, report)


class OutFolder:
    """A folder of blocks, each in a file that is whole or not there.

    Args:
        url: a path or URL.
    """

    def __init__(self, url: str) -> None:
        self.given = url
        self._files, self._path = locate(url)
        self.url: str = self._files.unstrip_protocol(self._path)

    def __reduce__(self) -> tuple[Any, ...]:
        return OutFolder, (self.url,)

    def claim(self, settings: dict[str, Any]) -> None:
        """Make it the folder of this run, or continue it.

        Raises ``ValueError`` if it holds something else.
        """
        if self._files.isfile(self._path):
            raise ValueError(f"{self.given}: a file; the output is a folder of Parquet files")
        if not self._files.exists(self._at(RUN)):
            names = [name for name in self._names() if not name.endswith(PART_SUFFIX) and name != OWNER]
            if names:
                raise ValueError(f"{self.given} holds other files, such as {names[0]}; give another --out")
            self._files.makedirs(self._path, exist_ok=True)
            self._put(RUN, lambda file: file.write((write_json(settings, indent=1) + "\n").encode()))
            return
        found = self._run()
        if found != json.loads(json.dumps(settings)):
            raise ValueError(f"{self.given} holds another run ({_other(found, settings)}); give another --out")

    def owned(self) -> AbstractContextManager[None]:
        """A block in which no other run writes to the folder, if it is on a local disk (:func:`lock_folder`)."""
        from fsspec.implementations.local import LocalFileSystem

        return lock_folder(Path(self._path)) if isinstance(self._files, LocalFileSystem) else nullcontext()

    def _run(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._files.cat_file(self._at(RUN)))
        except ValueError:
            raise ValueError(f"{self.given}/{RUN}: damaged; delete the folder to start again") from None
        return found

    def written(self) -> set[str]:
        """The names of the blocks that are there."""
        return {name for name in self._names() if name.endswith(SUFFIX) and not name.startswith(".")}

    def write(self, name: str, table: "pyarrow.Table", left_out: int) -> None:
        """A block: all of it, or nothing. Writing it twice leaves it there once."""
        from pyarrow.parquet import write_table

        marked = table.replace_schema_metadata({LEFT_OUT: str(left_out)})
        self._put(name, lambda file: write_table(marked, file))

    def read(self, name: str, columns: list[str]) -> tuple["pyarrow.Table", int]:
        """Some columns of a block, and how many of its records were left out."""
        from pyarrow.parquet import ParquetFile

        with self._files.open(self._at(name), "rb") as raw, ParquetFile(raw) as file:
            return file.read(columns=columns), int(file.schema_arrow.metadata[LEFT_OUT])

    def sweep(self) -> None:
        """Remove what processes that were killed left half written."""
        for name in self._names():
            if name.startswith(".") and name.endswith(PART_SUFFIX):
                self._files.rm_file(self._at(name))

    def _put(self, name: str, write: Any) -> None:
        from fsspec.implementations.local import LocalFileSystem

        beside = self._at(f".{name}.{uuid4().hex}{PART_SUFFIX}")
        local = isinstance(self._files, LocalFileSystem)
        try:
            with self._files.open(beside, "xb" if local else "wb") as file:  # never a link, which only local ones have
                write(file)
            self._files.mv(beside, self._at(name))
        except OSError as error:
            if self._files.exists(beside):
                self._files.rm_file(beside)
            message = f"{self.given}/{name} cannot be written: {error.strerror or error}"
            raise reworded(OSError(error.errno, ""), message) from None  # fsspec has classes of its own

    def _at(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}"

    def _names(self) -> list[str]:
        if not self._files.exists(self._path):
            return []
        self._files.invalidate_cache()
        return sorted(str(path).rstrip("/").rsplit("/", 1)[-1] for path in self._files.ls(self._path, detail=False))


def _other(found: dict[str, Any], settings: dict[str, Any]) -> str:
    """The differences between a run and the one in the folder."""
    names = dict.fromkeys(key.partition(".")[0] for key in differences(found, settings))
    return ", ".join(f"another {name}" for name in names) or "of another version"


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
        rows += table.num_rows
        left_out += lost
    return Outcome(rows, left_out)


def _evaluated(job: Evaluate, names: list[str], folder: OutFolder) -> Outcome:
    """Count what was written, and compute its metrics."""
    rows = left_out = 0
    objective = job.model.objective
    metrics = objective.metrics()
    some = []
    known = not objective.classes
    for table, lost in _read(names, folder, ["label", *objective.answer_columns]):
        rows += table.num_rows
        left_out += lost
        if table.num_rows:
            columns = [torch.from_numpy(table[name].to_numpy().copy()) for name in objective.answer_columns]
            answers = torch.stack(columns, 1).view(-1, *objective.shape)
            some = table["label"].to_pylist()
            targets = objective.targets(some)
            known = known or bool((targets != UNSEEN).any())
            metrics.update(answers, targets)
    if not rows:
        raise ValueError(f"no example can be used: none of {left_out} has a label ({where(job.reading)})")
    if not known:
        check_known(some, objective.classes)
    return Outcome(rows, left_out, metrics.found())


def _read(names: list[str], folder: OutFolder, columns: list[str]) -> Iterator[tuple["pyarrow.Table", int]]:
    """Columns of all blocks, some at a time: of an object store each takes a round trip."""
    with ThreadPoolExecutor(FOOTERS) as pool:
        for start in range(0, len(names), FOOTERS):
            yield from pool.map(lambda name: folder.read(name, columns), names[start : start + FOOTERS])


class Done(NamedTuple):
    """A block whose file is there."""

    name: str
    records: int
    left_out: int
    bad: list[Bad]
    """The first few of them."""


def resources(device: str | None) -> tuple[int, int]:
    """CPUs and GPUs of the cluster for models on a device, or on GPUs if there are some.

    Raises ``ValueError`` if the cluster lacks what they need.
    """
    import ray

    total = ray.cluster_resources()
    cpus = int(total.get("CPU", 0))
    gpus = int(total.get("GPU", 0)) if device != "cpu" else 0
    if device == "cuda" and not gpus:
        raise ValueError("--device cuda: the cluster has no GPU")
    if cpus < (MIN_WORKERS if not gpus else 1):
        raise ValueError(f"the cluster has {cpus} CPUs; it needs at least {MIN_WORKERS}, or one CPU and a GPU")
    return cpus, gpus


def blocks(
    job: TableJob, spans: list[RowGroups], wanted: set[str], out: OutFolder, device: str | None
) -> Iterator[Done]:
    """Write the blocks of these names, and tell of each when it is there, in any order.

    What a process that dies had in hand is done again by another one.

    Raises what a job raises, and as :func:`resources`.
    """
    import ray
    from ray.data import ActorPoolStrategy, TaskPoolStrategy, from_items

    cpus, gpus = resources(device)
    for module in own_cells.modules():  # no file of another machine: it travels with the job
        ray.cloudpickle.register_pickle_by_value(module)
    shared = [ray.put(job)]  # in a list: a reference on its own would be fetched for each task
    items = [{"work": pickle.dumps((span, wanted.intersection(span.blocks())))} for span in spans]
    few = 1 + cpus // FEWER  # each process holds the library
    actors = gpus or cpus - 1
    # One row at a time: a row is a block, pickled here and unpickled in the next step of this run, never from a file.
    given = from_items(items, override_num_blocks=len(items))
    given.context.target_max_block_size = 1  # each row is passed on as soon as it is there
    given.context.raise_original_map_exception = True
    read = given.map_batches(
        _read_rows, batch_size=1, fn_args=[job.columns, job.max_line], compute=TaskPoolStrategy(few), num_cpus=LIGHT
    )
    planned = read.map(_plan, fn_args=[shared], num_cpus=PLAN)
    answered = planned.map(
        _Model,
        fn_constructor_args=[shared, "cuda" if gpus else "cpu"],
        compute=ActorPoolStrategy(min_size=1, max_size=actors),
        num_cpus=0 if gpus else MODEL,
        num_gpus=1 if gpus else 0,
    )
    written = answered.map(_write, fn_args=[out], compute=TaskPoolStrategy(few), num_cpus=LIGHT)
    for row in written.iter_rows():
        yield pickle.loads(row["work"])


@lru_cache(maxsize=1)
def _job(reference: "ray.ObjectRef[TableJob]") -> TableJob:
    """The job, fetched once by a process."""
    import ray

    job: TableJob = ray.get(reference)
    return job


def _read_rows(batch: dict[str, Any], columns: list[str], max_line: int) -> Iterator[dict[str, list[bytes]]]:
    span, wanted = pickle.loads(batch["work"][0])
    for rows in span.read(columns, wanted, max_line):
        yield {"work": [pickle.dumps(rows)]}


def _plan(row: dict[str, bytes], shared: list[Any]) -> dict[str, bytes]:
    rows = pickle.loads(row["work"])
    plan = _job(shared[0]).plan(rows)
    work = (rows.name, len(rows.records), plan._replace(inputs=[]))
    return {"work": pickle.dumps(work, 5), "inputs": pickle.dumps(plan.inputs, 5)}


class _Model:
    """The model, where it stays."""

    def __init__(self, shared: list[Any], device: str) -> None:
        self.job = _job(shared[0])
        self.job.to(device)

    def __call__(self, row: dict[str, bytes]) -> dict[str, bytes]:
        return {"work": row["work"], "answers": pickle.dumps(self.job.answer(pickle.loads(row["inputs"])), 5)}


def _write(row: dict[str, bytes], out: OutFolder) -> dict[str, bytes]:
    name, records, plan = pickle.loads(row["work"])
    table, bad = join_rows(plan, pickle.loads(row["answers"]))
    out.write(name, table, len(bad))
    return {"work": pickle.dumps(Done(name, records, len(bad), in_order(bad)[:MAX_LISTED_RECORDS]))}


def find_repeated(job: TreeJob, spans: list[RowGroups]) -> dict[tuple[str, int], Bad]:
    """The records, by file and line, whose id a record before had that could be read, as in one process."""
    column = job.reading.id
    if column not in job.columns:
        return {}
    twice = _several(column, spans, job.max_line)
    ids = Ids()
    found = {}
    for i in sorted(twice):
        span = spans[i]
        for rows in span.read(job.columns, set(span.blocks()), job.max_line):
            for line in sorted(twice[i].intersection(range(rows.first, rows.first + len(rows.records)))):
                part = job.parsed(Chunk(line, [rows.records[line - rows.first]]), rows.file)
                for bad in ids.repeated(part.ids, part.lines, part.files).values():
                    found[bad.file, bad.line] = bad
    return found


def _several(column: str, spans: list[RowGroups], max_line: int) -> dict[int, set[int]]:
    """The lines, by number of the span, whose ids, or their hashes, occur more than once."""
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


@contextmanager
def start_cluster(address: str = LOCAL) -> Iterator[None]:
    """A block with a cluster, unless this process has one already.

    Args:
        address: ``local`` starts a cluster on this machine, which ends with the block; else that of a running one, such
            as ``auto`` or ``10.0.0.1:6379``.

    Raises ``ValueError`` if Ray is not installed, if no cluster answers, and for an address if Ray was kept to
    the loopback, for a cluster of this machine, when it was imported.
    """
    if address == LOCAL and "ray" not in sys.modules:  # which reads it when it is imported
        os.environ.setdefault(ANY_ADDRESS, "0")
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise ValueError(f"{MISSING} ({error})") from None
    _be_quiet()
    if ray.is_initialized():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    _start(address)
    try:
        if signal.getsignal(signal.SIGTERM) is not handler:
            signal.signal(signal.SIGTERM, handler)  # ours clears away, and says why it ends
        yield
    finally:
        ray.shutdown()


def _start(address: str) -> None:
    import ray

    if address != LOCAL:
        if os.environ.get(ANY_ADDRESS) == "0":
            raise ValueError(
                "this process started its own Ray cluster first, so Ray listens on this machine alone "
                f"({ANY_ADDRESS}=0); connect to {address} in a new process"
            )
        _check(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError) as error:
            raise ValueError(f"no Ray cluster responds at {address}: {' '.join(str(error).split())}") from None
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # The model, the reader and the writer wait most of the time: they are one process more than there are cores.
    with _quiet():
        ray.init(
            address=LOCAL,
            _node_ip_address=LOOPBACK,
            num_cpus=cores() + 1,
            object_store_memory=STORE,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """A block without what Ray's own core, which is not Python, says on the standard error; errors are exceptions."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    sys.stderr.flush()
    own = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


def _check(address: str) -> None:
    """``ValueError`` for HOST:PORT if nothing listens: Ray itself waits minutes for it."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), WAIT).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Ray cluster responds at {address}: {error}; give HOST:PORT of a cluster that 'ray start --head' "
            "started, or --ray alone to use this machine"
        ) from None


def _be_quiet() -> None:
    from ray.data import DataContext

    context = DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are raised


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
