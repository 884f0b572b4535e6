"""What labels ask for."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from own_trees import QUIET, SMALL, built, written

from dgltree import Tree, TreeDataset
from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")
from dgltree.training.deciding import infer_task
from dgltree.training.objectives.classes import Classes
from dgltree.training.options import FitOptions
from dgltree.training.stepping.module import TreeTraining

pytestmark = QUIET
TREES = [Tree("leaf", token=token) for token in "abc"]


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["1", "2", "0"], "classify"),
        (["1.5", "2", None], "regress"),
        (["1.0", "2.0", "-3"], "classify"),
        (["inf", "1", "2"], "classify"),
        (["-inf", "1", "nan"], "classify"),
        (["nan", None, None], "classify"),
        (["nan", "0.5", "1"], "regress"),
        (["1e308", "-1e308", "2"], "classify"),
        (["1e-308", "0", "1"], "regress"),
        (["0.5", "a", "1"], "classify"),
        (["yes", "no", "inf"], "classify"),
    ],
)
def test_numbers_with_a_fraction_ask_for_numbers_and_all_else_for_classes(labels: list[str | None], task: str) -> None:
    assert infer_task(TreeDataset(TREES, labels)).task == task


def test_pairs_ask_for_a_task_of_pairs_and_classes_are_in_the_order_of_numbers_and_then_of_letters() -> None:
    assert infer_task(TreeDataset([(TREES[0], TREES[1])] * 2, ["0.5", "1"])).task == "pair"
    data = TreeDataset(TREES * 2, ["10", "9", "b", "-1", "a", "09"])
    assert Classes.of(data, nodes=False, class_weights=False).classes == ("09", "9", "10", "-1", "a", "b")


@pytest.mark.parametrize(
    ("kinds", "task", "why"),
    [
        (2, "classify", ""),
        (
            20,
            "classify",
            "20 different whole numbers, at most 20, and are learned as classes; --task regress learns numbers",
        ),
        (
            21,
            "regress",
            "21 different whole numbers, more than 20, and are learned as numbers; --task classify learns classes",
        ),
    ],
)
def test_many_whole_numbers_are_numbers_and_few_are_classes_and_why_is_said(kinds: int, task: str, why: str) -> None:
    found = infer_task(TreeDataset(TREES * 21, [str(i % kinds) for i in range(63)]))
    assert found == (task, why and f"the labels are {why}")


def test_why_labels_are_numbers_is_printed_unless_a_task_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"(f x{i % 30})\t{i % 30}" for i in range(130)]
    file = written(tmp_path, "trees.tsv", "\n".join(["tree\tlabel", *rows, ""]))
    few = [*SMALL, "--epochs", "1", "--no-baseline"]
    assert main(["fit", str(file), *few, "--out", str(tmp_path / "numbers")]) == 0
    said = capsys.readouterr().err
    assert (
        "the labels are 30 different whole numbers, more than 20, and are learned as numbers; --task classify learns"
        in said
    )
    assert "regress: " in said
    assert main(["fit", str(file), *few, "--task", "classify", "--out", str(tmp_path / "classes")]) == 0
    said = capsys.readouterr().err
    assert "learnt as" not in said
    assert "classify: " in said


@pytest.mark.parametrize(
    ("labels", "given", "decay"),
    [(["a", "b"], {}, 0.05), ([0.5, 1.5], {}, 0.0), (["a", "b"], {"weight_decay": 2.0}, 2.0)],
)
def test_matrices_shrink_by_the_rate_times_the_decay_of_the_task_and_biases_never_do(
    labels: list[Any], given: dict[str, Any], decay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TreeTraining, "trainer", SimpleNamespace(precision="32-true"))
    module = built(TreeDataset(TREES[:2] * 4, labels * 4), FitOptions(hidden_size=6, lr=0.01, **given)).module
    before = {name: weights.detach().clone() for name, weights in module.named_parameters()}
    for weights in module.parameters():
        weights.grad = torch.zeros_like(weights)
    module.configure_optimizers().step()
    for name, weights in module.named_parameters():
        kept = 1 - 0.01 * decay if weights.ndim > 1 else 1
        torch.testing.assert_close(weights.detach(), before[name] * kept)
    assert {weights.ndim for weights in before.values()} >= {1, 2}
