"""A plan for other inputs gives what a plan made of them gives."""

from dataclasses import replace

import pytest
import torch
from engines import gradients
from helpers import random_dag, random_tree, suited
from rows import make_cell
from torch import Tensor

from dgltree import TreeBatch, batch, plan, propagate
from dgltree.cells import Cell
from dgltree.engine.kernels.dispatch import kernels

TREES = [random_tree(4, 3, 1), random_dag(9, 3, 2)]
READING = ["tree_lstm, inputs", "tree_lstm, leaf gates", "child_sum, any arity, leaf gates", "tree_cell, leaf gates"]


def drawn(cell: Cell, seed: int) -> TreeBatch:
    flat = batch(suited(cell, TREES), cell.vocabulary)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(flat.num_nodes, cell.input_size, generator=generator, dtype=torch.float64)
    return replace(flat, x=x if cell.leaf == "gates" else x * (flat.arity > 0).unsqueeze(1))


def results(cell: Cell, given: object, x: Tensor) -> dict[str, Tensor]:
    states = propagate(given, cell)
    return {**states, **gradients(cell, states, x)}


@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize("name", READING)
def test_vectors_are_those_of_a_plan_made_with_them(name: str, mode: str) -> None:
    cell = make_cell(name)
    first, second = drawn(cell, 1), drawn(cell, 2)
    with kernels(mode):
        planned = plan(first, cell)
        for trees in (second, first):
            x = trees.x.clone().requires_grad_()
            expected = results(cell, plan(replace(trees, x=x), cell), x)
            found = results(cell, planned.with_inputs(x=x), x)
            assert all(torch.equal(found[what], tensor) for what, tensor in expected.items())


@pytest.mark.parametrize("mode", ["on", "off"])
def test_tokens_and_numbers_may_come_where_there_were_none(mode: str) -> None:
    cell = make_cell("tree_lstm, leaf gates, shared, numbers")
    flat = batch(suited(cell, TREES), cell.vocabulary)
    token, value = flat.token.clone(), torch.full((flat.num_nodes,), torch.nan, dtype=torch.float64)
    leaves = torch.nonzero(flat.arity == 0).squeeze(1)
    token[leaves[::2]], value[leaves[::2]] = -1, 2.5
    token[torch.nonzero(flat.arity > 0).squeeze(1)[::3]] = 0
    with kernels(mode):
        expected = propagate(plan(replace(flat, token=token, value=value), cell), cell)
        found = propagate(plan(flat, cell).with_inputs(token=token, value=value), cell)
        assert all(torch.equal(found[part], expected[part]) for part in expected)


def test_inputs_that_do_not_fit_are_refused() -> None:
    cell = make_cell("tree_lstm, leaf gates")
    flat = drawn(cell, 1)
    planned = plan(flat, cell)
    for given, told in (
        ({"x": flat.x[1:]}, r"x has shape .* this plan needs \(\d+, d\) of floating-point numbers"),
        ({"x": flat.x.long()}, "x has shape .* is torch.int64"),
        ({"token": flat.token.int()}, r"this plan needs \(\d+\) of int64"),
        ({"value": flat.token.float()}, "of float64"),
        ({"x": flat.x.to("meta")}, "x is on meta, but the plan is on cpu"),
    ):
        with pytest.raises(ValueError, match=told):
            planned.with_inputs(**given)
    with pytest.raises(ValueError, match=r"x is torch\.float32, but the cell's weights are torch.float64"):
        propagate(planned.with_inputs(x=flat.x.float()), cell)
    with pytest.raises(ValueError, match="the plan shares rows between subtrees of equal x: plan with share=False"):
        plan(flat, cell, share=True).with_inputs(x=flat.x)
    embedding = make_cell("tree_lstm, inputs")
    with pytest.raises(ValueError, match="is a leaf with an input vector, which leaf='embedding' would ignore"):
        propagate(plan(drawn(embedding, 1), embedding).with_inputs(x=torch.ones_like(drawn(embedding, 1).x)), embedding)
