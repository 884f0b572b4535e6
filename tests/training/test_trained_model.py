"""A trained model in Python."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from own_trees import QUIET

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def test_vectors_do_not_depend_on_the_batch_or_the_order(fitted: Path, tmp_path: Path) -> None:
    model = TrainedModel.load(fitted / "model")
    data = TreeDataset.from_file(fitted / "trees.tsv")
    whole = model.encode(data)
    assert whole.shape == (400, 12)
    order = torch.randperm(400, generator=torch.Generator().manual_seed(0)).tolist()
    torch.testing.assert_close(model.encode(data.select(order)), whole[order], rtol=0, atol=1e-6)
    alone = torch.cat([model.encode(data.select([i])) for i in range(5)])
    torch.testing.assert_close(alone, whole[:5], rtol=0, atol=1e-6)
    assert main(["encode", str(fitted / "model"), str(fitted / "trees.tsv"), "--out", str(tmp_path / "v.npy")]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), whole.numpy(), rtol=0, atol=1e-6)


def test_a_tree_deeper_and_wider_than_any_in_training_is_read(fitted: Path, tmp_path: Path) -> None:
    model = TrainedModel.load(fitted / "model")
    deep = Tree("Symbol", token="x")
    for _ in range(3000):
        deep = Tree("Add", (deep, Tree("Symbol", token="y")))
    assert bool(model.answers_to([deep]).isfinite().all())
    with pytest.raises(ValueError, match=r"'Add' has 3 children here; .* \(fit with --encoder child_sum"):
        model.answers_to([Tree("Add", [deep] * 3)])
    wide = TreeDataset([Tree("f", [Tree("w", token="ab"[i % 2])] * (i + 1)) for i in range(40)], list("pn") * 20)
    sums = dgltree.fit(wide, out=tmp_path / "model", hidden_size=4, epochs=1)
    assert json.loads((tmp_path / "model" / "card.json").read_text())["options"]["encoder"] == "child_sum"
    assert bool(sums.answers_to([Tree("f", [Tree("w", token="a")] * 5000)]).isfinite().all())


def test_predict_gives_names_or_numbers_and_predict_proba_probabilities() -> None:
    trees = [dgltree.read_infix(text) for text in ("x + y", "x*y", "y + x", "y*x")] * 10
    few = {"hidden_size": 4, "epochs": 1, "no_baseline": True}
    data = dgltree.TreeDataset(trees, ["sum", "product"] * 20)
    classes = dgltree.fit(data, validation=data, **few)
    probabilities = classes.predict_proba(trees)
    torch.testing.assert_close(probabilities.sum(1), torch.ones(40))
    assert classes.predict(trees) == [classes.classes[i] for i in probabilities.argmax(1)]
    data = dgltree.TreeDataset(trees, [0.5, 1.5] * 20)
    numbers = dgltree.fit(data, validation=data, **few)
    assert numbers.predict(trees).shape == (40,)
    with pytest.raises(ValueError, match="a model of numbers has no probabilities; predict returns its numbers"):
        numbers.predict_proba(trees)
    with pytest.raises(ValueError, match="a model of numbers has no classes; predict returns its numbers"):
        numbers.labels_of(probabilities)
