"""``python -m benchmarks.sets.columns``: labels that need a tree and tabular features.

    python -m benchmarks.sets.columns

Draws expressions of x, y and z with a limit and a site next to each. The label is whether the expression's value at
x = 1.5, y = -0.5, z = 2.25 is above the limit, in the south below it; or a number, the value less the limit, times two
in the south. Prints a table in Markdown: the model of both, of the tree and of the columns alone, and boosted trees of
counts and columns.
"""

import argparse
import random

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import dgltree
from dgltree import TreeDataset, fit
from dgltree.datasets import split
from dgltree.training.baseline.baseline import Columns
from dgltree.training.processes import silent
from dgltree.trees.tree import Tree

NUM_EXAMPLES, SEEDS, LABELS = 2000, (0, 1, 2), ("class", "number")
POINT = {"x": 1.5, "y": -0.5, "z": 2.25, "-1": -1.0}


def drawn(count: int, seed: int, label: str) -> tuple[list[Tree], dict[str, list[str]], list[str]]:
    """Trees, the columns next to them by their names, and labels."""
    rng = random.Random(seed)

    def expression(depth: int) -> str:
        if depth == 0 or rng.random() < 0.2:
            return rng.choice("xyz")
        return f"({expression(depth - 1)}{rng.choice('+*-')}{expression(depth - 1)})"

    trees = [dgltree.read_infix(expression(3)) for _ in range(count)]
    limits = [f"{rng.gauss(1, 4):.2f}" for _ in trees]
    sites = [rng.choice(["north", "south"]) for _ in trees]
    labels = []
    for tree, limit, site in zip(trees, limits, sites, strict=True):
        above, south = tree.fold(value) - float(limit), site == "south"
        labels.append(f"{above * (1 + south):.5f}" if label == "number" else "yes" if (above > 0) != south else "no")
    return trees, {"limit": limits, "site": sites}, labels


def value(node: Tree, children: list[float]) -> float:
    """The value of a node at :data:`POINT`."""
    if node.function in ("Add", "Mul"):
        return children[0] + children[1] if node.function == "Add" else children[0] * children[1]
    return POINT[str(node.token)]


def results(label: str, seed: int) -> dict[str, float]:
    """Accuracy, or R², in the test set, by what was fitted to the others."""
    trees, columns, labels = drawn(NUM_EXAMPLES, seed, label)
    metric, nothing = ("r2" if label == "number" else "accuracy"), [Tree("nothing")] * len(trees)
    data = split(TreeDataset(trees, labels, features=columns), seed)
    lines = {name: [line - 1 for line in part.lines] for name, part in data.items()}
    found = {}
    with silent():
        for name, given, beside in (
            ("tree and columns", trees, columns),
            ("tree alone", trees, None),
            ("columns alone", nothing, columns),
        ):
            whole = TreeDataset(given, labels, features=beside)
            parts = {part: whole.select(rows) for part, rows in lines.items()}
            model = fit(parts["train"], validation=parts["validation"], seed=seed)
            found[name] = model.evaluate(parts["test"]).metrics[metric]
            if name == "tree and columns":
                known = {part: model.dataset(each) for part, each in parts.items()}
                found["boosted trees of counts and columns"] = _boosted(known, label)
    return found


def _boosted(parts: dict[str, TreeDataset], label: str) -> float:
    columns = Columns.of(parts["train"].as_read())
    rows = {name: columns(part.as_read()).toarray() for name, part in parts.items()}
    kind = HistGradientBoostingRegressor if label == "number" else HistGradientBoostingClassifier
    labels = {name: np.array(part.labels, float if label == "number" else str) for name, part in parts.items()}
    return float(kind(random_state=0).fit(rows["train"], labels["train"]).score(rows["test"], labels["test"]))


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sets.columns", description=__doc__.split("\n\n")[0])
    parser.parse_args(arguments)
    rows: dict[str, list[str]] = {}
    for label in LABELS:
        each = [results(label, seed) for seed in SEEDS]
        for name in each[0]:
            values = [found[name] for found in each]
            rows.setdefault(name, []).append(f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})")
    print("| fitted to | accuracy, class | R², number |\n| --- | ---: | ---: |")
    print("\n".join(f"| {name} | {' | '.join(values)} |" for name, values in rows.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
