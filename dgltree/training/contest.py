"""Encoders compared on the same splits: validation chooses the settings of each, the test set is looked at once."""

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgltree.cells import CELLS, Cell
from dgltree.datasets.splitting import split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import SEQUENCE_ENCODERS
from dgltree.read.json_text import write_json
from dgltree.read.text import one_line
from dgltree.support.arguments import nearest
from dgltree.training.comparison import Interval, interval
from dgltree.training.deciding import keep_labelled
from dgltree.training.fitting import fit
from dgltree.training.folder import CARD, write
from dgltree.training.options import FitOptions
from dgltree.training.own_cells import register
from dgltree.training.processes import say
from dgltree.training.trained_model import TrainedModel

SUMMARY = "summary"
"""The stem of the files with the table, and of the picture."""
SETTINGS = {field.name for field in fields(FitOptions)} - {"encoder", "options", "seed"}
"""Settings that a grid may vary, next to the options of an encoder."""

Setting = Mapping[str, Any]
Grids = Mapping[str, Mapping[str, Any]]
"""A value, or a list of values that are tried, for each option of each encoder."""


@dataclass(frozen=True)
class Entry:
    """An encoder with the settings that validation chose, or why there is none."""

    encoder: str
    setting: dict[str, Any]
    tried: int
    """Settings that were trained."""
    validation: list[float]
    """Results by seed, as in ``test``."""
    test: list[float]
    difference: float
    """The mean in the test set minus that of the best encoder in validation."""
    low: float
    high: float
    """Within which 95 % of the differences lie, if the test examples are drawn again."""
    weights: int
    failure: str | None = None

    @property
    def name(self) -> str:
        """The encoder and what was chosen for it."""
        return _named(self.encoder, self.setting)


@dataclass(frozen=True)
class PassedOver:
    """A setting of an encoder that was trained, and that validation did not choose."""

    encoder: str
    setting: dict[str, Any]
    validation: list[float]
    """Results by seed."""


@dataclass(frozen=True)
class Contest:
    """The rows of a comparison, the best in validation first, those that failed last."""

    metric: str
    examples: dict[str, int]
    """Examples of each split; of the test set those that all models read."""
    seeds: list[int]
    entries: list[Entry]
    passed_over: list[PassedOver]
    """Without a look at the test set, which would choose a setting by it."""

    def __str__(self) -> str:
        """A table in Markdown: means over seeds ± sample standard deviation."""
        counts = ", ".join(f"{count:,} {name}" for name, count in self.examples.items())
        head = f"{self.metric}, networks alone, seeds {', '.join(map(str, self.seeds))}: {counts}"
        lines = [
            head,
            "",
            "| encoder | validation | test | test, above the first (95 %) | weights | settings tried |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for i, each in enumerate(self.entries):
            if each.failure is not None:
                lines.append(f"| {each.name} | {one_line(each.failure, 200).replace('|', '/')} | | | | |")
                continue
            above = "" if not i else f"{each.difference:+.4f} ({each.low:+.4f} to {each.high:+.4f})"
            cells = [_of_seeds(each.validation), _of_seeds(each.test), above, f"{each.weights:,}", str(each.tried)]
            lines.append(f"| {' | '.join([each.name, *cells])} |")
        for other in self.passed_over:
            name = _named(other.encoder, other.setting)
            lines.append(f"| {name} | {_of_seeds(other.validation)} | not chosen | | | |")
        return "\n".join(lines)

    def to_csv(self) -> str:
        """A line for each encoder and seed, for a program that reads tables; one with the reason if it failed.

        Settings that validation did not choose come last, without a test value.
        """
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["encoder", "setting", "seed", "metric", "validation", "test", "weights", "failure"])
        for each in self.entries:
            setting = each.name.partition(" ")[2]
            if each.failure is not None:
                rows.writerow([each.encoder, setting, "", self.metric, "", "", "", one_line(each.failure)])
                continue
            for seed, validation, test in zip(self.seeds, each.validation, each.test, strict=True):
                rows.writerow([each.encoder, setting, seed, self.metric, validation, test, each.weights, ""])
        for other in self.passed_over:
            setting = _named(other.encoder, other.setting).partition(" ")[2]
            for seed, validation in zip(self.seeds, other.validation, strict=True):
                rows.writerow([other.encoder, setting, seed, self.metric, validation, "", "", ""])
        return text.getvalue()

    def to_latex(self) -> str:
        """The table's rows in LaTeX, one for each encoder that was trained, with what its columns are in a comment."""
        lines = [f"% encoder & {self.metric} in validation & on the test set & weights"]
        for each in self.entries:
            if each.failure is None:
                means = [_of_seeds(values).replace("±", r"$\pm$") for values in (each.validation, each.test)]
                lines.append(" & ".join([_in_latex(each.name), *means, f"{each.weights:,}"]) + r" \\")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Trained:
    """A setting of an encoder, trained with every seed."""

    encoder: str
    setting: Setting
    folders: list[Path]
    validation: list[float]


