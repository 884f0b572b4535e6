"""Passes as compiled calls: with a BLAS that is there and right, whatever wants gradients, by plans from elsewhere."""

import ctypes
import multiprocessing
import pickle
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from engines import KERNELS, assert_close, check, cotangents, gradients
from helpers import chain, random_dag, random_tree, suited
from rows import make_cell
from torch import Tensor
from torch.utils.data import DataLoader

from dgltree import Tree, TreeBatch, batch, plan, propagate
from dgltree.cells import Cell
from dgltree.engine.compiled import run_functions
from dgltree.engine.kernels import blas
from dgltree.engine.kernels.dispatch import NoKernelError, kernels
from dgltree.engine.planned import PlannedBatch

pytest.importorskip("numba", reason="the fast extra is not installed")
FAMILIES = ["tree_smu, no_op", "tree_lstm"]
OPTIONS = ["tree_smu, leaf gates", "tree_lstm, inputs"]
TREES = [random_tree(6, 3, 1), random_dag(30, 4, 2), Tree("call", [chain(k % 3) for k in range(12)])]


@pytest.fixture(autouse=True)
def on() -> Iterator[None]:
    with kernels("on"):
        yield


@pytest.fixture
def untried() -> Iterator[None]:
    blas.product_address.cache_clear()
    yield
    blas.product_address.cache_clear()


def flat(cell: Cell, trees: list[Tree]) -> TreeBatch:
    return batch(suited(cell, trees), cell.vocabulary)


def results(cell: Cell, trees: object) -> dict[str, Tensor]:
    states = propagate(trees, cell)
    return {**states, **gradients(cell, states)}


