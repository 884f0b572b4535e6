"""Measure the CPU seconds per tree of each step of ``dgltree encode --ray``, without Ray.

.venv/bin/python -m benchmarks.stages make 200000 trees.parquet
.venv/bin/python -m benchmarks.stages time runs/trees trees.parquet

The trees are random S-expressions of up to depth 4; the label tells whether a tree has more sums than products.
"""

import argparse
import pickle
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow
from pyarrow.parquet import ParquetWriter

from dgltree.scale import Encode
from dgltree.scale.job import join_rows
from dgltree.scale.running import OutFolder
from dgltree.scale.tables import open_tables

DIFFERENT = 100_000  # trees, of which a longer table is made
GROUP = 20_000


def make(count: int, path: str) -> None:
    """A table of so many trees."""
    rng = random.Random(0)
    trees = [_tree(rng, 4) for _ in range(min(count, DIFFERENT))]
    labels = ["sums" if tree.count("add") > tree.count("mul") else "products" for tree in trees]
    schema = pyarrow.schema({"tree": pyarrow.string(), "label": pyarrow.string()})
    with ParquetWriter(path, schema) as file:
        for start in range(0, count, GROUP):
            rows = [rng.randrange(len(trees)) for _ in range(min(GROUP, count - start))]
            file.write_table(pyarrow.table([[trees[i] for i in rows], [labels[i] for i in rows]], schema=schema))


def _tree(rng: random.Random, depth: int) -> str:
    if not depth or rng.random() < 0.2:
        return rng.choice("abcdefgh")
    function = rng.choice(("add", "mul", "neg", "sin"))
    children = [_tree(rng, depth - 1) for _ in range(2 if function in ("add", "mul") else 1)]
    return f"({function} {' '.join(children)})"


def measure(model: str, path: str) -> None:
    """Print microseconds a tree."""
    job, tables, seconds = Encode(model), open_tables(path), defaultdict[str, float](float)

    @contextmanager
    def timed(step: str) -> Iterator[None]:
        start = time.process_time()
        yield
        seconds[step] += time.process_time() - start

    job.opened(path, tables.columns, tables.sample)
    trees = sent = nodes = 0
    with tempfile.TemporaryDirectory() as folder:
        out = OutFolder(folder)
        for span in tables.spans(job.rows, job.size):
            blocks = span.read(job.columns, set(span.blocks()))
            for name in span.blocks():
                with timed("reading"):
                    rows = next(blocks)
                with timed("planning"):
                    plan = job.plan(rows)
                with timed("handing over"):
                    packed = [pickle.dumps(part, 5) for part in (rows, plan)]
                    _, plan = map(pickle.loads, packed)
                with timed("the model"):
                    answers = job.answer(plan.inputs)
                with timed("writing"):
                    table, bad = join_rows(plan, answers)
                    out.write(name, table, len(bad))
                trees, sent = trees + len(rows.records), sent + sum(map(len, packed))
                nodes += sum(part.trees.num_nodes for part in plan.inputs)
    print(f"{trees:,} trees of {nodes / trees:.1f} nodes, {sent / trees:,.0f} bytes per tree handed over")
    for step, taken in seconds.items():
        print(f"{step}: {taken / trees * 1e6:.1f} µs a tree, {trees / taken:,.0f} trees a second of a CPU")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    making, timing = commands.add_parser("make"), commands.add_parser("time")
    making.add_argument("count", type=int)
    making.add_argument("path")
    timing.add_argument("model")
    timing.add_argument("path")
    options = parser.parse_args()
    if options.command == "make":
        make(options.count, options.path)
    else:
        measure(options.model, options.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
