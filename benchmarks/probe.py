"""One step of a benchmark, again and again: reads a line, runs the step, prints its CPU seconds.

It is run by its path, with the packages ``dgltree`` and ``benchmarks`` of the checkout that PYTHONPATH names.
"""

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module

import torch

from benchmarks.inputs import blanked, equations, fillers
from benchmarks.propagate import training_step
from benchmarks.rank import COUNT, FILLERS
from dgltree import Ranker, Vocabulary, batch, plan, root_states
from dgltree.cells import TreeLSTM, TreeSMU
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout

UNTIL_THE_END = ExitStack()


def training(size: int) -> Callable[[], object]:
    cell, planned = _planned(size)
    return training_step(cell, lambda: root_states(planned, cell))


def inference(size: int) -> Callable[[], object]:
    cell, planned = _planned(size)

    def step() -> None:
        with torch.no_grad():
            root_states(planned, cell)

    return step


def _planned(size: int):  # type: ignore[no-untyped-def]
    vocabulary = Vocabulary.from_trees(side for equation in equations(1024) for side in equation)
    cell = TreeSMU(vocabulary, 50, stack_size=5, no_op=True)
    return cell, plan(batch(equations(size), vocabulary), cell, share=True)


def processor(kind: str, size: int) -> Callable[[], object]:
    """What a pass forward and backward on a GPU costs the processor. The cell is narrow, as torch's operations run."""
    UNTIL_THE_END.enter_context(import_module("no_device").no_device())  # next to this file, not the earlier checkout's
    vocabulary = Vocabulary.from_trees(side for equation in equations(1024) for side in equation)
    cells = {"Tree-SMU": TreeSMU(vocabulary, 2, stack_size=5, no_op=True), "Tree-LSTM": TreeLSTM(vocabulary, 2)}
    planned = plan(batch(equations(size), vocabulary), cells[kind])
    gradient = torch.ones(2 * size, 2)

    return lambda: root_states(planned, cells[kind]).backward(gradient)


def ranking() -> Callable[[], object]:
    known, questions = fillers(FILLERS), blanked(COUNT)
    sides = [side for equation in questions for side in equation.fill(known[0])]
    cell = TreeSMU(Vocabulary.from_trees([*sides, *known]), 50, stack_size=5, no_op=True)
    ranker = Ranker(EquationModel(TreeEncoder(cell), EquationReadout()).eval(), known)
    return lambda: ranker.rank(questions, top=5)


def main(kind: str, *arguments: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    made = {"training": training, "inference": inference, "ranking": ranking, "processor": processor}
    step = made[kind](*(int(each) if each.isdecimal() else each for each in arguments))
    step()  # warms up
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.process_time()
        for _ in range(int(line)):
            step()
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
