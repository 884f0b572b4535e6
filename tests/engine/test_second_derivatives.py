"""Gradients of gradients are those of differences of gradients, whatever computes the pass."""

from collections.abc import Callable

import pytest
import torch
from engines import ENGINES, INSTALLED, Engine, engines_of
from helpers import random_dag, random_tree, suited
from rows import ROWS, make_cell
from torch import Tensor
from torch.autograd.functional import hessian
from torch.func import functional_call

from dgltree import TreeBatch, batch, propagate, root_states
from dgltree.cells import Cell, TreeLSTM
from dgltree.engine.kernels.dispatch import kernels

TREES = [random_tree(4, 2, 1), random_dag(9, 2, 2), random_tree(3, 2, 3)]
STEP = 1e-6
ON_DGL = ("tree_smu, no_op", "tree_lstm, inputs", "child_sum", "tree_cell")
CASES = [
    (name, engine)
    for name in ROWS
    for engine in engines_of(name, INSTALLED)
    if engine not in ("dgl", "runner") or name in ON_DGL
]


def parameters_of(cell: Cell) -> list[Tensor]:
    return [parameter for parameter in cell.parameters() if parameter.numel()]


def drawn(cell: Cell) -> TreeBatch:
    return batch(suited(cell, TREES), cell.vocabulary)


def check_products(loss: Callable[[], Tensor], parameters: list[Tensor], tolerance: float = 1e-6) -> None:
    """Products of the Hessian of a loss with a random direction, next to differences of gradients."""
    generator = torch.Generator().manual_seed(5)
    direction = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters]

    def gradient(create_graph: bool = False) -> tuple[Tensor, ...]:
        return torch.autograd.grad(
            loss(), parameters, create_graph=create_graph, allow_unused=True, materialize_grads=True
        )

    inner = sum((g * d).sum() for g, d in zip(gradient(create_graph=True), direction, strict=True))
    products = torch.autograd.grad(inner, parameters, allow_unused=True, materialize_grads=True)
    ends = []
    for step in (STEP, -2 * STEP, STEP):
        with torch.no_grad():
            for parameter, d in zip(parameters, direction, strict=True):
                parameter.add_(step * d)
        ends.append(gradient())
    largest = max(float(product.abs().max()) for product in products)
    assert largest > 0
    for product, up, down in zip(products, *ends[:2], strict=True):
        assert float((product - (up - down) / (2 * STEP)).abs().max()) <= tolerance * largest


@pytest.mark.parametrize(
    ("name", "engine"),
    [pytest.param(*each, marks=pytest.mark.slow if "," in each[0] and each[1] != "kernels" else ()) for each in CASES],
)
def test_a_gradient_of_a_gradient_is_that_of_differences(name: str, engine: str) -> None:
    cell = make_cell(name)
    trees = drawn(cell)

    def loss() -> Tensor:
        return sum(part.pow(3).sum() for part in ENGINES[engine](cell, trees).values())

    check_products(loss, parameters_of(cell))


@pytest.mark.parametrize("engine", [name for name in INSTALLED if name != "dgl"])
def test_a_hessian_asks_for_given_inputs_alone_and_is_not_zero(engine: str) -> None:
    cell = make_cell("tree_lstm", hidden_size=2)
    trees, weight = drawn(cell), cell.maps["gates_2"].bias

    def loss(bias: Tensor) -> Tensor:
        return functional_call(Roots(cell, ENGINES[engine]), {"cell.maps.gates_2.bias": bias}, (trees,)).square().sum()

    second = hessian(loss, weight.detach())
    expected = torch.zeros_like(second)
    for place in range(weight.numel()):
        ends = []
        for step in (STEP, -STEP):
            moved = weight.detach().clone()
            moved.view(-1)[place] += step
            moved.requires_grad_()
            ends.append(torch.autograd.grad(loss(moved), moved)[0])
        expected.view(weight.numel(), *weight.shape)[place] = (ends[0] - ends[1]) / (2 * STEP)
    assert float(second.abs().max()) > 1e-3
    torch.testing.assert_close(second, expected, rtol=0, atol=1e-7)


