"""The report of a folder: ``report.md`` and its pictures, of all jobs that are done."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dgltree.plotting import charts
from dgltree.support.files import replacing
from dgltree.support.lazy import cached_property
from tasks.equations.compositionality import tables
from tasks.equations.compositionality.meaning import Meaning
from tasks.equations.compositionality.results import Result, read_results, spread
from tasks.equations.compositionality.trainings import TESTS, Test, TrainingJob, jobs
from tasks.tables import Spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Report:
    """Report on some tests, models and seeds; ``test_set`` is the Parquet file that was tested on."""

    folder: Path
    tests: Sequence[str]
    models: Sequence[str]
    seeds: Sequence[int]
    test_set: Path

    def write(self) -> str:
        """Write the report and the pictures; returns the report's text."""
        sections = [["", *self._section(name)] for name in self.tests]
        text = "\n".join(line for part in (self._head(), *sections) for line in part) + "\n"
        with replacing(self.folder / "report.md") as beside:
            beside.write_text(text, encoding="utf-8")
        return text

    @cached_property
    def _jobs(self) -> list[TrainingJob]:
        return jobs(self.tests, self.models, self.seeds)

    @cached_property
    def _results(self) -> dict[TrainingJob, Result]:
        return read_results(self.folder, self._jobs)

    def _done(self, test: Test) -> dict[str, dict[TrainingJob, Result]]:
        """A row's label to the results of its seeds, of rows with at least one."""
        rows = {}
        for model, variant in test.rows(self.models):
            wanted = (test.job(model, variant, seed) for seed in self.seeds)
            rows[f"{model} {variant.label}".rstrip()] = {
                job: self._results[job] for job in wanted if job in self._results
            }
        return {label: found for label, found in rows.items() if found}

    def _head(self) -> list[str]:
        hours = sum(result.seconds for result in self._results.values()) / 3600
        return [
            "# Compositionality",
            "",
            f"Mean ± sample standard deviation over the seeds {', '.join(map(str, self.seeds))}, in %; precision and "
            f"recall are those of correct equations. {len(self._results)} of {len(self._jobs)} trainings are done, "
            f"{hours:.1f} hours of work.",
        ]

    def _section(self, name: str) -> list[str]:
        test = TESTS[name]
        first, last = test.depths
        lines = [f"## {test.title}", "", f"Trained on depth {first} to {last}.", ""]
        done = self._done(test)
        if not done:
            return [*lines, "No training of this test is done."]
        if name == "substitutivity":
            return [*lines, *Meaning(self.folder, self.test_set).section(done)]
        rows = {label: list(found.values()) for label, found in done.items()}
        lines += [*tables.by_range(rows, test.ranges), "", "Accuracy by depth:", "", *tables.by_depth(rows)]
        if name == "sample-efficiency":
            lines += self._picture(name, charts.sample_efficiency(_by_share(test, done)))
        else:
            lines += self._picture(name, charts.accuracy_by("depth of the equation", _by_depth(rows), test.depths))
        return lines + self._stacks(name, rows)

    def _stacks(self, name: str, rows: tables.Rows) -> list[str]:
        usage = {label: _usage(results) for label, results in rows.items() if results[0].stack_usage}
        if name not in ("table", "stack-size") or not usage:
            return []
        lines = ["", "Rows of the stack in use (2-norm over 1e-3) by the depth of the expression:", ""]
        return lines + tables.usage(usage) + self._picture(f"{name}-usage", charts.stack_usage(_lines(usage)))

    def _picture(self, stem: str, figure: "Figure") -> list[str]:
        charts.save(figure, self.folder / stem)
        return ["", f"![{stem}]({stem}.png)"]


def _by_depth(rows: tables.Rows) -> dict[str, charts.Series]:
    accuracy = tables.MEASURES["accuracy"]
    return _lines(
        {
            label: {
                depth: found
                for depth in results[0].by_depth
                if (found := spread(results, (depth, depth), accuracy)) is not None
            }
            for label, results in rows.items()
        }
    )


def _by_share(test: Test, done: dict[str, dict[TrainingJob, Result]]) -> dict[str, charts.Series]:
    """Model -> {share of the training equations: accuracy}."""
    found: dict[str, dict[int, Spread]] = {}
    for results in done.values():
        job = next(iter(results))
        value = spread(list(results.values()), test.ranges[0], tables.MEASURES["accuracy"])
        if value is not None:
            found.setdefault(job.model, {})[job.percent] = value
    return _lines(found)


def _usage(results: Sequence[Result]) -> dict[int, Spread]:
    usages = [result.stack_usage or {} for result in results]
    return {
        depth: found
        for depth in usages[0]
        if (found := Spread.of([usage[depth] for usage in usages if depth in usage])) is not None
    }


def _lines(rows: dict[str, dict[int, Spread]]) -> dict[str, charts.Series]:
    return {label: {x: at.point for x, at in found.items()} for label, found in rows.items()}
