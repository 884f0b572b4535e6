"""A process that holds a model: time to answer some trees."""

import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr
from io import StringIO

from benchmarks.row import Row
from dgltree import TrainedModel, TreeDataset, fit
from dgltree.datasets import Reading
from dgltree.read.sexpr import read_sexpr

LEAVES, TRAINED_ON, CALLS = 10, 300, 20
LATE = 18
"""Of the sorted times of calls, the last but one: 95 % take no longer."""


def rows(device: str, repeats: int) -> Iterator[Row]:
    """The rows of the suite, of 20 calls each with trees of their own, after two that warm up."""
    del device, repeats
    rng = random.Random(0)
    model = _model(rng)
    for size in (1, 10, 100, 1000):
        calls = [[_tree(rng, LEAVES) for _ in range(size)] for _ in range(CALLS + 2)]
        seconds = sorted([_seconds(model, trees) for trees in calls][2:])
        middle, late = seconds[CALLS // 2], seconds[LATE]
        name = f"predict, {size:,} trees of {LEAVES} leaves in a call"
        yield Row(f"{name}, median", 1000 * middle, "ms", falling=True, work={"trees": size / middle})
        yield Row(f"{name}, 95 %", 1000 * late, "ms", falling=True)


def _seconds(model: TrainedModel, trees: list[str]) -> float:
    start = time.perf_counter()
    model.answers_to(trees)
    return time.perf_counter() - start


def _model(rng: random.Random) -> TrainedModel:
    """What a fit with defaults makes of a few trees."""
    texts = [_tree(rng, LEAVES) for _ in range(TRAINED_ON)]
    labels = [text[1:4] for text in texts]
    data = TreeDataset([read_sexpr(text) for text in texts], labels, reading=Reading(notation="sexpr"))
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(StringIO()):
        fit(data, out=f"{folder}/model", epochs=2)
        return TrainedModel.load(f"{folder}/model")


def _tree(rng: random.Random, leaves: int) -> str:
    if leaves == 1:
        return rng.choice("wxyz")
    left = rng.randrange(1, leaves)
    return f"({rng.choice(['add', 'mul'])} {_tree(rng, left)} {_tree(rng, leaves - left)})"
