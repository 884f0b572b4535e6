"""Files of own trees: a small table, and expressions of three variables labelled by their value at a point."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dgltree
from dgltree import Tree

TABLE = "id\ttree\tlabel\tsplit\na\tx+y\tsum\ttrain\nb\tx*y\tproduct\ttest\nc\tsin(x)\tsine\tvalid\n"
SMALL = ["--hidden-size", "12", "--epochs", "3", "--lr", "0.01", "--batch-nodes", "200"]
QUIET = [pytest.mark.filterwarnings("ignore:.*LeafSpec.*", "ignore:.*multi-threaded.*fork.*")]
"""Warnings that are Lightning's and Python's own."""


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice("xyz")
    return f"({expression(rng, depth - 1)}{rng.choice('+*-')}{expression(rng, depth - 1)})"


def worth(node: Tree, children: list[float]) -> float:
    """The value at a point."""
    if node.function in ("Add", "Mul"):
        return sum(children) if node.function == "Add" else children[0] * children[1]
    return {"x": 1.5, "y": -0.5, "z": 2.25, "-1": -1.0}[str(node.token)]


def table(count: int, label: str = "class", seed: int = 0) -> str:
    """Expressions and their value at a point: its sign, or itself."""
    rng = random.Random(seed)
    lines = ["id\ttree\tlabel"]
    for i in range(count):
        text = expression(rng, 3)
        value = dgltree.read_infix(text).fold(worth)
        lines.append(f"e{i}\t{text}\t{('pos' if value > 0 else 'neg') if label == 'class' else value}")
    return "\n".join(lines) + "\n"


class Built(NamedTuple):
    """A training before its first step, and its settings with all that followed from the data."""

    module: Any
    options: Any


def built(data: Any, options: Any) -> Built:
    """The training on a data set that is also its validation set."""
    from dgltree.training.deciding import decide
    from dgltree.training.short_trainings import build

    decision = decide({"train": data, "validation": data}, options)
    return Built(build(decision), decision.options)


def rows_of(text: str) -> list[list[str]]:
    """The rows of a table of answers."""
    return [line.split("\t") for line in text.splitlines()]


def large_tree(nodes: int) -> str:
    """A binary tree of so many nodes, an odd number, as an S-expression with one leaf of its own."""
    rng = random.Random(3)
    tree: list[Any] = [None]
    places = [tree]
    while len(places) < (nodes + 1) // 2:
        place = places.pop(rng.randrange(len(places)))
        place[:] = [[None], [None]]
        places += place
    names = iter(["treasure", *(f"w{k % 9}" for k in range(len(places)))])

    def text(node: list[Any]) -> str:
        return next(names) if node == [None] else f"(add {text(node[0])} {text(node[1])})"

    return text(tree)


def graded_table() -> str:
    """S-expressions of 86 grades, three of each for training, and in the test set first a tree of 999 nodes."""
    lines = ["id\ttree\tlabel\tsplit", f"large\t{large_tree(999)}\t40\ttest"]
    for k, split in [(k, split) for k in range(86) for split in ("train", "train", "train", "validation", "test")]:
        operator = ("add", "mul")[k % 2]
        lines.append(f"t{len(lines)}\t({operator} w{k % 9} (mul w{len(lines) % 9} w{k // 10}))\t{k}\t{split}")
    return "\n".join(lines) + "\n"
