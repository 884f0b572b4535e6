"""The kernels for GPUs where they run for real: the states and gradients of recursion, and the same bits every time.

.venv/bin/python -m pytest -m gpu tests/engine/test_triton_on_gpu.py
"""

import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from engines import INTERPRETED, assert_close, by_recursion, engines_of, gradients
from helpers import EDGE_CASES, chain, random_dag, random_tree, suited
from rows import ROWS, make_cell
from torch import Tensor, nn

from dgltree import Tree, TreeBatch, batch, propagate
from dgltree.cells import Cell
from dgltree.encoders import ONLSTM, OrderedMemory
from dgltree.engine import propagate as engine
from dgltree.engine.kernels.dispatch import kernels

pytest.importorskip("triton", reason="Triton is not installed")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]

COVERED = [name for name in ROWS if engines_of(name, INTERPRETED)]
FAMILIES = ["tree_smu, no_op", "stack_tree_lstm, data gate", "tree_lstm"]
X = Tree("var", token="x")
TREES = [random_tree(6, 6, 1), random_dag(9, 5, 2), Tree("neg", (X,)), Tree("call", [X] * 12), *EDGE_CASES["x*x"]]


@pytest.fixture(autouse=True)
def passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The kernels of all passes; one that does not compile fails the test."""
    found: list[object] = []
    apply = engine.FusedPass.apply
    monkeypatch.setenv("DGLTREE_KERNELS", "on")
    monkeypatch.setattr(engine.FusedPass, "apply", lambda *given: found.append(given[0].kernel) or apply(*given))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield found


def on_gpu(cell: Cell, trees: TreeBatch) -> dict[str, Tensor]:
    with kernels("on"):
        return propagate(trees.to("cuda"), cell.to("cuda"))


def results(cell: Cell, trees: TreeBatch) -> dict[str, Tensor]:
    """States and gradients, on the CPU."""
    states = on_gpu(cell, trees)
    return {name: tensor.detach().cpu() for name, tensor in {**states, **gradients(cell, states)}.items()}


def expected(cell: Cell, trees: TreeBatch) -> dict[str, Tensor]:
    states, wanted = by_recursion(cell, trees)
    return states | wanted


@pytest.mark.parametrize("size", [1, 9, 50, 130])
@pytest.mark.parametrize("name", COVERED)
def test_states_and_gradients_agree_with_recursion(name: str, size: int, passes: list[object]) -> None:
    cell = make_cell(name, hidden_size=size)
    flat = batch(suited(cell, TREES), cell.vocabulary)
    right = expected(cell, flat)
    found = results(cell, flat)
    assert passes
    for what, tensor in right.items():
        assert_close(found[what], tensor, what)


@pytest.mark.parametrize("size", [9, 50])
@pytest.mark.parametrize("name", FAMILIES)
def test_float32_agrees_with_float64(name: str, size: int, passes: list[object]) -> None:
    cell = make_cell(name, hidden_size=size).float()
    flat = batch(suited(cell, TREES), cell.vocabulary)
    found = results(cell, flat)
    assert passes
    for what, tensor in expected(cell.cpu().double(), flat).items():
        assert_close(found[what].double(), tensor, what, 1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_many_rows_a_level_and_many_levels_agree_with_torchs_operations(name: str) -> None:
    cell = make_cell(name, hidden_size=32)
    trees = [random_tree(1 + seed % 9, 3, seed) for seed in range(700)] + [chain(600)]
    flat = batch(suited(cell, trees), cell.vocabulary)
    found = results(cell, flat)
    with kernels("off"):
        right = propagate(flat, cell.cpu())
        right |= gradients(cell, right)
    for what, tensor in right.items():
        assert_close(found[what], tensor, what)


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_that_are_views_of_one_buffer_agree(name: str) -> None:
    """None but the first begins at a multiple of 16 bytes, for which code may have been compiled."""
    cell = make_cell(name, hidden_size=16).float()
    flat = batch(suited(cell, TREES), cell.vocabulary)
    expected = results(cell, flat)
    named = dict(cell.maps.named_parameters())
    buffer, start = torch.cat([torch.zeros(1), *(each.detach().cpu().flatten() for each in named.values())]).cuda(), 1
    for each in named.values():
        each.data = buffer[start : start + each.numel()].view_as(each)
        start += each.numel()
    for what, tensor in results(cell, flat).items():
        assert_close(tensor, expected[what], what, 1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_bits_every_time(name: str) -> None:
    """As docs/howto/gpu.md says of the kernels; 20 runs, as a race shows once in a while."""
    cell = make_cell(name, hidden_size=50).float()
    trees = [random_tree(1 + seed % 9, 3, seed) for seed in range(300)]
    flat = batch(suited(cell, trees), cell.vocabulary)
    first = results(cell, flat)
    for _ in range(19):
        again = results(cell, flat)
        assert [name for name in first if not torch.equal(first[name], again[name])] == []


@pytest.mark.parametrize("name", [*FAMILIES, "stack_tree_lstm, data gate, gated top_k"])
def test_dropout_has_the_masks_of_torch(name: str) -> None:
    found = []
    for mode in ("off", "on"):
        cell = make_cell(name)
        cell.dropout = 0.5
        flat = batch(suited(cell, TREES), cell.vocabulary).to("cuda")
        torch.manual_seed(3)
        with kernels(mode):
            found.append(propagate(flat, cell.to("cuda")))
    for what, tensor in found[0].items():
        assert_close(found[1][what], tensor, what)


READERS: dict[str, Callable[[int], nn.Module]] = {
    "on_lstm": lambda n: ONLSTM(n, [n, n], chunk_size=5, dropout=0.2, weight_dropout=0.2),
    "ordered_memory": lambda n: OrderedMemory(n, n, num_slots=5),
    "ordered_memory, dropout": lambda n: OrderedMemory(n, n, num_slots=5, cell_dropout=0.3, attention_dropout=0.3),
    "ordered_memory, grc, paper": lambda n: OrderedMemory(n, n, num_slots=12, operator="grc", attention="paper"),
}


def read(network: nn.Module, mode: str, device: str = "cuda", sequences: int = 40, words: int = 15) -> list[Tensor]:
    """The output for drawn sentences with padding anywhere, and all gradients."""
    draw, n = torch.Generator().manual_seed(1), network.input_size
    x, padding = torch.randn(sequences, words, n, generator=draw), torch.rand(sequences, words, generator=draw) < 0.3
    padding[:, 0] = False
    network, given = network.to(device), x.to(device, next(network.parameters()).dtype).requires_grad_()
    torch.manual_seed(2)
    with kernels(mode):
        steps = network(given, padding.to(device))
    loss = steps.root.sin().sum() + steps.states.square().sum()
    return [
        steps.root,
        steps.states,
        *torch.autograd.grad(loss, [given, *network.parameters()], materialize_grads=True),
    ]


@pytest.mark.parametrize("size", [10, 70])
@pytest.mark.parametrize("name", READERS)
def test_sequences_agree_with_torchs_operations_and_give_the_same_bits_every_time(name: str, size: int) -> None:
    torch.manual_seed(0)
    network = READERS[name](size).double()
    found, expected = read(network, "on"), read(network, "off")
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert_close(one, other, str(k))
    for _ in range(9):
        assert all(map(torch.equal, read(network, "on"), found))
