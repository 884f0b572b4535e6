"""Reading a large file of trees: nodes a second, and the memory that it takes."""

import importlib.util
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.fit import expression
from benchmarks.row import Row, Skipped
from benchmarks.scale import STATUS, resident
from dgltree import TreeDataset

NODES, KINDS = 5_000_000, 2000
LIMIT = 300  # MB above what the process has before it reads


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite: once, whatever ``repeats`` says."""
    if not STATUS.exists():
        yield Skipped("memory of reading", "it is read from /proc")
        return
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "trees.tsv"
        nodes = _write(table)
        files = {"TSV": table}
        if importlib.util.find_spec("pyarrow") is None:
            yield Skipped("reading Parquet", "pyarrow is not installed")
        else:
            files["Parquet"] = _as_parquet(table)
        for kind, file in files.items():
            for what in ("read and kept", "read from what is kept"):
                yield _measured(f"{nodes:,} nodes of {kind}, {what}", file, nodes)


def _write(file: Path) -> int:
    """A table of trees with ids and labels, each of some kinds many times; how many nodes they have."""
    rng = random.Random(0)
    kinds = [expression(rng, 6) for _ in range(KINDS)]
    sizes = [2 * text.count("(") + 1 for text in kinds]
    nodes = line = 0
    with file.open("w", encoding="utf-8") as table:
        table.write("id\ttree\tlabel\n")
        while nodes < NODES:
            table.write(f"example-{line}\t{kinds[line % KINDS]}\t{'ab'[line % 2]}\n")
            nodes += sizes[line % KINDS]
            line += 1
    return nodes


def _as_parquet(table: Path) -> Path:
    from pyarrow import csv, parquet

    file = table.with_suffix(".parquet")
    parquet.write_table(csv.read_csv(table, parse_options=csv.ParseOptions(delimiter="\t")), file)
    return file


def _measured(name: str, file: Path, nodes: int) -> Row:
    """One reading, in a process of its own."""
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_read, args=(file, send))
    process.start()
    seconds, own, worker = receive.recv()
    process.join()
    more = f", a worker {worker / 1e6:,.0f} MB" if worker > 0 else ""
    return Row(
        f"{name}{more}", own / 1e6, "MB", LIMIT, LIMIT, falling=True, ours_s=seconds, work={"nodes": nodes / seconds}
    )


def _read(file: Path, send: Connection) -> None:
    """Seconds, and the bytes that this process and the largest of its workers hold more than there were before."""
    STATUS.with_name("clear_refs").write_text("5", encoding="ascii")  # begins the peak again
    before, start = resident("VmRSS"), time.perf_counter()
    TreeDataset.from_file(file)
    seconds = time.perf_counter() - start
    worker = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before
    send.send((seconds, resident("VmHWM") - before, worker))
