"""One job: train, take the epoch that was best in validation, test it on every depth, and write what was found."""

import copy
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import yaml

from dgltree import Equation, TreeBatch, batch, propagate, save
from dgltree.cells import stack_cell
from dgltree.encoders import TreeEncoder
from dgltree.models import evaluating
from dgltree.support.files import replacing
from dgltree.training.stepping import trainer as harness
from dgltree.training.stepping.callbacks import BEST, check_checkpoint
from tasks import jobs
from tasks.equations.compositionality.trainings import TrainingJob
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.counts import Counts, count_by_group, together
from tasks.equations.verification.data import LabelledEquations
from tasks.equations.vocabulary import vocabulary

RESULT, CHECKPOINTS = "result.json", "checkpoints"
MODEL = "model.safetensors"  # of a cell, for ``python -m tasks.equations completion``
TRACED = 100  # equations of each depth whose stacks are looked at


@dataclass(frozen=True)
class TrainingTask(jobs.Job):
    """A training with all that a process needs to do it."""

    job: TrainingJob
    config: dict[str, Any]
    train: Path
    test: Path
    folder: Path

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def configuration(self) -> dict[str, Any]:
        return self.config

    @property
    def done(self) -> bool:
        return (self.folder / RESULT).exists()

    def run(self) -> None:
        do(self)


def configuration(
    job: TrainingJob, file: Path, epochs: int | None = None, batch_size: int | None = None, lr: float | None = None
) -> dict[str, Any]:
    """The mapping of a YAML configuration with the job's options and, where they are given, other settings."""
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    config["trainer"].pop("default_root_dir", None)
    for part, name, value in (
        ("trainer", "max_epochs", epochs),
        ("data", "batch_size", batch_size),
        ("model", "lr", lr),
    ):
        if value is not None:
            config[part][name] = value
    if job.options:
        config["model"]["options"] = {**(config["model"].get("options") or {}), **dict(job.options)}
    return {part: config.get(part) or {} for part in ("trainer", "data", "model")}


def module_of(config: Mapping[str, Any], seed: int) -> EquationClassifier:
    """The untrained model of a configuration; the seed gives its weights and its dropout."""
    torch.manual_seed(seed)
    return EquationClassifier(vocabulary(), **copy.deepcopy(config["model"]), seed=seed)


def load_trained(config: Mapping[str, Any], seed: int, folder: Path) -> EquationClassifier:
    """The model of a finished job, as it was in its best epoch."""
    module = module_of(config, seed)
    module.load_state_dict(check_checkpoint(folder / CHECKPOINTS / BEST)["state_dict"])
    return module


def do(task: TrainingTask) -> None:
    """Train (going on where an interrupted run was) and test; ``result.json`` is written when all is done."""
    with harness.quiet():
        start = time.perf_counter()
        seed = task.job.seed
        data = LabelledEquations(
            task.train,
            task.test,
            train_depths=task.job.depths,
            seed=seed,
            train_share=task.job.percent / 100,
            **task.config["data"],
        )
        trainer = harness.trainer(
            task.folder,
            task.folder / CHECKPOINTS,
            "accuracy",
            **task.config["trainer"],
            devices=1,
            enable_progress_bar=False,
        )
        harness.train(trainer, module_of(task.config, seed), data)
        fitted = time.perf_counter()
        best = trainer.checkpoint_callbacks[0]
        module = load_trained(task.config, seed, task.folder).to(trainer.strategy.root_device)
        result = {
            "job": task.job.name,
            "config": task.config,
            "epochs": trainer.current_epoch,
            "validation_accuracy": float(best.best_model_score),  # type: ignore[attr-defined]
            "by_depth": test_model(module, data),
            "stack_usage": stack_usage(module, data),
            "seconds": {"training": fitted - start, "testing": time.perf_counter() - fitted},
        }
        if isinstance(module.model.encoder, TreeEncoder):
            save(module.model, task.folder / MODEL)
    with replacing(task.folder / RESULT) as beside:
        beside.write_text(json.dumps(result, indent=1), encoding="utf-8")


def test_model(module: EquationClassifier, data: LabelledEquations) -> dict[int, Counts]:
    """Depth to counts, over the whole test set."""
    found: dict[int, list[Counts]] = defaultdict(list)
    with evaluating(module):
        for labelled in data.test_dataloader():
            called = (module(labelled.trees.to(module.device)) > 0).cpu()
            for depth, counts in count_by_group(called, labelled.labels == 1, labelled.groups).items():
                found[depth].append(counts)
    return {depth: together(counts) for depth, counts in sorted(found.items())}


def stack_usage(module: EquationClassifier, data: LabelledEquations) -> dict[int, float] | None:
    """Depth of an expression to the rows of its stack in use; None for a model without stacks.

    The expressions are the sides of the first equations of each depth of the test set.
    """
    cell = getattr(module.model.encoder, "cell", None)
    if cell is None or "S" not in cell.state:
        return None
    stacks = []
    depths = []
    with evaluating(module):
        for trees in _traced(data):
            trees = trees.to(module.device)
            stacks.append(propagate(trees, cell, share=True)["S"][trees.roots])
            depths.append(trees.level[trees.roots])
    return stack_cell.usage_by_depth(torch.cat(stacks), torch.cat(depths))


def _traced(data: LabelledEquations) -> Iterator[TreeBatch]:
    by_depth: dict[int, list[Equation]] = defaultdict(list)
    for row in data.test_rows:
        by_depth[row.depth].append(row.equation)
    for _, equations in sorted(by_depth.items()):
        yield batch(islice(equations, TRACED), data.vocabulary)
