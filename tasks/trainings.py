"""Trainings by the command lines of the tasks: many, some at a time, each once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from tqdm import tqdm

from dgltree.files import replacing
from dgltree.training.report import EPOCHS
from tasks.cli import TEST

SOURCE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Training:
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
    def config(self) -> Path:
        return Path("tasks") / self.task / "configs" / f"{self.model}.yaml"

    @property
    def done(self) -> bool:
        return (self.folder / TEST).exists()

    def figures(self) -> dict[str, float]:
        """Of the best epoch on the test data."""
        return json.loads((self.folder / TEST).read_text(encoding="utf-8"))

    def epochs(self) -> list[dict[str, Any]]:
        """What each epoch reported; of one that was done twice, the second time."""
        lines = (self.folder / EPOCHS).read_text(encoding="utf-8").splitlines()
        return list({row["epoch"]: row for row in map(json.loads, lines)}.values())

    def claim(self) -> None:
        """Say in the folder which training it is of. Raises ``ValueError`` where it is of another."""
        file = self.folder / "training.json"
        own = {"configuration": (SOURCE / self.config).read_text(encoding="utf-8"), "options": list(self._given)}
        if file.exists() and json.loads(file.read_text(encoding="utf-8")) != own:
            raise ValueError(f"{self.folder} is of another configuration, or of other options; give another --out")
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(file) as beside:
            beside.write_text(json.dumps(own, indent=1), encoding="utf-8")

    def start(self, threads: int) -> "subprocess.Popen[bytes]":
        """Begin, or go on from the last epoch; what it prints goes to ``log.txt``."""
        last = self.folder / "checkpoints" / "last.ckpt"
        command = [sys.executable, "-m", f"tasks.{self.task}", "fit", f"--config={self.config}", *self._given]
        command += [f"--trainer.default_root_dir={self.folder.resolve()}", "--trainer.enable_progress_bar=false"]
        command += [f"--ckpt_path={last.resolve()}"] if last.exists() else []
        environment = {"OMP_NUM_THREADS": str(threads), **os.environ}
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(command, cwd=SOURCE, env=environment, stdout=log, stderr=log)

    @property
    def _given(self) -> tuple[str, ...]:
        return (f"--seed_everything={self.seed}", *self.options)


def run(trainings: Sequence[Training], jobs: int) -> list[Training]:
    """Do those that are not done, ``jobs`` at a time, which share the cores; returns those that failed.

    Raises ``ValueError``, before any begins, for a folder of another training and for jobs below 1.
    """
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}; it is 1 or more")
    for training in trainings:
        training.claim()
    threads = max(1, (os.cpu_count() or 1) // jobs)
    running: list[subprocess.Popen[bytes]] = []
    stopped = Event()

    def do(training: Training) -> int:
        process = training.start(threads)
        running.append(process)
        if stopped.is_set():  # between its start and here, so that nobody else knew of it
            process.terminate()
        return process.wait()

    open_ = [training for training in trainings if not training.done]
    with ThreadPoolExecutor(jobs) as executor, tqdm(total=len(open_), unit="training", disable=None) as bar:
        try:
            for _ in as_completed([executor.submit(do, training) for training in open_]):
                bar.update()
        finally:  # where this was interrupted, nothing goes on
            stopped.set()
            executor.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.terminate()
    return [training for training in open_ if not training.done]


def done(trainings: Iterable[Training]) -> dict[tuple[str, str], list[Training]]:
    """(model, variant) to those of its seeds that are done, of pairs with at least one."""
    found: dict[tuple[str, str], list[Training]] = {}
    for training in trainings:
        if training.done:
            found.setdefault((training.model, training.variant), []).append(training)
    return found
