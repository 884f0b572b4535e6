"""Features of a training that work alone, two at a time."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from own_trees import QUIET, SMALL, table

from dgltree import TrainedModel, TreeDataset
from dgltree.batching.vocabulary import NO_LABEL
from dgltree.commands.main import main
from dgltree.models import evaluating

pytest.importorskip("lightning", reason="the train extra is not installed")


from dgltree.read.bracket import read_sst
from dgltree.training.objectives import Classes

pytestmark = QUIET


def epochs_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "epochs.jsonl").read_text().splitlines()]


def test_dropout_is_the_same_with_any_number_of_threads(tmp_path: Path) -> None:
    file = tmp_path / "trees.tsv"
    file.write_text(table(150), encoding="utf-8")
    dropping = ["--dropout", "0.5", "--input-dropout", "0.3", "--token-dropout", "5", "--no-baseline"]
    losses: list[list[float]] = []
    for threads in ("1", "2"):
        out = tmp_path / threads
        assert main(["fit", str(file), *SMALL, *dropping, "--threads", threads, "--out", str(out)]) == 0
        losses.append([epoch["loss"] for epoch in epochs_of(out)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert main(["fit", str(file), *SMALL, *dropping, "--seed", "1", "--out", str(tmp_path / "other")]) == 0
    assert losses[0] != pytest.approx([epoch["loss"] for epoch in epochs_of(tmp_path / "other")], rel=1e-2)


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_class_weights_of_two_processes_are_those_of_one_where_nodes_have_no_label(cut: int) -> None:
    """Processes send their mean and its weight; one of them may have no labelled node at all."""
    data = TreeDataset([read_sst("(1 (0 a) (1 (1 b) (1 c)))"), read_sst("(0 (0 a) (1 b))")])
    objective = Classes.of(data, nodes=True, class_weights=True)
    labels = torch.tensor([0, 1, 1, NO_LABEL, 0, NO_LABEL, NO_LABEL])
    found = torch.randn(7, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    objective.weights = objective.weights.double() if objective.weights is not None else None
    whole, _ = objective.loss(found, labels)
    parts = [objective.loss(found[rows], labels[rows]) for rows in (slice(cut), slice(cut, None))]
    total = sum(float(mean) * float(weight) for mean, weight in parts if float(weight))
    assert total / sum(float(weight) for _, weight in parts) == pytest.approx(float(whole), rel=1e-12)
    assert objective.weights is not None and objective.weights[0] != objective.weights[1]


def test_an_evaluation_inside_another_leaves_every_part_in_its_mode(fitted: Path) -> None:
    model = TrainedModel.load(fitted / "model")
    modules = dict(model.model.named_modules())
    model.model.train()
    frozen = model.model.readout.eval()
    with evaluating(model.model):
        with evaluating(model.model):
            assert not any(part.training for part in modules.values())
        assert not any(part.training for part in modules.values())
        first = model.answers_to(["x + y", "x*y"])
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    below = set(map(id, frozen.modules()))
    assert all(part.training == (id(part) not in below) for part in modules.values())
    torch.testing.assert_close(model.answers_to(["x + y", "x*y"]), first, rtol=0, atol=0)


def test_no_label_outside_of_the_training_set_changes_the_baseline(tmp_path: Path) -> None:
    """What penalty it has is chosen by cross-validation on training examples alone."""
    header, *lines = table(200).splitlines()
    found: list[Any] = []
    for turned in (False, True):
        rows = []
        for i, line in enumerate(lines):
            split = "train" if i < 140 else ("validation", "test")[i % 2]
            start, label = line.rsplit("\t", 1)
            label = {"pos": "neg", "neg": "pos"}[label] if turned and split != "train" else label
            rows.append(f"{start}\t{label}\t{split}")
        file, out = tmp_path / f"{turned}.tsv", tmp_path / str(turned)
        file.write_text("\n".join([f"{header}\tsplit", *rows, ""]), encoding="utf-8")
        assert main(["fit", str(file), *SMALL, "--epochs", "1", "--out", str(out)]) == 0
        card = json.loads((out / "card.json").read_text())
        average = TrainedModel.load(out).average
        assert average is not None
        assert card["average"]["baseline"] == average.baseline.what
        found.append(average.baseline)
    assert found[0].what == found[1].what
    assert found[0].columns.codes.tolist() == found[1].columns.codes.tolist()
    assert found[0].estimator.coef_.tolist() == found[1].estimator.coef_.tolist()


def test_a_tree_of_one_node_has_no_subtree_to_explain(fitted: Path) -> None:
    model = TrainedModel.load(fitted / "model")
    [explained] = model.explain(["x"])
    assert explained.effects == ()
    torch.testing.assert_close(explained.answer, model.answers_to(["x"])[0])
