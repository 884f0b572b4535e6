"""The command line of a task: its data, and ``dgltree.fit`` with a configuration of the task."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jsonargparse import ActionConfigFile, ArgumentParser

import dgltree
from dgltree import TreeDataset, Vocabulary
from dgltree.commands.options import config_first
from dgltree.training.folder import CARD
from dgltree.training.options import FitOptions

CONFIG = "config.yaml"
"""The file in a run's folder with all its settings."""
DESCRIPTIONS = {
    "fit": "Train on the data of {}, and test the best epoch.",
    "test": "Print the metrics of a trained model of {} on the test sets.",
}
NEVER = 1_000_000
"""Epochs without a better result after which a training of a task ends; also leaves of a batch, where any are right."""


@dataclass(frozen=True)
class Sets:
    """The data of a training."""

    train: TreeDataset
    validation: TreeDataset
    tests: Mapping[str, TreeDataset]
    """Test sets by name: "test", and further ones, each measured by itself."""
    vocabulary: Vocabulary
    classes: Sequence[str]
    parts: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The numbers of examples of the test set that are measured by themselves, too, by the names of the parts."""


class TaskSource(Protocol):
    """A maker or reader of a task's data; the arguments of its constructor are options of the command line."""

    def sets(self) -> Sets:
        """The data. Raises ``ValueError`` and ``OSError`` for files that are wrong or not there."""


def run_task(task: str, maker: type[TaskSource], defaults: Mapping[str, Any], arguments: list[str]) -> None:
    """Run ``python -m tasks.TASK fit`` or ``test``; what is refused ends it with one line.

    Args:
        task: its name.
        maker: of the data.
        defaults: those of the task's settings of :class:`dgltree.training.options.FitOptions` that differ.
        arguments: ``fit`` or ``test``, and its options.
    """
    name = (arguments or [""])[0]
    program = f"python -m tasks.{task}"
    if name not in ("fit", "test"):
        raise SystemExit(f"usage: {program} fit|test [options]; fit --help and test --help say more")
    parser = ArgumentParser(prog=f"{program} {name}", description=DESCRIPTIONS[name].format(task))
    parser.add_argument(
        "--config", action=ActionConfigFile, help="read settings from this file, such as one of configs/"
    )
    parser.add_class_arguments(maker, "data")
    if name == "fit":
        parser.add_argument(
            "--out", default=f"runs/{task}", help="folder of the training; an interrupted training resumes there"
        )
        parser.add_class_arguments(FitOptions, "fit")
        parser.link_arguments("fit.seed", "data.seed")
        parser.set_defaults({f"fit.{name}": value for name, value in defaults.items()})
    else:
        parser.add_argument("--run", required=True, help="the folder of a training")
    given = parser.parse_args(config_first(arguments[1:]))
    try:
        sets = maker(**given.data.as_dict()).sets()
        if name == "test":
            _test(Path(given.run), sets)
            return
        data: dict[str, Any] = {"validation": sets.validation, "test": sets.tests, "parts": sets.parts}
        data |= {"vocabulary": sets.vocabulary, "classes": sets.classes}
        command = shlex.join([*program.split(), *arguments])
        dgltree.fit(sets.train, **data, out=given.out, command=command, **given.fit.as_dict())
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from None
    parser.save(given, Path(given.out) / CONFIG, overwrite=True, skip_check=True)


def _test(run: Path, sets: Sets) -> None:
    """Print the metrics of a training's model on each of the test sets."""
    model = dgltree.TrainedModel.load(run)
    parts = {name: sets.tests["test"].select(rows) for name, rows in sets.parts.items()}
    for name, data in {**sets.tests, **parts}.items():
        print(f"{name}: {model.evaluate(data)}")


def read_results(folder: Path) -> dict[str, float]:
    """The metrics of a training on the test data, and the accuracy of each part of it or further set by its name."""
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    sets = {**card["parts"], **card["metrics"]}
    found = {name: of["accuracy"] for name, of in sets.items() if name not in ("validation", "test")}
    return {"accuracy": card["metrics"]["test"]["accuracy"], **found, **card["further"]}
