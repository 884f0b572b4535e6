"""Two threads against one: the parts of a batch on two cores, to the same bits."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import torch

from benchmarks.inputs import blanked, equations, fillers, treebank
from benchmarks.propagate import squared_step, training_step
from benchmarks.row import Row, Skipped, against, in_turn
from benchmarks.sst_example import TreeLSTM
from dgltree import Ranker, TreeBatch, Vocabulary, batch, plan, prop_nodes_topo, root_states, topo_plan
from dgltree.cells import Cell, ChildSumTreeLSTM, TreeSMU
from dgltree.encoders import TreeEncoder
from dgltree.engine import Graph
from dgltree.engine.frontiers import TopoPlan
from dgltree.engine.kernels.threads import passes_on
from dgltree.models import EquationModel, EquationReadout
from dgltree.support.workers import cores

Step = Callable[[], object]
AIMS = {
    ("training", 32, False): (None, 1.25),
    ("training", 256, False): (1.9, 1.7),
    ("training", 1024, False): (1.9, 1.7),
    ("inference", 1024, False): (1.9, 1.75),
}


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    if device != "cpu":
        yield Skipped("two threads", "this is no CPU")
        return
    vocabulary = Vocabulary.from_trees(side for equation in equations(1024) for side in equation)
    cell = TreeSMU(vocabulary, 50, stack_size=5, no_op=True)
    for size in (32, 256, 1024):
        for share in (False, True):
            yield from _equations(cell, size, share, repeats)
    yield _child_sum(repeats)
    yield from _functions(repeats)
    yield _ranking(repeats)
    with busy(cores()):
        planned = plan(batch(equations(256), vocabulary), cell)
        step = training_step(cell, lambda: root_states(planned, cell))
        name = f"Tree-SMU, training, 256 equations, next to {cores()} busy loops"
        yield _row(name, step, repeats, (None, 0.8))


def _equations(cell: Cell, size: int, share: bool, repeats: int) -> Iterator[Row]:
    planned = plan(batch(equations(size), cell.vocabulary), cell, share)

    def infer() -> None:
        with torch.no_grad():
            root_states(planned, cell)

    for what, step in (("training", training_step(cell, lambda: root_states(planned, cell))), ("inference", infer)):
        name = f"Tree-SMU, {what}, {size:,} equations{', shared' if share else ''}"
        yield _row(name, step, repeats, AIMS.get((what, size, share), (None, None)))


def _child_sum(repeats: int) -> Row:
    sentences = [tree for tree in treebank(128) if tree.children]
    vocabulary = Vocabulary.from_trees(sentences)
    cell = ChildSumTreeLSTM(vocabulary, 150, input_size=150, leaf="gates")
    planned = plan(batch(sentences, vocabulary), cell)
    step = squared_step(cell, lambda: root_states(planned, cell))
    return _row("child-sum Tree-LSTM, SST, hidden 150, training, batch 128", step, repeats, (1.9, 1.6))


def _functions(repeats: int) -> Iterator[Row]:
    """A Tree-LSTM as functions of one's own, compiled."""
    for count in (60, 400):
        sentences = [tree for tree in treebank(count) if tree.children]
        trees = batch(sentences, Vocabulary.from_trees(sentences))
        planned = topo_plan(trees)
        for size in (16, 64, 150):
            step = partial(_functions_step, TreeLSTM(size), trees, planned)
            yield _row(f"compiled functions, n = {size}, {count} sentences, training", step, repeats, (None, None))


def _functions_step(model: TreeLSTM, trees: TreeBatch, planned: TopoPlan) -> None:
    graph = Graph(trees)
    graph.ndata.update(model.fields(trees))
    functions = model.message_func, model.reduce_func
    prop_nodes_topo(graph, *functions, apply_node_func=model.apply_node_func, plan=planned)["h"].sum().backward()


def _ranking(repeats: int) -> Row:
    known, questions = fillers(1_470), blanked(32)
    sides = [side for equation in questions for side in equation.fill(known[0])]
    cell = TreeSMU(Vocabulary.from_trees([*sides, *known]), 50, stack_size=5, no_op=True)
    model = EquationModel(TreeEncoder(cell), EquationReadout()).eval()
    ranker = Ranker(model, known)
    return _row("ranking 1,470 fillers, 32 equations", lambda: ranker.rank(questions, top=5), repeats, (1.9, 1.75))


@contextmanager
def busy(count: int) -> Iterator[None]:
    """A block next to which so many processes compute without end."""
    with ExitStack() as running:
        for _ in range(count):
            loop = running.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            running.callback(loop.kill)
        yield


def _row(name: str, step: Step, repeats: int, aims: tuple[float | None, float | None]) -> Row:
    def on(count: int) -> Step:
        def run() -> None:
            with passes_on(count):
                step()

        return run

    times = in_turn({"ours": on(2), "one thread": on(1)}, repeats)
    return against(f"{name}: two threads", "one thread", times, aim=aims[0], least=aims[1])
