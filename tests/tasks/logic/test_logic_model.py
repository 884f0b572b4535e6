"""The shipped Ordered Memory: what it knows, and that what it leaves out changes nothing."""

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import batch
from dgltree.induction.binary_trees import right_branching, without_tokens
from dgltree.induction.evalb import Parameters, score
from dgltree.ranking.pretrained import logic_model
from dgltree.ranking.pretrained_files import FOLDER, LOGIC, model_names
from dgltree.read.bracket import read_unlabelled
from dgltree.trees.logic import RELATIONS
from tasks.logic import generate
from tasks.logic.language import VOCABULARY

PAIRS = [pair for k in range(2, 7) for pair in generate.pairs(seed=7, scale=0.01)["test", k]]
TREES = [read_unlabelled(text) for pair in PAIRS for text in pair[1:3]]


def test_it_is_small_and_no_model_of_equations() -> None:
    assert (FOLDER / LOGIC).stat().st_size < 2_000_000
    assert "logic" not in model_names()
    model = logic_model()
    assert model.classes == RELATIONS
    assert model.encoder.vocabulary == VOCABULARY


def test_it_knows_most_relations_and_finds_most_brackets_of_pairs_of_its_own_length() -> None:
    model = logic_model()
    with torch.no_grad():
        found = model(batch(TREES, VOCABULARY)).argmax(1).tolist()
    right = sum(pair.relation == RELATIONS[i] for pair, i in zip(PAIRS, found, strict=True))
    assert right / len(PAIRS) > 0.8
    trees = [without_tokens(tree, "()") for tree in model.encoder.trees(batch(TREES, VOCABULARY))]
    blind = [right_branching([node.token for node in tree.preorder() if not node.children]) for tree in TREES]
    f1, baseline = (score(TREES, guess, Parameters(labelled=False)).f1 for guess in (trees, blind))
    assert f1 > 85
    assert baseline < 75


def test_leaving_out_cells_changes_nothing_on_trained_weights() -> None:
    encoder = logic_model().encoder
    core, flat = encoder.core, encoder.plan(batch(TREES[:60], VOCABULARY), share=False)
    found = {}
    for dynamic in (True, False):
        core.memories[0].dynamic = dynamic
        root = core(flat.ids, flat.lengths)
        core.zero_grad()
        root.square().sum().backward()
        found[dynamic] = [root.detach(), torch.cat([p.grad.flatten() for p in core.parameters()])]
    for saved, dense in zip(found[True], found[False], strict=True):
        assert (saved - dense).abs().max() <= 1e-6 * dense.abs().max()
