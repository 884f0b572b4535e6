"""Every way to run both sweeps, by the names of the engines of the first, and how they are compared."""

import os
import warnings
from collections.abc import Callable

import engines
import pytest
import torch
from downward_oracle import downward_recursion
from engines import ENGINES, assert_close, cotangents
from oracle import State, recursion
from rows import DOWNWARD
from torch import Tensor, nn

from dgltree import TreeBatch, propagate
from dgltree.cells import Cell, DownwardCell
from dgltree.engine.graph import Graph
from dgltree.engine.runner import prop_nodes_topo

Down = Callable[[DownwardCell, TreeBatch, State], State]


def by_dgl(cell: DownwardCell, trees: TreeBatch, up: State) -> State:
    os.environ["DGLBACKEND"] = "pytorch"
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    graph = dgl.reverse(trees.graph, copy_ndata=True, copy_edata=True)
    cell.prepare(graph, up)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")  # the first frontier
        dgl.prop_nodes_topo(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
    return {part: graph.ndata[part] for part in cell.state}


def by_runner(cell: DownwardCell, trees: TreeBatch, up: State) -> State:
    graph = Graph(trees, reverse=True)
    cell.prepare(graph, up)
    prop_nodes_topo(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
    return {part: graph.ndata[part] for part in cell.state}


def by_levels(share: bool) -> Down:
    return lambda cell, trees, up: propagate(trees, cell, share, direction="down", up=up)


DOWN: dict[str, Down] = {
    "dgl": by_dgl,
    "runner": by_runner,
    "levels": by_levels(share=False),
    "levels shared": by_levels(share=True),
    "kernels": by_levels(share=False),
    "kernels shared": by_levels(share=True),
}
"""By the engine of the first sweep; there are no kernels of the second."""


WITHOUT_KERNELS = ("dgl", "runner", "levels", "levels shared")


def engines_of(name: str) -> list[str]:
    """The engines that a row of DOWNWARD runs on."""
    upward = DOWNWARD[name][0]
    return [engine for engine in (engines.engines_of(upward) if upward else WITHOUT_KERNELS) if engine in DOWN]


def both(name: str, up: Cell, down: DownwardCell, trees: TreeBatch) -> State:
    """States of both sweeps by an engine, "up h", "down h", ..."""
    states = ENGINES[name](up, trees)
    return named(states, DOWN[name](down, trees, states))


def both_by_recursion(up: Cell, down: DownwardCell, trees: TreeBatch) -> State:
    states = recursion(up, trees)
    return named(states, downward_recursion(down, trees, states))


def named(up: State, down: State) -> State:
    return {f"up {part}": rows for part, rows in up.items()} | {f"down {part}": rows for part, rows in down.items()}


def gradients(up: Cell, down: DownwardCell, states: State) -> dict[str, Tensor]:
    """Of every parameter of both cells, of a loss that reads every entry of both sweeps."""
    weights = cotangents(states)
    loss = torch.stack([(states[part] * weights[part]).sum() for part in states]).sum()
    parameters = dict(nn.ModuleDict({"up": up, "down": down}).named_parameters())
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(parameters, found, strict=True))


def compare(found: State, expected: State, tolerance: float = 1e-12) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert_close(found[name], tensor, name, tolerance)
