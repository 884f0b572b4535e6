"""Weights of any layout, shape and dtype: kernels, torch's operations and recursion agree, or refuse alike."""

import pytest
import torch
from drawn_weights import weight_targets
from helpers import random_dag, random_tree, suited
from hypothesis import HealthCheck, given, seed, settings
from rows import make_cell
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dgltree import Tree, TreeBatch, batch, plan, propagate
from dgltree.cells import Cell, TreeLSTM
from dgltree.engine.kernels.dispatch import fused_pass, kernels

pytest.importorskip("numba", reason="the fast extra is not installed")
FAMILIES = ["tree_smu, no_op", "stack_tree_lstm", "tree_lstm", "child_sum", "tree_lstm, leaf gates"]
TREES = [random_tree(4, 3, 1), random_dag(9, 3, 2)]
TARGETS = weight_targets()


@pytest.mark.parametrize("name", TARGETS)
def test_drawn_weights_give_the_same_or_are_refused(name: str) -> None:
    target = TARGETS[name]

    @seed(0)
    @settings(max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(target.example)
    def run(example: object) -> None:
        target.run(example)

    run()


def flat(cell: Cell) -> TreeBatch:
    return batch(suited(cell, TREES), cell.vocabulary)


def gradients(cell: Cell, mode: str) -> dict[str, Tensor]:
    cell.zero_grad()
    with kernels(mode):
        propagate(flat(cell), cell)["h"].square().sum().backward()
    return {name: p.grad.clone() for name, p in cell.named_parameters() if p.grad is not None}


def transpose(weight: Tensor) -> Tensor:
    return weight.transpose(-1, -2).contiguous().transpose(-1, -2)


def assigned(cell: Cell) -> None:
    for linear in cell.named_maps().values():
        linear.weight = nn.Parameter(transpose(linear.weight.detach()))


def loaded(cell: Cell) -> None:
    state = {name: transpose(p) if p.dim() == 3 else p for name, p in cell.state_dict().items()}
    cell.load_state_dict(state, assign=True)


class Transposed(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.transpose(-1, -2)

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight.transpose(-1, -2).contiguous()


def parametrized(cell: Cell) -> None:
    for linear in cell.named_maps().values():
        parametrize.register_parametrization(linear, "weight", Transposed())


@pytest.mark.parametrize("change", [assigned, loaded, parametrized])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_weight_that_is_not_contiguous_gets_its_gradient(name: str, change: object) -> None:
    cell = make_cell(name)
    change(cell)
    found, expected = gradients(cell, "on"), gradients(cell, "off")
    assert {"maps.gates_2", "maps.gates_any"} & {
        name.rsplit(".weight", 1)[0].removesuffix(".parametrizations") for name in found
    }
    assert set(found) == set(expected)
    for what, gradient in expected.items():
        torch.testing.assert_close(found[what], gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_map_without_its_bias_is_computed_by_torchs_operations(name: str) -> None:
    cell = make_cell(name)
    for linear in cell.named_maps().values():
        linear.bias = None
    found, expected = gradients(cell, "on"), gradients(cell, "off")
    assert found.keys() == expected.keys()
    assert fused_pass(cell, cell.map_weights(), plan(flat(cell), cell).schedule, record=True) is None


@pytest.mark.parametrize("name", ["tree_lstm, inputs", "child_sum, inputs"])
def test_a_map_with_a_bias_that_it_was_made_without_is_computed_by_torchs_operations(name: str) -> None:
    cell = make_cell(name)
    for key, linear in cell.named_maps().items():
        if key.startswith("input"):
            linear.bias = nn.Parameter(torch.ones(linear.shapes["bias"], dtype=torch.float64))
    found, expected = gradients(cell, "on"), gradients(cell, "off")
    assert any(name.startswith("maps.input") and name.endswith("bias") for name in found)
    for what, gradient in expected.items():
        torch.testing.assert_close(found[what], gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda weight: weight[..., :-1], r"maps\.gates_2 "),
        (lambda weight: weight[:, :-1], "gates_2"),
        (lambda weight: weight.half(), "different dtypes: gates_1.weight torch.float64"),
        (lambda weight: weight.to("meta"), r"gates_2\.weight is on meta, but the batch is on cpu: move the whole cell"),
    ],
)
@pytest.mark.parametrize("name", ["tree_lstm", "tree_smu, no_op"])
def test_a_weight_that_cannot_be_multiplied_is_named(name: str, mode: str, change: object, told: str) -> None:
    cell = make_cell(name)
    weight = cell.maps["gates_2"].weight
    cell.maps["gates_2"].weight = nn.Parameter(change(weight.detach()))
    shape = tuple(cell.maps["gates_2"].weight.shape)
    if told in (r"maps\.gates_2 ", "gates_2"):
        told = rf"gates_2\.weight has shape \({', '.join(map(str, shape))}\); this cell's map needs"
    with kernels(mode), pytest.raises(RuntimeError, match=told):
        propagate(flat(cell), cell)


@pytest.mark.parametrize("mode", ["on", "off"])
def test_leaves_of_another_dtype_or_width_than_the_maps_are_refused(mode: str) -> None:
    for change, told in (
        (torch.Tensor.half, "float16, but the maps have dtype torch.float64"),
        (lambda w: w[:, :-1], "of shape"),
    ):
        cell = make_cell("tree_lstm")
        cell.embedding.weight = nn.Parameter(change(cell.embedding.weight.detach()))
        with kernels(mode), pytest.raises(RuntimeError, match=f"leaves have a state h .*{told}"):
            propagate(flat(cell), cell)


def test_a_cell_moved_to_another_dtype_after_planning_computes_in_it() -> None:
    cell = make_cell("tree_lstm")
    planned = plan(flat(cell), cell)
    expected = propagate(planned, cell)["h"]
    with kernels("on"):
        found = propagate(planned, cell.float())["h"]
        assert found.dtype is torch.float32
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)
        assert propagate(planned, cell.bfloat16())["h"].dtype is torch.bfloat16


@pytest.mark.parametrize("mode", ["on", "off"])
def test_no_trees_and_no_edges_are_computed_and_weights_that_are_nan_named(mode: str) -> None:
    cell = TreeLSTM(make_cell("tree_lstm").vocabulary, 3)
    leaf = next(tree for tree in suited(cell, [random_tree(0, 2, 1)]))
    with kernels(mode):
        assert propagate(batch([leaf] * 3, cell.vocabulary), cell)["h"].shape == (3, 3)
        with torch.no_grad():
            cell.maps["gates_1"].weight.fill_(torch.nan)
        with pytest.raises(
            ValueError,
            match="is not finite, but all nodes below are finite; its inputs are finite: check the cell's weights",
        ):
            propagate(batch(suited(cell, [Tree("sin", [leaf])]), cell.vocabulary), cell, check=True)