def register_own(encoders: Sequence[type[Cell] | str]) -> list[str]:
    """The names of encoders, among which may be classes of cells, or ``FILE.py:CLASS``; these are known from now on.

    Raises ``FileNotFoundError`` and ``ValueError`` as :func:`dgltree.training.own_cells.register`.
    """
    return [each if isinstance(each, str) and ".py:" not in each else register(each) for each in encoders]


def check_contest(encoders: Sequence[str], seeds: int, grids: Grids, ablation: bool = False) -> None:
    """``ValueError`` for an encoder that there is not, or that occurs twice, and for options of another one.

    An ablation may be of one encoder.
    """
    known = [*CELLS, *SEQUENCE_ENCODERS]
    for name in encoders:
        if name not in known:
            raise ValueError(f"no encoder {name!r}; {nearest(name, known)}")
    if len(encoders) < (1 if ablation else 2) or len({*encoders}) < len(encoders):
        raise ValueError(f"encoders are {', '.join(encoders)!r}; give two or more different encoders")
    if seeds < 1:
        raise ValueError(f"seeds is {seeds}; it must be 1 or more")
    for name, grid in grids.items():
        if name not in encoders:
            raise ValueError(
                f"options are given for {name!r}, which is not one of {', '.join(encoders)}; give them by "
                f'encoder, such as {{"{encoders[0]}": {{"hidden_size": [32, 64]}}}}'
            )
        if not isinstance(grid, Mapping) or any(values == [] for values in grid.values()):
            raise ValueError(
                f"the options of {name} are {grid!r:.80}; give a value or a list of values for each option name"
            )


