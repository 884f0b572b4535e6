"""Trainings by the command lines of the tasks."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from dgltree.training.folder import CARD, read_epochs
from tasks.fit_cli import NEVER, read_results
from tasks.jobs import Job

ORDERED_MEMORY: dict[str, Any] = {
    "hidden_size": 64,
    "lr": 1e-3,
    "optimizer": "adam",
    "eps": 1e-9,
    "weight_decay": 1.2e-6,
    "clip": 1.0,
    "warmup": 0,
    "batch_size": 128,
    "patience": NEVER,
    "input_size": 0,
    "dropout": 0.0,
    "input_dropout": 0.0,
    "token_dropout": 0.0,
    "min_count": 1,
    "no_baseline": True,
}
"""The training of Ordered Memory (Shen et al. 2019, arXiv 1910.13466), of which logic and ListOps have all or most; the
published program has beta1 = 0."""


@dataclass(frozen=True)
class Training(Job):
    """``python -m tasks.TASK fit`` with a configuration of the task, in a folder of its own."""

    task: str
    model: str
    """The name of the configuration."""
    variant: str
    """The name of what its options change."""
    seed: int
    options: tuple[str, ...]
    """Further ones of the command line."""
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.variant}, {self.model}, seed {self.seed}"

    @property
    def config(self) -> Path:
        return configs(self.task) / f"{self.model}.yaml"

    @property
    def configuration(self) -> dict[str, Any]:
        return {"configuration": yaml.safe_load(self.config.read_text(encoding="utf-8")), "options": list(self._given)}

    @property
    def done(self) -> bool:
        return (self.folder / CARD).exists()

    def run(self) -> None:
        arguments = ["fit", f"--config={self.config}", *self._given, f"--out={self.folder.resolve()}"]
        import_module(f"tasks.{self.task}.__main__").main(arguments)

    def figures(self) -> dict[str, float]:
        """Results of the best epoch on the test data."""
        return read_results(self.folder)

    def epochs(self) -> list[dict[str, Any]]:
        """The report of each epoch."""
        return read_epochs(self.folder)

    @property
    def _given(self) -> tuple[str, ...]:
        return (f"--fit.seed={self.seed}", *self.options)


def configs(task: str) -> Path:
    """The folder of a task's configurations."""
    return Path(__file__).parent / task / "configs"


def done(trainings: Iterable[Training]) -> dict[tuple[str, str], list[Training]]:
    """(model, variant) to those of its seeds that are done, of pairs with at least one."""
    found: dict[tuple[str, str], list[Training]] = {}
    for training in trainings:
        if training.done:
            found.setdefault((training.model, training.variant), []).append(training)
    return found
