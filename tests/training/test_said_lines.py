"""The lines of a training about its data and its answers, recomputed."""

import json
import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from own_trees import QUIET, SMALL, rows_of, written

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets.splitting import split

pytest.importorskip("lightning", reason="the train extra is not installed")
from scipy.stats import spearmanr

from dgltree.training.comparison import Compared, no_better, with_refused
from dgltree.training.objectives.classes import Classes
from dgltree.training.objectives.metrics import ClassMetrics
from dgltree.training.objectives.numbers import Numbers

pytestmark = QUIET
FEW: dict[str, Any] = {"hidden_size": 4, "epochs": 1}


def of(texts: list[str], labels: list[Any]) -> TreeDataset:
    return TreeDataset([dgltree.read.sexpr.read_sexpr(text) for text in texts], labels)


def said_of(capsys: pytest.CaptureFixture[str], beginning: str) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith(beginning)]


def test_what_becomes_unk_is_said_of_every_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = of(["(f a b)", "(g b a)"] * 10 + ["(rare a c)"], ["p", "n"] * 10 + ["p"])
    others = {"validation": of(["(f a b)"] * 2, ["p", "n"]), "test": of(["(new a z)", "(f z z)"], ["p", "n"])}
    dgltree.fit(
        train, validation=others["validation"], test=others["test"], out=tmp_path / "m", no_baseline=True, **FEW
    )
    lines = [line for line in capsys.readouterr().err.splitlines() if "read as <unk>" in line]
    rare = {"functions": ("rare", "new"), "tokens": ("c", "z")}
    for line, (what, names) in zip(lines, rare.items(), strict=True):
        shares = []
        for part, data in {"train": train, **others}.items():
            nodes = [node for i in range(len(data)) for node in data[i][0].preorder()]  # type: ignore[union-attr]
            found = [node.function if what == "functions" else node.token for node in nodes]
            found = [name for name in found if name is not None]
            shares.append(f"{sum(name in names for name in found) / len(found):.1%} in {part}")
        assert line == f"{what} read as <unk>: {', '.join(shares)}"


def test_examples_that_differ_in_names_that_become_unk_are_not_said_to_be_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = of([f"(f w{i} b)" for i in range(20)], ["p", "n"] * 10)
    test = of(["(f new b)", "(f w3 b)", "(f other b)"], ["p", "n", "p"])
    dgltree.fit(train, validation=test, test=test, out=tmp_path / "m", no_baseline=True, **FEW)
    assert said_of(capsys, "warning: 1 of 3 test") == ["warning: 1 of 3 test examples also occur in the training set"]


def test_counts_of_classes_are_said_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = ["a"] * 12 + ["b"] * 7 + ["c"]
    train = of([f"(f w{i})" for i in range(20)], labels)
    test = of(["(f x)", "(f y)"], ["a", "c"])
    dgltree.fit(train, validation=test, test=test, out=tmp_path / "m", no_baseline=True, **FEW)
    counts = Counter(labels)
    assert [line for line in capsys.readouterr().err.splitlines() if re.search("class(es)?( has|,| have)", line)] == [
        f"3 classes, with {min(counts.values())} to {max(counts.values())} training examples",
        "1 class has one training example: c",
        "1 class has no validation example: b",
        "1 class has no test example: b",
    ]


@pytest.mark.parametrize(("largest", "wanted"), [(0, 1 / 5), (1, 1 / 5), (None, None)])
def test_most_frequent_is_what_the_largest_class_of_training_scores(largest: int | None, wanted: float | None) -> None:
    metrics = ClassMetrics(["a", "b"], largest=largest)
    metrics.update(torch.tensor([[0.9, 0.1]] * 5), torch.tensor([-1, -1, -1, 0, 1]))
    found = metrics.found()
    assert found.metrics.get("most_frequent") == wanted
    assert found.confusion is not None
    assert found.confusion.tolist() == [[1, 0, 0], [1, 0, 0], [3, 0, 0]]


def test_a_hundred_thousand_classes_are_counted_without_a_table_of_their_confusions() -> None:
    metrics = ClassMetrics([str(i) for i in range(100_000)])
    answers = torch.zeros(3, 100_000)
    answers[:, 7] = 1
    metrics.update(answers, torch.tensor([7, 8, 7]))
    found = metrics.found()
    assert found.confusion is None
    assert found.metrics["accuracy"] == pytest.approx(2 / 3)
    assert found.metrics["macro_f1"] == pytest.approx((0.8 + 0) / 2)


