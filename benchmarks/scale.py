"""How time and memory grow with the nodes of a batch."""

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from benchmarks.inputs import equations
from benchmarks.peers import kept_bytes
from benchmarks.propagate import training_step
from benchmarks.row import Row, Skipped, in_turn
from dgltree import PlannedBatch, TreeBatch, Vocabulary, batch, plan, root_states
from dgltree.cells import TreeSMU

FEW, MANY = 10_000, 3_000_000  # nodes
TRAINED = 400_000
STATUS = Path("/proc/self/status")  # of Linux; the rows about memory are skipped elsewhere


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    known = equations(4096)
    vocabulary = Vocabulary.from_trees(side for equation in known for side in equation)
    cell, data = TreeSMU(vocabulary, 50, stack_size=5, no_op=True), batch(known, vocabulary)
    few, many = (with_nodes(data, count) for count in (FEW, MANY))
    each = {}
    for trees in (few, many):
        planned = plan(trees, cell)
        found = in_turn({"ours": lambda planned=planned: _infer(cell, planned, device)}, min(repeats, 3), device)[
            "ours"
        ]
        each[trees.num_nodes] = found.median / trees.num_nodes
    (small, first), (large, last) = each.items()
    name = f"time per node, {large:,} nodes over {small:,} in a batch, inference"
    work = {"nodes": 1 / last}
    yield Row(name, last / first, "times", 1.3, 2, falling=True, work=work)
    if device == "cpu" and STATUS.exists():
        yield from map(_memory, (False, True))
    else:
        yield Skipped("memory of a training step", "it is read from /proc, on the CPU")


def with_nodes(data: TreeBatch, count: int) -> TreeBatch:
    """So many nodes, or a few more, of a data set that is repeated."""
    trees = -(-count * len(data) // data.num_nodes)
    return data[torch.arange(trees + trees % 2) % len(data)]


def _infer(cell: TreeSMU, planned: PlannedBatch, device: str) -> None:
    with torch.no_grad():
        root_states(planned.to(device), cell.to(device))


def _memory(recompute: bool) -> Row:
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_peak, args=(recompute, send))
    process.start()
    nodes, used, kept = receive.recv()
    process.join()
    how = "recomputing" if recompute else "keeping"
    name = f"memory of a training step, {how}, {used / nodes:,.0f} bytes per node"
    return Row(name, used / kept, "times what must be kept", 1.3, 1.8, falling=True)


def _peak(recompute: bool, send: Connection) -> None:
    """Nodes, the bytes that a step takes more than there were before it, and those that it must keep.

    In a process of its own, in which nothing was freed before that the step could use again.
    """
    torch.set_num_threads(1)
    known = equations(4096)
    vocabulary = Vocabulary.from_trees(side for equation in known for side in equation)
    cell, trees = TreeSMU(vocabulary, 50, stack_size=5, no_op=True), with_nodes(batch(known, vocabulary), TRAINED)
    planned = plan(trees, cell)
    STATUS.with_name("clear_refs").write_text("5", encoding="ascii")  # begins the peak again
    before = resident("VmRSS")
    training_step(cell, lambda: root_states(planned, cell, recompute=recompute))()
    send.send((trees.num_nodes, resident("VmHWM") - before, kept_bytes(cell, planned.schedule)))


def resident(what: str) -> int:
    """Bytes of memory that this process holds (VmRSS), or held at its peak (VmHWM)."""
    [line] = [line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith(what)]
    return 1024 * int(line.split()[1])
