"""The same training runs several times: over folds, so that every example is tested once, or over seeds."""

import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import as_completed
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from functools import partial
from io import TextIOBase
from pathlib import Path
from typing import Any, TextIO

import torch

from dgltree.datasets.splitting import folds, split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.engine.memory import available_bytes, resident_bytes
from dgltree.read.json_text import write_json
from dgltree.support.workers import cores, result_of, workers
from dgltree.training.deciding import choose_notation, keep_labelled
from dgltree.training.fitting import fit
from dgltree.training.folder import CARD, write
from dgltree.training.options import USUAL_EPOCHS, FitOptions
from dgltree.training.processes import first, say
from dgltree.training.split_file import EarlierSplit

WORTH = 300_000
"""Nodes of a data set times usual epochs from which on a training takes longer than its process takes to begin."""
SUMMARY = "summary"
"""The stem of the files with the means."""


@dataclass(frozen=True)
class Repeats:
    """The test metrics of several trainings, by the names of their folders."""

    models: dict[str, dict[str, float]]
    baselines: dict[str, dict[str, float]]
    """Results of the baselines of the same folders, or empty."""
    networks: dict[str, dict[str, float]]
    """Without the baseline, of the same folders, or empty."""
    what: str = ""
    """The encoder, and how many examples each split has, of each training if these differ."""

    @property
    def rows(self) -> dict[str, dict[str, list[float]]]:
        """Model, network alone, baseline, and what the model is above it: metric to its values."""
        rows = {"model": _by_metric(self.models)}
        if self.baselines:
            rows |= {"network": _by_metric(self.networks), "baseline": _by_metric(self.baselines)}
            rows["difference"] = {}
            for name, ours in rows["model"].items():
                theirs = rows["baseline"][name]
                rows["difference"][name] = [our - their for our, their in zip(ours, theirs, strict=True)]
        return rows

    def to_json(self) -> dict[str, Any]:
        means: dict[str, dict[str, Any]] = {}
        for row, by_metric in self.rows.items():
            means[row] = {}
            for name, values in by_metric.items():
                means[row][name] = {"mean": statistics.fmean(values), "deviation": _deviation(values)}
        of_folders = {"trainings": self.models, "baselines": self.baselines, "networks": self.networks}
        return {**of_folders, "means": means, "what": self.what}

    def __str__(self) -> str:
        """A table in Markdown: mean ± sample standard deviation."""
        names = list(next(iter(self.models.values())))
        lines = [f"| test, {len(self.models)} trainings | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
        for row, of in self.rows.items():
            cells = [f"{statistics.fmean(of[name]):.4f} ± {_deviation(of[name]):.4f}" for name in names]
            lines.append(f"| {row} | {' | '.join(cells)} |")
        return "\n".join([*([self.what, ""] if self.what else []), *lines])


def fit_folds(
    data: TreeDataset,
    count: int,
    out: str | Path = "runs/fit",
    *,
    trees: Mapping[str, TreeDataset] | None = None,
    processes: int | None = 1,
    **options: Any,
) -> Repeats:
    """Train ``count`` times, each time with another part of the data for testing.

    Args:
        data: without a column of splits.
        count: of the folds, 2 or more.
        out: the folder of the trainings, ``fold-1`` and so on, and of ``summary.md`` and ``summary.json``.
        trees: the same molecules by the notations of their trees, of which ``data`` is one: each training has those
            from which a baseline predicts its training examples best.
        processes: how many trainings run at a time, each in a process of its own, which imports the caller's program as
            a module; None: as many as there are cores and memory for, on a GPU or of short trainings one.
        options: of :func:`dgltree.fit`.

    A call that was interrupted continues. Errors as in :func:`dgltree.datasets.splitting.folds` and
    :func:`dgltree.fit`.
    """
    settings = _settings(options)
    if settings.split_of is not None:
        raise ValueError("folds make their own splits: leave out split_of")
    data = keep_labelled(data, settings)
    given = folds(data, count, settings.seed)
    trainings = {
        f"fold-{i}": partial(_fit_fold, each, trees or {}, settings, out=Path(out) / f"fold-{i}", **options)
        for i, each in enumerate(given, 1)
    }
    return _all(trainings, Path(out), _processes(processes, count, data, settings))


def _fit_fold(fold: TreeDataset, trees: Mapping[str, TreeDataset], settings: FitOptions, **options: Any) -> None:
    fit(_of_best_tree(fold, trees, settings) if trees else fold, **options)


def _of_best_tree(fold: TreeDataset, trees: Mapping[str, TreeDataset], settings: FitOptions) -> TreeDataset:
    every = {}
    for name, data in trees.items():
        places = {place: i for i, place in enumerate(zip(data.files, data.lines, strict=True))}
        every[name] = data.select([places[place] for place in zip(fold.files, fold.lines, strict=True)])
        every[name].splits = fold.splits
    return every[choose_notation({name: {"train": data} for name, data in every.items()}, settings)]


def fit_seeds(
    data: TreeDataset,
    count: int,
    out: str | Path = "runs/fit",
    *,
    validation: TreeDataset | None = None,
    test: TreeDataset | None = None,
    processes: int | None = 1,
    **options: Any,
) -> Repeats:
    """Train ``count`` times on the same splits, with the seed and those that follow it; as :func:`fit_folds`."""
    if count < 2:
        raise ValueError(f"seeds is {count}; it must be 2 or more")
    settings = _settings(options)
    files = {name: given for name, given in (("validation", validation), ("test", test)) if given is not None}
    if not files:
        data = keep_labelled(data, settings)
        if settings.split_of is None:
            parts = split(data, settings.seed)
        else:
            parts = EarlierSplit.of(Path(settings.split_of)).continued(data)
            options = {**options, "split_of": None}
        if "test" not in parts:
            raise ValueError("training runs are compared on a test set, but the split column marks no test examples")
        data = parts["train"]
        files = {name: part for name, part in parts.items() if name != "train"}
        for part in (data, *files.values()):
            part.splits = [None] * len(part)
    elif len(files) < 2:
        raise ValueError("training runs are compared on a test set; give both --validation and --test, or neither")
    seeds = range(settings.seed, settings.seed + count)
    trainings = {
        f"seed-{seed}": partial(fit, data, out=Path(out) / f"seed-{seed}", **{**options, **files, "seed": seed})
        for seed in seeds
    }
    return _all(trainings, Path(out), _processes(processes, count, data, settings))


def _settings(options: dict[str, Any]) -> FitOptions:
    """The arguments of a fit that are settings."""
    return FitOptions(**{field.name: options[field.name] for field in fields(FitOptions) if field.name in options})


def _all(trainings: Mapping[str, Callable[[], Any]], out: Path, processes: int) -> Repeats:
    if processes > 1:
        train_at_once(trainings, processes)
    else:
        for name, train in trainings.items():
            say(f"{name}:")
            train()
    models = {}
    baselines = {}
    networks = {}
    kinds = []
    for name in trainings:
        card = json.loads((out / name / CARD).read_text(encoding="utf-8"))
        kinds.append(_described(card))
        models[name] = {metric: value for metric, value in card["metrics"]["test"].items() if metric != "examples"}
        if "test" in card["baseline"]:
            baselines[name] = card["baseline"]["test"]
            networks[name] = card["network"]["test"]
    whole = len(baselines) == len(models)
    what = "; ".join(dict.fromkeys(kinds))
    found = Repeats(models, baselines if whole else {}, networks if whole else {}, what)
    if first():
        write(out / f"{SUMMARY}.md", f"{found}\n")
        write(out / f"{SUMMARY}.json", write_json(found.to_json(), indent=1) + "\n")
    return found


def _described(card: dict[str, Any]) -> str:
    """The encoder of a training and the sizes of its splits, in a line."""
    counts = ", ".join(f"{count:,} {name}" for name, count in card["data"]["examples"].items())
    return f"{card['options']['encoder']} of {card['options']['hidden_size']}: {counts}"


def _by_metric(rows: dict[str, dict[str, float]]) -> dict[str, list[float]]:
    names = next(iter(rows.values()))  # a card has null for what is not a number, as for ranks of equal answers
    return {name: [math.nan if row[name] is None else row[name] for row in rows.values()] for name in names}


def _deviation(values: list[float]) -> float:
    if any(map(math.isnan, values)):
        return math.nan
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _processes(given: int | None, trainings: int, data: TreeDataset, settings: FitOptions) -> int:
    if given is None:
        return processes_for(trainings, data.num_nodes, settings)
    if given < 1:
        raise ValueError(f"processes is {given}; it must be 1 or more")
    if given > 1 and settings.devices * settings.machines > 1:
        raise ValueError("give --processes to train in parallel, or --devices and --machines for each training run")
    return min(given, trainings)


def processes_for(trainings: int, nodes: int, settings: FitOptions) -> int:
    """Return how many processes to train in: as many as cores, and as memory has room for; on a GPU one.

    Args:
        trainings: how many there are.
        nodes: of the data set.
        settings: of each training.
    """
    on_gpu = settings.device == "cuda" or (settings.device == "auto" and torch.cuda.is_available())
    epochs = min(settings.most_epochs, USUAL_EPOCHS)
    if on_gpu or settings.devices * settings.machines > 1 or nodes * epochs < WORTH:
        return 1
    left = available_bytes(torch.device("cpu"))
    room = trainings if left is None else left // (2 * resident_bytes())
    return max(1, min(cores(), trainings, room))


def train_at_once(trainings: Mapping[str, Callable[[], Any]], processes: int) -> None:
    """Call each of them, several at a time.

    Args:
        trainings: by their names; they can be pickled, and leave what they find in files.
        processes: how many of them work at a time.

    Raises what the first of them that fails raises, at once, and ends the others; ``MemoryError`` if a process ends.
    """
    with workers(processes, _begin, max(1, cores() // processes)) as pool:
        for work in as_completed([pool.submit(_train, name, train) for name, train in trainings.items()]):
            result_of(work, "trains")


def _begin(threads: int) -> None:
    torch.set_num_threads(threads)


def _train(name: str, train: Callable[[], Any]) -> None:
    with redirect_stderr(_Named(name, sys.stderr)), redirect_stdout(_Named(name, sys.stdout)):
        try:
            train()
        except (KeyboardInterrupt, SystemExit):  # it has saved at SIGTERM, and would go on with the next training
            os._exit(1)


class _Named(TextIOBase):
    """Whole lines of a stream, each after a name; no terminal, so that no bar of progress is drawn over others."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self.name = name
        self.stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        self.stream.write("".join(f"{self.name}: {line}\n" for line in lines))
        self.stream.flush()
        return len(text)
