"""Labels and records that cannot be learnt from: one line each, and nothing else is lost."""

import json
from pathlib import Path

import pytest
from own_trees import QUIET, written

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET
TREES = [f"(f w{i % 9} (g w{i % 7} w{i}))" for i in range(60)]
FEW = ["--hidden-size", "4", "--epochs", "1", "--no-baseline", "--no-cache"]


def fit(folder: Path, rows: list[str], *options: str) -> int:
    file = written(folder, "trees.tsv", "\n".join(["tree\tlabel", *rows, ""]))
    return main(["fit", str(file), *FEW, *options, "--out", str(folder / "model")])


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["a"] * 60, [], "all 48 training examples have the label 'a'; give at least two classes"),
        (["1.5"] * 60, [], "all 48 training examples have the number 1.5 as their label; there is nothing to learn"),
        (
            [f"id{i:02}" for i in range(60)],
            [],
            "all 48 training examples have different labels, such as 'id00', like ids, so no class can be learned; "
            "name the label column with --label",
        ),
        (
            [str(i) for i in range(60)],
            ["--task", "classify"],
            "all 48 training examples have different labels, such as '0', like ids, so no class can be learned; "
            "name the label column with --label, or learn numbers with --task regress",
        ),
    ],
)
def test_labels_that_cannot_be_learnt_from_end_a_training_in_a_line(
    labels: list[str], options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(tmp_path, [f"{tree}\t{label}" for tree, label in zip(TREES, labels, strict=True)], *options) == 1
    _, said = capsys.readouterr().err.strip().split("\n")
    assert said == f"dgltree: {message}"


@pytest.mark.parametrize("label", ["inf", "-inf"])
def test_a_number_that_is_none_is_left_out_of_numbers(
    label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{tree}\t{label if i == 5 else i / 7}" for i, tree in enumerate(TREES)]
    assert fit(tmp_path, rows) == 0
    assert f"line 7: the label '{label}' is not a number that float32 can hold" in capsys.readouterr().err
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert sum(card["data"]["examples"].values()) == 59
    assert card["data"]["left out"]["no split"] == 1


def test_a_test_set_of_unknown_functions_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = written(tmp_path, "test.tsv", "tree\tlabel\n(p q (r s t u v w))\ta\n(x)\tb\n")
    assert fit(tmp_path, [f"{tree}\t{'ab'[i % 2]}" for i, tree in enumerate(TREES)], "--test", str(test)) == 0
    assert "functions read as <unk>: 0.0% in train, 0.0% in validation, 33.3% in test" in capsys.readouterr().err
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["metrics"]["test"]["examples"] == 2
