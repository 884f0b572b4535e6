"""The table: ``dgltree fit`` next to the peer that validation chose on each split."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.sets.peer_answers import SplitPair, interval

OURS = "fit"
HEAD = (
    "set",
    "metric",
    "`dgltree fit`",
    "best peer by validation",
    "difference (95 %)",
    "chosen peers",
    "unanswered",
    "weights",
    "megabytes",
    "CPU seconds",
)
Runs = Mapping[tuple[str, int, str], Mapping[str, Any]]
"""Lines of the results, by set, seed and model."""


def table(runs: Runs, labels: Mapping[tuple[str, int], np.ndarray], numbers: set[str]) -> list[str]:
    """Lines of Markdown: a row for each set that has an answer of ours and of a peer, for the splits that have both."""
    lines = [f"| {' | '.join(row)} |" for row in (HEAD, ("---", "---", *["---:"] * (len(HEAD) - 2)))]
    for name in dict.fromkeys(name for name, _ in labels):
        pairs = [(seed, runs[name, seed, OURS], best_peer(runs, name, seed)) for seed in _seeds(runs, labels, name)]
        if pairs:
            lines.append(_row(name, name not in numbers, pairs, labels))
    return lines


def models(runs: Runs, labels: Mapping[tuple[str, int], np.ndarray]) -> list[str]:
    """Lines of Markdown: what each model has in the tests, the mean of the splits, with its CPU seconds in brackets."""
    found = list(dict.fromkeys(model for _, _, model in runs))
    lines = [f"| set | {' | '.join(found)} |", f"| --- | {' | '.join(['---:'] * len(found))} |"]
    for name in dict.fromkeys(name for name, _ in labels):
        cells = []
        for model in found:
            of = [run for (set_, _, who), run in runs.items() if (set_, who) == (name, model)]
            cells.append(
                f"{fmean(run['test'] for run in of):.3f} ({fmean(run['seconds'] for run in of):.0f})" if of else ""
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def best_peer(runs: Runs, name: str, seed: int) -> Mapping[str, Any]:
    """The run of the peer that is best in validation; the first of equal ones."""
    peers = [run for (of, at, who), run in runs.items() if (of, at) == (name, seed) and who != OURS]
    return max(peers, key=lambda run: run["validation"])


def _seeds(runs: Runs, labels: Mapping[tuple[str, int], np.ndarray], name: str) -> list[int]:
    """The splits on which ours and a peer are done."""
    done = {(seed, who == OURS) for of, seed, who in runs if of == name}
    return [seed for of, seed in labels if of == name and {(seed, True), (seed, False)} <= done]


def _row(
    name: str,
    classes: bool,
    pairs: Sequence[tuple[int, Mapping[str, Any], Mapping[str, Any]]],
    labels: Mapping[tuple[str, int], np.ndarray],
) -> str:
    low, high = interval(
        [SplitPair(labels[name, seed], ours["answers"], peer["answers"]) for seed, ours, peer in pairs], classes
    )
    ours, peers = [ours for _, ours, _ in pairs], [peer for _, _, peer in pairs]
    mean, theirs = fmean(run["test"] for run in ours), fmean(run["test"] for run in peers)
    cells = (
        name,
        "accuracy" if classes else "R²",
        f"{mean:.3f}",
        f"{theirs:.3f}",
        f"{mean - theirs:+.3f} ({low:+.3f} to {high:+.3f})",
        ", ".join(run["model"] for run in peers),
        f"{sum(run['refused'] for run in ours)}",
        f"{fmean(run['weights'] for run in ours):,.0f}",
        f"{max(run['megabytes'] for run in ours):,}",
        f"{fmean(run['seconds'] for run in ours):.0f}",
    )
    return f"| {' | '.join(cells)} |"
