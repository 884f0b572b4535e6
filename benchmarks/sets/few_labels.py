"""``python -m benchmarks.sets.few_labels FILE``: test whether unsupervised vectors replace labels.

Prints the accuracy (or R2) on a fifth of the trees after training with a share of the labels: of ``fit`` alone, of
``fit --from`` the model that ``embed`` trained on all trees, and of the baseline alone.
"""

import argparse
import contextlib
import io
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch

import dgltree
from dgltree import TreeDataset
from dgltree.training.embedding import embed

SHARES = (0.05, 0.2)


def main(arguments: Sequence[str]) -> None:
    """Run the program's command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sets.few_labels", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--tree", default="tree", help="the column of the trees")
    parser.add_argument("--label", default="label", help="the column of the labels")
    parser.add_argument("--notation", help="notation of the trees (default: detected)")
    parser.add_argument("--embed-epochs", type=int, default=15)
    parser.add_argument("--epochs", type=int, help="epochs of fit")
    parser.add_argument("--draws", type=int, default=3, help="draw the known labels this many times")
    options = parser.parse_args(arguments)
    reading = {"tree": options.tree, "label": options.label, "notation": options.notation}
    data = TreeDataset.from_file(options.file, cached=False, **reading)
    order = list(range(len(data)))
    random.Random(0).shuffle(order)
    test, rest = order[: len(data) // 5], order[len(data) // 5 :]
    print(f"{len(data):,} trees, {len(test)} of them for the test", flush=True)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        vectors = str(Path(folder) / "vectors")
        embed(data, out=vectors, epochs=options.embed_epochs)
        for share in SHARES:
            _rows(data, test, rest, share, vectors, options)


def _rows(
    data: TreeDataset, test: list[int], rest: list[int], share: float, vectors: str, options: argparse.Namespace
) -> None:
    """Print the means over draws, and each."""
    found: dict[str, list[float]] = {}
    wanted = data.select(test)
    for seed in range(options.draws):
        known = random.Random(seed).sample(rest, round(share * len(rest)))
        settings: dict[str, dict[str, Any]] = {"fit": {}, "fit --from": {"from_": vectors}}
        for name, more in settings.items():
            with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
                model = dgltree.fit(data.select(known), test=wanted, out=out, epochs=options.epochs, seed=seed, **more)
            scores = {name: model.evaluate(wanted).metrics}
            if model.average is not None:
                answers = model.average.baseline.answers(model.dataset(wanted))
                targets = model.objective.targets(wanted.labels)
                scores["baseline"] = model.objective.evaluation(answers, targets).metrics
                model.average = None
            scores[f"{name}, network alone"] = model.evaluate(wanted).metrics
            for each, metrics in scores.items():
                found.setdefault(each, []).append(metrics["accuracy"] if "accuracy" in metrics else metrics["r2"])
    print(f"{share:.0%} of the labels ({round(share * len(rest))}):")
    for name, numbers in found.items():
        print(f"  {name}: {mean(numbers):.3f} ({', '.join(f'{number:.3f}' for number in numbers)})", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
