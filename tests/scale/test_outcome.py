"""What a job of several blocks comes to: rows and what was left out add up, and metrics are those of all rows."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")
pytest.importorskip("fsspec", reason="the ray extra is not installed")
pytest.importorskip("torchmetrics", reason="the train extra is not installed")
import pyarrow

from dgltree.datasets.settings import Reading
from dgltree.scale import running
from dgltree.training.objectives.classes import Classes
from dgltree.training.objectives.numbers import Numbers

BLOCKS: dict[str, tuple[list[tuple[Any, Any]], int]] = {  # label and prediction, and how many were left out
    "a": ([("x", "x"), ("y", "x"), ("x", "x")], 2),
    "b": ([], 4),
    "c": ([("y", "y"), ("never seen", "y")], 0),
    "d": ([("x", "y")], 1),
}


CLASSES = ("x", "y")


def folder(blocks: dict[str, tuple[list[tuple[Any, Any]], int]], kind: Any) -> Any:
    def read(name: str, columns: list[str]) -> tuple[Any, int]:
        rows, lost = blocks[name]
        labels, said = ([row[k] for row in rows] for k in (0, 1))
        probabilities = {
            each: pyarrow.array([0.9 if one == each else 0.1 for one in said], "float32") for each in CLASSES
        }
        table = pyarrow.table(
            {"label": pyarrow.array(labels, "string"), "prediction": pyarrow.array(said, kind), **probabilities}
        )
        return table.select(columns) if columns else table, lost

    return SimpleNamespace(read=read)


def job(objective: Any) -> Any:
    return SimpleNamespace(model=SimpleNamespace(objective=objective), reading=Reading())


def test_counts_of_blocks_add_up() -> None:
    found = running._counted(list(BLOCKS), folder(BLOCKS, "string"))
    assert (found.rows, found.left_out, found.evaluation) == (6, 7, None)


def test_metrics_of_classes_are_those_of_all_blocks_together() -> None:
    found = running._evaluated(job(Classes(CLASSES)), list(BLOCKS), folder(BLOCKS, "string"))
    assert (found.rows, found.left_out) == (6, 7)
    assert found.evaluation is not None
    assert found.evaluation.examples == 6
    assert found.evaluation.metrics["accuracy"] == pytest.approx(3 / 6)  # an unseen label counts as an error


def test_metrics_of_numbers_are_those_of_all_blocks_together() -> None:
    blocks = {"a": ([("1", 1.5), ("2", 2.0)], 3), "b": ([("-1.5", 0.5)], 2)}
    found = running._evaluated(job(Numbers()), list(blocks), folder(blocks, "float32"))
    assert (found.rows, found.left_out) == (3, 5)
    assert found.evaluation is not None
    assert found.evaluation.metrics["mae"] == pytest.approx((0.5 + 0 + 2) / 3)


def test_nothing_to_compare_with_is_refused_with_how_much_there_was() -> None:
    blocks: dict[str, tuple[list[tuple[Any, Any]], int]] = {"a": ([], 3), "b": ([], 2)}
    with pytest.raises(ValueError, match="none of 5 has a label"):
        running._evaluated(job(Classes(CLASSES)), list(blocks), folder(blocks, "string"))
