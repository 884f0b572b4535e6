"""Classes that are rare: weights reach the baseline and what validation chooses; thresholds, given or chosen."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, log_loss, precision_recall_curve

import dgltree
from dgltree import TrainedModel, Tree, TreeClassifier, TreeDataset
from dgltree.commands.main import main
from dgltree.training.baseline.average import Average
from dgltree.training.baseline.selection import _weights, choose
from dgltree.training.objectives import Classes
from dgltree.training.objectives.class_means import balanced_accuracy, macro_f1
from dgltree.training.objectives.threshold import Threshold, ThresholdRule
from dgltree.training.options import FitOptions

QUICK = {"hidden_size": 8, "epochs": 2, "lr": 0.01}


def payments(count: int, share: float = 0.06, seed: int = 0) -> TreeDataset:
    """Trees whose rare class is likely, but not sure, with some tokens."""
    rng = np.random.default_rng(seed)
    trees, labels = [], []
    for i in range(count):
        rare = i < count * share
        kinds = rng.choice(["card", "cash", "wire"], 3, p=[0.2, 0.2, 0.6] if rare else [0.45, 0.45, 0.1])
        trees.append(Tree("pay", tuple(Tree("by", token=str(kind)) for kind in kinds)))
        trees[-1] = Tree("all", (trees[-1], Tree("w", token=f"id{i}")))
        labels.append("fraud" if rare else "ok")
    order = rng.permutation(count)
    return TreeDataset([trees[i] for i in order], [labels[i] for i in order])


def weighted(data: TreeDataset) -> Classes:
    objective = Classes.of(data, nodes=False, class_weights=True)
    assert objective.weights is not None
    return objective


def test_weights_of_classes_reach_the_baseline() -> None:
    train, test = payments(600), payments(600, seed=1)
    objective = weighted(train)
    plain, balanced = (choose(train, of).answers(test) for of in (Classes(objective.classes), objective))
    rare = [label == "fraud" for label in test.labels]
    recalls = [float((answers.argmax(1) == 0)[rare].double().mean()) for answers in (plain, balanced)]
    assert recalls[1] > recalls[0] + 0.05
    targets = objective.targets(test.labels)
    assert objective.answer_loss(balanced, targets) < objective.answer_loss(plain, targets) - 0.1


def test_the_baseline_is_chosen_by_the_weighted_loss_and_weights_of_examples_count_too() -> None:
    data = payments(300)
    objective, numbers = weighted(data), Classes(("fraud", "ok")).targets(data.labels)
    assert objective.weights is not None
    of_classes = objective.weights.double().numpy()[numbers.numpy()]
    np.testing.assert_allclose(_weights(data, objective, numbers), of_classes)
    own = TreeDataset([data[i][0] for i in range(300)], data.labels, weights=np.arange(300.0))
    np.testing.assert_allclose(_weights(own, objective, numbers), of_classes * np.arange(300.0))
    ok = [i for i in range(300) if data.labels[i] == "ok"]
    few = data.select([*ok[:30], data.labels.index("fraud")])
    assert choose(few, weighted(few)).what  # folds lack the rare class


def test_losses_temperature_and_the_average_are_weighted() -> None:
    rng = np.random.default_rng(3)
    targets = torch.tensor(rng.choice([0, 1], 400, p=[0.05, 0.95]))
    weights = torch.tensor([10.0, 0.526])
    answers = torch.softmax(torch.tensor(rng.normal(size=(400, 2))) + 2 * torch.nn.functional.one_hot(targets, 2), 1)
    objective, plain = Classes(("a", "b"), weights), Classes(("a", "b"))
    of_rows = weights[targets].numpy()
    assert objective.answer_loss(answers, targets) == pytest.approx(log_loss(targets, answers, sample_weight=of_rows))
    assert plain.answer_loss(answers, targets) == pytest.approx(log_loss(targets, answers))

    def lost(temperature: float) -> float:
        tempered = objective.tempered(answers, temperature)
        return 400 * objective.answer_loss(tempered, targets) + np.log(temperature) ** 2 / 2

    best = objective.temperature(answers, targets)
    assert lost(best) <= min(lost(best * 1.05), lost(best / 1.05))
    assert best != pytest.approx(plain.temperature(answers, targets), rel=0.01)
    network, baseline = answers, torch.tensor([[0.9, 0.1]]).expand(400, 2).double()
    shares = [step / 20 for step in range(21)]
    losses = [log_loss(targets, w * network + (1 - w) * baseline, sample_weight=of_rows) for w in shares]
    found = Average.best(type("Only", (), {"objective": objective})(), network, baseline, targets)  # type: ignore[arg-type]
    assert found.weight == shares[int(np.argmin(losses))]


@pytest.mark.slow
def test_the_epoch_is_chosen_by_the_balanced_accuracy(tmp_path: Path) -> None:
    data = payments(400)
    dgltree.fit(data, out=tmp_path, class_weights="balanced", **{**QUICK, "epochs": 4})
    epochs = [json.loads(line) for line in (tmp_path / "epochs.jsonl").read_text().splitlines()]
    assert all("balanced_accuracy" in epoch for epoch in epochs)
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["intervals"]["metric"] == "balanced_accuracy"
    assert {"accuracy", "macro_f1", "balanced_accuracy"} <= set(card["metrics"]["test"])
    split = dgltree.datasets.split(data, 0)["test"]
    model = TrainedModel.load(tmp_path)
    predicted = [model.classes[i] for i in model.predict_proba([split[i][0] for i in range(len(split))]).argmax(1)]
    assert card["metrics"]["test"]["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(split.labels, predicted)
    )


@pytest.mark.parametrize("seed", range(5))
def test_means_over_classes_are_scikit_learns(seed: int) -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(seed)
    predicted, labels = rng.integers(0, 3, 30), rng.integers(seed % 2, 4, 30)
    both = torch.tensor(predicted), torch.tensor(labels)
    assert macro_f1(*both, 6) == pytest.approx(f1_score(labels, predicted, average="macro"))
    with np.errstate(all="ignore"):
        wanted = np.mean([(predicted[labels == k] == k).mean() for k in np.unique(labels)])
    assert balanced_accuracy(*both, 6) == pytest.approx(wanted)


def test_thresholds_are_chosen_as_scikit_learns_curve_says() -> None:
    rng = np.random.default_rng(0)
    targets = torch.tensor(rng.choice([0, 1, 2], 300, p=[0.1, 0.4, 0.5]))
    answers = torch.softmax(torch.tensor(rng.normal(size=(300, 3))) + torch.nn.functional.one_hot(targets, 3), 1)
    precision, recall, at = precision_recall_curve(targets == 0, answers[:, 0])
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    found = ThresholdRule.of("a=f1").chosen(answers, targets, ("a", "b", "c"))
    assert found == Threshold(0, pytest.approx(at[np.argmax(f1[:-1])]))
    found = ThresholdRule.of("a=recall:0.8").chosen(answers, targets, ("a", "b", "c"))
    assert found is not None
    assert found.probability == pytest.approx(at[recall[:-1] >= 0.8].max())
    precise = ThresholdRule.of("a=precision:0.5").chosen(answers, targets, ("a", "b", "c"))
    assert precise is not None
    assert precise.probability == pytest.approx(at[precision[:-1] >= 0.5].min())
    two = torch.tensor([[0.9, 0.1], [0.8, 0.2]])
    assert ThresholdRule.of("a=precision:0.6").chosen(two, torch.tensor([1, 0]), ("a", "b")) is None
    predicted = found.predicted(answers)
    hits = (predicted == 0) & (targets == 0)
    assert float(hits.sum() / (targets == 0).sum()) >= 0.8
    rest = predicted[predicted != 0]
    assert torch.equal(rest, (answers[:, 1:].argmax(1) + 1)[predicted != 0])
    assert ThresholdRule.of("b=f1").chosen(answers[targets != 1], targets[targets != 1], ("a", "b", "c")) is None
    assert ThresholdRule.of("x=y=0.25") == ThresholdRule("x=y", "given", 0.25)


@pytest.mark.parametrize(
    "text",
    [
        "fraud",
        "=0.2",
        "fraud=1.5",
        "fraud=-0.1",
        "fraud=nan",
        "fraud=recall:0",
        "fraud=precision:0",
        "fraud=f2:0.5",
        "fraud=best",
    ],
)
def test_thresholds_out_of_range_are_refused_before_a_file_is_read(text: str) -> None:
    with pytest.raises(ValueError, match="it must be CLASS=P with P from 0 to 1, CLASS=f1, or CLASS=recall:R"):
        FitOptions(threshold=text)


def test_thresholds_that_do_not_fit_the_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="threshold names 'theft'; it must name a class, such as fraud, ok"):
        dgltree.fit(payments(60), threshold="theft=0.5", **QUICK)
    with pytest.raises(ValueError, match="threshold is for classes, but the task is 'regress'"):
        FitOptions(threshold="a=0.5", task="regress")
    numbers = TreeDataset([Tree("f", (Tree("w", token=str(i)),)) for i in range(40)], [i + 0.5 for i in range(40)])
    with pytest.raises(ValueError, match="threshold is for classes, but the task is 'regress'"):
        dgltree.fit(numbers, threshold="a=0.5", **QUICK)


def test_the_model_keeps_its_threshold_and_a_command_may_give_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["tree\tlabel"]
    data = payments(300)
    for i in range(300):
        tree, label = data[i]
        pay, own = tree.children
        lines.append(
            f"(all (pay {' '.join(f'(by {child.token})' for child in pay.children)}) (w {own.token}))\t{label}"
        )
    (tmp_path / "trees.tsv").write_text("\n".join(lines) + "\n")
    arguments = ["--epochs", "2", "--hidden-size", "8", "--out", str(tmp_path / "model")]
    assert main(["fit", str(tmp_path / "trees.tsv"), "--threshold", "fraud=recall:0.9", *arguments]) == 0
    said = capsys.readouterr().out
    assert "the highest with a recall of 0.9 or more in validation; this threshold is uncertain" in said
    kept = json.loads((tmp_path / "model" / "threshold.json").read_text())
    model = TrainedModel.load(tmp_path / "model")
    answers = model.predict_proba([data[i][0] for i in range(300)])
    wanted = ["fraud" if p >= kept["probability"] else "ok" for p in answers[:, 0].double().tolist()]
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / "trees.tsv")]) == 0
    assert [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[1:]] == wanted
    given = [str(tmp_path / "model"), str(tmp_path / "trees.tsv"), "--threshold"]
    for number, name in (("0", "fraud"), ("1", "ok")):
        assert (
            main(["predict", str(tmp_path / "model"), str(tmp_path / "trees.tsv"), "--threshold", f"fraud={number}"])
            == 0
        )
        assert {line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[1:]} == {name}
    assert main(["evaluate", *given, "fraud=0", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["by_class"]}
    assert (rows["fraud"]["recall"], rows["ok"]["recall"]) == (1.0, 0.0)
    assert main(["evaluate", *given, "fraud=f1"]) == 1
    assert "but only fit can choose a threshold by validation; give CLASS=P here" in capsys.readouterr().err
    model.save(tmp_path / "copy")
    assert json.loads((tmp_path / "copy" / "threshold.json").read_text()) == kept
    [explained] = model.explain([data[0][0]])
    assert explained.prediction == wanted[0]
    for text in ("[]", '{"class": "theft", "probability": 0.5}', '{"class": "ok", "probability": 2}', "{"):
        (tmp_path / "copy" / "threshold.json").write_text(text)
        with pytest.raises(ValueError, match=r"threshold\.json"):
            TrainedModel.load(tmp_path / "copy")


def test_a_class_that_validation_lacks_gets_no_threshold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = payments(60)
    rare = [i for i in range(60) if data.labels[i] == "fraud"]
    data.splits = ["train" if i in rare else ("dev", "test", "train")[i % 3] for i in range(60)]
    dgltree.fit(data, threshold="fraud=f1", out=tmp_path, **QUICK)
    assert "no threshold: validation has no example of 'fraud'" in capsys.readouterr().err
    assert not (tmp_path / "threshold.json").exists()


def test_a_classifier_of_scikit_learn_predicts_by_its_threshold() -> None:
    data = payments(120)
    trees = [data[i][0] for i in range(120)]
    options = {"options": {"threshold": "fraud=0"}, "epochs": 1, "hidden_size": 8}
    assert set(TreeClassifier(**options).fit(trees, data.labels).predict(trees[:9])) == {"fraud"}


def test_models_of_numbers_have_no_threshold(tmp_path: Path) -> None:
    numbers = TreeDataset([Tree("f", (Tree("w", token=str(i)),)) for i in range(40)], [i + 0.5 for i in range(40)])
    model = dgltree.fit(numbers, **QUICK)
    with pytest.raises(ValueError, match="a threshold is for classes, but the model predicts numbers"):
        model.predict_from(Threshold(0, 0.5))
