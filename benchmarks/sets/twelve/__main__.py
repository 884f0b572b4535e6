"""``python -m benchmarks.sets.twelve``: ``dgltree fit`` with defaults next to peers, on twelve sets, three splits.

Every run is a line of OUT/results.jsonl; what is there is not done again. Prints the tables.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sets.peer_answers import Answered, labels_of, read_runs, score
from benchmarks.sets.records import LabelledRecord
from benchmarks.sets.twelve import own, peers
from benchmarks.sets.twelve.names import NUMBERS, SETS
from benchmarks.sets.twelve.report import OURS, models, table
from benchmarks.sets.twelve.rows import SEEDS, TreeParts, fingerprint, read, records, split, write

RESULTS, SPLITS = "results.jsonl", Path(__file__).with_name("splits.tsv")
PEERS: Mapping[str, Callable[[TreeParts, int, int], Answered]] = {
    "n-grams": peers.ngrams,
    "subtrees": peers.subtrees,
    "decisions": peers.decisions,
    "GIN": peers.gin,
}


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sets.twelve", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--data", type=Path, help="the folder of the published data; without it three sets are left out"
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder of the results")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--splits", action="store_true", help="print the splits, and train nothing")
    options = parser.parse_args(arguments)
    found = {name: records(name, options.data) for name in options.sets if options.data or not SETS[name].published}
    if options.splits:
        print("\n".join(line for name, of in found.items() for line in lines_of(name, of)))
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    labels = {}
    for seed in options.seeds:
        for name, of in found.items():
            labels[name, seed] = _run(options.out, name, seed, of)
    runs = read_runs(options.out / RESULTS)
    labels = {(name, seed): labels[name, seed] for name in found for seed in options.seeds}
    print("\n".join([*table(runs, labels, NUMBERS), "", *models(runs, labels)]))
    return 0


def lines_of(name: str, found: list[LabelledRecord]) -> list[str]:
    """Set, seed, the size of each part, and the fingerprint of what is tested."""
    lines = []
    for seed in SEEDS:
        parts = split(found, seed)
        lines.append("\t".join([name, str(seed), *(str(len(part)) for part in parts), fingerprint(found, parts[2])]))
    return lines


def _run(out: Path, name: str, seed: int, found: list[LabelledRecord]) -> np.ndarray:
    """Train what is not done on a split, and append its lines; the test labels (E,)."""
    folder, places = out / name / str(seed), split(found, seed)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"trees{SETS[name].suffix}"
    write(found, places, file)
    parts, classes = read(name, file, places)
    done = {model for of, at, model in read_runs(out / RESULTS) if (of, at) == (name, seed)}

    def add(model: str, answered: Answered, more: dict[str, Any]) -> None:
        test = score(parts.test, answered.answers, bool(classes))
        run = {"set": name, "seed": seed, "model": model, "test": test, **more} | answered.to_json()
        with (out / RESULTS).open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(run) + "\n")
        print(
            f"{name}, split {seed}: {answered.what}: validation {answered.validation:.3f}, test {test:.3f}", flush=True
        )

    if OURS not in done:
        used = own.fit(name, seed, file, folder / "model")
        for model, (answered, refused) in own.answers(folder / "model", parts, classes).items():
            add(model, answered, used | {"refused": refused})
    for model, train in PEERS.items():
        if model not in done:
            before = _seconds()
            try:
                answered = train(parts, len(classes), seed)
            except ModuleNotFoundError as error:
                print(f"{name}, split {seed}: no {model}: {error}", file=sys.stderr)
                continue
            add(model, answered, {"seconds": round(_seconds() - before, 1)})
    return labels_of(parts.test)


def _seconds() -> float:
    return sum(os.times()[:2])


if __name__ == "__main__":
    sys.exit(main())
