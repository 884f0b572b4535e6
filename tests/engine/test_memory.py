"""Batches that do not fit: refused with figures, and the figures are those of a real pass."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from dgltree import TreeBatch, Vocabulary, batch, plan, propagate
from dgltree.cells import Cell, ChildSumTreeLSTM, StackTreeRNN, TreeLSTM, TreeSMU
from dgltree.engine import memory
from dgltree.read.infix import read_infix

TREES = [read_infix(text) for text in ("sin(x)^2 + cos(x)^2", "2*x + y", "sin(2*x)*cos(y)")] * 30
VOCABULARY = Vocabulary.from_trees(TREES)


def cells() -> list[Cell]:
    return [
        TreeSMU(VOCABULARY, 6, stack_size=3, no_op=True),
        TreeLSTM(VOCABULARY, 6, input_size=4, leaf="gates", dropout=0.5),
        StackTreeRNN(VOCABULARY, 6, stack_size=3),
        ChildSumTreeLSTM(VOCABULARY, 6),
    ]


def kept_in_fact(cell: Cell, trees: TreeBatch) -> int:
    """Bytes that autograd saves inside the recursion of a pass, but for the parameters."""
    saved: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, keep):
        states = propagate(trees, cell)
    for parameter in cell.parameters():
        saved.pop(parameter.untyped_storage().data_ptr(), None)
    assert states["h"].requires_grad
    return sum(saved.values())


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: type(cell).__name__)
def test_the_bound_is_close_to_what_a_pass_keeps(cell: Cell) -> None:
    trees = batch(TREES, VOCABULARY)
    rows = plan(trees, cell).schedule
    bound = memory.least_bytes(cell, rows, record=True, recompute=False)
    states = memory.least_bytes(cell, rows, record=False, recompute=False)
    assert memory.least_bytes(cell, rows, record=True, recompute=True) == 2 * states
    assert bound - 2 * states == pytest.approx(kept_in_fact(cell, trees), rel=0.25)


def test_looking_draws_no_random_numbers() -> None:
    cell, trees = cells()[1], batch(TREES, VOCABULARY)
    torch.manual_seed(0)
    memory.least_bytes(cell, plan(trees, cell).schedule, record=True, recompute=False)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(1))


def test_a_batch_that_cannot_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, trees = cells()[0], batch(TREES, VOCABULARY)
    monkeypatch.setattr(memory, "LARGE", 100)
    monkeypatch.setattr(memory, "available_bytes", lambda device: 2**17)
    told = (
        r"TreeSMU needs at least 0\.0 GiB .* cpu has 0\.0 GiB left; use at most \d+ .*, or recompute=True .*, or share"
    )
    with pytest.raises(MemoryError, match=told):
        propagate(trees, cell)
    with torch.no_grad():
        propagate(trees, cell)  # the states alone fit
    monkeypatch.setattr(memory, "available_bytes", lambda device: None)
    propagate(trees, cell)


def test_memory_is_only_known_where_it_can_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "missing")
    assert memory.available_bytes(torch.device("cpu")) is None
    (tmp_path / "meminfo").write_text("MemTotal:  8 kB\nMemAvailable:   3 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    assert memory.available_bytes(torch.device("cpu")) == 3 * 1024
