"""Results of finished jobs, and their mean and standard deviation over seeds."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.equations.compositionality.training import RESULT
from tasks.equations.compositionality.trainings import Depths, TrainingJob
from tasks.equations.verification.counts import Counts, together
from tasks.tables import Spread


@dataclass(frozen=True)
class Result:
    """One job's counts by depth of the test set, the rows of its stacks in use by depth, and its cost."""

    by_depth: dict[int, Counts]
    stack_usage: dict[int, float] | None
    config: dict[str, Any]
    seconds: float

    def counts(self, depths: Depths) -> Counts:
        """Return the counts of a range of depths."""
        first, last = depths
        return together(counts for depth, counts in self.by_depth.items() if first <= depth <= last)


def read_results(folder: Path, jobs: Iterable[TrainingJob]) -> dict[TrainingJob, Result]:
    """The results of those jobs that are done."""
    return {job: _read(file) for job in jobs if (file := folder / "jobs" / job.name / RESULT).exists()}


def _read(file: Path) -> Result:
    found = json.loads(file.read_text(encoding="utf-8"))
    usage = found["stack_usage"]
    return Result(
        {int(depth): Counts(*counts) for depth, counts in found["by_depth"].items()},
        None if usage is None else {int(depth): rows for depth, rows in usage.items()},
        found["config"],
        sum(found["seconds"].values()),
    )


def spread(results: Sequence[Result], depths: Depths, measure: Callable[[Counts], float]) -> Spread | None:
    """A measure over one row's seeds; a seed whose test set has no equation of these depths is left out."""
    counted = [result.counts(depths) for result in results]
    return Spread.of([measure(counts) for counts in counted if counts.size])
