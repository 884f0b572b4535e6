"""``python -m benchmarks.sets.molecules``: ``dgltree fit`` with defaults next to peers, on three published sets.

Trains each model on the same three splits by scaffolds; validation chooses its settings. Writes one line per run to
OUT/results.jsonl, skips finished runs, and prints the table.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.sets.gin import GraphTraining, RowGraphs
from benchmarks.sets.gin import gin as of_graphs
from benchmarks.sets.molecules import own, peers
from benchmarks.sets.molecules.published import SEEDS, SETS, Molecule, MoleculeParts, molecules, split
from benchmarks.sets.molecules.report import OURS, MoleculeLabels, table
from benchmarks.sets.peer_answers import Answered, labels_of, read_runs, score


# A graph isomorphism network of atoms and bonds, as Open Graph Benchmark's programs read them.
def gin(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """The one of several sizes that is best in validation, each at its best epoch."""
    from torch_geometric.utils.smiles import e_map, x_map

    atoms, bonds = ([len(values) for values in names.values()] for names in (x_map, e_map))
    return of_graphs(parts, RowGraphs(_graphs, atoms, bonds), GraphTraining(2 if classes else 0, seed))


def _graphs(rows: Sequence[Molecule]) -> list[Any]:
    from torch_geometric.utils import from_smiles

    return [from_smiles(row.smiles) for row in rows]


RESULTS = "results.jsonl"
PEERS: Mapping[str, Callable[[MoleculeParts, bool, int], Answered]] = {
    "fingerprints": peers.fingerprints,
    "descriptors": peers.descriptors,
    "n-grams": peers.ngrams,
    "GIN": gin,
}
MODELS = (OURS, *PEERS)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sets.molecules", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of freesolv.csv, esol.csv and bace.csv")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the results")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="NAME")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / RESULTS
    for name in options.sets:
        for seed in options.seeds:
            parts = split(molecules(options.data, name), seed)
            for model in options.models:
                if (name, seed, model) not in read_runs(file):
                    _run(file, name, seed, model, parts)
    tests = {
        (name, seed): MoleculeLabels(labels_of(split(molecules(options.data, name), seed).test), SETS[name].classes)
        for name in options.sets
        for seed in options.seeds
    }
    print("\n".join(table(read_runs(file), tests)))
    return 0


def _run(file: Path, name: str, seed: int, model: str, parts: MoleculeParts) -> None:
    """Train, and append a line."""
    classes, before = SETS[name].classes, _seconds()
    folder = file.parent / name / str(seed)
    train = partial(own.fit, folder=folder) if model == OURS else PEERS[model]
    try:
        found = train(parts, classes, seed)
    except ModuleNotFoundError as error:
        print(f"{name}, split {seed}: no {model}: {error}", file=sys.stderr)
        return
    test = score(parts.test, found.answers, classes)
    run = {"set": name, "seed": seed, "model": model, "test": test, "seconds": round(_seconds() - before, 1)}
    with file.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(run | found.to_json()) + "\n")
    print(f"{name}, split {seed}: {found.what}: validation {found.validation:.3f}, test {test:.3f}", flush=True)


def _seconds() -> float:
    return sum(os.times()[:4])  # user and system, of this process and of those that it waited for


if __name__ == "__main__":
    sys.exit(main())
