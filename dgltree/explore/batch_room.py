"""The room of batches: how trees become one graph, its steps, and rows that equal subtrees share."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dgltree.batching.batch import TreeBatch, batch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import TreeLSTM
from dgltree.engine.kernels.dispatch import kernels
from dgltree.engine.planned import plan
from dgltree.engine.propagate import propagate
from dgltree.engine.schedule import Schedule
from dgltree.equations.typed import read_typed_expression
from dgltree.explore.endpoint import Endpoint
from dgltree.explore.request_fields import RequestFields
from dgltree.explore.tree_drawing import list_nodes, unfold_tree
from dgltree.read.notations import NOTATIONS, detect
from dgltree.trees.tree import Tree

MAX_LENGTH = 20_000
"""Characters of all trees."""
MOST_TREES = 24
MOST_NODES = 2000
WIDTH = 64
"""Size of the states that are timed."""
SECONDS = 0.8
"""Seconds for which the ways of computing are repeated."""
ROUNDS = 5, 200
"""At least and at most."""


class BatchesRoom:
    """Answers for trees that are typed; no model is needed."""

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("batch/plan", "read", answer=self.plan),
            Endpoint("batch/time", "time", answer=self.time),
        ]

    def plan(self, asked: RequestFields) -> dict[str, Any]:
        """The nodes of all trees, and the schedule without and with sharing."""
        trees = _trees(asked)
        flat, cell = _batched(trees)
        return {
            "nodes": list_nodes(trees),
            "trees": [tree.size for tree in trees],
            "edges": len(flat.child_index),
            "plain": _schedule(plan(flat, cell, share=False).schedule),
            "shared": _schedule(plan(flat, cell, share=True).schedule),
        }

    def time(self, asked: RequestFields) -> dict[str, Any]:
        """Milliseconds of a pass: tree by tree, all trees as one batch, and with equal subtrees once."""
        trees = _trees(asked)
        flat, cell = _batched(trees)
        singly = [plan(batch([tree], cell.vocabulary), cell, share=False) for tree in trees]
        plain = plan(flat, cell, share=False)
        shared = plan(flat, cell, share=True)
        ways: dict[str, Callable[[], object]] = {
            "singly": lambda: [propagate(one, cell) for one in singly],
            "plain": lambda: propagate(plain, cell),
            "shared": lambda: propagate(shared, cell),
        }
        with torch.no_grad(), kernels("off"):
            times = _milliseconds(ways)
        return {"times": times, "steps": sum(1 + len(one.schedule.steps) for one in singly), "width": WIDTH}


def _trees(asked: RequestFields) -> list[Tree]:
    """The trees of the lines: expressions as one types them, or another notation."""
    lines = [line.strip() for line in asked.text("text", MAX_LENGTH).splitlines() if line.strip()]
    if not lines:
        raise ValueError("no trees: write one per line")
    if len(lines) > MOST_TREES:
        raise ValueError(f"found {len(lines)} trees; the page shows up to {MOST_TREES}")
    trees = [unfold_tree(tree) for tree in _read(lines)]
    nodes = sum(tree.size for tree in trees)
    if nodes > MOST_NODES:
        raise ValueError(f"the trees have {nodes:,} nodes; the page shows up to {MOST_NODES:,}")
    return trees


def _read(lines: Sequence[str]) -> list[Tree]:
    try:
        return [read_typed_expression(line) for line in lines]
    except ValueError as error:
        try:
            read = NOTATIONS[detect(lines)].read
            return [read(line) for line in lines]
        except ValueError:
            raise _with_line(lines, error) from None


def _with_line(lines: Sequence[str], error: ValueError) -> ValueError:
    """The error of the first expression that cannot be read, with its own line for an expression's first."""
    for number, line in enumerate(lines, 1):
        try:
            read_typed_expression(line)
        except ValueError as found:
            return ValueError(str(found).replace("line 1,", f"line {number},", 1))
    return error


def _batched(trees: Sequence[Tree]) -> tuple[TreeBatch, TreeLSTM]:
    """The trees as one graph, and a cell that runs along it; its weights mean nothing."""
    vocabulary = Vocabulary.from_trees(trees)
    return batch(trees, vocabulary), TreeLSTM(vocabulary, WIDTH, numbers=any(_numbers(tree) for tree in trees))


def _numbers(tree: Tree) -> bool:
    return any(node.value is not None for node in tree.distinct())


def _schedule(of: Schedule) -> dict[str, Any]:
    """The row of each node, and the rows of each step, the leaves' first."""
    return {
        "row": of.row.tolist(),
        "steps": [
            {"start": 0, "stop": of.leaves, "arity": 0},
            *({"start": step.start, "stop": step.stop, "arity": step.arity} for step in of.steps),
        ],
    }


def _milliseconds(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The fastest pass of each way, one after the other in every round: other work of the machine is not part of it."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    until, least, most = time.perf_counter() + SECONDS, *ROUNDS
    for done in range(most + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            taken[name].append(1000 * (time.perf_counter() - start))
        if done >= least and time.perf_counter() > until:
            break
    return {name: round(min(times), 3) for name, times in taken.items()}