def compare_encoders(
    data: TreeDataset,
    encoders: Sequence[type[Cell] | str],
    seeds: int = 3,
    out: str | Path = "runs/compare",
    *,
    grids: Grids | None = None,
    ablation: bool = False,
    validation: TreeDataset | None = None,
    test: TreeDataset | None = None,
    **options: Any,
) -> Contest:
    """Train each encoder with each of its settings and each seed on the same splits, without a baseline.

    Validation chooses the setting of an encoder, by the mean of the monitored metric over the seeds, and the order of
    the encoders. Only then is the test set looked at, with the chosen ones. Differences are from the encoder that is
    best in validation, in the mean over the seeds, and their intervals those of 1,000 resamples of the test examples.

    Args:
        data: of a file, with a column of splits or split by its rule.
        encoders: their names, or cells of your own, each a class or ``FILE.py:CLASS``.
        seeds: how many, from ``seed`` of the options on.
        out: the folder of the trainings, and of ``summary.md``, ``summary.json``, ``summary.csv`` (a line for each
            seed), ``summary.tex`` (rows for LaTeX) and ``summary.png``. A call that was interrupted continues there.
        grids: by encoder, values of its options or of settings of :class:`dgltree.training.options.FitOptions`, or
            lists of values, every combination of which is a setting.
        ablation: whether every setting has an entry of its own, also on the test set, instead of the one that
            validation chooses.
        validation, test: sets of their own, both or none.
        options: of :func:`dgltree.fit`, for every training.

    An encoder that refuses the data has an entry that says why. Raises ``ValueError`` as :func:`check_contest`, for
    what is no cell, without a test set, and if all encoders fail; ``FileNotFoundError`` for a file of cells that there
    is not.
    """
    grids = grids or {}
    out = Path(out)
    names = register_own(encoders)
    check_contest(names, seeds, grids, ablation)
    settings = FitOptions(**{name: value for name, value in options.items() if name in SETTINGS | {"seed"}})
    parts = _parts(data, settings, validation, test)
    numbers = list(range(settings.seed, settings.seed + seeds))
    trained: dict[str, list[_Trained]] = {}
    failures: dict[str, str] = {}
    for encoder in names:
        trained[encoder] = []
        for setting in _settings(grids.get(encoder, {})):
            try:
                trained[encoder].append(_fit(encoder, setting, numbers, parts, out, options))
            except ValueError as error:  # of the data or of options, or a loss that is not finite
                say(f"{encoder}: {error}")
                failures[encoder] = str(error)
    chosen = [one for each in trained.values() for one in each]
    if not ablation:
        chosen = [max(each, key=lambda one: statistics.fmean(one.validation)) for each in trained.values() if each]
    if not chosen:
        raise ValueError(
            f"no encoder could be trained: {'; '.join(f'{name}: {why}' for name, why in failures.items())}"
        )
    chosen.sort(key=lambda one: -statistics.fmean(one.validation))
    counts = {encoder: 1 if ablation else len(each) for encoder, each in trained.items() if each}
    others = [
        PassedOver(one.encoder, dict(one.setting), one.validation)
        for each in trained.values()
        for one in each
        if one not in chosen
    ]
    metric, examples, entries = _tested(chosen, counts, parts)
    nothing = float("nan")
    failed = [
        Entry(name, {}, 0, [], [], nothing, nothing, nothing, 0, why)
        for name, why in failures.items()
        if name not in counts
    ]
    contest = Contest(metric, examples, numbers, [*entries, *failed], others)
    _write(contest, out)
    return contest


def _parts(
    data: TreeDataset, settings: FitOptions, validation: TreeDataset | None, test: TreeDataset | None
) -> dict[str, TreeDataset]:
    """The splits, which are the same for all encoders."""
    if (validation is None) != (test is None):
        raise ValueError("give both --validation and --test, or neither")
    if validation is not None and test is not None:
        return {"train": data, "validation": validation, "test": test}
    data = keep_labelled(data, settings)
    parts = split(data, settings.seed)
    if "test" not in parts:
        raise ValueError("encoders are compared on a test set, but the split column marks no test examples")
    for part in parts.values():
        part.splits = [None] * len(part)
    return parts


def _settings(grid: Setting) -> Iterator[dict[str, Any]]:
    """Every combination of the values of a grid."""
    lists = [value if isinstance(value, list) else [value] for value in grid.values()]
    for values in product(*lists):
        yield dict(zip(grid, values, strict=True))


def _fit(
    encoder: str, setting: Setting, seeds: list[int], parts: Mapping[str, TreeDataset], out: Path, options: Setting
) -> _Trained:
    own = {name: value for name, value in setting.items() if name not in SETTINGS}
    given = {**options, **{name: value for name, value in setting.items() if name in SETTINGS}}
    given |= {"encoder": encoder, "options": own or None, "no_baseline": True}
    name = "-".join([encoder, *(f"{key}={value}".replace("/", "_") for key, value in setting.items())])
    folders = [out / name / f"seed-{seed}" for seed in seeds]
    values = []
    for seed, folder in zip(seeds, folders, strict=True):
        say(f"{name}, seed {seed}:")
        model = fit(parts["train"], validation=parts["validation"], out=folder, **{**given, "seed": seed})
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        values.append(float(card["metrics"]["validation"][model.objective.monitored]))
    return _Trained(encoder, setting, folders, values)


