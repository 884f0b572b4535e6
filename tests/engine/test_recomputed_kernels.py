"""Compiled passes that compute their gates once more have the states and gradients of those that keep them."""

from collections.abc import Iterator

import pytest
import torch
from engines import assert_close, gradients
from helpers import chain, random_dag, random_tree, suited
from rows import make_cell
from torch import Tensor

from dgltree import Tree, TreeBatch, batch, plan, propagate
from dgltree.cells import Cell
from dgltree.engine import schedule as module
from dgltree.engine.kernels import fused_pass as compiled_pass
from dgltree.engine.kernels import threads
from dgltree.engine.kernels.dispatch import fused_pass, kernels
from dgltree.engine.kernels.layout import pieces_of
from dgltree.engine.kernels.threads import passes_on

pytest.importorskip("numba", reason="the fast extra is not installed")
CELLS = [
    "tree_smu, no_op",
    "stack_tree_lstm, data gate, gated top_k",
    "tree_smu, leaf gates",
    "tree_lstm",
    "tree_lstm, inputs",
    "tree_lstm, leaf gates",
]
FOREST = [random_tree(seed % 7, 2 + seed % 3, seed) for seed in range(40)]
TREES = [*FOREST, random_dag(30, 3, 2), chain(40)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pieces, parts, threads and groups for a few rows."""
    monkeypatch.setattr(compiled_pass, "RECOMPUTED_ROWS", 17)
    monkeypatch.setattr(module, "MIN_PART_ROWS", 20)
    monkeypatch.setattr(module, "MIN_SHARED_PART_ROWS", 20)
    monkeypatch.setattr(threads, "MIN_ROWS_PER_THREAD", 3)
    monkeypatch.setattr("dgltree.engine.kernels.layout.GROUP", 16)
    with kernels("on"):
        yield


def drawn(cell: Cell) -> TreeBatch:
    return batch(suited(cell, TREES), cell.vocabulary)


def results(cell: Cell, trees: TreeBatch, **options: bool) -> dict[str, Tensor]:
    torch.manual_seed(0)  # of dropout
    states = propagate(trees, cell, **options)
    return {**{part: rows.detach().clone() for part, rows in states.items()}, **gradients(cell, states)}


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_states_and_gradients_are_those_of_a_pass_that_keeps_its_gates(name: str, share: bool) -> None:
    cell = make_cell(name)
    trees = drawn(cell)
    planned = plan(trees, cell, share=share)
    assert len(pieces_of(planned.layout, compiled_pass.RECOMPUTED_ROWS)) > 5
    expected = results(cell, trees, share=share)
    found = results(cell, trees, share=share, recompute=True)
    for what, tensor in expected.items():
        assert_close(found[what], tensor, what, 1e-12)
    assert all(torch.equal(found[part], expected[part]) for part in cell.state), "the same runs, so the same bits"
    for count in (2, 3):
        with passes_on(count):
            for what, tensor in results(cell, trees, share=share, recompute=True).items():
                assert torch.equal(tensor, found[what]), (what, count)


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm, leaf gates"])
def test_gates_are_kept_for_one_piece_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = make_cell(name)
    planned = plan(drawn(cell), cell)
    kept, again = (
        fused_pass(cell, cell.map_weights(), planned.schedule, True, planned.layout, recompute)
        for recompute in (False, True)
    )
    with monkeypatch.context() as patch:
        patch.setattr(compiled_pass, "MAX_RUN_ROWS", 1)
        assert again.least_bytes() < kept.least_bytes()
    leaf = [tensor.detach() for tensor in again.leaf_states(planned.batch)]
    weights = {name: tensor.detach() for name, tensor in cell.map_weights().items()}
    again.forward(*leaf, again.inputs(planned.batch, weights), weights)
    assert not again.pre


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm, inputs"])
def test_masks_are_the_same_and_the_generator_goes_on_as_it_would(name: str) -> None:
    cell = make_cell(name)
    cell.dropout = 0.5
    trees, after = drawn(cell.train()), []
    expected = results(cell, trees)
    after.append(torch.rand(3))
    found = results(cell, trees, recompute=True)
    after.append(torch.rand(3))
    assert torch.equal(*after)
    for what, tensor in expected.items():
        assert_close(found[what], tensor, what, 1e-12)


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm, leaf gates"])
def test_a_backward_pass_can_be_repeated_and_differentiated(name: str) -> None:
    cell = make_cell(name)
    trees = drawn(cell)
    wanted = [p for p in cell.parameters() if p.numel()]
    loss = propagate(trees, cell, recompute=True)["h"].square().sum()
    first, second, third = (
        torch.autograd.grad(loss, wanted, retain_graph=again, allow_unused=True) for again in (True, True, False)
    )
    for a, b, c in zip(first, second, third, strict=True):
        assert a is b is c is None or (torch.equal(a, b) and torch.equal(a, c))
    loss = propagate(trees, cell, recompute=True)["h"].square().sum()
    again = torch.autograd.grad(loss, wanted, create_graph=True, allow_unused=True)
    for a, b in zip(first, again, strict=True):
        assert a is b is None or torch.allclose(a, b.detach(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["tree_lstm", "tree_smu, no_op"])
def test_a_chain_goes_through_pieces_of_one_row(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_pass, "RECOMPUTED_ROWS", 1)
    cell = make_cell(name)
    tree = Tree("sin", [chain(60)])
    trees = batch(suited(cell, [tree]), cell.vocabulary)
    expected = results(cell, trees)
    for what, tensor in results(cell, trees, recompute=True).items():
        assert_close(tensor, expected[what], what, 1e-12)
