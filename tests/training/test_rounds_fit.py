"""Rounds in trainings: what a second look learns, and that each round's tokens begin, drop and freeze alike."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

import dgltree
from dgltree import Tree, TreeDataset
from dgltree.training.contest import compare_encoders
from dgltree.training.encoder_choice import token_vectors
from dgltree.training.trained_model import TrainedModel


def selections(count: int, seed: int) -> TreeDataset:
    """Trees whose first leaf names one of five others; the label is the colour under that one."""
    random = Random(seed)
    trees = []
    for _ in range(count):
        names = random.sample("abcde", 5)
        colors = [random.choice(("red", "blue", "green", "black")) for _ in names]
        which = random.randrange(5)
        pairs = [
            Tree("pair", [Tree("name", token=name), Tree("color", token=color)])
            for name, color in zip(names, colors, strict=True)
        ]
        clue = Tree("clue", token=names[which])
        trees.append(Tree("all", [clue, *pairs], label=colors[which]))
    return TreeDataset(trees)


@pytest.mark.slow
def test_what_one_branch_says_of_another_is_learnt_by_a_second_look(tmp_path: Path) -> None:
    found = {}
    for rounds in (1, 2):
        trained = dgltree.fit(
            selections(1500, 0),
            test=selections(300, 1),
            encoder="child_sum",
            options={"rounds": rounds, "typed": True, "positions": False, "aggregation": "max"},
            hidden_size=16,
            epochs=14,
            patience=14,
            dropout=0,
            input_dropout=0,
            token_dropout=0,
            weight_decay=0,
            no_baseline=True,
            out=tmp_path / str(rounds),
            threads=1,
        )
        found[rounds] = trained.evaluate(selections(300, 1)).metrics["accuracy"]
    assert found[1] < 0.7 < 0.9 < found[2]
    trees = [selections(20, 2)[i][0] for i in range(20)]
    again = TrainedModel.load(tmp_path / "2")
    assert again.summary.endswith("in 2 rounds")
    np.testing.assert_array_equal(again.predict(trees), trained.predict(trees))


def test_the_tokens_of_every_round_begin_drop_and_freeze_alike(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("red 1 2\nblue 3 4\n", encoding="utf-8")
    trained = dgltree.fit(
        selections(60, 0),
        encoder="child_sum",
        options={"rounds": 3},
        hidden_size=4,
        input_size=2,
        vectors=str(vectors),
        frozen=True,
        epochs=1,
        no_baseline=True,
        out=tmp_path / "run",
        threads=1,
    )
    encoder = trained.model.encoder
    red = encoder.vocabulary.tokens.index("red")
    for table, cell in zip(token_vectors(encoder), encoder.cells, strict=True):
        assert table is cell.input_embedding.weight
        torch.testing.assert_close(table[red].detach(), torch.tensor([1.0, 2.0]))


def test_rounds_and_bags_are_compared_as_settings_of_an_encoder(tmp_path: Path) -> None:
    grids = {
        "child_sum": {"rounds": [1, 2], "aggregation": "bag", "positions": False},
        "tree_rnn": {"rounds": 2, "context": "down"},
    }
    options = {"hidden_size": 4, "epochs": 1, "threads": 1, "grids": grids}
    data = selections(80, 0)
    data.splits = ["train"] * 40 + ["validation"] * 20 + ["test"] * 20
    found = compare_encoders(data, ["child_sum", "tree_rnn"], 1, tmp_path, **options)
    assert [each.failure for each in found.entries] == [None, None]
    by_name = {each.encoder: each for each in found.entries}
    assert by_name["child_sum"].tried == 2
    assert by_name["tree_rnn"].setting == grids["tree_rnn"]


def test_rounds_and_context_of_a_fit_are_refused_by_name(tmp_path: Path) -> None:
    data = selections(60, 0)
    settings = {"encoder": "child_sum", "no_baseline": True, "out": tmp_path / "run"}
    with pytest.raises(ValueError, match="rounds is 0; it must be a whole number, 1 or more"):
        dgltree.fit(data, options={"rounds": 0}, **settings)
    with pytest.raises(ValueError, match="which adds context to the input of each node: give the cell an input_size"):
        dgltree.fit(data, options={"rounds": 2}, input_size=0, **settings)
    with pytest.raises(
        ValueError,
        match="context describes what surrounds a node, but nothing surrounds a root: use context with nodes, or",
    ):
        dgltree.fit(data, options={"context": "down"}, **settings)
