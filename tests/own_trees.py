"""Files of own trees: a small table, and expressions of three variables labelled by their value at a point."""

import random
from pathlib import Path

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


def rows_of(text: str) -> list[list[str]]:
    """The rows of a table of answers."""
    return [line.split("\t") for line in text.splitlines()]
