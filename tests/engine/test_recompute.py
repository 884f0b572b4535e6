"""A backward pass that computes the steps once more has the gradients of one that kept them."""

from collections.abc import Callable, Iterator
from itertools import product

import pytest
import torch
from engines import gradients
from helpers import random_dag, random_tree, suited
from rows import ROWS, make_cell

from dgltree import batch, propagate, root_states
from dgltree.cells import TreeLSTM
from dgltree.encoders import TreeEncoder
from dgltree.engine.kernels.dispatch import kernels

TREES = [random_tree(6, 2, 1), random_dag(9, 2, 2), random_tree(3, 2, 3)]


@pytest.fixture(autouse=True)
def on_torch() -> Iterator[None]:
    """A pass that recomputes runs on torch's operations, and so does that which it is compared with."""
    with kernels("off"):
        yield


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_states_and_gradients_are_the_same_to_the_bit(name: str, share: bool) -> None:
    cell = make_cell(name)
    flat = batch(suited(cell, TREES), cell.vocabulary)
    kept, again = (propagate(flat, cell, share=share, recompute=recompute) for recompute in (False, True))
    assert all(torch.equal(kept[part], again[part]) for part in kept)
    for (what, first), second in zip(gradients(cell, kept).items(), gradients(cell, again).values(), strict=True):
        assert torch.equal(first, second), what


def dropping() -> TreeLSTM:
    cell = make_cell("tree_lstm, leaf gates")
    torch.manual_seed(0)
    return TreeLSTM(cell.vocabulary, 5, input_size=3, leaf="gates", dropout=0.5).double()


def test_dropout_has_the_same_masks_and_the_generator_goes_on_as_it_would() -> None:
    cell = dropping()
    flat = batch(suited(cell, TREES), cell.vocabulary)
    found = []
    for recompute in (False, True):
        torch.manual_seed(3)
        found.append([*gradients(cell, propagate(flat, cell, recompute=recompute)).values(), torch.rand(3)])
    assert all(torch.equal(first, second) for first, second in zip(*found, strict=True))


def test_the_backward_pass_can_be_repeated_and_notices_changed_states() -> None:
    cell = make_cell("tree_smu, no_op")
    flat = batch(TREES, cell.vocabulary)
    h = propagate(flat, cell, recompute=True)["h"].sum()
    weight = next(iter(cell.maps.values())).weight
    first, second = (torch.autograd.grad(h, weight, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)
    with torch.no_grad():
        weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        h.backward()


def test_half_of_the_memory_is_kept() -> None:
    cell = make_cell("tree_smu, no_op")
    flat = batch(TREES * 100, cell.vocabulary)  # beside so many states the parameters are nothing
    ways: dict[str, Callable[[bool], object]] = {
        "an encoder": lambda recompute: TreeEncoder(cell, recompute)(flat),
        "the roots": lambda recompute: root_states(flat, cell, recompute=recompute),
        "all states": lambda recompute: propagate(flat, cell, recompute=recompute),
    }
    kept = {}
    for way, recompute in product(ways, (False, True)):
        sizes: dict[int, int] = {}

        def keep(tensor: torch.Tensor, sizes: dict[int, int] = sizes) -> torch.Tensor:
            memory = tensor.untyped_storage()
            sizes[memory.data_ptr()] = memory.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            ways[way](recompute)
        kept[way, recompute] = sum(sizes.values())
    assert all(kept[way, True] < kept[way, False] / 2 for way in ways), kept


def test_an_encoder_passes_it_on() -> None:
    cell = make_cell("tree_lstm")
    flat = batch(TREES, cell.vocabulary)
    kept, again = (TreeEncoder(cell, recompute) for recompute in (False, True))
    assert torch.equal(kept(flat), again(flat))
    assert torch.equal(kept.node_states(flat), again.node_states(flat))


@pytest.mark.parametrize("recompute", [False, True])
def test_inputs_get_gradients_where_no_weight_does(recompute: bool) -> None:
    cell = make_cell("tree_rnn, leaf gates").requires_grad_(False)
    trees = [random_tree(3, 2, 1)]
    nodes = batch(trees, cell.vocabulary).num_nodes
    x = torch.randn(nodes, 3, dtype=torch.float64, requires_grad=True)
    propagate(batch(trees, cell.vocabulary, x=x), cell, recompute=recompute)["h"].sum().backward()
    assert x.grad is not None
    assert bool(x.grad.abs().sum(1).all())
