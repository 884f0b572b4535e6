"""Compiled kernels against torch's operations, in the same run: covered cells and ranking."""

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.inputs import blanked, equations, fillers, treebank
from benchmarks.peers import BareProducts
from benchmarks.propagate import squared_step, training_step
from benchmarks.rank import COUNT, FILLERS
from benchmarks.row import Row, Skipped, Timing, against, in_turn
from dgltree import Ranker, Vocabulary, batch, plan, root_states
from dgltree.cells import Cell, ChildSumTreeLSTM, StackTreeLSTM, TreeCell, TreeLSTM, TreeRNN, TreeSMU
from dgltree.encoders import TreeEncoder
from dgltree.engine.kernels.dispatch import has_kernel, kernels
from dgltree.models import EquationModel, EquationReadout

SIZES = (32, 256, 1024)
TORCH = "the torch path"
AIMS = {("Tree-SMU", "training", 32): (4.0, 2.3), ("Tree-SMU", "inference", 1024): (2.5, 1.5)}
Step = Callable[[], object]


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    package = {"cpu": "numba", "cuda": "triton"}[device]
    if not importlib.util.find_spec(package):
        yield Skipped("kernels against the torch path", f"{package} is not installed")
        return
    vocabulary = Vocabulary.from_trees(side for equation in equations(max(SIZES)) for side in equation)
    cells: dict[str, Cell] = {
        "Tree-SMU": TreeSMU(vocabulary, 50, stack_size=5, no_op=True),
        "stack-augmented Tree-LSTM": StackTreeLSTM(vocabulary, 50, stack_size=5),
        "Tree-LSTM": TreeLSTM(vocabulary, 50),
        "child-sum Tree-LSTM": ChildSumTreeLSTM(vocabulary, 50),
    }
    for name, cell in cells.items():
        for size in SIZES if device == "cpu" or has_kernel(cell.to(device)) else ():
            yield from _against_torch(name, cell.to(device), size, device, repeats)
    if device != "cpu":
        return
    others: dict[str, Cell] = {
        "Tree-RNN": TreeRNN(vocabulary, 50),
        "Tree Cell": TreeCell(vocabulary, 50),
        "Tree-GRU of own_cell.md": own_cell()(vocabulary, 50),
    }
    for name, cell in others.items():
        for size in SIZES:
            yield from _against_torch(name, cell, size, device, repeats)
    yield _over_products(repeats)
    yield _ranking(repeats)


def run_by(mode: str, step: Step) -> Step:
    """A step with kernels "on" or "off"."""

    def run() -> None:
        with kernels(mode):
            step()

    return run


def _against_torch(name: str, cell: Cell, size: int, device: str, repeats: int) -> Iterator[Row]:
    planned = plan(batch(equations(size), cell.vocabulary), cell, share=True).to(device)

    def infer() -> None:
        with torch.no_grad():
            root_states(planned, cell)

    for what, step in (("training", training_step(cell, lambda: root_states(planned, cell))), ("inference", infer)):
        times = in_turn({"ours": run_by("on", step), TORCH: run_by("off", step)}, repeats, device)
        aim, least = AIMS.get((name, what, size), (None, None))
        yield against(f"{name}, {what}, {size:,} equations", TORCH, times, aim=aim, least=least)


def own_cell() -> type[Cell]:
    """The Tree-GRU of docs/own_cell.md, as its reader would write it."""
    page = Path(__file__).parent.parent / "docs" / "own_cell.md"
    text = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[0]
    names: dict[str, Any] = {"__name__": "tree_gru"}
    exec(compile(text, str(page), "exec"), names)
    return names["TreeGRU"]


def _over_products(repeats: int) -> Row:
    """Of the child-sum Tree-LSTM: the products of gates, messages and inputs."""
    sentences = [tree for tree in treebank(128) if tree.children]
    vocabulary = Vocabulary.from_trees(sentences)
    nodes = batch(sentences, vocabulary).num_nodes
    trees = batch(sentences, vocabulary, x=torch.randn(nodes, 150))
    cell = ChildSumTreeLSTM(vocabulary, 150, input_size=150, leaf="gates")
    planned = plan(trees, cell)
    step = run_by("on", squared_step(cell, lambda: root_states(planned, cell)))
    times = in_turn({"ours": step, "bare products": BareProducts(cell, planned.schedule)}, repeats)
    return over_products("child-sum Tree-LSTM, SST, hidden 150, training, batch 128", times, aim=1.2, least=1.45)


def over_products(name: str, times: dict[str, Timing], aim: float, least: float) -> Row:
    """How many times as long as the bare products, which are the limit."""
    row = against(name, "bare products", times, aim=aim, least=least, falling=True)
    row.ratio, row.unit = 1 / row.ratio, "times the bare products"
    return row


def _ranking(repeats: int) -> Row:
    known, questions = fillers(FILLERS), blanked(COUNT)
    sides = [side for equation in questions for side in equation.fill(known[0])]
    cell = TreeSMU(Vocabulary.from_trees([*sides, *known]), 50, stack_size=5, no_op=True)
    model = EquationModel(TreeEncoder(cell), EquationReadout()).eval()
    ranker = Ranker(model, known)  # what does not depend on equations is computed once, by the first round

    def step() -> None:
        ranker.rank(questions, top=5)

    times = in_turn({"ours": run_by("on", step), TORCH: run_by("off", step)}, min(repeats, 3))
    return against(f"ranking {len(known):,} fillers, known before, Tree-SMU", TORCH, times, aim=2.5, least=1.8)
