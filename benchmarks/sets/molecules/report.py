"""The table of what models reached on sets of molecules, and ``dgltree fit`` next to the best peer."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.sets.peer_answers import SplitPair, interval

HEAD = ("set", "model", "test, mean", "of each split", "validation", "CPU seconds", "weights")
OURS = "dgltree fit"

Runs = Mapping[tuple[str, int, str], Mapping[str, Any]]
"""Lines of the results, by set, seed and model."""


class MoleculeLabels(NamedTuple):
    """Labels (E,) of the test molecules of a split, and whether these are classes."""

    labels: np.ndarray
    classes: bool


def table(runs: Runs, tests: Mapping[tuple[str, int], MoleculeLabels]) -> list[str]:
    """Lines of Markdown: a row per set and model that is done for some seeds, then ours against the best peer."""
    lines = [f"| {' | '.join(row)} |" for row in (HEAD, ("---", "---", *["---:"] * (len(HEAD) - 2)))]
    compared = []
    for name in dict.fromkeys(name for name, _ in tests):
        of_set = {model: _by_seed(runs, name, model) for _, model in _models(runs, name)}
        lines += [_row(name, model, list(by_seed.values())) for model, by_seed in of_set.items()]
        peers = {model: fmean(run["test"] for run in by_seed.values()) for model, by_seed in of_set.items()}
        if OURS in of_set and peers.pop(OURS) is not None and peers:
            best = max(peers, key=lambda model: peers[model])
            compared.append(_difference(name, of_set[OURS], best, of_set[best], tests))
    return [*lines, "", *compared]


def _models(runs: Runs, name: str) -> list[tuple[str, str]]:
    return list(dict.fromkeys((of, model) for of, _, model in runs if of == name))


def _by_seed(runs: Runs, name: str, model: str) -> dict[int, Mapping[str, Any]]:
    return {seed: run for (of, seed, who), run in runs.items() if (of, who) == (name, model)}


def _row(name: str, model: str, found: Sequence[Mapping[str, Any]]) -> str:
    def mean(what: str) -> float:
        return fmean(run[what] for run in found)

    cells = (
        name,
        model,
        f"{mean('test'):.3f}",
        ", ".join(f"{run['test']:.3f}" for run in found),
        f"{mean('validation'):.3f}",
        f"{mean('seconds'):.0f}",
        f"{mean('weights'):,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def _difference(
    name: str,
    ours: Mapping[int, Mapping[str, Any]],
    best: str,
    theirs: Mapping[int, Mapping[str, Any]],
    tests: Mapping[tuple[str, int], MoleculeLabels],
) -> str:
    """The difference of the means over splits, with its interval by the bootstrap over each split's test molecules."""
    seeds = [seed for seed in ours if seed in theirs]
    pairs = [SplitPair(tests[name, seed].labels, ours[seed]["answers"], theirs[seed]["answers"]) for seed in seeds]
    low, high = interval(pairs, any(tests[name, seed].classes for seed in seeds))
    mean = fmean(ours[seed]["test"] - theirs[seed]["test"] for seed in seeds)
    return f"{name}: {OURS} {mean:+.3f} ({low:+.3f} to {high:+.3f}) against {best}, the best peer in the tests"
