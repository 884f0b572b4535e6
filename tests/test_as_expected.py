"""Calls that do what a user of PyTorch or DGL expects of them."""

from dataclasses import replace

import pytest
import torch
from helpers import VOCABULARY, random_tree, with_numbers
from rows import make_cell

import dgltree
from dgltree import Vocabulary, batch, plan, propagate, root_states
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout

TREES = [with_numbers(random_tree(3, 3, seed)) for seed in range(3)]


def test_what_takes_a_batch_takes_a_dgl_graph() -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    cell = make_cell("tree_lstm")
    flat = batch([random_tree(4, 3, seed) for seed in range(3)], VOCABULARY)
    expected = propagate(flat, cell)["h"]
    graph = flat.graph
    encoder, pooled = TreeEncoder(cell), TreeEncoder(cell, pooling="mean").double()
    assert torch.equal(root_states(graph, cell), expected[flat.roots])
    assert torch.equal(propagate(plan(graph, cell), cell)["h"], expected)
    assert torch.equal(encoder(graph), encoder(flat))
    assert torch.equal(encoder(encoder.plan(graph, share=False)), encoder(flat))
    assert torch.equal(pooled(graph), pooled(flat))


@pytest.mark.parametrize("call", [plan, root_states], ids=["plan", "root_states"])
def test_trees_are_refused_with_what_makes_a_batch_of_them(call) -> None:
    with pytest.raises(TypeError, match=rf"{call.__name__} takes a batch, not a list: use dgltree.batch\("):
        call(TREES, make_cell("tree_lstm"))


def test_a_vocabulary_of_equations_is_that_of_their_sides() -> None:
    equations = [dgltree.read_equation(text) for text in ("x + 1 = y", "sin(x) = 2*y")]
    sides = [side for equation in equations for side in equation]
    vocabulary = Vocabulary.from_trees(equations)
    assert vocabulary == Vocabulary.from_trees(sides)
    assert len(batch(equations, vocabulary)) == 4


def test_batches_are_equal_where_their_trees_are() -> None:
    flat = batch(TREES, VOCABULARY)
    assert flat.value is not None
    assert (flat == batch(TREES, VOCABULARY)) is True
    assert (flat != batch(TREES[:2], VOCABULARY)) is True
    assert flat != replace(flat, vocabulary=None)
    assert flat != replace(flat, value=None)
    assert flat != replace(flat, token=flat.token.flip(0))
    assert flat != "a batch"


def test_a_model_is_loaded_to_a_device(tmp_path) -> None:
    model = EquationModel(TreeEncoder(make_cell("tree_lstm")), EquationReadout()).double()
    dgltree.save(model, tmp_path / "model.safetensors")
    loaded = dgltree.load(tmp_path / "model.safetensors", device="meta")
    assert {weight.device.type for weight in loaded.parameters()} == {"meta"}
    assert {weight.device.type for weight in dgltree.load(tmp_path / "model.safetensors").parameters()} == {"cpu"}
