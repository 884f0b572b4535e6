"""The kernels for GPUs, interpreted on a CPU, against recursion and torch's operations; and that they compile.

TRITON_INTERPRET=1 .venv/bin/python -m pytest -m triton
"""

import json
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from unittest import mock

import pytest
import torch
import triton_text
from engines import INTERPRETED, assert_close, check, engines_of, gradients, triton_engine
from helpers import EDGE_CASES, random_dag, random_tree, suited
from rows import ROWS, make_cell
from torch import Tensor

from dgltree import Tree, TreeBatch, Vocabulary, batch, plan, propagate
from dgltree.cells import Cell
from dgltree.engine import propagate as engine
from dgltree.engine.kernels import layout
from dgltree.engine.kernels.dispatch import BACKENDS, NUMBA, TRITON, kernels
from dgltree.engine.kernels.fused_pass import CellPass

pytest.importorskip("triton", reason="Triton is not installed")

from dgltree.engine.kernels.triton_launch import Launch

pytestmark = [
    pytest.mark.triton,
    pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="TRITON_INTERPRET=1 is not set"),
]
COVERED = [name for name in ROWS if engines_of(name, INTERPRETED)]
FAMILIES = ["tree_smu, no_op", "tree_lstm"]
X = Tree("var", token="x")
TREES = [random_tree(2, 3, 1), random_dag(4, 2, 2), Tree("neg", (X,)), *EDGE_CASES["x*x"]]


@pytest.fixture(autouse=True)
def passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """A list of the kernels of all passes, on a CPU that has Triton's."""
    found: list[object] = []
    apply = engine.FusedPass.apply
    monkeypatch.setattr(engine.FusedPass, "apply", lambda *given: found.append(given[0].kernel) or apply(*given))
    with mock.patch.dict(BACKENDS, cpu=TRITON), kernels("on"):
        yield found


def flat(cell: Cell, trees: list[Tree] = TREES) -> TreeBatch:
    return batch(suited(cell, trees), cell.vocabulary)


def results(cell: Cell, mode: str = "on", share: bool = False) -> dict[str, Tensor]:
    with kernels(mode):
        states = propagate(flat(cell), cell, share=share)
    return {**states, **gradients(cell, states)}


@pytest.mark.parametrize("name", COVERED)
def test_states_and_gradients_agree_with_recursion(name: str, passes: list[object]) -> None:
    cell = make_cell(name)
    check(cell, flat(cell), triton_engine)
    assert passes == [TRITON.load(cell.fused().family)]


@pytest.mark.parametrize("seed", range(8))
def test_drawn_trees_and_cells_agree_with_recursion(seed: int) -> None:
    """Several steps of each arity, of several matrices."""
    rng = random.Random(seed)
    cell = make_cell(rng.choice(COVERED), hidden_size=rng.randrange(1, 20))
    trees = [random_tree(rng.randrange(2, 6), 3, rng.randrange(1000)) for _ in range(rng.randrange(1, 5))]
    check(cell, flat(cell, trees), triton_engine)


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_float32_agrees_with_float64(name: str, share: bool) -> None:
    expected = results(make_cell(name).float().double(), "off")
    for what, tensor in results(make_cell(name).float(), share=share).items():
        assert_close(tensor.double(), expected[what], what, 1e-5)


@pytest.mark.parametrize("size", [1, 9, 50, 130])
@pytest.mark.parametrize("name", FAMILIES)
def test_any_width_agrees_with_recursion(name: str, size: int) -> None:
    cell = make_cell(name, hidden_size=size)
    check(cell, flat(cell, TREES[1:]), triton_engine)


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_plan_for_a_cpu_agrees(name: str, share: bool) -> None:
    """A data loader may plan for a cell that is moved to a GPU later."""
    cell = make_cell(name)
    trees = batch([random_tree(2, 2, seed) for seed in range(6)], cell.vocabulary)
    with mock.patch.dict(BACKENDS, cpu=NUMBA):
        made = plan(trees, cell, share=share)
    assert made.layout is not None
    assert made.layout.tiles is None
    with kernels("off"):
        expected = propagate(made, cell)
        expected |= gradients(cell, expected)
    found = propagate(made, cell)
    for what, tensor in (found | gradients(cell, found)).items():
        assert_close(tensor, expected[what], what)


