"""The jobs of a folder: which are done, doing the others in worker processes, and refusing to mix two runs."""

import json
import multiprocessing
import os
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from dgltree.files import replacing
from tasks.equations.compositionality.training import RESULT, Task, do
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PRESETS

VERSION = 1  # of what a folder holds
SETS = {"small": ("small",), "paper": ("paper-train", "paper-test")}
"""Our presets to those of tasks.equations.generator.presets."""


def data_sets(preset: str, folder: Path, seed: int, workers: int) -> dict[str, Any]:
    """Generate the sets that the folder lacks; returns preset and seed of each.

    Raises ``ValueError`` for a folder with sets of another preset or seed.
    """
    cards: dict[str, Any] = {}
    for name in SETS[preset]:
        for part, card in write_sets(name, PRESETS[name], folder, seed, workers).items():
            cards[part] = {key: card[key] for key in ("preset", "seed", "chunk", "version", "generator")}
    return cards


def claim(folder: Path, run: Mapping[str, Any]) -> None:
    """Say in the folder which run it is of. Raises ``ValueError`` with the difference where it is of another."""
    file = folder / "run.json"
    if file.exists():
        found = json.loads(file.read_text(encoding="utf-8"))
        _refuse_difference(f"{folder} is of another run", found, run)
    with replacing(file) as beside:
        beside.write_text(json.dumps(run, indent=1), encoding="utf-8")


def unfinished(tasks: Sequence[Task]) -> list[Task]:
    """The tasks without a result. Raises ``ValueError`` for a result of another configuration."""
    missing = []
    for task in tasks:
        file = task.folder / RESULT
        if file.exists():
            found = json.loads(file.read_text(encoding="utf-8"))["config"]
            for part, wanted in task.config.items():
                _refuse_difference(f"{file} is of another configuration ({part})", found.get(part, {}), wanted)
        else:
            missing.append(task)
    return missing


def _refuse_difference(what: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    keys = [key for key in {**found, **wanted} if found.get(key) != wanted.get(key)]
    if keys:
        difference = "; ".join(f"{key}: {found.get(key)!r} there, {wanted.get(key)!r} now" for key in keys)
        raise ValueError(f"{what}: {difference}. Give another --out, or the settings of that run")


def run(tasks: Sequence[Task], workers: int) -> dict[str, str]:
    """Do the tasks; a failing one does not stop the others. Returns job to error, of those that failed.

    With one worker they are done in this process. The whole error stands in ``error.txt`` of the job's folder.
    """
    failed = {}
    with tqdm(total=len(tasks), unit="job", disable=None) as bar:
        for task, error in _errors(tasks, workers):
            bar.update()
            file = task.folder / "error.txt"
            if error is None:
                file.unlink(missing_ok=True)
            else:
                task.folder.mkdir(parents=True, exist_ok=True)
                file.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
                failed[task.job.name] = f"{type(error).__name__}: {error}"
    return failed


def _errors(tasks: Sequence[Task], workers: int) -> Iterator[tuple[Task, BaseException | None]]:
    """Tasks as they end, each with what went wrong."""
    if workers == 1:
        for task in tasks:
            yield task, _error_of(task)
        return
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(multiprocessing.get_start_method(),))
    try:
        futures: dict[Future[None], Task] = {executor.submit(do, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.exception()
    finally:
        executor.shutdown(cancel_futures=True)


def _begin(start_method: str) -> None:
    """One thread; loaders start as in the parent, since a spawn takes seconds; no worker is left alone."""
    torch.set_num_threads(1)
    multiprocessing.set_start_method(start_method, force=True)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would go on to train, and then wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _error_of(task: Task) -> Exception | None:
    try:
        do(task)
    except Exception as error:
        return error
    return None
