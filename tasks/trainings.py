"""Trainings by the command lines of the tasks."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from dgltree.training.checkpoints import LAST
from dgltree.training.folder import read_epochs
from tasks.cli import TEST
from tasks.jobs import Job


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
        return (self.folder / TEST).exists()

    def run(self) -> None:
        last = self.folder / "checkpoints" / LAST
        arguments = ["fit", f"--config={self.config}", "--trainer.devices=1", *self._given]
        arguments += [f"--trainer.default_root_dir={self.folder.resolve()}", "--trainer.enable_progress_bar=false"]
        arguments += [f"--ckpt_path={last.resolve()}"] if last.exists() else []
        import_module(f"tasks.{self.task}.__main__").main(arguments)

    def figures(self) -> dict[str, float]:
        """Of the best epoch on the test data."""
        return json.loads((self.folder / TEST).read_text(encoding="utf-8"))

    def epochs(self) -> list[dict[str, Any]]:
        """The report of each epoch."""
        return read_epochs(self.folder)

    @property
    def _given(self) -> tuple[str, ...]:
        return (f"--seed_everything={self.seed}", *self.options)


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
