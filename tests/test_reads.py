"""How often a pass on a GPU would have to be waited for: numbers that may only fall.

Counted on a second device (tests/second_device.py), for a forward and backward pass over trees or sequences, planned
before. ``PYTHONPATH=tests .venv/bin/python -m pytest tests/test_reads.py`` says by which lines, where a number rises.
"""

import random

import pytest
import torch
from helpers import leaf
from rows import ROWS, make_cell, make_sequence_encoder
from second_device import DEVICE, Device, second_device

from dgltree import Tree, TreeBatch, Vocabulary, batch, plan, propagate, root_states, topo_plan
from dgltree.cells import DownwardTreeLSTM
from dgltree.engine import Graph, prop_nodes_topo
from dgltree.engine.kernels.dispatch import kernels

UNDETERMINED = {"cumsum", "cumprod", "put_", "bincount", "histc", "kthvalue", "median"}
"""Operations that torch refuses on a GPU under ``use_deterministic_algorithms(True)``, of floating-point numbers."""
RUNNER = {"tree_smu": 31, "child_sum": 38}
"""By the cells' own functions, which look at what they are given; and one for edges in other memory than the plan's."""
READ = {
    "lstm": 1,
    "on_lstm": 4,
    "ordered_memory": 3,
    "balanced_tree": 3,
    "gumbel_tree": 3,
    "crvnn": 32,  # one a round, of 3 groups of similar lengths
    "beam_tree": 37,  # one a word but the first, and 3 before
    "efficient_beam_tree": 37,
    "easy_first": 40,
    "recurrent_grc": 1,
    "transformer": 1,
    "universal_transformer": 1,
    "neural_data_router": 1,
    "tree_transformer": 1,
}
"""In training, of 16 sequences of up to 35 words."""


def tree(depth: int, rng: random.Random) -> Tree:
    """A tree of exactly this depth, of functions with one or two children."""
    if not depth:
        return leaf(rng)
    if depth > 1 and rng.random() < 0.2:
        return Tree(rng.choice(["sin", "neg"]), [tree(depth - 1, rng)])
    return Tree(rng.choice(["add", "pow"]), [tree(depth - 1, rng), tree(rng.randrange(depth), rng)])


def trees_of(vocabulary: Vocabulary, count: int = 32, depth: int = 7) -> TreeBatch:
    rng = random.Random(0)
    return batch([tree(depth, rng) for _ in range(count)], vocabulary)


def check(device: Device, most: int) -> None:
    reads = device.reads.total()
    assert reads <= most, f"{reads} reads by {device.reads.most_common()}"
    assert reads == most, f"{reads} reads instead of {most}: write down that it fell"


@pytest.mark.parametrize("name", ROWS)
def test_a_planned_pass_of_a_cell_is_never_waited_for(name: str) -> None:
    cell = make_cell(name)
    flat = trees_of(cell.vocabulary, 4, depth=5)  # no read, however many they are
    with second_device() as device, kernels("off"):
        planned = plan(flat, cell.to(DEVICE)).to(DEVICE)
        device.reads.clear()
        device.copies.clear()
        root_states(planned, cell).sum().backward()
        propagate(planned, cell)["h"].sum().backward()
        check(device, 0)
        assert not device.copies
        assert not device.used & UNDETERMINED, "docs/howto/gpu.md says that torch can make all of them deterministic"


@pytest.mark.parametrize("name", READ)
def test_a_planned_pass_of_a_sequence_encoder_is_waited_for_once_a_round(name: str) -> None:
    rng = random.Random(0)
    trees = [tree(4, rng) for _ in range(16)]
    vocabulary = Vocabulary.from_trees(trees)
    encoder = make_sequence_encoder(name, vocabulary).double()
    planned = encoder.plan(batch(trees, vocabulary), share=False)
    expected = encoder(planned)
    with second_device() as device, kernels("off"):
        encoder.to(DEVICE)
        there = planned.to(DEVICE)
        device.reads.clear()
        device.copies.clear()
        found = encoder(there)
        found.sum().backward()
        assert not device.copies
        check(device, READ[name])
        torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", RUNNER)
def test_message_passing_on_a_gpu(name: str) -> None:
    cell = make_cell(name)
    flat = trees_of(cell.vocabulary)
    with second_device() as device:
        graph = Graph(flat.to(DEVICE))
        cell.to(DEVICE).prepare(graph)
        plan = topo_plan(flat).to(DEVICE)
        prop_nodes_topo(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func, plan=plan)
        graph.ndata["h"].sum().backward()
        check(device, RUNNER[name])


def test_the_way_down_is_waited_for_once() -> None:
    cell = make_cell("tree_lstm")
    flat = trees_of(cell.vocabulary, 4, depth=5)
    with second_device() as device, kernels("off"):
        down = DownwardTreeLSTM(cell.vocabulary, cell.hidden_size).to(DEVICE, cell.maps["gates_2"].weight.dtype)
        planned = plan(flat, cell.to(DEVICE), downward=down).to(DEVICE)
        up = propagate(planned, cell)
        device.reads.clear()
        propagate(planned, down, direction="down", up=up)["h"].sum().backward()
        check(device, 1)
