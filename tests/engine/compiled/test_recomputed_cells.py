"""Compiled passes that compute their products once more have the states and gradients of those that keep them."""

from collections.abc import Iterator

import pytest
import torch
from engines import assert_close, gradients
from helpers import chain, random_dag, random_tree, suited
from rows import ROWS, make_cell
from torch import Tensor

from dgltree import Tree, TreeBatch, batch, propagate
from dgltree.cells import Cell
from dgltree.engine.kernels.dispatch import kernels
from dgltree.engine.kernels.threads import passes_on

pytest.importorskip("llvmlite", reason="the fast extra is not installed")
from dgltree.engine.compiled import compiled_pass, rows

CELLS = [
    "tree_smu, no_op",
    "tree_lstm, inputs",
    "child_sum, any arity, leaf gates",
    "tree_rnn, two layers",
    "tree_cell",
]
TREES = [*(random_tree(seed % 7, 2 + seed % 3, seed) for seed in range(40)), random_dag(30, 3, 2), chain(40)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pieces and parts of a few rows."""
    monkeypatch.setattr(compiled_pass, "RECOMPUTED_ROWS", 17)
    monkeypatch.setattr(rows, "MIN_PART_ROWS", 20)
    with kernels("on"):
        yield


def drawn(cell: Cell) -> TreeBatch:
    return batch(suited(cell, TREES), cell.vocabulary)


def results(cell: Cell, trees: TreeBatch, **options: bool) -> dict[str, Tensor]:
    torch.manual_seed(0)  # of dropout
    states = propagate(trees, cell, **options)
    return {**{part: rows.detach().clone() for part, rows in states.items()}, **gradients(cell, states)}


@pytest.mark.parametrize(
    "name", [name if name in CELLS else pytest.param(name, marks=pytest.mark.slow) for name in ROWS]
)
def test_states_and_gradients_are_those_of_a_pass_that_keeps_its_products(name: str) -> None:
    cell = make_cell(name)
    trees = drawn(cell)
    expected = results(cell, trees)
    found = results(cell, trees, recompute=True)
    for what, tensor in expected.items():
        assert_close(found[what], tensor, what, 1e-11)
    for count in (2, 3):
        with passes_on(count):
            for what, tensor in results(cell, trees, recompute=True).items():
                assert torch.equal(tensor, found[what]), "pieces are computed by one thread"


@pytest.mark.parametrize("name", CELLS)
def test_products_are_kept_for_one_piece_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = make_cell(name)
    trees, sizes = drawn(cell), []
    taken = compiled_pass.take
    monkeypatch.setattr(compiled_pass, "take", lambda size: sizes.append(size) or taken(size))
    most = []
    for recompute in (False, True):
        propagate(trees, cell, recompute=recompute)["h"].sum().backward()
        most.append(max(sizes))
        sizes.clear()
    assert most[1] < most[0] / 3


@pytest.mark.parametrize("name", CELLS)
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
        assert_close(found[what], tensor, what, 1e-11)


@pytest.mark.parametrize("name", CELLS)
def test_a_backward_pass_can_be_repeated_and_states_stay_as_they_were(name: str) -> None:
    cell = make_cell(name)
    wanted = [p for p in cell.parameters() if p.numel()]
    h = propagate(drawn(cell), cell, recompute=True)["h"]
    before = h.detach().clone()
    loss = h.square().sum()
    first, second = (torch.autograd.grad(loss, wanted, retain_graph=True, allow_unused=True) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert a is b is None or torch.equal(a, b)
    assert torch.equal(h, before)
    again = torch.autograd.grad(loss, wanted, create_graph=True, allow_unused=True)
    for a, b in zip(first, again, strict=True):
        if b is None:
            assert a is None or not a.any()
        else:
            assert_close(b.detach(), a, "a gradient that can be differentiated", 1e-9)


@pytest.mark.parametrize("name", ["tree_lstm", "tree_smu, no_op"])
def test_a_chain_goes_through_pieces_of_one_row(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_pass, "RECOMPUTED_ROWS", 1)
    cell = make_cell(name)
    trees = batch(suited(cell, [Tree("sin", [chain(60)])]), cell.vocabulary)
    expected = results(cell, trees)
    for what, tensor in results(cell, trees, recompute=True).items():
        assert_close(tensor, expected[what], what, 1e-11)
