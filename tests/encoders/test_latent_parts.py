"""Parts of the networks that join neighbours: table of rows, choices among equal scores, shrinking, compositions."""

import gc
import weakref

import pytest
import torch
from torch import Tensor, nn

from dgltree.cells.compose import COMPOSITIONS
from dgltree.encoders.latent.choice import leftmost_best, shrink, straight_through
from dgltree.encoders.latent.nodes import Table


def written_and_read(values: Tensor) -> Tensor:
    """Rows written in three steps, the later ones made of the earlier; the table has to grow."""
    table = Table(3, values, 1)
    first = table.write(values)
    second = table.write(table.read(first[[0, 0, 2]]).sin())
    third = table.write(table.read(torch.stack([first[:3], second])).prod(0))
    table.write(values[:1])  # nobody reads it
    return (table.read(torch.cat([third, second])) * torch.arange(1.0, 19).view(6, 3)).sum()


def plain(values: Tensor) -> Tensor:
    second = values[[0, 0, 2]].sin()
    third = values[:3] * second
    return (torch.cat([third, second]) * torch.arange(1.0, 19).view(6, 3)).sum()


def test_gradients_through_a_table_are_those_of_plain_torch_twice_in_a_row() -> None:
    values = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    [expected] = torch.autograd.grad(plain(values), values)
    found = written_and_read(values)
    torch.testing.assert_close(found, plain(values), rtol=0, atol=1e-12)
    for _ in range(2):
        [gradient] = torch.autograd.grad(found, values, retain_graph=True)
        torch.testing.assert_close(gradient, expected, rtol=0, atol=1e-12)
    [again] = torch.autograd.grad(found, values, create_graph=True)
    for other in (None, values):
        with pytest.raises(RuntimeError, match="a second derivative"):
            torch.autograd.backward(again.sum(), inputs=other, retain_graph=True)


def test_a_table_is_freed_with_what_was_read_from_it() -> None:
    values = torch.randn(4, 3, requires_grad=True)
    table = Table(3, values, 1)
    table.write(values)
    read = table.read(torch.tensor([0, 2]))
    held = weakref.ref(table.store)
    gc.disable()  # it must not wait for one, which cannot see into a graph
    try:
        read.sum().backward()
        del table
        assert held() is not None, "the graph has it"
        del read
        assert held() is None
    finally:
        gc.enable()


def test_of_equal_scores_the_leftmost_comes_first_and_what_is_not_there_last() -> None:
    nothing = float("-inf")
    scores = torch.tensor([[1.0, 3.0, 3.0 * (1 - 1e-10), 3.0 * (1 + 1e-10), nothing]], dtype=torch.float64)
    assert leftmost_best(scores, 5).tolist() == [[1, 2, 3, 0, 4]]
    assert leftmost_best(torch.tensor([[3.0, 3.0 + 1e-7, 3.1]], dtype=torch.float64), 3).tolist() == [[2, 1, 0]]
    assert leftmost_best(torch.full((1, 2), nothing), 2).tolist() == [[0, 1]]


def test_shrinking_by_a_number_is_shrinking_by_a_weight_of_one() -> None:
    generator = torch.Generator().manual_seed(0)
    h, merged = torch.randn(2, 3, 5, 4, generator=generator), torch.randn(2, 3, 4, 4, generator=generator)
    at = torch.tensor([[0, 3, 1], [2, 2, 0]])
    by_weight = shrink(h, straight_through(torch.rand(2, 3, 4), at.unsqueeze(2)), merged)
    one = merged.gather(2, at.view(2, 3, 1, 1).expand(-1, -1, 1, 4)).squeeze(2)
    torch.testing.assert_close(shrink(h, at, one), by_weight, rtol=0, atol=1e-6)
    numbers, new = torch.arange(30).view(2, 3, 5), torch.tensor([[90, 91, 92], [93, 94, 95]])
    assert shrink(numbers, at, new)[0].tolist() == [[90, 2, 3, 4], [5, 6, 7, 91], [10, 92, 13, 14]]


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_a_composition_takes_any_leading_sizes(name: str) -> None:
    torch.manual_seed(0)
    cell, norm = COMPOSITIONS[name](4, 0.0).double(), nn.LayerNorm(4).double()
    left, right = torch.randn(2, 2, 3, 5, cell.state_size, dtype=torch.float64)
    flat = cell(left.flatten(0, 2), right.flatten(0, 2), norm)
    torch.testing.assert_close(cell(left, right, norm).flatten(0, 2), flat, rtol=0, atol=1e-14)
    torch.testing.assert_close(cell(left[0, 0], right[0, 0], norm), flat[:5], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_dropout_acts_on_both_states_or_on_none(name: str, side: str) -> None:
    """Of the map of both states: with that of the other one left out, and what follows the map taken away."""
    torch.manual_seed(0)
    cell = COMPOSITIONS[name](64, 0.5)
    state = torch.randn(64).expand(8, 64)
    nothing = torch.zeros(8, cell.horizontal.out_features)

    def mapped() -> Tensor:
        return cell.product(state, nothing) if side == "left" else cell.of_right(state)

    kept = cell.eval() and mapped()
    cell.train()
    assert (len(mapped().unique(dim=0)) == 8) == cell.drops_inputs
    mean = torch.stack([mapped() for _ in range(250)]).mean((0, 1))
    torch.testing.assert_close(mean, kept[0], atol=0.15, rtol=0)
