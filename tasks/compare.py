"""``python -m tasks.compare TASK --out DIR``: train models side by side, and report them."""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from dgltree.plotting import charts
from dgltree.support.files import replacing
from tasks.jobs import LOG, answering_signals, run
from tasks.tables import Spread, percent, table
from tasks.trainings import Training, configs, done

DESCRIPTION = """Train several models of a task, and write a report with tables and pictures to OUT/report.md.
The command trains once per model, variant, point of the grid and seed. It skips finished models, resumes interrupted
ones, and prints a line on standard error for each finished model.
Options after -- are passed to every training, such as -- --data.folder FOLDER --threads 4"""
TASKS = ("logic", "listops", "lookup", "arithmetic")
"""Tasks with a module ``variants``."""
GROUPED = re.compile(r"(\w+)_(\d+)")
AXIS = re.compile(r"[\w.]+=[^,]+(?:,[^,]+)*")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status is 1 if a training failed or the settings cannot be.

    It is 130 after Ctrl-C and 143 after SIGTERM.
    """
    options = _options(arguments)
    return answering_signals("tasks.compare", lambda: _compare(options))


def _compare(options: argparse.Namespace) -> int:
    """Train what is not trained yet, and print the report."""
    trainings = _trainings(options)
    try:
        failed = run(trainings, options.jobs, threads=1)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(report(trainings, options.out, bool(options.grid)))
    for training in trainings:
        if training.name in failed:
            print(f"failed: {training.name}: {failed[training.name]} ({training.folder / LOG} says more)")
    return 1 if failed else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tasks.compare", description=DESCRIPTION)
    parser.add_argument("task", choices=TASKS, help="the task to train on")
    parser.add_argument("--out", type=Path, required=True, help="folder of the training runs and the report")
    parser.add_argument("--models", nargs="+", help="train these configurations of the task (default: all)")
    parser.add_argument(
        "--variants",
        nargs="+",
        help="train on these splits (logic: full, A, B, C) or fractions of the data (listops: '25 %%')",
    )
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[0, 1, 2], help="train once with each of these seeds (default: 0 1 2)"
    )
    parser.add_argument(
        "--grid",
        nargs="+",
        default=[],
        metavar="NAME=V1,V2",
        help="train with all combinations of these values, such as fit.hidden_size=32,64 fit.dropout=0,0.2; the report "
        "marks the one that validation chooses",
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="train this many models at a time, each in one thread (default: 2)"
    )
    given = sys.argv[1:] if arguments is None else arguments
    end = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:end])
    options.further = given[end + 1 :]
    known = sorted(file.stem for file in configs(options.task).glob("*.yaml"))
    variants = list(_of(options.task).VARIANTS)
    options.models = options.models or known
    options.variants = options.variants or variants[:1]
    for name, given, there in (("model", options.models, known), ("variant", options.variants, variants)):
        if unknown := [each for each in given if each not in there]:
            parser.error(f"no {name} {', '.join(unknown)}; there are {', '.join(there)}")
    for axis in options.grid:
        if not AXIS.fullmatch(axis):
            parser.error(f"--grid {axis}: give a name and its values, such as fit.dropout=0,0.2")
    return options


def _of(task: str) -> Any:
    """A task's description of itself."""
    return import_module(f"tasks.{task}.variants")


def _trainings(options: argparse.Namespace) -> list[Training]:
    return [
        Training(
            options.task,
            model,
            " ".join([variant, *point]),
            seed,
            (*_of(options.task).VARIANTS[variant], *options.further, *(f"--{setting}" for setting in point)),
            options.out.joinpath(variant.replace(" %", ""), *point, f"{model}-{seed}"),
        )
        for seed in options.seeds
        for variant in options.variants
        for point in _points(options.grid)
        for model in options.models
    ]


def _points(grid: list[str]) -> list[tuple[str, ...]]:
    """All combinations of the values of a grid, each as settings ``NAME=VALUE``; one without any of no grid."""
    axes = [axis.partition("=") for axis in grid]
    return list(product(*([f"{name}={value}" for value in values.split(",")] for name, _, values in axes)))


def report(trainings: list[Training], out: Path, grid: bool = False) -> str:
    """Write ``report.md`` and its pictures, of the trainings that are done; returns the text.

    With ``grid`` it has a table of all variants instead of tables and pictures of each.
    """
    rows = done(trainings)
    lines = [f"# {trainings[0].task}", "", f"{sum(map(len, rows.values()))} of {len(trainings)} trainings are done."]
    lines += [
        "Mean ± sample standard deviation over seeds, in %; the highest accuracy on the test data that a seed has;"
    ]
    lines += ["minutes by the trainings' own clocks.", ""]
    lines += _grid(rows) if grid else []
    for variant in [] if grid else dict.fromkeys(training.variant for training in trainings):
        models = {model: found for (model, of), found in rows.items() if of == variant}
        if models:
            lines += [f"## {variant}", "", *_tables(models), *_pictures(variant, models, out)]
    if shares := _by_share(rows):
        charts.save(charts.sample_efficiency(shares), out / "shares")
        lines += ["## Accuracy by the share of the training data", "", "![shares](shares.png)", ""]
    text = "\n".join(lines)
    with replacing(out / "report.md") as beside:
        beside.write_text(text, encoding="utf-8")
    return text


