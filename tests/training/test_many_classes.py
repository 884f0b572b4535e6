"""Trainings with very many classes, whose answers to a whole split do not fit into memory."""

import json
import math
from pathlib import Path

import pytest
import torch
from own_trees import QUIET, SMALL, table, written
from scipy.optimize import minimize_scalar

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import TrainedModel, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets.batches import UNSEEN
from dgltree.datasets.splitting import split
from dgltree.training import finishing, trained_model
from dgltree.training.objectives import Classes, classes

pytestmark = QUIET


def drawn(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities of three classes, and labels of which some are none of them."""
    random = torch.Generator().manual_seed(0)
    answers = (2 * torch.randn(count, 3, generator=random)).softmax(1)
    labels = torch.multinomial((answers.log() / 1.7).softmax(1), 1, generator=random)[:, 0]
    labels[::7] = UNSEEN
    return answers, labels


def test_the_temperature_minimises_the_loss_of_tempered_answers() -> None:
    answers, labels = drawn(300)
    objective, count = Classes(tuple("abc")), int((labels != UNSEEN).sum())

    def lost(log: float) -> float:
        tempered = objective.tempered(answers.double(), math.exp(log))
        other = [-math.log(p) for row, k in zip(tempered.tolist(), labels.tolist(), strict=True) if k != UNSEEN
                 for j, p in enumerate(row) if j != k]  # fmt: skip
        return count * objective.answer_loss(tempered, labels) + sum(other) / len(other) / 4 + log**2 / 2

    wanted = math.exp(minimize_scalar(lost, bounds=(-3, 3), method="bounded").x)
    assert objective.temperature(answers, labels) == pytest.approx(wanted, rel=1e-4)
    assert objective.temperature(answers, torch.full_like(labels, UNSEEN)) == 1


def test_a_validation_without_an_error_does_not_make_answers_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    sure, labels = torch.tensor([[0.9995, 0.0005]]).expand(40, 2), torch.zeros(40, dtype=torch.int64)
    objective = Classes(("a", "b"))
    cooler = objective.tempered(sure, objective.temperature(sure, labels))[0, 1]
    assert 0.001 < float(cooler) < 0.01  # about a quarter of one error in 40
    monkeypatch.setattr(classes, "OTHER_LABEL", 0.0)
    assert objective.temperature(sure, labels) < 1


def test_the_temperature_of_very_many_probabilities_is_that_of_some_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, labels = drawn(3000)
    objective = Classes(tuple("abc"))
    whole = objective.temperature(answers, labels)
    monkeypatch.setattr(classes, "MOST_CELLS", 3 * 1000)
    some = objective.temperature(answers, labels)
    assert some != whole
    assert some == pytest.approx(whole, rel=0.2)


@pytest.mark.parametrize("cells", [1, 1 << 24])
def test_a_training_with_more_classes_than_a_baseline_takes_measures_all_that_is_answered(
    cells: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = written(tmp_path, "trees.tsv", table(120)), tmp_path / "model"
    monkeypatch.setattr(finishing, "MOST_OF_A_BASELINE", 1)
    monkeypatch.setattr(finishing, "MOST_CELLS", 40 if cells == 1 else cells)
    monkeypatch.setattr(trained_model, "MOST_CELLS", cells)
    assert main(["fit", str(path), "--out", str(out), *SMALL]) == 0
    assert "no baseline: there are 2 classes, and a baseline takes at most 1" in capsys.readouterr().err
    card = json.loads((out / "card.json").read_text())
    model, data = TrainedModel.load(out), TreeDataset.from_file(path)
    blocks = list(model.batches(model.known(data)))
    assert len(blocks) == (len(data) if cells == 1 else 1), "each block has few probabilities"
    assert model.average is None
    for name, some in split(data, 0).items():
        if name != "train":
            answers = model.answers_to(some)
            wanted = model.objective.evaluation(answers, model.objective.targets(some.labels)).metrics
            assert card["metrics"][name] == pytest.approx(wanted | {"examples": len(some)}, abs=1e-6)
            assert model.evaluate(some).metrics == pytest.approx(wanted, abs=1e-6)


def test_a_line_names_a_few_of_very_many_unknown_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["tree\tlabel\tsplit", *(f"(f x{i})\t{'ab'[i % 2]}\ttrain" for i in range(20))]
    rows += [f"(f x{i})\tlabel {i:03}\ttest" for i in range(100)]
    rows += [f"(f x{i})\t{'ab'[i % 2]}\tvalidation" for i in range(4)]
    path = written(tmp_path, "trees.tsv", "\n".join(rows) + "\n")
    few = [*SMALL, "--epochs", "1", "--no-baseline"]
    assert main(["fit", str(path), "--out", str(tmp_path / "model"), *few]) == 0
    names = ", ".join(f"label {i:03}" for i in range(5))
    said = f"test: labels that do not occur in the training set count as errors: {names} and 95 more"
    assert said in capsys.readouterr().err.splitlines()
