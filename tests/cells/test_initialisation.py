"""Weights begin in the ranges that are documented: of each map, by what it reads, for every cell."""

from math import sqrt
from typing import Any

import pytest
import torch
from torch import Tensor

from dgltree import Tree, Vocabulary
from dgltree.cells import CELLS, SWEEPS, TreeLSTM
from dgltree.cells.cell import Embedding
from dgltree.cells.compose import COMPOSITIONS

VOCABULARY = Vocabulary([("var", 0), ("sin", 1), ("add", 2), ("if", 3)], ["x", "y"])
N, D = 24, 5


def fills(tensor: Tensor, bound: float) -> bool:
    """Whether numbers look drawn from -bound to bound, and by no other bound of these sizes."""
    return 0.8 * bound < float(tensor.detach().abs().max()) <= bound


@pytest.mark.parametrize(
    "options", [{}, {"input_size": D, "leaf": "gates"}], ids=["embedded leaves", "leaves with gates"]
)
@pytest.mark.parametrize("name", CELLS)
def test_every_map_begins_in_the_range_of_its_inputs(name: str, options: dict[str, Any]) -> None:
    """A Tree-LSTM's gates of several children are as published: the range of one child, and biases 0."""
    torch.manual_seed(3)
    maps = {
        key: map_ for key, map_ in CELLS[name](VOCABULARY, N, **options).named_maps().items() if hasattr(map_, "affine")
    }
    assert bool(options) == ("gates_0" in maps) or name == "child_sum"  # whose maps know no arity
    for key, linear in maps.items():
        inputs = linear.affine.fan_in
        published = name == "tree_lstm" and inputs > N
        bound = 1 / sqrt(N if published else inputs or D)  # leaves read x alone
        assert not inputs or fills(linear.weight, bound), key
        if linear.bias is not None:
            assert not linear.bias.any() if published else fills(linear.bias, bound), key


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_both_halves_of_a_composition_begin_as_one_map_of_two_states(name: str) -> None:
    """That of a Tree-LSTM is orthogonal, with biases 0."""
    torch.manual_seed(3)
    cell = COMPOSITIONS[name](N, 0.0)
    both = torch.cat([cell.vertical.weight, cell.horizontal.weight], 1).detach()
    assert both.shape == (cell.horizontal.out_features, 2 * N)
    if name == "tree_lstm":
        torch.testing.assert_close(both.t() @ both, torch.eye(2 * N), rtol=0, atol=1e-5)
        assert not cell.horizontal.bias.any()
    else:
        for tensor in (cell.vertical.weight, cell.horizontal.weight, cell.horizontal.bias):
            assert fills(tensor, 1 / sqrt(2 * N))
    if hasattr(cell, "second"):  # a Linear of torch's
        assert fills(cell.second.weight, 1 / sqrt(4 * N)) and fills(cell.second.bias, 1 / sqrt(4 * N))


@pytest.mark.parametrize("cell", [*SWEEPS["strae"], *SWEEPS["banyan"]], ids=lambda cell: cell.__name__)
def test_cells_of_channels_begin_as_published(cell: type[Any]) -> None:
    torch.manual_seed(3)
    made = cell(VOCABULARY, N, channels=2)
    if hasattr(made, "embedding"):
        assert fills(made.embedding.weight, 0.1)
    if hasattr(made, "weight"):  # Banyan's
        assert fills(made.weight - 0.75, 0.15)
        assert not made.bias.any()


def test_a_network_of_leaves_begins_in_the_range_of_the_number_of_tokens() -> None:
    torch.manual_seed(3)
    made = Embedding(90, N, network=True)
    assert made.bias is not None and made.layer is not None
    assert fills(made.weight, 1 / sqrt(90)) and fills(made.bias, 1 / sqrt(90))
    assert fills(made.layer.weight, 1 / sqrt(N))


def test_a_cell_with_weights_for_a_node_of_a_million_children_is_refused_before_anything_is_allocated() -> None:
    vocabulary = Vocabulary.from_trees([Tree("f", [Tree("a", token="x")] * 1_000_000)])
    said = r"a TreeLSTM needs [\d,]+ GiB of weights for nodes of 1,000,000 children, .* such as ChildSumTreeLSTM"
    with pytest.raises(MemoryError, match=said):
        TreeLSTM(vocabulary, 8)