def _grid(rows: Mapping[tuple[str, str], list[Training]]) -> list[str]:
    """Validation and test of each model at each point; what a model has best in validation is bold."""
    best = {key: Spread.over(list(map(_best_epoch, found))) for key, found in rows.items()}
    chosen = {max((key for key in best if key[0] == model), key=lambda key: best[key].mean) for model, _ in best}
    body = []
    for (model, variant), found in rows.items():
        test = _cells(found, ["accuracy"])
        row = [model, variant, str(len(found)), best[model, variant].percent(), *test]
        body.append([f"**{cell}**" for cell in row] if (model, variant) in chosen else row)
    return [*table(["model", "settings", "seeds", "validation", "test"], body), ""]


def _best_epoch(training: Training) -> float:
    """The highest accuracy in validation."""
    return max(row["accuracy"] for row in training.epochs())


def _tables(models: Mapping[str, list[Training]]) -> list[str]:
    """The table of the variant, and those that the task has as well, each with its heading."""
    task = _of(next(iter(models.values()))[0].task)
    besides: Mapping[str, Mapping[str, str]] = getattr(task, "TABLES", {})
    apart = {key for heads in besides.values() for key in heads}
    keys = list(dict.fromkeys(key for found in models.values() for each in found for key in each.figures()))
    keys = sorted((key for key in keys if key not in apart), key=lambda key: key == "f1")
    lines = [*_table(models, {key: _short(key, getattr(task, "HEADS", {})) for key in keys}), ""]
    for title, heads in besides.items():
        body = [[model, *_cells(found, heads)] for model, found in models.items()]
        lines += [f"### {title}", "", *table(["model", *heads.values()], body), ""]
    return lines


def _table(models: Mapping[str, list[Training]], heads: Mapping[str, str]) -> list[str]:
    header = ["model", "seeds", *heads.values(), "highest", "validation", "epochs", "minutes"]
    body = []
    for model, found in models.items():
        epochs = [each.epochs() for each in found]
        best = Spread.over(list(map(_best_epoch, found)))
        accuracy = [each.figures()["accuracy"] for each in found]
        minutes = sum(row["seconds"] for of_one in epochs for row in of_one) / 60 / len(found)
        row = [
            model,
            str(len(found)),
            *_cells(found, heads),
            f"{100 * max(accuracy):.1f}",
            best.percent(),
            str(len(epochs[0])),
        ]
        body.append([*row, f"{minutes:.1f}"])
    return table(header, body)


def _cells(found: Iterable[Training], keys: Iterable[str]) -> list[str]:
    """A metric of a model over its seeds, for each of the keys."""
    figures = [each.figures() for each in found]
    return [percent(Spread.of([of[key] for of in figures if key in of])) for key in keys]


def _short(key: str, heads: Mapping[str, str]) -> str:
    """The heading of a metric: what the task calls it, the group, or its name."""
    if key in heads:
        return heads[key]
    grouped = GROUPED.fullmatch(key)
    return str(int(grouped[2])) if grouped else key


def _pictures(variant: str, models: Mapping[str, list[Training]], out: Path) -> list[str]:
    """Accuracy on the test data by groups, and in validation over the epochs."""
    task = _of(next(iter(models.values()))[0].task)
    name = variant.replace(" %", "")
    groups = {model: _series(map(_by_group, found)) for model, found in models.items()}
    epochs = {model: _series(map(_by_epoch, found)) for model, found in models.items()}
    charts.save(charts.accuracy_by(task.AXIS, groups, log=task.LOGARITHMIC), out / f"accuracy-{name}")
    charts.save(charts.accuracy_by("epoch", epochs, measure="accuracy in validation"), out / f"epochs-{name}")
    return [f"![accuracy-{name}](accuracy-{name}.png)", "", f"![epochs-{name}](epochs-{name}.png)", ""]


def _by_group(training: Training) -> dict[int, float]:
    grouped = ((GROUPED.fullmatch(key), value) for key, value in training.figures().items())
    return {int(key[2]): value for key, value in grouped if key}


def _by_epoch(training: Training) -> dict[int, float]:
    return {row["epoch"]: row["accuracy"] for row in training.epochs()}


def _series(of_seeds: Iterable[Mapping[int, float]]) -> charts.Series:
    """Mean and standard deviation over seeds at each place that one has."""
    values: dict[float, list[float]] = {}
    for place, value in (item for of_one in of_seeds for item in of_one.items()):
        values.setdefault(place, []).append(value)
    return {place: Spread.over(found).point for place, found in values.items()}


def _by_share(rows: Mapping[tuple[str, str], list[Training]]) -> dict[str, charts.Series]:
    """Model to {share in %: accuracy}, of the models with several shares."""
    found: dict[str, dict[float, tuple[float, float]]] = {}
    for (model, variant), trainings in rows.items():
        if variant.endswith("%"):
            share = float(variant.removesuffix(" %"))
            found.setdefault(model, {})[share] = Spread.over([each.figures()["accuracy"] for each in trainings]).point
    return {model: of for model, of in found.items() if len(of) > 1}


if __name__ == "__main__":
    raise SystemExit(main())
