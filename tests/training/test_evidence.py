"""How many weights a training has, and which: by the nodes that it learns from."""

from typing import Any

import pytest
import torch
from own_trees import QUIET, built

from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.datasets import tree_dataset

pytest.importorskip("lightning", reason="the train extra is not installed")
from dgltree.cells import TreeCell, TreeLSTM
from dgltree.encoders import make_encoder
from dgltree.models.readouts import ClassifierReadout
from dgltree.models.tree_model import TreeModel
from dgltree.training.deciding import decide
from dgltree.training.encoder_choice import MAX_TYPED_ARITY, WEIGHTS_PER_NODE, choose_encoder, count_weights
from dgltree.training.options import FitOptions
from dgltree.training.short_trainings import build
from dgltree.training.stepping.module import find_unseen_functions, take_means

pytestmark = QUIET


def leaf(name: str) -> Tree:
    return Tree("w", token=name)


def of_functions(count: int, trees: int) -> TreeDataset:
    """Trees of five nodes, whose inner nodes have so many functions, each about equally often."""
    names = [f"f{i % count}" for i in range(2 * trees)]
    made = [Tree(names[2 * i], (Tree(names[2 * i + 1], (leaf("a"), leaf("b"))), leaf("c"))) for i in range(trees)]
    return TreeDataset(made, ["pn"[i % 2] for i in range(trees)])


def test_many_rare_functions_have_few_weights_and_every_row_is_answered() -> None:
    x, y = leaf("x"), leaf("y")
    trees = [Tree(f"f{i % 250}", (Tree(f"g{i * 7 % 250}", (x,)), y)) for i in range(400)]
    decision = decide({"train": TreeDataset(trees, ["ab"[i % 2] for i in range(400)])}, FitOptions())
    module = build(decision)
    assert sum(weights.numel() for weights in module.parameters()) <= 80_000
    assert sum(map(len, decision.splits.values())) == 400
    assert not any(decision.refused.values())
    found = TrainedModel.of(decision, module.model).answers_to([*trees, Tree("new", (x, y, x)), x])
    assert found.shape == (402, 2)
    assert bool(found.isfinite().all())


@pytest.mark.parametrize(
    ("count", "trees", "given", "options"),
    [
        (3, 2000, {}, {"rank": None, "typed": None}),
        (12, 500, {}, {"rank": 8, "typed": None}),
        (200, 300, {}, {"rank": None, "typed": False}),
        (200, 300, {"encoder": "tree_lstm", "hidden_size": 100}, {"rank": None, "typed": None}),
        (200, 300, {"options": {"typed": True}, "hidden_size": 100}, {"rank": None, "typed": True}),
        (200, 300, {"options": {"rank": 2}, "hidden_size": 100}, {"rank": 2, "typed": None}),
    ],
)
def test_functions_have_weights_of_their_own_where_there_are_nodes_enough(
    count: int, trees: int, given: dict[str, Any], options: dict[str, Any]
) -> None:
    data = of_functions(count, trees)
    choice = choose_encoder(data, FitOptions(**given))
    assert choice.name == "tree_lstm"
    assert {name: choice.options.get(name) for name in options} == options
    weights = sum(each.numel() for each in choice.made().parameters())
    assert (weights <= WEIGHTS_PER_NODE * data.num_nodes) == (not given)


def test_a_width_that_is_asked_for_is_kept_and_others_follow_from_the_nodes() -> None:
    few, many = of_functions(4, 20), of_functions(2, 4000)
    assert choose_encoder(many, FitOptions()).hidden_size == 100
    assert choose_encoder(few, FitOptions()).hidden_size < 32
    assert choose_encoder(few, FitOptions(hidden_size=100)).hidden_size == 100
    assert choose_encoder(few, FitOptions(encoder="transformer")).hidden_size < 32
    assert built(few, FitOptions()).options.hidden_size < 32


def test_what_takes_the_weights_adds_up_to_all_of_them() -> None:
    vocabulary = of_functions(3, 9).vocabulary(unk=True)
    encoder = make_encoder("tree_lstm", vocabulary, 6, input_size=4, leaf="gates", rank=1, functions=True)
    model = TreeModel(encoder, ClassifierReadout(6, 2), ("n", "p"))
    cell = encoder.cell
    maps = sum(each.numel() for each in cell.maps.parameters() if len(each) > 1)
    parts = {
        f"gates of {len(cell.function_embedding.weight)} functions": maps,
        "gates shared by all functions": sum(each.numel() for each in cell.maps.parameters()) - maps,
        f"vectors of {len(cell.function_embedding.weight)} functions": cell.function_embedding.weight.numel(),
        f"vectors of {len(vocabulary.tokens)} tokens": cell.input_embedding.weight.numel(),
        "readout": 6 * 2 + 2,
    }
    listed = ", ".join(f"{what} {count:,}" for what, count in sorted(parts.items(), key=lambda part: -part[1]))
    assert count_weights(model) == f"{sum(each.numel() for each in model.parameters()):,} weights ({listed})"
    words = TreeModel(make_encoder("lstm", vocabulary, 6), ClassifierReadout(6, 2), ("n", "p"))
    assert "layers " in count_weights(words) and "gates" not in count_weights(words)


def test_functions_that_stand_for_unknown_ones_have_the_mean_of_the_others_unless_they_are_learnt() -> None:
    data = TreeDataset([Tree("f", (leaf("a"), leaf("b"))), Tree("g", (leaf("a"), leaf("b"))), Tree("h", (leaf("a"),))])
    vocabulary = data.vocabulary(unk=True, min_count=1)
    cell = TreeLSTM(vocabulary, 4)
    counts = torch.ones(len(vocabulary.functions), dtype=torch.int64)
    assert not find_unseen_functions(cell, counts)
    place = vocabulary.function_id("<unk>", 2)
    counts[place] = 0
    before = {name: linear.weight.detach().clone() for name, linear in cell.named_maps().items()}
    take_means(find_unseen_functions(cell, counts))
    for name, linear in cell.named_maps().items():
        row, changed = linear.position.get(place), before[name].clone()
        if row is not None:
            known = [linear.position[vocabulary.function_id(each, 2)] for each in "fg"]
            changed[row] = before[name][known].mean(0)
        torch.testing.assert_close(linear.weight.detach(), changed)
    assert not find_unseen_functions(TreeCell(vocabulary, 4), counts), "all functions share"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_widest_tree_of_all_blocks_counts(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [Tree("f", (leaf("a"), leaf("b")))] * 3
    trees[place] = Tree("f", (leaf("a"),) * (MAX_TYPED_ARITY + 1))
    data = TreeDataset(trees, ["p", "n", "p"])
    monkeypatch.setattr(tree_dataset, "BLOCK", 1)
    assert len(list(data.blocks())) == 3
    assert choose_encoder(data, FitOptions()).name == "child_sum"