@pytest.mark.parametrize("name", FAMILIES + OPTIONS)
def test_without_a_blas_torchs_operations_compute(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = make_cell(name)
    trees = flat(cell, TREES)
    monkeypatch.setattr(run_functions, "product_address", lambda dtype: None)
    with kernels("required"), pytest.raises(NoKernelError, match="the BLAS library of this torch is unknown"):
        propagate(trees, cell)
    check(cell, trees, KERNELS["kernels"])


@pytest.mark.parametrize("name", FAMILIES + OPTIONS)
def test_more_rows_than_a_product_takes_at_once_agree(name: str) -> None:
    cell = make_cell(name)
    trees = flat(cell, [Tree("pow", (chain(1), chain(k % 2))) for k in range(1500)] + TREES)
    found = results(cell, trees)
    with torch.no_grad():
        inferred = propagate(trees, cell)
    with kernels("off"):
        expected = results(cell, trees)
    for what, tensor in expected.items():
        assert_close(found[what], tensor, what)
        if what in inferred:
            assert_close(inferred[what], tensor, what)


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_that_want_no_gradients_leave_those_of_the_leaves(name: str) -> None:
    found = {}
    for mode in ("on", "off"):
        cell = make_cell(name)
        for linear in cell.named_maps().values():
            linear.requires_grad_(False)
        with kernels(mode):
            propagate(flat(cell, TREES), cell)["h"].square().sum().backward()
        found[mode] = cell.embedding.weight.grad
        assert all(parameter.grad is None for parameter in cell.maps.parameters())
    assert_close(found["on"], found["off"], "the embedding")


READING = ["tree_lstm, inputs", "tree_smu, leaf gates"]


@pytest.mark.parametrize("name", READING)
def test_inputs_that_do_not_lie_row_by_row_get_their_gradients(name: str) -> None:
    cell = make_cell(name)
    cell.input_embedding.register_forward_hook(lambda *given: given[-1].t().contiguous().t())
    trees = flat(cell, TREES)
    found = results(cell, trees)
    assert "input_embedding.weight" in found
    with kernels("off"):
        for what, tensor in results(cell, trees).items():
            assert_close(found[what], tensor, what)


def test_inputs_that_were_changed_in_place_before_the_backward_pass_change_no_gradient() -> None:
    cell, vectors = make_cell("tree_lstm, inputs"), []
    expected = results(cell, flat(cell, TREES))
    cell.input_embedding.register_forward_hook(lambda *given: vectors.append(given[-1]))
    states = propagate(flat(cell, TREES), cell)
    with torch.no_grad():
        vectors[0].zero_()
    for what, tensor in gradients(cell, states).items():
        assert torch.equal(tensor, expected[what]), what


@pytest.mark.parametrize("frozen", ["input_embedding", "maps.input_"])
@pytest.mark.parametrize("name", READING)
def test_inputs_or_weights_that_want_no_gradients_leave_those_of_the_others(name: str, frozen: str) -> None:
    cell = make_cell(name)
    trees = flat(cell, TREES)
    every = results(cell, trees)
    for weight, parameter in cell.named_parameters():
        parameter.requires_grad_(not weight.startswith(frozen))
    states = propagate(trees, cell)
    weights = cotangents(states)
    sum((states[part] * weights[part]).sum() for part in states).backward()
    for weight, parameter in cell.named_parameters():
        if weight.startswith(frozen):
            assert parameter.grad is None
        elif parameter.grad is not None:  # no node has the function of some weights
            assert torch.equal(parameter.grad, every[weight]), weight


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torch_brings_products_that_are_found_and_right(dtype: torch.dtype) -> None:
    assert blas.product_address(dtype) is not None


def test_a_blas_that_is_not_found_is_not_used(monkeypatch: pytest.MonkeyPatch, untried: None) -> None:
    monkeypatch.setitem(blas.NAMES, torch.float64, ("no_such_product_", np.float64))
    assert blas.product_address(torch.float64) is None


def test_a_blas_whose_product_is_wrong_is_not_used(monkeypatch: pytest.MonkeyPatch, untried: None) -> None:
    nothing = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(lambda *_: None)
    monkeypatch.setattr(blas.ctypes, "CDLL", lambda path: {"sgemm_": nothing, "dgemm_": nothing})
    assert blas.product_address(torch.float32) is None
    assert blas.product_address(torch.float64) is None


@pytest.mark.parametrize(
    ("planned_for", "name"),
    [
        ("tree_lstm", "tree_lstm, shared weights"),
        ("tree_lstm, shared weights", "tree_lstm"),
        ("child_sum", "child_sum, typed"),
        ("tree_rnn", "tree_smu, no_op"),
    ],
)
def test_a_plan_for_another_cell_gives_the_same_states_and_gradients(planned_for: str, name: str) -> None:
    other, cell = make_cell(planned_for), make_cell(name)
    trees = flat(cell, TREES)
    expected = results(cell, plan(trees, cell))
    for what, tensor in results(cell, plan(trees, other)).items():
        assert torch.equal(tensor, expected[what]), what


@pytest.mark.parametrize("name", FAMILIES + OPTIONS)
def test_a_plan_from_another_process_gives_the_same_states_and_gradients(name: str) -> None:
    cell = make_cell(name)
    planned = plan(flat(cell, TREES), cell)
    expected = results(cell, planned)
    sent = pickle.loads(pickle.dumps(planned))
    for what, tensor in results(cell, sent).items():
        assert torch.equal(tensor, expected[what]), what


def planned_for_each_family(trees: list[Tree]) -> list[PlannedBatch]:
    """By a worker of a loader."""
    cells = [make_cell(name) for name in FAMILIES]
    return [plan(flat(cell, trees), cell) for cell in cells]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_plans_from_workers_of_a_loader_give_the_same_states_and_gradients(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    expected = [results(make_cell(name), flat(make_cell(name), TREES)) for name in FAMILIES]
    options = {"num_workers": 1, "multiprocessing_context": method, "timeout": 240}
    [sent] = DataLoader(TREES, batch_size=len(TREES), collate_fn=planned_for_each_family, **options)
    for name, planned, wanted in zip(FAMILIES, sent, expected, strict=True):
        for what, tensor in results(make_cell(name), planned).items():
            assert torch.equal(tensor, wanted[what]), (name, what)
