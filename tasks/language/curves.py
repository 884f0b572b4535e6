"""``python -m tasks.language curves RUN [RUN ...] --out STEM``: perplexity and F1 of trainings over their epochs."""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from dgltree.plotting import charts, curves
from dgltree.training.folder import EPOCHS, read_epochs
from tasks.tables import Spread

LAYER = re.compile(r"f1_layer_(\d+)")
SEED = re.compile(r"-\d+$")
"""The end of the name of a run's folder; runs whose names differ in it alone are one model."""
Values = dict[str, dict[int, list[float]]]
"""Name of a line -> epoch -> one value a seed."""


def read_runs(runs: Iterable[Path]) -> tuple[Values, Values]:
    """Perplexities by model, and F1 in percent by model and layer.

    Raises ``ValueError`` for a folder without epochs, or whose epochs have no perplexity.
    """
    perplexity: Values = defaultdict(lambda: defaultdict(list))
    f1: Values = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if not (run / EPOCHS).exists():
            raise ValueError(f"{run}: no {EPOCHS}; expected the folder of a training")
        model = SEED.sub("", run.name)
        for row in read_epochs(run):
            if "perplexity" not in row:
                raise ValueError(f"{run / EPOCHS}: no perplexity; expected the epochs of a language model")
            perplexity[model][row["epoch"]].append(row["perplexity"])
            for key, value in row.items():
                if layer := LAYER.fullmatch(key):
                    f1[f"{model}, layer {layer[1]}"][row["epoch"]].append(value)
    return perplexity, f1


def main(_: str, arguments: list[str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tasks.language curves", description=__doc__)
    parser.add_argument(
        "runs", nargs="+", type=Path, help="folders of trainings; NAME-0, NAME-1 are seeds of one model"
    )
    parser.add_argument("--out", required=True, metavar="STEM", help="write STEM.png and STEM.svg")
    options = parser.parse_args(arguments)
    for file in charts.save(curves.language_models(*map(_series, read_runs(options.runs))), options.out):
        print(file)


def _series(values: Values) -> dict[str, charts.Series]:
    return {name: {epoch: Spread.over(of).point for epoch, of in by_epoch.items()} for name, by_epoch in values.items()}
