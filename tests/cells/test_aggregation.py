"""Aggregations by name and as objects, in cells and of a tree's nodes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import ANY, VOCABULARY, random_tree
from oracle import recursion
from torch import Tensor

from dgltree import Tree, Vocabulary, batch, plan, propagate, save
from dgltree.cells import AGGREGATIONS, Aggregation, ChildSumTreeLSTM, DownwardTreeLSTM, SumCell, TreeLSTM
from dgltree.encoders import TreeEncoder, make_encoder
from dgltree.engine.aggregation import aggregation_named
from dgltree.engine.kernels.dispatch import NoKernelError, kernels
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
        case "bag" if rows.dim() == 2:  # h
            number = torch.full((1,), 1.0 + len(rows), dtype=rows.dtype).log()
            return torch.cat([rows.mean(0), rows.max(0).values, rows.exp().sum(0).log(), number])
        case "bag":
            return rows.mean(0)
    weight = (h @ aggregation.query / 5**0.5).softmax(0)
    return (weight.view(-1, *[1] * (rows.dim() - 1)) * rows).sum(0)


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_a_group_has_what_the_definition_says_and_an_empty_one_has_zeros(name: str) -> None:
    torch.manual_seed(0)
    aggregation = aggregation_named(name, 5, widens=True).double()
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
    aggregation = aggregation_named(name, 5, widens=True).double()
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


@pytest.mark.parametrize("name", sorted(AGGREGATIONS.keys() - {"bag"}))
@pytest.mark.parametrize("share", [False, True])
def test_a_pooled_vector_is_that_of_all_nodes(name: str, share: bool) -> None:
    encoder = make_encoder("tree_lstm", VOCABULARY, 5, pooling=name)
    trees = batch(TREES, VOCABULARY)
    states, pooled = encoder.node_states(trees), encoder(plan(trees, encoder.cell, share))
    for tree, (states_of, vector) in enumerate(zip(states.split(trees.sizes.tolist()), pooled, strict=True)):
        assert torch.allclose(vector, slow(name, encoder.pool, states_of, states_of), atol=1e-6), tree


@pytest.mark.parametrize("mode", ["off", "on"])
def test_a_bag_has_no_items_or_a_million(mode: str) -> None:
    torch.manual_seed(0)
    options = {"aggregation": "bag", "typed": True, "input_size": 3, "leaf": "gates"}
    cell = ChildSumTreeLSTM(ANY, 4, **options).double()
    item = Tree("var", token="x")
    empty, one, many = Tree("call"), Tree("call", [item]), Tree("call", [item] * 10**6)
    trees = batch([empty, one, many], ANY)
    with kernels(mode):
        states = propagate(trees, cell)
        states["h"].sum().backward()
    h = states["h"].detach()[trees.roots]
    gradients = [weight.grad for weight in cell.parameters() if weight.grad is not None]
    assert all(bool(each.isfinite().all()) for each in (h, *gradients))
    for found, tree in zip(h, (empty, one), strict=False):
        torch.testing.assert_close(found, recursion(cell, batch([tree], ANY))["h"][0], rtol=0, atol=1e-12)
    assert not torch.allclose(h[1], h[2]), "one item and a million of it differ by their number"


@pytest.mark.parametrize("aggregation", ["bag", "mean"])
def test_a_node_of_many_children_is_compiled_when_it_is_met_first(aggregation: str) -> None:
    torch.manual_seed(0)
    cell = ChildSumTreeLSTM(ANY, 4, aggregation=aggregation).double()
    leaves = [Tree("var", token=token) for token in ANY.tokens]
    wide = [Tree("call", [leaves[k % len(leaves)] for k in range(count)]) for count in (200, 997, 1000)]
    trees = batch(wide, ANY)
    with kernels("required"):
        found = propagate(trees, cell)["h"]
    with kernels("off"):
        torch.testing.assert_close(found, propagate(trees, cell)["h"], rtol=0, atol=1e-12)
    with (
        kernels("required"),
        pytest.raises(NoKernelError, match="a node has 1,001 messages; compiled programs take at most"),
    ):
        propagate(batch([Tree("call", [leaves[0]] * 1001)], ANY), cell)


def test_a_bag_of_large_numbers_does_not_overflow() -> None:
    rows = torch.tensor([[700.0, -800.0], [710.0, -800.0], [0.0, -900.0]], dtype=torch.float64, requires_grad=True)
    found = aggregation_named("bag", 2, widens=True)({"h": rows}, torch.zeros(3, dtype=torch.long), 1)["h"]
    expected = torch.logsumexp(rows, 0)
    torch.testing.assert_close(found[0, 4:6], expected)
    ours, theirs = (torch.autograd.grad(each.sum(), rows, retain_graph=True)[0] for each in (found[0, 4:6], expected))
    torch.testing.assert_close(ours, theirs)


def test_a_bag_is_read_by_gates_alone() -> None:
    for make in (
        lambda: TreeEncoder(TreeLSTM(VOCABULARY, 5), pooling="bag"),
        lambda: DownwardTreeLSTM(VOCABULARY, 5, aggregation="bag"),
    ):
        with pytest.raises(
            ValueError, match="bag turns 5 numbers into 16, which only the gates of a child-sum cell can read"
        ):
            make()
    cell = ChildSumTreeLSTM(ANY, 4, aggregation="bag")
    with pytest.raises(ValueError, match="is a leaf without a token or number, but leaf='embedding' embeds tokens"):
        propagate(batch([Tree("call")], ANY), cell)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("maximum", r"'maximum' is not an aggregation; nearest known: max"),
        (Median(4), "Median has size 4, but the states have size 5"),
        (3, "an aggregation must be a name or an Aggregation, not 3"),
    ],
)
def test_what_is_no_aggregation_is_refused(given: Any, message: str) -> None:
    for make in (
        lambda: ChildSumTreeLSTM(VOCABULARY, 5, aggregation=given),
        lambda: TreeEncoder(TreeLSTM(VOCABULARY, 5), pooling=given),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            make()


class SumOfStates(SumCell):
    """Whose children send h itself, by no gates."""

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.build()

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,)}

    messages = state

    def message_gates(self) -> dict[str, int]:
        return {}

    def message(self, pre: Any, child: Any) -> Any:
        return {"h": child["h"]}

    def gates(self, arity: int) -> dict[str, int]:
        return {"u": self.hidden_size}

    def combine(self, pre: Any, children: Any, linear: Any) -> Any:
        return {"h": torch.tanh(pre["u"])}


@pytest.mark.parametrize("mode", ["on", "off"])
def test_a_sum_of_states_without_gates_reads_inputs_too(mode: str) -> None:
    torch.manual_seed(0)
    cell = SumOfStates(ANY, 5, input_size=3, leaf="gates").double()
    flat = batch(TREES, ANY)
    with kernels(mode):
        h = propagate(flat, cell)["h"]
    leaves = flat.arity == 0
    token = flat.token[leaves]
    far_apart = (h[leaves, None] - h[leaves]).abs().amax(-1) > 1e-9  # equal tokens may round apart
    assert torch.equal(far_apart, token[:, None] != token), "each token has a state of its own"
