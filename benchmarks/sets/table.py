"""The table of what trainings reached: the model against the baseline that cross-validation chose, fold by fold."""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from scipy.stats import t

from dgltree.training.folder import CARD
from dgltree.training.repeats import SUMMARY

HEAD = (
    "set | examples | metric | model | network alone | baseline | difference (95 %) | network's weight | "
    "macro F1 (baseline) | calibration error | CPU seconds a training"
)
SECONDS = "cpu_seconds.json"
"""The file in the folder of a set with the CPU seconds of each command that trained there."""


def table(runs: Mapping[str, Path]) -> list[str]:
    """Lines of Markdown, one a set that is done; the others are named below."""
    done = {name: folder for name, folder in runs.items() if (folder / f"{SUMMARY}.json").exists()}
    columns = HEAD.split(" | ")
    rows = [columns, ["---", "---:", "---", *["---:"] * (len(columns) - 3)], *(_row(*one) for one in done.items())]
    missing = [name for name in runs if name not in done]
    return [f"| {' | '.join(row)} |" for row in rows] + [f"not done: {', '.join(missing)}"] * bool(missing)


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of Student's t for the mean of paired differences, two or more."""
    mean = statistics.fmean(differences)
    half = float(t.ppf(0.975, len(differences) - 1)) * statistics.stdev(differences) / math.sqrt(len(differences))
    return mean - half, mean + half


def _row(name: str, folder: Path) -> list[str]:
    summary = json.loads((folder / f"{SUMMARY}.json").read_text(encoding="utf-8"))
    cards = [json.loads((folder / fold / CARD).read_text(encoding="utf-8")) for fold in summary["trainings"]]
    metric = cards[0]["intervals"]["metric"]

    def values(who: str, of: str = metric) -> list[float]:
        return [fold["test"][of] for fold in (card[who] for card in cards)]

    def mean(who: str, of: str = metric) -> str:
        return f"{statistics.fmean(values(who, of)):.3f}"

    differences = [ours - theirs for ours, theirs in zip(values("metrics"), values("baseline"), strict=True)]
    low, high = interval(differences)
    classes = bool(cards[0]["classes"])
    return [
        name,
        f"{sum(card['metrics']['test']['examples'] for card in cards):,}",
        metric,
        mean("metrics"),
        mean("network"),
        mean("baseline"),
        f"{statistics.fmean(differences):+.3f} ({low:+.3f} to {high:+.3f})",
        f"{statistics.fmean(card['average']['weight'] for card in cards):.2f}",
        f"{mean('metrics', 'macro_f1')} ({mean('baseline', 'macro_f1')})" if classes else "",
        mean("metrics", "calibration_error") if classes else "",
        f"{sum(json.loads((folder / SECONDS).read_text(encoding='utf-8'))) / len(cards):.0f}",
    ]
