"""A model's metrics and answers by the values of a column, such as months: where, and since when, is it worse?"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import torch

from dgltree.batching.number_scales import parents_of
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.text import one_line
from dgltree.training.comparison import interval
from dgltree.training.objectives import Numbers
from dgltree.training.pipeline import unknown_shares
from dgltree.training.trained_model import TrainedModel

MAX_VALUES, ANSWERS = 200, 3
"""Values of a column, and classes whose shares of the answers are listed."""
NONE = "(none)"
"""The value of examples without one."""


class ValueRow(NamedTuple):
    """The examples with one value of the column."""

    value: str
    examples: int
    metric: float
    """The accuracy, or of numbers the mean absolute error: R2 of few examples says little."""
    low: float
    high: float
    """Within which 95 % of the bootstrap resamples lie."""
    functions: float
    tokens: float
    """The shares of functions and tokens that are read as ``<unk>``."""
    outside: float
    """The share of numbers below or above all that training had at their place; NaN if there are none."""
    answers: str
    """The shares of the most frequent answers, or their mean."""


def by_column(model: TrainedModel, data: TreeDataset) -> list[ValueRow]:
    """The table of labelled examples, in the model's vocabulary, by their groups, sorted.

    Raises ``ValueError`` for too many different values, and if no example has one.
    """
    values = values_of(data.groups)
    counts = Counter(values)
    answers = model.answers_to(data)
    targets = model.objective.targets(data.labels)
    rows = []
    for value in sorted(counts, key=lambda name: (name == NONE, name)):
        some = torch.tensor([i for i, other in enumerate(values) if other == value])
        rows.append(_row(model, value, data.select(some), answers[some], targets[some]))
    return rows


def values_of(groups: Sequence[str | None]) -> list[str]:
    """The value of each example. Errors as of :func:`by_column`."""
    values = [NONE if group is None else group for group in groups]
    different = set(values)
    if different == {NONE}:
        raise ValueError("no example has a value in the column of --by")
    if len(different) > MAX_VALUES:
        raise ValueError(
            f"the column of --by has {len(different):,} different values, such as {min(different)!r:.60}; a table "
            f"takes at most {MAX_VALUES} values: group the values by COLUMN:REGEX"
        )
    return values


def table(rows: list[ValueRow], metric: str) -> str:
    """The rows as text, columns separated by tabs."""
    lines = [f"value\texamples\t{metric}\t95 % of resamples\tfunctions as <unk>\ttokens as <unk>\tnew numbers\tanswers"]
    for row in rows:
        outside = "" if row.outside != row.outside else f"{row.outside:.1%}"
        lines.append(
            f"{one_line(row.value)}\t{row.examples}\t{row.metric:.4f}\t{row.low:.4f} to {row.high:.4f}\t"
            f"{row.functions:.1%}\t{row.tokens:.1%}\t{outside}\t{row.answers}"
        )
    return "\n".join(lines)


def _row(model: TrainedModel, value: str, data: TreeDataset, answers: torch.Tensor, targets: torch.Tensor) -> ValueRow:
    objective = model.objective
    predicted = objective.predicted(answers)
    if isinstance(objective, Numbers):
        errors = (predicted.double() - targets).abs()
        told = f"mean {float(answers.double().mean()):.6g}"
    else:
        errors = (predicted == targets).double()
        often = Counter(predicted.tolist()).most_common(ANSWERS)
        told = ", ".join(f"{one_line(model.classes[i])} {count / len(answers):.1%}" for i, count in often)
    low, high = interval(lambda rows: float(errors[rows].mean()), len(errors))
    functions, tokens = unknown_shares(data, model.model.encoder.vocabulary)
    metric = float(errors.mean())
    return ValueRow(value, len(data), metric, low, high, functions, tokens, _outside(model, data), told)


def _outside(model: TrainedModel, data: TreeDataset) -> float:
    """The share of the numbers at leaves that are beyond all numbers of training at their place."""
    table = model.model.encoder.vocabulary.scale_table
    beyond = 0
    count = 0
    for trees in (block.trees for block in data.blocks()):
        if table is not None and trees.value is not None:
            there = ~trees.value.isnan()
            rows = table.rows(trees.function, *parents_of(trees))
            beyond += int(table.outside(trees.value, rows)[there].sum())
            count += int(there.sum())
    return beyond / count if count else float("nan")
