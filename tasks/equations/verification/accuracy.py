"""Measure how well a model distinguishes correct from wrong equations, by depth.

``python -m tasks.equations accuracy --model NAME_OR_FILE --data test.parquet`` reads a set that ``generate`` made. An
equation is predicted to be correct if the model's probability is over one half. Precision and recall are those of
correct equations. The last line is for all chosen depths.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import torch
from torch import Tensor
from tqdm import tqdm

from dgltree import open_model
from dgltree.models import EquationModel
from dgltree.ranking.ranker import probabilities
from tasks.equations.store import EquationRow, Label, read
from tasks.equations.verification.counts import Counts, count_by_group, together

BLOCK = 2048  # equations between two updates of the progress bar


def ask_model(model: EquationModel, rows: Sequence[EquationRow]) -> Tensor:
    """(E,) bool, whether the model calls each equation correct; those of one depth are asked about together."""
    found = torch.empty(len(rows), dtype=torch.bool)
    order = sorted(range(len(rows)), key=lambda number: rows[number].depth)
    with tqdm(total=len(rows), unit="eq", delay=2, disable=None) as bar:
        for start in range(0, len(order), BLOCK):
            block = order[start : start + BLOCK]
            found[block] = (probabilities(model, [rows[number].equation for number in block]) > 0.5).cpu()
            bar.update(len(block))
    return found


def by_depth(model: EquationModel, rows: Sequence[EquationRow]) -> dict[int, Counts]:
    """Depth to counts."""
    return score_by_depth(ask_model(model, rows), rows)


def score_by_depth(answers: Tensor, rows: Sequence[EquationRow]) -> dict[int, Counts]:
    """Depth to counts of answers (E,) bool."""
    labels = torch.tensor([row.label == 1 for row in rows])
    return count_by_group(answers, labels, torch.tensor([row.depth for row in rows]))


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations accuracy", description=__doc__)
    parser.add_argument("--model", default="default", help="a shipped model or a file, published weights included")
    parser.add_argument("--data", type=Path, required=True, help="a set of labeled equations (Parquet)")
    parser.add_argument("--split", help="use only this split of the set: train, validation or test")
    parser.add_argument(
        "--depths", nargs=2, type=int, metavar=("FIRST", "LAST"), help="use only equations of these depths"
    )
    parser.add_argument(
        "--labels",
        choices=get_args(Label),
        default="label",
        help="compare with the labels of the set, or with the truth by arithmetic",
    )
    parser.add_argument("--limit", type=int, help="use only the first N equations")
    options = parser.parse_args(arguments)
    try:
        rows = _chosen(options)
    except (ValueError, FileNotFoundError) as error:
        raise SystemExit(str(error)) from None
    found = by_depth(open_model(options.model), rows)
    print(f"{'depth':>9} {'equations':>9}  accuracy precision    recall")
    lines: list[tuple[int | str, Counts]] = [*found.items()]
    if options.depths:
        lines.append(("{} to {}".format(*options.depths), together(found.values())))
    else:
        deep = [counts for depth, counts in found.items() if depth >= 8]
        lines += [("all", together(found.values())), *([("8 and up", together(deep))] * bool(deep))]
    for name, counts in lines:
        share = f"{counts.accuracy:9.4f} {counts.precision:9.4f} {counts.recall:9.4f}"
        print(f"{name:>9} {counts.size:9,} {share}")


def _chosen(options: argparse.Namespace) -> list[EquationRow]:
    rows = read(options.data, splits=options.split and [options.split], label=options.labels)
    first, last = options.depths or (0, 255)
    found = [row for row in rows if first <= row.depth <= last][: options.limit]
    if not found:
        of = [f"split {options.split!r}"] * bool(options.split) + [f"depth {first} to {last}"] * bool(options.depths)
        raise ValueError(f"{options.data} has no equations" + (f" of {' and '.join(of)}" if of else ""))
    return found
