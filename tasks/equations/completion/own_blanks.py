"""Make blanked equations in the published format, for the command completion.

``python -m tasks.equations own-blanks --data test.parquet --out DIR`` blanks correct equations of a set that
``generate`` made, and writes ``DIR/blanks/own_0.json`` and ``DIR/candidates.json``. As in the published files, a blank
replaces a leaf or a subtree of depth 1, the candidates are leaves and expressions of depth 1, and candidates of equal
value form a class.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random

import numpy as np

from dgltree import Equation, Tree
from dgltree.equations.truth.evaluator import MIN_MAGNITUDE, Evaluator
from dgltree.read.preorder import write_equation_record, write_preorder
from dgltree.support.files import replacing
from tasks.equations.fillers import LEAVES, depth_one
from tasks.equations.store import read

LEAF = 0.76  # share of blanks that are leaves, as published
DEPTHS = (8, 19)
DIGITS = 8  # significant digits by which values are compared


def candidates() -> list[Tree]:
    """Leaves and expressions of depth 1, in the published shapes."""
    return [*LEAVES, *depth_one(LEAVES)]


def draw_blank(equation: Equation, fillers: set[Tree], random: Random) -> int | None:
    """The preorder number, below the ``=``, of a random subtree that is among the fillers; None if none is."""
    nodes = list(Tree("=", equation).preorder())
    depth = 0 if random.random() < LEAF else 1
    places = [place for place, node in enumerate(nodes) if place and node.depth == depth and node in fillers]
    return random.choice(places) if places else None


def write(equations: Iterable[tuple[int, Equation]], out: Path, per_depth: int, seed: int = 0) -> int:
    """Write blanks of (depth, correct equation) pairs, at most so many of each depth; returns how many."""
    random = Random(f"blanks {seed}")
    fillers = set(candidates())
    by_depth: dict[int, list[dict]] = defaultdict(list)
    for depth, equation in equations:
        if len(by_depth[depth]) < per_depth:
            place = draw_blank(equation, fillers, random)
            if place is not None:
                record = write_equation_record(equation)
                by_depth[depth].append({"equation": record, "blankNodeNum": str(place)})
    (out / "blanks").mkdir(parents=True, exist_ok=True)
    _dump(out / "candidates.json", [[{"equation": write_preorder(tree), "class": c} for tree, c in _classes()]])
    _dump(out / "blanks" / "own_0.json", [by_depth[depth] for depth in range(max(by_depth, default=0) + 1)])
    return sum(map(len, by_depth.values()))


def _classes() -> list[tuple[Tree, str]]:
    """The candidates with their classes: equal values at all points, one without a value alone."""
    evaluator = Evaluator()
    numbers: dict[object, int] = {}
    found = []
    with np.errstate(all="ignore"):
        for tree in candidates():
            value, _, error = evaluator.value(tree)
            known = np.isfinite(value).all() and np.isfinite(error).all()
            rounded = np.round(value, DIGITS) if np.abs(value).max() < 1 / MIN_MAGNITUDE else value
            key = (rounded + 0).tobytes() if known else tree
            found.append((tree, str(numbers.setdefault(key, len(numbers)))))
    return found


def _dump(path: Path, lists: list) -> None:
    with replacing(path) as beside:
        beside.write_text(json.dumps(lists), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations own-blanks", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a set that generate made")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--per-depth", type=int, default=100, help="number of blanks per depth (default 100)")
    parser.add_argument("--depths", type=int, nargs=2, default=DEPTHS, help="lowest and highest depth (default 8 19)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the choice of blanks (default 0)")
    options = parser.parse_args(arguments)
    low, high = options.depths
    rows = [(row.depth, row.equation) for row in read(options.data) if row.label and low <= row.depth <= high]
    count = write(rows, options.out, options.per_depth, options.seed)
    print(f"{count} blanks, {len(candidates())} candidates -> {options.out}")