@pytest.mark.parametrize("name", COVERED)
def test_shared_subtrees_agree_with_torchs_operations(name: str) -> None:
    cell = make_cell(name)
    expected = results(cell, "off", share=True)
    for what, tensor in results(cell, share=True).items():
        assert_close(tensor, expected[what], what)


@pytest.mark.parametrize("name", COVERED)
def test_without_gradients_the_states_are_the_same_to_the_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for the gates of one step only; what is written behind it is not read."""
    cell = make_cell(name)
    trees = flat(cell, [random_tree(4, 2, 1), random_tree(3, 2, 2)])
    expected = propagate(trees, cell)
    steps = [step.arity for step in plan(trees, cell).schedule.steps]
    assert len(steps) > len(set(steps)) + 1

    def guarded(steps: CellPass, slots: int, width: int) -> Tensor:
        return steps.states.h.new_full((slots + 64, width), torch.nan)[:slots]

    monkeypatch.setattr(CellPass, "_room", guarded)
    with torch.no_grad():
        found = propagate(trees, cell)
    assert all(torch.equal(found[part], expected[part]) for part in expected)


@pytest.mark.parametrize("name", FAMILIES)
def test_many_children_agree_with_torchs_operations(name: str, passes: list[object]) -> None:
    vocabulary = Vocabulary([("var", 0), ("call", 40)], ["x", "y"])
    cell = make_cell(name, vocabulary, 5)
    leaves = [Tree("var", token="xy"[k % 2]) for k in range(39)]
    trees = batch([Tree("call", [Tree("call", [X] * 40), *leaves])], vocabulary)
    with kernels("off"):
        expected = propagate(trees, cell)
        expected |= gradients(cell, expected)
    found = propagate(trees, cell)
    assert passes
    for what, tensor in (found | gradients(cell, found)).items():
        assert_close(tensor, expected[what], what)


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_of_many_chunks_are_added_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = results(make_cell(name), "off")
    monkeypatch.setattr(layout, "MIN_CHUNK_ROWS", 1)
    monkeypatch.setattr(layout, "TILE_ROWS", 1)
    for what, tensor in results(make_cell(name)).items():
        assert_close(tensor, expected[what], what)


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_that_are_views_of_one_buffer_agree(name: str) -> None:
    """So none but the first begins at a multiple of 16 bytes."""
    cell = make_cell(name)
    expected = results(cell, "off")
    named = dict(cell.maps.named_parameters())
    buffer, start = torch.cat([torch.zeros(1), *(each.detach().flatten() for each in named.values())]).double(), 1
    for each in named.values():
        each.data = buffer[start : start + each.numel()].view_as(each)
        start += each.numel()
    for what, tensor in results(cell).items():
        assert_close(tensor, expected[what], what)


@pytest.mark.parametrize("name", [*FAMILIES, "stack_tree_lstm, data gate", "stack_tree_lstm, data gate, gated top_k"])
def test_dropout_has_the_masks_of_torch(name: str) -> None:
    found = []
    for mode in ("off", "on"):
        cell = make_cell(name)
        cell.dropout = 0.5
        torch.manual_seed(3)
        found.append(results(cell, mode))
    for what, tensor in found[0].items():
        assert_close(found[1][what], tensor, what)


@pytest.mark.parametrize("name", FAMILIES)
def test_backward_can_be_repeated_and_gives_the_same_to_the_bit(name: str) -> None:
    cell = make_cell(name)
    loss = sum(part.square().sum() for part in propagate(flat(cell, TREES[1:]), cell).values())
    wanted = [cell.embedding.weight, cell.maps["gates_2"].weight]
    first, second = (torch.autograd.grad(loss, wanted, retain_graph=again) for again in (True, False))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_not_finite_passes_as_in_torch(name: str, value: float) -> None:
    cell = make_cell(name)
    with torch.no_grad():
        for map_ in cell.named_maps().values():
            map_.bias[0].view(-1)[::3] = value
        found = propagate(flat(cell), cell)
        with kernels("off"):
            expected = propagate(flat(cell), cell)
    for part in expected:
        torch.testing.assert_close(found[part], expected[part], equal_nan=True, msg=part)


def test_a_family_without_a_kernel_runs_on_torchs_operations(passes: list[object]) -> None:
    cell = make_cell("child_sum")
    propagate(flat(cell), cell)
    assert not passes


def test_a_shape_that_does_not_compile_runs_on_torchs_operations_and_is_told_once(
    passes: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that compile go on to run through kernels."""
    monkeypatch.setattr(TRITON, "known", {})
    kernel, launch = TRITON.load("stack"), Launch.__call__

    def fails(self, grid, *numbers) -> None:
        if self._constants.get("A") == 4 and self._function is kernel.backward_row:
            raise RuntimeError("out of resource: shared memory")
        launch(self, grid, *numbers)

    monkeypatch.setattr(Launch, "__call__", fails)
    cell = make_cell("tree_smu, no_op")
    wide = flat(cell, [Tree("if", (X, X, X))])
    with kernels("off"):
        expected = gradients(cell, propagate(wide, cell))
    with pytest.warns(RuntimeWarning, match=r"Triton cannot compile dgltree's kernels .*out of resource"):
        found = gradients(cell, propagate(wide, cell))
    assert not passes
    for name, gradient in expected.items():
        assert_close(found[name], gradient, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        propagate(wide, cell)
        assert not passes
        propagate(flat(cell, [Tree("neg", (X,))]), cell)
    assert passes == [kernel]


STACK = {"POP": 1, "NOOP": 1, "NORMALIZE": 1, "DATA_GATE": 1, "TOP_K": 2, "GATED": 0}
PUBLISHED: dict[str, object] = {"PAPER": 0, "ALLOWED": 1, "DROPPED": 1, "MASKED": 1}
WRITTEN: dict[str, object] = {"GELU": 1, "DROPPED": 1, "MASKED": 1, "KEYED": 1, "PRECISION": "ieee"}
MAX_SPILLED = 16
"""Bytes, of the largest tiles of Ordered Memory: 12 on an A100."""
COMPILED: list[tuple[str, dict[str, object], str, str]] = [
    ("triton_lstm", {}, "fp32", "few"),
    ("triton_lstm", {}, "fp64", "few"),
    ("triton_stack", STACK, "fp32", "few"),
    ("triton_stack", STACK, "fp64", "few"),
    ("triton_on_lstm", {}, "fp32", "all"),
    ("triton_on_lstm", {}, "fp64", "few"),
    ("triton_attention", PUBLISHED, "fp32", "all"),
    ("triton_attention", PUBLISHED | {"PAPER": 1, "ALLOWED": 0, "DROPPED": 0}, "fp64", "few"),
    ("triton_slots", WRITTEN, "fp32", "all"),
    ("triton_slots", WRITTEN | {"PRECISION": "tf32", "GELU": 0, "MASKED": 0}, "fp32", "few"),
    ("triton_slots", WRITTEN, "fp64", "few"),
    ("triton_products", {"PRECISION": "ieee"}, "fp32", "all"),
    ("triton_products", {"PRECISION": "tf32"}, "fp32", "all"),
    ("triton_products", {"PRECISION": "ieee"}, "fp64", "all"),
]
"""``all`` is three architectures and all shapes; test_triton_races.py compiles the first two modules for these."""
SPILLED = [(module, kind) for module in ("triton_lstm", "triton_stack") for kind in ("fp32", "fp64")]
SPILLED += [(module, "fp64") for module in ("triton_on_lstm", "triton_attention", "triton_slots")]
"""Those that keep registers in memory, for rows of 2,048 numbers for example."""


@pytest.mark.parametrize(("module", "options", "kind", "scope"), COMPILED)
def test_kernels_compile_for_a_gpu(module: str, options: dict[str, object], kind: str, scope: str) -> None:
    """By Triton's compiler, to machine code of an NVIDIA A100, H100 and B200: no GPU is needed for that."""
    command = [sys.executable, triton_text.__file__, module, json.dumps(options), scope, kind]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines
    for what, _, _, spilled, *races in lines:
        assert not races, what
        most = MAX_SPILLED if module in ("triton_attention", "triton_slots") else 0
        assert int(spilled) <= most or (module, kind) in SPILLED, f"{what} has not enough registers"
