"""Every way to run a cell, by name, and how its results are compared with the oracle's."""

import importlib.util
import os
import warnings
from collections.abc import Callable, Mapping
from unittest import mock

import pytest
import torch
from oracle import recursion
from rows import ROWS, make_cell
from torch import Tensor

from dgltree import TreeBatch, propagate
from dgltree.cells import Cell
from dgltree.engine.graph import Graph
from dgltree.engine.kernels.dispatch import BACKENDS, TRITON, get_fused, kernels
from dgltree.engine.runner import prop_nodes_topo

State = dict[str, Tensor]
Engine = Callable[[Cell, TreeBatch], State]


def dgl_engine(cell: Cell, trees: TreeBatch) -> State:
    os.environ["DGLBACKEND"] = "pytorch"
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    graph = trees.graph
    cell.prepare(graph)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")  # the leaf frontier
        dgl.prop_nodes_topo(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
    return {part: graph.ndata[part] for part in cell.state}


def runner_engine(cell: Cell, trees: TreeBatch) -> State:
    graph = Graph(trees)
    cell.prepare(graph)
    prop_nodes_topo(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
    return {part: graph.ndata[part] for part in cell.state}


def levels(share: bool) -> Engine:
    """Torch's operations."""

    def run(cell: Cell, trees: TreeBatch) -> State:
        with kernels("off"):
            return propagate(trees, cell, share=share)

    return run


def fused(share: bool) -> Engine:
    """Compiled passes: by a kernel by hand, or made of ``combine``."""

    def run(cell: Cell, trees: TreeBatch) -> State:
        pytest.importorskip("numba", reason="the fast extra is not installed")
        with kernels("on"):
            return propagate(trees, cell, share=share)

    return run


def triton_engine(cell: Cell, trees: TreeBatch) -> State:
    """The kernels of a GPU, each operation of each program by numpy."""
    pytest.importorskip("triton", reason="Triton is not installed")
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("TRITON_INTERPRET=1 is not set: Triton would compile for a GPU")
    with mock.patch.dict(BACKENDS, cpu=TRITON), kernels("on"):
        return propagate(trees, cell)


KERNELS: dict[str, Engine] = {
    "kernels": fused(share=False),
    "kernels shared": fused(share=True),
}
ENGINES: dict[str, Engine] = {
    "dgl": dgl_engine,
    "runner": runner_engine,
    "levels": levels(share=False),
    "levels shared": levels(share=True),
    **KERNELS,
}
NEEDS = {"dgl": "dgl"} | dict.fromkeys(KERNELS, "numba")
INSTALLED = {name: run for name, run in ENGINES.items() if name not in NEEDS or importlib.util.find_spec(NEEDS[name])}
"""Those that run here: for tests of all engines at once, of which a missing package would skip the whole."""
INTERPRETED: dict[str, Engine] = {"triton": triton_engine}
"""Too slow to run by default."""
TABLE = ENGINES | INTERPRETED
"""The engines of tests/engine/exactness.md."""


def engines_of(name: str, among: Mapping[str, Engine] = ENGINES) -> list[str]:
    """The engines that a row of ROWS runs on."""
    cell = make_cell(name)
    fused = get_fused(cell)
    missing = set(KERNELS) if getattr(cell, "positions", False) else set()
    if fused is None or fused.family not in TRITON.families:
        missing |= set(INTERPRETED)
    return [one for one in among if one not in missing]


CASES = [(name, engine) for name in ROWS for engine in engines_of(name)]
"""Every row on every engine that it runs on."""


def cotangents(states: State) -> State:
    """A fixed random cotangent on every node and state part."""
    generator = torch.Generator().manual_seed(12)
    return {
        part: torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor)
        for part, tensor in sorted(states.items())
    }


def gradients(cell: Cell, states: State, x: Tensor | None = None) -> State:
    """Of every parameter (and of x), 0 where the loss does not depend on it."""
    weights = cotangents(states)
    loss = sum((states[part] * weights[part]).sum() for part in states)
    named = dict(cell.named_parameters()) | ({} if x is None else {"x": x})
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(named, found, strict=True))


def assert_close(found: Tensor, expected: Tensor, what: str, tolerance: float = 1e-10) -> None:
    """Relative to the largest expected entry; what the oracle has as 0 throughout must be 0 throughout."""
    found, expected = found.detach(), expected.detach()
    largest = float(expected.abs().max()) if expected.numel() else 0.0
    difference = float((found - expected).abs().max()) if expected.numel() else 0.0
    assert found.shape == expected.shape, what
    assert difference <= tolerance * largest, f"{what}: {difference:.2e} off, largest entry {largest:.2e}"


def by_recursion(cell: Cell, trees: TreeBatch) -> tuple[State, State]:
    """The oracle's states and gradients."""
    states = recursion(cell, trees)
    found = gradients(cell, states, asked_for(trees))
    return {part: tensor.detach() for part, tensor in states.items()}, found


def asked_for(trees: TreeBatch) -> Tensor | None:
    """The input vectors, if they require gradients."""
    return trees.x if trees.x is not None and trees.x.requires_grad else None


def compare(
    cell: Cell, trees: TreeBatch, engine: Engine, expected: State, wanted: State, tolerance: float = 1e-10
) -> None:
    """An engine's states and gradients with those expected and wanted."""
    found = engine(cell, trees)
    assert set(found) == set(expected)
    for part in expected:
        assert_close(found[part], expected[part], part, tolerance)
    for name, gradient in gradients(cell, found, asked_for(trees)).items():
        assert_close(gradient, wanted[name], f"gradient of {name}", tolerance)


def check(cell: Cell, trees: TreeBatch, engine: Engine, tolerance: float = 1e-10) -> tuple[State, State]:
    """Compare an engine with recursion; returns the expected states and gradients."""
    expected, wanted = by_recursion(cell, trees)
    compare(cell, trees, engine, expected, wanted, tolerance)
    return expected, wanted


def difference(found: State, expected: State) -> float:
    """The largest difference of any tensor, relative to the largest entry of that tensor."""

    def one(a: Tensor, b: Tensor) -> float:
        largest = float(b.abs().max()) if b.numel() else 0.0
        off = float((a.detach().double() - b).abs().max()) if b.numel() else 0.0
        return off / largest if largest else off

    return max(one(found[name], expected[name]) for name in expected)
