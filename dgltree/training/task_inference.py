"""The task that labels ask for, and why."""

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from dgltree.datasets.labels import present
from dgltree.datasets.settings.field_texts import number
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.options import TASKS, TaskName

MOST_CLASSES = 20
"""Different whole numbers up to which labels are classes; more of them are numbers."""
MIN_WHOLE_NUMBERS = 2
"""Different whole numbers up to which nothing needs to be said: yes and no are often 1 and 0."""


class InferredTask(NamedTuple):
    """A task, and the reason for it if it could have been another one."""

    task: TaskName
    why: str = ""


def infer_task(data: TreeDataset) -> InferredTask:
    """The task that the labels of a data set ask for."""
    if data.each == TASKS["pair"].each:
        return InferredTask("pair")
    labels = set(present(data))
    try:
        values = {float(label) for label in labels}
    except ValueError:
        return InferredTask("classify")
    if any(isfinite(value) and not value.is_integer() for value in values):
        why = f"the labels are {len(labels):,} different numbers, some not whole: learnt as numbers"
        return InferredTask("regress", why if len(labels) > 1 else "")
    if not values or not all(map(isfinite, values)) or len(labels) <= MIN_WHOLE_NUMBERS:
        return InferredTask("classify")
    what = f"the labels are {len(labels):,} different whole numbers"
    if len(values) > MOST_CLASSES:
        return InferredTask(
            "regress", f"{what}, over {MOST_CLASSES}: learnt as numbers; --task classify learns classes"
        )
    return InferredTask("classify", f"{what}, up to {MOST_CLASSES}: learnt as classes; --task regress learns numbers")


def check_classes(labels: Sequence[str | None]) -> None:
    """``ValueError`` if every training example has a label of its own, like an id."""
    names = {label for label in labels if label is not None}
    if len(names) > MOST_CLASSES and len(names) == len(labels):
        numbers = ", or learn numbers (--task regress)" if all(number(name) is not None for name in names) else ""
        raise ValueError(
            f"all {len(names):,} training examples have different labels, such as {min(names)!r:.40}, like ids: "
            f"no class can be learnt; name the column of the label (--label){numbers}"
        )