class Roots(torch.nn.Module):
    def __init__(self, cell: Cell, engine: Engine) -> None:
        super().__init__()
        self.cell, self.engine = cell, engine

    def forward(self, trees: TreeBatch) -> Tensor:
        return self.engine(self.cell, trees)["h"][trees.roots]


@pytest.mark.parametrize("mode", ["on", "off"])
def test_a_step_of_training_can_be_trained_through(mode: str) -> None:
    """MAML: the gradient of the loss after a step, by the weights before it and by its rate."""
    cell = make_cell("tree_smu, no_op")
    support, query = (batch(suited(cell, [tree]), cell.vocabulary) for tree in TREES[:2])
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)

    def states(weights: dict[str, Tensor], trees: TreeBatch) -> Tensor:
        with kernels(mode):
            return functional_call(cell, weights, (trees,))["h"][trees.roots]

    def loss() -> Tensor:
        before = dict(cell.named_parameters())
        inner = torch.autograd.grad(
            states(before, support).square().sum(),
            list(before.values()),
            create_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        after = {name: p - rate * g for (name, p), g in zip(before.items(), inner, strict=True)}
        return states(after, query).square().sum()

    check_products(loss, [rate])
    parameters = [*parameters_of(cell), rate]
    gradients = torch.autograd.grad(loss(), parameters, allow_unused=True, materialize_grads=True)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        with torch.no_grad():
            place = int(gradient.abs().argmax())
            parameter.view(-1)[place] += STEP
        up = loss().item()
        with torch.no_grad():
            parameter.view(-1)[place] -= 2 * STEP
        down = loss().item()
        with torch.no_grad():
            parameter.view(-1)[place] += STEP
        assert abs(gradient.view(-1)[place].item() - (up - down) / (2 * STEP)) < 1e-7


@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize("recompute", [False, True])
def test_masks_of_dropout_are_the_same_in_both(mode: str, recompute: bool) -> None:
    cell = make_cell("tree_lstm, leaf gates")
    cell.dropout = 0.4
    trees = drawn(cell.train())

    def loss() -> Tensor:
        torch.manual_seed(3)
        with kernels(mode):
            return propagate(trees, cell, recompute=recompute)["h"].pow(3).sum()

    check_products(loss, parameters_of(cell))
    torch.manual_seed(3)
    with kernels(mode):
        loss_now = propagate(trees, cell, recompute=recompute)["h"].sum()
    drawn_before = torch.get_rng_state()
    torch.autograd.grad(loss_now, parameters_of(cell), create_graph=True, allow_unused=True)
    assert torch.equal(torch.get_rng_state(), drawn_before), "the generator goes on as if nothing had been drawn"


@pytest.mark.parametrize("mode", ["on", "off"])
def test_a_penalty_on_the_gradient_of_inputs_reaches_the_weights(mode: str) -> None:
    cell = make_cell("tree_lstm, inputs")
    generator = torch.Generator().manual_seed(1)
    trees = drawn(cell)
    inner = (trees.arity > 0).unsqueeze(1)
    x = torch.randn(trees.num_nodes, cell.input_size, generator=generator, dtype=torch.float64) * inner

    def loss() -> Tensor:
        given = x.clone().requires_grad_()
        own = batch(suited(cell, TREES), cell.vocabulary, x=given)
        with kernels(mode):
            roots = root_states(own, cell)
        (gradient,) = torch.autograd.grad(roots.pow(3).sum(), given, create_graph=True)
        return gradient.square().sum()

    check_products(loss, [p for p in parameters_of(cell) if p is not cell.input_embedding.weight])


def test_a_weight_that_another_depends_on_gets_its_own_part_alone() -> None:
    """Both are tensors of the pass: one is computed from the other."""
    cell = TreeLSTM(make_cell("tree_lstm").vocabulary, 3).double()
    trees = drawn(cell)

    def loss() -> Tensor:
        bias = cell.maps["gates_2"].bias
        weights = {
            "maps.gates_1.bias": 2 * bias[:1, : cell.maps["gates_1"].bias.shape[1]].expand_as(cell.maps["gates_1"].bias)
        }
        return functional_call(cell, weights, (trees,))["h"].pow(3).sum()

    check_products(loss, [p for p in parameters_of(cell) if p is not cell.maps["gates_1"].bias])