def test_numbers_are_measured_by_their_ranks_too() -> None:
    generator = torch.Generator().manual_seed(0)
    answers, labels = torch.randn(2, 40, generator=generator)
    metrics = Numbers().metrics()
    metrics.update(answers[:11], labels[:11])
    metrics.update(answers[11:], labels[11:])
    wanted = spearmanr(answers.numpy(), labels.numpy()).statistic
    assert metrics.found().metrics["rank_correlation"] == pytest.approx(wanted)
    equal = Numbers().evaluation(torch.ones(4), labels[:4])
    assert math.isnan(equal.metrics["rank_correlation"])


@pytest.mark.parametrize(("noise", "said"), [(0.1, False), (0.5, False), (1.0, True), (30.0, True)])
def test_that_nothing_is_better_than_the_mean_is_said_where_it_is_so(noise: float, said: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    labels = torch.randn(60, generator=generator)
    answers = {"validation": labels + noise * torch.randn(60, generator=generator)}
    compared = Compared.of(Numbers(), {"network": answers}, {"validation": labels})
    lines = no_better(compared, Numbers())
    assert [line.startswith("in validation the network is not clearly better") for line in lines] == [True] * said
    classes = Classes(("a", "b"))
    probabilities = {"validation": torch.rand(9, 2, generator=generator).softmax(1)}
    assert not no_better(
        Compared.of(classes, {"network": probabilities}, {"validation": torch.zeros(9).long()}), classes
    )


def test_sequences_refuse_tokens_of_inner_nodes_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = [Tree("root", (Tree("dep", token=f"w{i}"),), token="ab"[i % 2]) for i in range(20)]
    with pytest.raises(ValueError, match=r"lstm reads sequences, .* tokens of inner nodes, .* child_sum"):
        dgltree.fit(TreeDataset(trees, ["p", "n"] * 10), out=tmp_path / "m", encoder="lstm")
    assert "starts again" not in capsys.readouterr().err


def test_refused_records_keep_their_ids_and_count_as_errors(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["id\ttree\tlabel", "one\tx+y\tpos", "two\tcosh(x)\tpos", "three\tx*y\tneg", "four\tx+\tpos"]
    file = written(tmp_path, "new.tsv", "\n".join([*lines, ""]))
    assert main(["predict", str(fitted / "model"), str(file)]) == 1
    rows = rows_of(capsys.readouterr().out)[1:]
    assert [row[0] for row in rows] == ["one", "two", "three", "four"]
    assert [bool(row[1]) for row in rows] == [True, False, True, False]
    assert main(["evaluate", str(fitted / "model"), str(file)]) == 0
    said = capsys.readouterr().out.splitlines()
    right = sum(row[1] == label for row, label in ((rows[0], "pos"), (rows[2], "neg")))
    assert said[0].startswith(f"accuracy {right / 2:.4f}, ")
    accuracy = f"accuracy with these rows counted as errors: {right / 3:.4f}"
    assert said[1] == f"{file}, all 3 rows: 1 are rejected for names unknown to the model; {accuracy}"
    assert main(["evaluate", str(fitted / "model"), str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["left_out"], found["refused"]) == (2, 1)


def test_refused_numbers_are_counted_and_have_no_error() -> None:
    found = Numbers().evaluation(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 3.0, 4.0]))
    said = "new.tsv, all 5 rows: 2 are rejected for names unknown to the model, and have no prediction"
    assert with_refused("new.tsv", found, 2) == f"{said}; the metrics are those of the other rows"


def heavy(count: int) -> TreeDataset:
    """Products, most of which are small and some large."""
    rng, trees, labels = random.Random(3), [], []
    for _ in range(count):
        parts = [rng.choice("abcde") for _ in range(rng.randrange(1, 6))]
        tree = Tree("w", token=parts[0])
        for part in parts[1:]:
            tree = Tree("mul", (tree, Tree("w", token=part)))
        trees.append(tree)
        labels.append(
            float(np.prod([{"a": 0.2, "b": 1.0, "c": 3.0, "d": 5.0, "e": 0.5}[part] for part in parts])) + 1e-3
        )
    return TreeDataset(trees, labels)


def test_the_scale_of_labels_with_a_long_tail_is_chosen_said_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = heavy(150)
    model = dgltree.fit(data, out=tmp_path / "m", no_baseline=True, hidden_size=8, epochs=3)
    [line] = said_of(capsys, "some labels are far from all others")
    scores = dict(re.findall(r"(none|asinh|rank|log) (\d\.\d{3})", line))
    assert set(scores) == {"none", "asinh", "rank", "log"}
    [best] = re.findall(r"They are learned on the scale '(\w+)'", line)
    assert float(scores[best]) == max(map(float, scores.values()))  # printed scores may be equal
    numbers = [float(label) for label in split(data, 0)["train"].labels if label is not None]
    low, high = np.quantile(numbers, (0.25, 0.75))
    assert (
        f"labels go from {min(numbers):g} to {max(numbers):g}, and half of all labels lie within {high - low:g}."
        in line
    )
    assert best != "none"
    options = json.loads((tmp_path / "m" / "card.json").read_text())["options"]
    assert options["label_scale"] == best
    trees = [data[i][0] for i in range(20)]
    torch.testing.assert_close(TrainedModel.load(tmp_path / "m").answers_to(trees), model.answers_to(trees))
    dgltree.fit(data, out=tmp_path / "m", no_baseline=True, hidden_size=8, epochs=3)
    assert "already finished" in (said := capsys.readouterr().err)
    assert "some labels" not in said, "the scale that the folder has chosen is kept"


def test_a_scale_that_is_asked_for_is_for_numbers(tmp_path: Path) -> None:
    texts = [f"(f w{i})" for i in range(40)]
    with pytest.raises(
        ValueError, match="label_scale is 'log'; it works only with the task regress and the readout number"
    ):
        dgltree.fit(of(texts, ["p", "n"] * 20), out=tmp_path / "m", label_scale="log")
    with pytest.raises(ValueError, match="the scale log needs labels above 0, but the lowest is -1"):
        dgltree.fit(of(texts, [-1.0, 2.5] * 20), out=tmp_path / "m", label_scale="log")


def test_an_evaluation_says_which_examples_were_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"(f w{i} b)\t{'pn'[i % 2]}" for i in range(40)]
    file = written(tmp_path, "trees.tsv", "\n".join(["tree\tlabel", *rows, ""]))
    out = tmp_path / "model"
    assert main(["fit", str(file), "--hidden-size", "4", "--epochs", "1", "--no-baseline", "--out", str(out)]) == 0
    trained = json.loads((out / "card.json").read_text())["data"]["examples"]["train"]
    capsys.readouterr()
    assert main(["evaluate", str(out), str(file)]) == 0
    line = f"warning: {trained} of 40 examples also occur in the training set of the model"
    assert line in capsys.readouterr().err.splitlines()
    other = written(tmp_path, "other.tsv", "tree\tlabel\n(f v1 b)\tp\n(f w1)\tn\n")
    assert main(["evaluate", str(out), str(other)]) == 0
    assert "also occur" not in capsys.readouterr().err
    written(out, "trained_on.npy", b"no numbers")
    assert main(["evaluate", str(out), str(other)]) == 1
    assert "trained_on.npy: damaged" in capsys.readouterr().err


