"""What labels ask for."""

import pytest

from dgltree import Tree, TreeDataset

pytest.importorskip("lightning", reason="the train extra is not installed")
from dgltree.training.build import task_of
from dgltree.training.objectives.classes import Classes

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
    assert task_of(TreeDataset(TREES, labels)) == task


def test_pairs_ask_for_a_task_of_pairs_and_classes_are_in_the_order_of_numbers_and_then_of_letters() -> None:
    assert task_of(TreeDataset([(TREES[0], TREES[1])] * 2, ["0.5", "1"])) == "pair"
    data = TreeDataset(TREES * 2, ["10", "9", "b", "-1", "a", "09"])
    assert Classes.of(data, nodes=False, class_weights=False).classes == ("09", "9", "10", "-1", "a", "b")
