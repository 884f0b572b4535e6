"""A training step on a GPU, counted without one: its launches, and what it costs the processor to start them."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.earlier import EARLIER, ROOT, probed
from benchmarks.inputs import equations
from benchmarks.propagate import training_step
from benchmarks.row import Row, Skipped, against
from dgltree import Vocabulary, batch, plan, root_states
from dgltree.cells import Cell, TreeLSTM, TreeSMU

SIZES = (64, 1024)
"""Equations in a batch."""
A_STEP, ALL = 4, 37
"""Launches for each step of the schedule, and for the rest: embedding, weights of two arities, loss, optimizer."""


def rows(checkout: Path | None, device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    vocabulary = Vocabulary.from_trees(side for equation in equations(1024) for side in equation)
    cells: list[Cell] = [TreeSMU(vocabulary, 50, stack_size=5, no_op=True), TreeLSTM(vocabulary, 50)]
    for cell in cells:
        yield _launches(cell)
    places = {"ours": ROOT} | ({} if checkout is None else {EARLIER: checkout})
    for cell in cells:
        for size in SIZES:
            kind = {TreeSMU: "Tree-SMU", TreeLSTM: "Tree-LSTM"}[type(cell)]
            times = probed(places, ("processor", kind, str(size)), 20, repeats)
            name = f"{kind}, a pass over {size:,} equations, CPU time"
            if checkout is None:
                yield Row(name, 1000 * times["ours"].median, "ms", falling=True, ours_s=times["ours"].median)
            else:
                yield against(name, EARLIER, times)


def _launches(cell: Cell) -> Row:
    from benchmarks.no_device import Operations, no_device

    with no_device() as launches:
        planned = plan(batch(equations(1024), cell.vocabulary), cell).to("meta")
        steps = len(planned.schedule.steps)
        step = training_step(cell.to("meta"), lambda: root_states(planned, cell))
        step()  # makes the optimizer's state
        launches.clear()
        with Operations() as operations:
            step()
        count = launches.total() + operations.launches.total()
    name = f"{type(cell).__name__}, a training step of 1,024 equations in {steps} steps"
    return Row(name, count, "launches", least=A_STEP * steps + ALL, falling=True)
