"""A training step on a GPU, counted without one: its launches, and what it costs the processor to start them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks.earlier import EARLIER, ROOT, probed
from benchmarks.inputs import equations
from benchmarks.operations import Operations
from benchmarks.propagate import training_step
from benchmarks.row import Row, Skipped, against, in_turn
from dgltree import Vocabulary, batch, plan, root_states
from dgltree.cells import Cell, TreeLSTM, TreeSMU
from dgltree.encoders import ONLSTM, OrderedMemory
from dgltree.engine.kernels.dispatch import kernels

SIZES = (64, 1024)
"""Equations in a batch."""
WORDS = (20, 90)
"""Of the sequences whose launches are subtracted from each other; of the longer ones the time."""
A_WORD = {"ON-LSTM": 12, "Ordered Memory, 12 slots": 20}
"""Launches for a word in training, at most."""
A_STEP, ALL = 4, 37
"""Launches for each step of the schedule, and for the rest: embedding, weights of two arities, loss, optimizer."""


def rows(checkout: Path | None, device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    vocabulary = Vocabulary.from_trees(side for equation in equations(1024) for side in equation)
    cells: list[Cell] = [TreeSMU(vocabulary, 50, stack_size=5, no_op=True), TreeLSTM(vocabulary, 50)]
    for cell in cells:
        yield _launches(cell)
    for name, least in A_WORD.items():
        yield Row(f"{name}, a word in training", _launches_of_a_word(name), "launches", least=least, falling=True)
        yield _processor_time(name, repeats)
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
    from benchmarks.no_device import no_device

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


def _reading(name: str, words: int) -> Callable[[], None]:
    """A pass forward and backward over two sequences, of so few columns that nothing but operations takes time."""
    network = ONLSTM(4, [4], chunk_size=2) if name == "ON-LSTM" else OrderedMemory(4, 4, num_slots=12, dynamic=False)
    x = torch.zeros(2, words, 4)

    def step() -> None:
        network.zero_grad()
        network(x).states.sum().backward()

    return step


def _launches_of_a_word(name: str) -> float:
    from benchmarks.no_device import no_device

    counts = []
    with no_device() as launches:
        for words in WORDS:
            launches.clear()
            with Operations() as operations:
                _reading(name, words)()
            counts.append(launches.total() + operations.launches.total())
    return (counts[1] - counts[0]) / (WORDS[1] - WORDS[0])


def _processor_time(name: str, repeats: int) -> Row:
    """With launches that do nothing, next to torch's operations."""
    from benchmarks.no_device import no_device

    step = _reading(name, WORDS[1])

    def by_kernels() -> None:
        with no_device():
            step()

    def by_operations() -> None:
        with kernels("off"):
            step()

    times = in_turn({"ours": by_kernels, "torch's operations": by_operations}, repeats)
    return against(f"{name}, {WORDS[1]} words, the processor's time", "torch's operations", times)
