"""The section of the report on substitutivity: a table of purities, and a picture of each model's hidden states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dgltree import Tree, write_infix
from dgltree.plotting import charts
from dgltree.support.lazy import cached_property
from tasks.equations.compositionality import tables
from tasks.equations.compositionality.results import Result, Spread
from tasks.equations.compositionality.substitutivity import (
    Classes,
    Points,
    chance,
    expressions,
    hidden_states,
    in_the_plane,
    neighbour_purity,
    silhouette,
)
from tasks.equations.compositionality.training import load_trained, module_of
from tasks.equations.compositionality.trainings import TrainingJob
from tasks.equations.store import read

NAMED = 12  # classes with a colour and a name in a picture


@dataclass(frozen=True)
class Meaning:
    """How the trainings in a folder place expressions of the test set."""

    folder: Path
    test_set: Path

    def section(self, done: Mapping[str, Mapping[TrainingJob, Result]]) -> list[str]:
        """Table and pictures; a model without hidden states has no row."""
        trees, classes = self._expressions
        rows = []
        pictures = []
        for label, results in done.items():
            states = [pair for job, result in results.items() if (pair := self._states(job, result)) is not None]
            if states:
                rows.append([label, str(len(states)), *_cells(states, classes)])
                pictures += self._picture(label, states[0][0])
        return [
            f"{len(trees)} expressions of depth 1 to 3 of the test set, in {classes.max() + 1} classes of equal value. "
            "Nearest neighbour: the share (in %) of expressions whose nearest other one, by the cosine of the hidden "
            f"states, has the same value; by chance {100 * chance(classes):.1f}. Silhouette: by the cosine, in "
            "hundredths. Untrained: the same model before its training. The pictures (t-SNE) are of the first seed.",
            "",
            *tables.table(
                ["model", "seeds", "nearest neighbour", "untrained", "silhouette", "untrained"],
                rows,
            ),
            *pictures,
        ]

    @cached_property
    def _expressions(self) -> tuple[list[Tree], Classes]:
        return expressions(row.equation for row in read(self.test_set))

    @cached_property
    def _names(self) -> list[str]:
        """The smallest expression of each of the first classes."""
        trees, classes = self._expressions
        numbers = range(min(NAMED, int(classes.max()) + 1))
        own = ([trees[i] for i in np.flatnonzero(classes == number)] for number in numbers)
        return [write_infix(min(members, key=lambda tree: tree.size)) for members in own]

    def _states(self, job: TrainingJob, result: Result) -> tuple[Points, Points] | None:
        """Return the states of the trained and the untrained model; None for a model without hidden states."""
        after = hidden_states(
            load_trained(result.config, job.seed, self.folder / "jobs" / job.name), self._expressions[0]
        )
        before = hidden_states(module_of(result.config, job.seed), self._expressions[0])
        return None if after is None or before is None else (after, before)

    def _picture(self, label: str, states: Points) -> list[str]:
        stem = f"substitutivity-{label}"
        charts.save(charts.classes(in_the_plane(states), self._expressions[1], self._names), self.folder / stem)
        return ["", f"![{stem}]({stem}.png)"]


def _cells(states: Sequence[tuple[Points, Points]], classes: Classes) -> list[str]:
    """Each measure, after training and before."""
    spreads = [
        Spread.of([measure(pair[when], classes) for pair in states])
        for measure in (neighbour_purity, silhouette)
        for when in (0, 1)
    ]
    return ["" if found is None else found.percent() for found in spreads]
