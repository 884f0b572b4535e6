"""``python -m tasks.equations compositionality TEST ... --preset NAME --out DIR``: train, test, report.

Skips finished models, resumes interrupted training from the last epoch, and writes tables and pictures of the chosen
tests to DIR/report.md.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dgltree.support.files import claim
from tasks.equations.compositionality.report import Report
from tasks.equations.compositionality.training import TrainingTask, configuration
from tasks.equations.compositionality.trainings import COMPARED, TESTS, jobs
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PRESETS, Part, Shape
from tasks.equations.generator.published.process import PUBLISHED, Process
from tasks.jobs import run

# The data sets of a preset.
SETS = {
    "small": ("small",),
    "paper": ("paper-train", "paper-test"),
    "published": ("published-train", "published-test"),
    "published-clean": ("published-clean",),
}
"""Our presets to those of ``generate``."""

KEPT = ("preset", "seed", "chunk", "version", "generator", "process")
"""The settings that define a set, among all that its card has."""


def data_sets(preset: str, folder: Path, seed: int, workers: int) -> dict[str, Any]:
    """Generate the sets that the folder lacks; returns preset and seed of each.

    Raises ``ValueError`` for a folder with sets of another preset or seed.
    """
    known: dict[str, Mapping[Part, Shape | Process]] = {**PRESETS, **PUBLISHED}
    cards: dict[str, Any] = {}
    for name in SETS[preset]:
        for part, card in write_sets(name, known[name], folder, seed, workers).items():
            cards[part] = {key: card[key] for key in KEPT if key in card}
    return cards


VERSION = 2  # of what a folder holds
CONFIGS = Path(__file__).parents[1] / "verification" / "configs"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status is 1 if a training failed or the settings cannot be."""
    options = _options(arguments)
    try:
        failed = compositionality(options)
    except (ValueError, FileNotFoundError) as error:
        raise SystemExit(str(error)) from None
    for name, reason in failed.items():
        print(f"failed: {name}: {reason}")
    return 1 if failed else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tasks.equations compositionality", description=__doc__)
    parser.add_argument("tests", nargs="+", choices=[*TESTS, "all"], metavar="TEST", help=f"{', '.join(TESTS)}, or all")
    parser.add_argument("--preset", choices=list(SETS), required=True, help="the sizes of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder of the training runs and the report")
    parser.add_argument(
        "--models", nargs="+", help="train only these configurations (default: all that the test is for)"
    )
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[0, 1, 2], help="train once with each of these seeds (default 0 1 2)"
    )
    parser.add_argument("--epochs", type=int, help="train this many epochs; overrides the configurations")
    parser.add_argument("--batch-size", type=int, help="batch size; overrides the configurations")
    parser.add_argument("--lr", type=float, help="learning rate; overrides the configurations")
    parser.add_argument("--workers", type=int, default=2, help="train this many models at a time (default 2)")
    parser.add_argument(
        "--data", type=Path, help="folder of the data sets; missing ones are generated (default: OUT/data)"
    )
    parser.add_argument("--data-seed", type=int, default=0, help="seed of the data sets (default 0)")
    return parser.parse_args(arguments)


def compositionality(options: argparse.Namespace) -> dict[str, str]:
    """Do what is missing and report; returns job to error, of those that failed."""
    if options.workers < 1:
        raise ValueError(f"--workers is {options.workers}; it must be 1 or more")
    tests = list(TESTS) if "all" in options.tests else list(dict.fromkeys(options.tests))
    models = _models(options.models)
    wanted = jobs(tests, models, options.seeds)
    if not wanted:
        raise ValueError(f"{', '.join(tests)} is not a test of {', '.join(models)}; it belongs to other models")
    out = options.out
    data = options.data or options.out / "data"
    sets = data_sets(options.preset, data, options.data_seed, options.workers)
    claim(out / "run.json", {"version": VERSION, "preset": options.preset, "data": sets})
    train, test = (data / f"{part}.parquet" for part in ("train", "test"))
    tasks = [
        TrainingTask(
            job,
            configuration(job, CONFIGS / f"{job.model}.yaml", options.epochs, options.batch_size, options.lr),
            train,
            test,
            out / "jobs" / job.name,
        )
        for job in wanted
    ]
    failed = run(tasks, options.workers, threads=1)
    print(Report(out, tests, models, options.seeds, test).write())
    return failed


def _models(chosen: list[str] | None) -> list[str]:
    """The chosen configurations, or all in the order of the papers' tables."""
    found = {file.stem for file in CONFIGS.glob("*.yaml")}
    known = [*(model for model in COMPARED if model in found), *sorted(found.difference(COMPARED))]
    unknown = [model for model in chosen or [] if model not in known]
    if unknown:
        raise ValueError(f"--models: no configuration {', '.join(unknown)}; there are {', '.join(known)}")
    return chosen or known