def _tested(
    chosen: Sequence[_Trained], counts: Mapping[str, int], parts: Mapping[str, TreeDataset]
) -> tuple[str, dict[str, int], list[Entry]]:
    """The metric, the examples of each split, and the chosen settings on the test examples that all models read."""
    models: list[list[TrainedModel]] = []
    read: list[list[TreeDataset]] = []
    common: set[tuple[str, int]] | None = None
    for one in chosen:
        seeds = [TrainedModel.load(folder) for folder in one.folders]
        datasets = [model.objective.labelled(model.dataset(parts["test"])) for model in seeds]
        for data in datasets:
            places = set(zip(data.files, data.lines, strict=True))
            common = places if common is None else common & places
        models.append(seeds)
        read.append(datasets)
    if not common:
        raise ValueError("no test example can be read by all encoders")

    scores: list[list[Callable[[Tensor], float]]] = []
    for seeds, datasets in zip(models, read, strict=True):
        scores.append([_score(model, _only(data, common)) for model, data in zip(seeds, datasets, strict=True)])

    def above_the_best(scored: list[Callable[[Tensor], float]]) -> Callable[[Tensor], float]:
        return lambda rows: statistics.fmean(of(rows) - to(rows) for of, to in zip(scored, scores[0], strict=True))

    every = torch.arange(len(common))
    entries = []
    for one, seeds, scored in zip(chosen, models, scores, strict=True):
        difference = above_the_best(scored)
        ends: Interval = interval(difference, len(common)) if scored is not scores[0] else (0.0, 0.0)
        weights = sum(parameter.numel() for parameter in seeds[0].model.parameters())
        test = [score(every) for score in scored]
        entry = Entry(
            one.encoder, dict(one.setting), counts[one.encoder], one.validation, test, difference(every), *ends, weights
        )
        entries.append(entry)
    examples = {name: len(part) for name, part in parts.items()} | {"test": len(common)}
    return models[0][0].objective.monitored, examples, entries


def _only(data: TreeDataset, places: set[tuple[str, int]]) -> TreeDataset:
    rows = [i for i, place in enumerate(zip(data.files, data.lines, strict=True)) if place in places]
    return data.select(rows)


def _score(model: TrainedModel, data: TreeDataset) -> Callable[[Tensor], float]:
    """The monitored metric of a model on the examples with given numbers."""
    targets = model.objective.targets(data.labels)
    objective = model.objective
    predicted = objective.predicted(model.answers_to(data))
    return lambda rows: objective.score(predicted[rows], targets[rows])


def _named(encoder: str, setting: Setting) -> str:
    """An encoder and its setting: "tree_smu stack_size=3"."""
    return " ".join([encoder, *(f"{name}={value}" for name, value in setting.items())])


def _of_seeds(values: list[float]) -> str:
    deviation = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.4f}{deviation}"


def _in_latex(text: str) -> str:
    """A text with the characters escaped that LaTeX does not print."""
    escaped = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(escaped.get(letter, f"\\{letter}" if letter in "_&%$#{}" else letter) for letter in text)


def _write(contest: Contest, out: Path) -> None:
    write(out / f"{SUMMARY}.md", f"{contest}\n")
    write(out / f"{SUMMARY}.csv", contest.to_csv())
    write(out / f"{SUMMARY}.tex", contest.to_latex())
    write(out / f"{SUMMARY}.json", write_json(contest.to_json(), indent=1) + "\n")
    _draw(contest, out / SUMMARY)


def _draw(contest: Contest, stem: Path) -> None:
    try:
        from dgltree.plotting import charts
    except ModuleNotFoundError as error:
        say(f"no picture: {error}; install it with: pip install {error.name}")
        return
    compared = {each.name: (each.validation, each.test) for each in contest.entries if each.failure is None}
    charts.save(charts.encoders(compared, contest.metric), stem)
