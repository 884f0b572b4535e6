"""What trainings of tasks have in addition to those of own trees: sets and parts, batches, optimizers, averages."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from own_trees import QUIET, built, table, written

import dgltree
from dgltree import TrainedModel, TreeDataset

pytest.importorskip("lightning", reason="the train extra is not installed")

from types import SimpleNamespace

from dgltree.datasets import NodeBatches
from dgltree.training.objectives import Numbers
from dgltree.training.options import FitOptions
from dgltree.training.stepping.callbacks import HalvedRate, check_checkpoint
from dgltree.training.stepping.data import SplitsModule

pytestmark = QUIET
HOW: dict[str, Any] = {"encoder": "tree_rnn", "hidden_size": 6, "epochs": 2, "no_baseline": True}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TreeDataset:
    return TreeDataset.from_file(written(tmp_path_factory.mktemp("data"), "trees.tsv", table(90)), cached=False)


def test_each_set_and_each_part_has_the_metrics_of_its_own_examples(data: TreeDataset, tmp_path: Path) -> None:
    train, test, other = data.select(range(50)), data.select(range(50, 80)), data.select(range(80, 90))
    parts = {"odd": range(1, 30, 2), "first": [0]}
    how = {"validation": train, "test": {"test": test, "other": other}, "parts": parts}
    model = dgltree.fit(train, **how, out=tmp_path, **HOW)
    card = json.loads((tmp_path / "card.json").read_text())
    assert list(card["metrics"]) == ["validation", "test", "other"]
    for found, of in (
        (card["metrics"]["test"], test),
        (card["metrics"]["other"], other),
        (card["parts"]["odd"], test.select(parts["odd"])),
        (card["parts"]["first"], test.select([0])),
    ):
        metrics = model.evaluate(of).metrics
        assert {name: found[name] for name in metrics} == pytest.approx(metrics, abs=1e-6)


def test_classes_and_the_vocabulary_may_be_more_than_the_training_set_has(data: TreeDataset, tmp_path: Path) -> None:
    vocabulary = dgltree.Vocabulary.from_trees([dgltree.read_infix("x*y + z*-1 + sin(w)")])
    how = {"vocabulary": vocabulary, "classes": ["neg", "none", "pos"], "validation": data, "test": data}
    model = dgltree.fit(data, **how, out=tmp_path, **HOW)
    assert model.classes == ("neg", "none", "pos")
    assert model.model.encoder.vocabulary == vocabulary
    assert model.answers_to(["sin(w)"]).shape == (1, 3)
    with pytest.raises(ValueError, match="classes are names of labels, but the labels are numbers"):
        Numbers.of(TreeDataset([dgltree.read_infix("x")], [0.5]), False, False, ["a"])


def test_a_label_that_is_none_of_the_given_classes_is_refused(data: TreeDataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the label 'neg' is not one of the classes pos, zero"):
        dgltree.fit(data, classes=["pos", "zero"], validation=data, out=tmp_path, **HOW)


def test_averages_of_the_weights_are_validated_and_kept(data: TreeDataset, tmp_path: Path) -> None:
    how = {"validation": data, "test": data, **HOW}
    plain, averaged = (
        dgltree.fit(data, out=tmp_path / str(decay), averaging=decay, **how).model.encoder.state_dict()
        for decay in (None, 0.999)
    )
    assert not torch.equal(*(torch.cat([w.flatten() for w in of.values()]) for of in (plain, averaged)))
    best = check_checkpoint(tmp_path / "0.999" / "best.ckpt")["state_dict"]
    assert all(torch.equal(averaged[name], best[f"model.encoder.{name}"]) for name in averaged)


@pytest.mark.parametrize(("words", "size"), [(None, 8), (40, 8)])
def test_batches_have_so_many_examples_and_leaves_at_most(data: TreeDataset, words: int | None, size: int) -> None:
    splits = SplitsModule(data, data, FitOptions(batch_size=size, batch_words=words))
    first, again, other = (splits._batches(data, *which) for which in ((0, 0), (0, 0), (0, 1)))
    assert first == again != other
    assert sorted(i for rows in first for i in rows) == list(range(len(data)))
    leaves = data.leaves.tolist()
    assert leaves == [sum(not node.children for node in data[i][0].distinct()) for i in range(len(data))]
    for rows in first:
        assert len(rows) <= size
        assert words is None or len(rows) * max(leaves[i] for i in rows) <= words
    assert sum(len(rows) for rows in NodeBatches(data.sizes, 100)) == len(data)


def test_adam_is_torchs_with_l2_on_every_weight(data: TreeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    options = FitOptions(**HOW, optimizer="adam", beta1=0.0, eps=1e-9, weight_decay=0.5, lr=1.0)
    module = built(data, options).module
    monkeypatch.setattr(type(module), "trainer", SimpleNamespace(precision="32-true"))
    adam = module.configure_optimizers()
    assert type(adam) is torch.optim.Adam
    found = {name: adam.defaults[name] for name in ("betas", "eps", "weight_decay", "lr")}
    assert found == {"betas": (0.0, 0.999), "eps": 1e-9, "weight_decay": 0.5, "lr": 1.0}
    assert [each.patience for each in module.configure_callbacks() if isinstance(each, HalvedRate)] == [2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_words": 5}, "batch_words is 5, but there is no batch_size; give one"),
        ({"clip": 0.0}, "clip is 0.0; it must be above 0"),
        ({"beta1": 1.0}, "beta1 is 1.0; it must be a probability from 0 to below 1"),
        ({"batch_size": 0}, "batch_size is 0; it must be 1 or more"),
        ({"optimizer": "lbfgs"}, "optimizer is 'lbfgs'"),
    ],
)
def test_impossible_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FitOptions(**options)


def test_a_finished_training_is_not_repeated_and_another_one_is_refused(data: TreeDataset, tmp_path: Path) -> None:
    how = {"validation": data, "test": data, **HOW}
    dgltree.fit(data, out=tmp_path, **how)
    before = (tmp_path / "card.json").read_bytes()
    assert isinstance(dgltree.fit(data, out=tmp_path, **how), TrainedModel)
    assert (tmp_path / "card.json").read_bytes() == before
    with pytest.raises(ValueError, match=r"holds another training run \(clip 5.0\); give another --out"):
        dgltree.fit(data, out=tmp_path, clip=1.0, **how)
