"""States of nodes in their context, by a cell from roots to leaves: in an encoder, its file, and a training."""

from pathlib import Path

import pytest
import torch
from helpers import ANY, VOCABULARY, random_dag, random_tree

import dgltree
from dgltree import Tree, TreeDataset, batch, propagate
from dgltree.encoders import make_encoder

TREES = [random_tree(4, 3, 1), random_tree(4, 3, 1), random_dag(8, 3, 2)]


@pytest.mark.parametrize(("name", "vocabulary"), [("tree_lstm", VOCABULARY), ("child_sum", ANY)])
def test_nodes_have_the_states_of_the_way_down_and_roots_their_own(
    name: str, vocabulary: dgltree.Vocabulary, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    encoder = make_encoder(name, vocabulary, 6, context="down").double()
    trees = batch(TREES, vocabulary)
    up = propagate(trees, encoder.cell)
    expected = propagate(trees, encoder.context, direction="down", up=up)["h"]
    planned = encoder.plan(trees, True)
    assert planned.downward is not None
    for found in (encoder.node_states(trees), encoder.node_states(planned, True)):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(encoder(trees), expected[trees.roots], rtol=0, atol=1e-12)
    assert not torch.allclose(expected, up["h"])
    dgltree.save(encoder, tmp_path / "encoder.safetensors")
    again = dgltree.load(tmp_path / "encoder.safetensors")
    torch.testing.assert_close(again.node_states(trees), expected)


def test_context_has_a_name_and_is_of_nodes() -> None:
    with pytest.raises(ValueError, match="context is True; it must be 'root', 'down' or a downward cell"):
        make_encoder("tree_lstm", VOCABULARY, 4, context=True)
    data = TreeDataset([random_tree(3, 2, seed).replace(label=seed % 2) for seed in range(60)])
    pytest.importorskip("lightning", reason="the train extra is not installed")
    with pytest.raises(
        ValueError,
        match="context describes what surrounds a node, but nothing surrounds a root: use context with nodes, or",
    ):
        dgltree.fit(data, options={"context": "down"})


def test_labels_that_depend_on_the_parent_are_learnt_in_context_alone() -> None:
    """A leaf is labelled by its parent's function, which nothing below it says."""
    trees = [
        Tree(name, [Tree("w", token=token, label=label)], label=label)
        for name, label in (("f", 0), ("g", 1))
        for token in "abcdefghij"
    ]
    vocabulary = dgltree.Vocabulary.from_trees(trees)
    flat, found = batch(trees, vocabulary), {}
    for context in (None, "down"):
        torch.manual_seed(0)
        encoder, readout = make_encoder("tree_lstm", vocabulary, 8, context=context), torch.nn.Linear(8, 2)
        adam = torch.optim.Adam([*encoder.parameters(), *readout.parameters()], 0.05)
        for _ in range(40):
            logits = readout(encoder.node_states(flat))
            torch.nn.functional.cross_entropy(logits, flat.label).backward()
            adam.step()
            adam.zero_grad()
        found[context] = float((logits.argmax(1) == flat.label).double().mean())
    assert found == {None: 0.75, "down": 1.0}
