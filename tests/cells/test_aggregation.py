"""Aggregations by name and as objects, in cells and of a tree's nodes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import VOCABULARY, random_tree
from torch import Tensor

from dgltree import batch, load, plan, propagate, save
from dgltree.cells import AGGREGATIONS, Aggregation, ChildSumTreeLSTM, TreeLSTM
from dgltree.encoders import TreeEncoder, make_encoder
from dgltree.engine.aggregation import aggregation_named
from dgltree.models import ClassifierReadout, TreeModel

TREES = [random_tree(9, 4, seed) for seed in (1, 2, 3)]


def slow(name: str, aggregation: Aggregation, rows: Tensor, h: Tensor) -> Tensor:
    """By the definition, for the rows of one group."""
    match name:
        case "sum":
            return rows.sum(0)
        case "mean":
            return rows.mean(0)
        case "max":
            return rows.max(0).values
        case "min":
            return rows.min(0).values
    weight = (h @ aggregation.query / 5**0.5).softmax(0)
    return (weight.view(-1, *[1] * (rows.dim() - 1)) * rows).sum(0)


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_a_group_has_what_the_definition_says_and_an_empty_one_has_zeros(name: str) -> None:
    torch.manual_seed(0)
    aggregation = aggregation_named(name, 5).double()
    group = torch.tensor([0, 0, 0, 2, 3, 3])
    rows = {part: torch.randn(6, *shape).double().requires_grad_() for part, shape in (("h", (5,)), ("S", (2, 3)))}
    found = aggregation(rows, group, 4)
    for part, all_rows in rows.items():
        assert not found[part][1].any()
        for k in (0, 2, 3):
            of = group == k
            assert torch.allclose(found[part][k], slow(name, aggregation, all_rows[of], rows["h"][of]), atol=1e-14)
    assert torch.autograd.gradcheck(
        lambda h, S: tuple(aggregation({"h": h, "S": S}, group, 4).values()), tuple(rows.values())
    )


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_slots_give_the_same_as_rows(name: str) -> None:
    torch.manual_seed(0)
    aggregation = aggregation_named(name, 5).double()
    shapes = [(2, 1), (2, 3), (2, 1)]  # ranking's: what is off a path is the same for all fillers
    slots = [{"h": torch.randn(*shape, 5).double(), "S": torch.randn(*shape, 2, 5).double()} for shape in shapes]
    found = aggregation.of_slots(slots)
    wide = {
        part: torch.stack([slot[part].expand(2, 3, *slot[part].shape[2:]) for slot in slots], 2) for part in ("h", "S")
    }
    rows = {part: each.flatten(0, 2) for part, each in wide.items()}
    expected = aggregation(rows, torch.arange(6).repeat_interleave(3), 6)
    for part in rows:
        assert torch.allclose(found[part].flatten(0, 1), expected[part], atol=1e-14)


class Median(Aggregation):
    """An own aggregation, for groups as they come."""

    def forward(self, rows: dict[str, Tensor], group: Tensor, count: int) -> dict[str, Tensor]:
        def of(each: Tensor) -> Tensor:
            found = [each[group == k].median(0).values for k in range(count)]
            return torch.stack(found) if found else each

        return {name: of(each) for name, each in rows.items()}


def test_a_cell_and_an_encoder_take_an_own_aggregation_that_is_refused_in_a_file(tmp_path: Path) -> None:
    cell, trees = ChildSumTreeLSTM(VOCABULARY, 5, aggregation=Median(5)), batch(TREES, VOCABULARY)
    ordinary = ChildSumTreeLSTM(VOCABULARY, 5)
    ordinary.load_state_dict(cell.state_dict())
    assert not torch.allclose(propagate(trees, cell)["h"], propagate(trees, ordinary)["h"])
    model = TreeModel(TreeEncoder(ordinary, pooling=Median(5)), ClassifierReadout(5, 2), classes=["a", "b"])
    with pytest.raises(ValueError, match=r"pooling is a Median, which is not in dgltree.cells.AGGREGATIONS"):
        save(model, tmp_path / "model.safetensors")


@pytest.mark.parametrize("name", AGGREGATIONS)
@pytest.mark.parametrize("share", [False, True])
def test_a_pooled_vector_is_that_of_all_nodes_and_comes_back_from_a_file(
    name: str, share: bool, tmp_path: Path
) -> None:
    encoder = make_encoder("tree_lstm", VOCABULARY, 5, pooling=name)
    trees = batch(TREES, VOCABULARY)
    states, pooled = encoder.node_states(trees), encoder(plan(trees, encoder.cell, share))
    for tree, (states_of, vector) in enumerate(zip(states.split(trees.sizes.tolist()), pooled, strict=True)):
        assert torch.allclose(vector, slow(name, encoder.pool, states_of, states_of), atol=1e-6), tree
    save(TreeModel(encoder, ClassifierReadout(5, 2), classes=["a", "b"]), tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors").encoder
    assert again.config == encoder.config and torch.equal(again(trees), encoder(trees))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("maximum", r"'maximum' is not an aggregation; nearest known: max"),
        (Median(4), "Median is of size 4; the states have 5"),
        (3, "an aggregation is a name or an Aggregation, but got 3"),
    ],
)
def test_what_is_no_aggregation_is_refused(given: Any, message: str) -> None:
    for make in (
        lambda: ChildSumTreeLSTM(VOCABULARY, 5, aggregation=given),
        lambda: TreeEncoder(TreeLSTM(VOCABULARY, 5), pooling=given),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            make()
