"""Results as Markdown tables: a row a model, mean ± standard deviation over seeds."""

from collections.abc import Callable, Mapping, Sequence

from tasks.equations.compositionality.results import Result, spread
from tasks.equations.compositionality.trainings import Depths
from tasks.equations.verification.counts import Counts
from tasks.tables import Spread, percent, table

Rows = Mapping[str, Sequence[Result]]
"""A row's label to the results of its seeds."""
MEASURES: dict[str, Callable[[Counts], float]] = {
    "accuracy": lambda counts: counts.accuracy,
    "precision": lambda counts: counts.precision,
    "recall": lambda counts: counts.recall,
}


def by_range(rows: Rows, ranges: Sequence[Depths]) -> list[str]:
    """Accuracy, precision and recall on ranges of depth of the test set."""
    header = [f"{measure}, {first} to {last}" for first, last in ranges for measure in MEASURES]
    cells = {
        label: [percent(spread(results, depths, measure)) for depths in ranges for measure in MEASURES.values()]
        for label, results in rows.items()
    }
    seeds = {label: str(len(results)) for label, results in rows.items()}
    return table(["model", "seeds", *header], [[label, seeds[label], *cells[label]] for label in rows])


def by_depth(rows: Rows) -> list[str]:
    """Accuracy at each depth of the test set, the mean over seeds."""
    depths = sorted({depth for results in rows.values() for result in results for depth in result.by_depth})
    body = []
    for label, results in rows.items():
        spreads = [spread(results, (depth, depth), MEASURES["accuracy"]) for depth in depths]
        body.append([label, *("" if found is None else f"{100 * found.mean:.1f}" for found in spreads)])
    return table(["depth", *map(str, depths)], body)


def usage(rows: Mapping[str, Mapping[int, Spread]]) -> list[str]:
    """Rows of the stack in use at each depth, the mean over seeds."""
    depths = sorted({depth for found in rows.values() for depth in found})
    body = [[label, *(f"{found[d].mean:.1f}" if d in found else "" for d in depths)] for label, found in rows.items()]
    return table(["depth", *map(str, depths)], body)