def test_the_largest_class_of_training_is_kept_and_scores_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training has most of b, validation and test most of a: the largest class is nearly always wrong."""
    rows = [(f"x{'*y' * k}", "b" if k % 4 else "a", "train") for k in range(24)]
    rows += [(f"y{'*y' * k}+z", "b" if k < 3 else "a", ("validation", "test")[k % 2]) for k in range(20)]
    path = written(tmp_path, "trees.tsv", "\n".join(["tree\tlabel\tsplit", *map("\t".join, rows), ""]))
    out = tmp_path / "model"
    assert main(["fit", str(path), *SMALL, "--epochs", "1", "--out", str(out)]) == 0
    card = json.loads((out / "card.json").read_text())
    shares = {
        split: [label for _, label, each in rows if each == split].count("b") / 10 for split in ("validation", "test")
    }
    assert shares == {"validation": 0.2, "test": 0.1}
    assert {split: card["metrics"][split]["most_frequent"] for split in shares} == shares
    assert {split: card["baseline"][split]["most_frequent"] for split in shares} == shares
    capsys.readouterr()
    assert main(["evaluate", str(out), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["most_frequent"] == pytest.approx(21 / 44)
    TrainedModel.load(out).save(tmp_path / "copy")
    assert json.loads((tmp_path / "copy" / "largest_class.json").read_text()) == {"class": "b", "balanced": False}
    for content in ('{"class": "c"}', '["b"]', "{"):
        written(tmp_path / "copy", "largest_class.json", content)
        with pytest.raises(ValueError, match=r"largest_class\.json: "):
            TrainedModel.load(tmp_path / "copy")
