"""Rows of tables through a job to files, by Ray Data: reading, planning, the model, writing, each in its processes."""

import pickle
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.loading.from_file import MAX_LISTED_RECORDS
from dgltree.scale.folder import OutFolder
from dgltree.scale.job import TableJob, join_rows
from dgltree.scale.tables import RowGroups
from dgltree.training import own_cells

if TYPE_CHECKING:
    import ray

LIGHT, PLAN, MODEL = 0.1, 0.9, 1.0
"""CPUs of a task that reads or writes, of one that plans, and of a model without a GPU: with three, two plan."""
MIN_WORKERS = 2
FEWER = 8
"""Planning takes this many times as long as reading, or writing, at least."""


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
    cpus, gpus = int(total.get("CPU", 0)), int(total.get("GPU", 0)) if device != "cpu" else 0
    if device == "cuda" and not gpus:
        raise ValueError("--device cuda: the cluster has no GPU")
    if cpus < (MIN_WORKERS if not gpus else 1):
        raise ValueError(f"the cluster has {cpus} CPUs; it needs {MIN_WORKERS} at least, or one and a GPU")
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
        _read, batch_size=1, fn_args=[job.columns, job.max_line], compute=TaskPoolStrategy(few), num_cpus=LIGHT
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


def _read(batch: dict[str, Any], columns: list[str], max_line: int) -> Iterator[dict[str, list[bytes]]]:
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
