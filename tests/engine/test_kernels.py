"""Which passes run through kernels, and that threads, processes and values that are not finite change nothing."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from functools import cache

import pytest
import torch
from engines import KERNELS, assert_close, check, gradients
from helpers import EDGE_CASES, VOCABULARY, chain, random_dag, random_tree, suited
from rows import ROWS, make_cell
from torch import Tensor

from dgltree import Tree, TreeBatch, batch, plan, propagate, root_states
from dgltree.cells import Cell, TreeLSTM, TreeSMU
from dgltree.engine.compiled import compiled_pass
from dgltree.engine.kernels import threads
from dgltree.engine.kernels.dispatch import get_fused, kernels

pytest.importorskip("numba", reason="the fast extra is not installed")
HAVE_KERNELS = ("tree_lstm", "stack_tree_lstm", "tree_smu")
COVERED = [name for name in ROWS if name.split(",")[0] in HAVE_KERNELS]
FAMILIES = ["tree_smu, no_op", "tree_lstm", "child_sum"]
TREES = [random_tree(6, 2, 1), random_dag(30, 3, 2), random_tree(3, 2, 3)]


@pytest.fixture(autouse=True)
def on() -> Iterator[None]:
    with kernels("on"):
        yield


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list to which every compiled pass is added."""
    found: list[object] = []
    run = compiled_pass.FunctionPass.run
    monkeypatch.setattr(compiled_pass.FunctionPass, "run", lambda passed: found.append(passed) or run(passed))
    return found


def flat(cell: Cell, trees: list[Tree] = TREES) -> TreeBatch:
    return batch(suited(cell, trees), cell.vocabulary)


def test_the_cells_say_what_is_covered() -> None:
    assert [name for name in ROWS if get_fused(make_cell(name)) is not None] == COVERED


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FAMILIES)
def test_covered_cells_run_through_kernels(name: str, dtype: torch.dtype, passes: list[object]) -> None:
    cell = make_cell(name).to(dtype)
    for share in (False, True):
        root_states(flat(cell), cell, share=share).sum().backward()
    with torch.inference_mode():
        propagate(flat(cell), cell)
    assert len(passes) == 3


@pytest.mark.parametrize(("what", "options"), [("bfloat16", {}), ("plain", {"trace": ["u"]})])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_kernels_do_not_do_falls_back(
    name: str, what: str, options: dict[str, object], passes: list[object]
) -> None:
    cell = make_cell(name)
    propagate(flat(cell), cell.bfloat16() if what == "bfloat16" else cell, **options)
    assert not passes


@pytest.mark.parametrize("name", [*FAMILIES, "stack_tree_lstm, data gate", "stack_tree_lstm, data gate, gated top_k"])
def test_dropout_runs_through_kernels_with_the_masks_of_torch(name: str, passes: list[object]) -> None:
    found = []
    for mode in ("off", "on"):
        cell = make_cell(name)
        cell.dropout = 0.5
        torch.manual_seed(3)
        with kernels(mode):
            states = propagate(flat(cell), cell)
        found.append({**states, **gradients(cell, states)})
    assert len(passes) == 1
    for what, tensor in found[0].items():
        assert_close(found[1][what], tensor, what)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_graph_of_a_user_runs_through_kernels(name: str, passes: list[object]) -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    cell = make_cell(name)
    graph = flat(cell, [*TREES, *EDGE_CASES["braid"]]).graph
    found = propagate(graph, cell)
    assert len(passes) == 1
    with kernels("off"):
        for part, tensor in propagate(graph, cell).items():
            assert_close(found[part], tensor, part)


def test_a_subclass_with_other_mathematics_is_not_covered() -> None:
    class Louder(TreeLSTM):
        def combine(self, *given: object) -> dict[str, Tensor]:
            return {part: 2 * tensor for part, tensor in super().combine(*given).items() if part in self.state}

    class Renamed(TreeLSTM):
        def reset_parameters(self) -> None:
            super().reset_parameters()

    assert get_fused(Louder(VOCABULARY, 4)) is None
    assert get_fused(Renamed(VOCABULARY, 4)) is not None


def test_an_unknown_mode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(ValueError, match="kernels is 'fast'; it must be one of on, cached, off, required"),
        kernels("fast"),
    ):
        pass


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm, inputs", "child_sum, inputs", "tree_smu, leaf gates"])
def test_backward_can_be_repeated_and_gives_the_same_to_the_bit(name: str) -> None:
    cell = make_cell(name)
    loss = sum(part.square().sum() for part in propagate(flat(cell), cell).values())
    wanted = [p for p in cell.parameters() if p.numel()]
    first, second, third = (
        torch.autograd.grad(loss, wanted, retain_graph=again, allow_unused=True) for again in (True, True, False)
    )
    for a, b, c in zip(first, second, third, strict=True):
        assert a is b is c is None or (torch.equal(a, b) and torch.equal(a, c))
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, wanted, allow_unused=True)


@cache
def family(count: int) -> list[Tree]:
    """Different nodes with the same two subtrees."""
    shared = [random_tree(4, 2, 1), random_tree(3, 2, 5)]
    return [Tree("pow", (shared[k % 2], numbered(k))) for k in range(count)]


def numbered(k: int) -> Tree:
    """A chain that no other number has."""
    tree = chain(0)
    for bit in f"{k:b}":
        tree = Tree("sin" if bit == "1" else "neg", (tree,))
    return tree


def on_threads(count: int, run: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return run()
    finally:
        torch.set_num_threads(before)


READING = ("tree_lstm, inputs", "tree_lstm, leaf gates", "tree_smu, leaf gates", "child_sum, inputs")


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("name", [*FAMILIES, *READING])
def test_any_number_of_threads_gives_the_same_to_the_bit(
    name: str, share: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "MIN_ROWS_PER_THREAD", 3)
    trees = flat(make_cell(name), family(4000 if share else 100))
    if share:
        planned = plan(trees, make_cell(name), share=True)
        assert int(planned.schedule.sources.bincount().max()) >= 2000

    def run() -> dict[str, Tensor]:
        cell = make_cell(name).float()
        states = propagate(trees, cell, share=share)
        return {**states, **gradients(cell, states)}

    expected = on_threads(1, run)
    for count in (2, 3):
        for what, tensor in on_threads(count, run).items():
            if name == "tree_smu, leaf gates":  # torch's products, which more threads may add up in another order
                torch.testing.assert_close(tensor, expected[what])
            else:
                assert torch.equal(tensor, expected[what]), (what, count)


def results(name: str) -> dict[str, Tensor]:
    return results_of(make_cell(name))


def results_of(cell: Cell) -> dict[str, Tensor]:
    states = propagate(flat(cell), cell)
    return {**{part: tensor.detach() for part, tensor in states.items()}, **gradients(cell, states)}


def _in_a_child(name: str, least: int, send: "multiprocessing.connection.Connection") -> None:
    threads.MIN_ROWS_PER_THREAD = least
    torch.set_num_threads(1)  # OpenMP, which the parent used, would hang in a child that was forked
    threads._count.set(2)
    send.send({what: tensor.numpy() for what, tensor in results(name).items()})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_were_forked_or_spawned_run_kernels_too(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    monkeypatch.setattr(threads, "MIN_ROWS_PER_THREAD", 3)
    expected = on_threads(2, lambda: results("tree_smu, no_op"))  # the pool of this process has threads now
    receive, send = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context(method)
    process = context.Process(target=_in_a_child, args=("tree_smu, no_op", 3, send))
    process.start()
    assert receive.poll(240), "the child hangs"
    found = receive.recv()
    process.join(60)
    for what, tensor in expected.items():
        assert torch.equal(torch.from_numpy(found[what]), tensor), what


def test_eight_threads_at_once_have_the_results_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MIN_ROWS_PER_THREAD", 3)
    expected = results("tree_smu, no_op")
    found: list[dict[str, Tensor]] = []

    cells = [make_cell("tree_smu, no_op") for _ in range(8)]  # here: all threads share one generator of random numbers

    def work(cell: Cell) -> None:
        torch.set_num_threads(2)
        found.append(results_of(cell))

    started = [threading.Thread(target=work, args=(cell,)) for cell in cells]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(120)
    assert len(found) == 8
    assert all(torch.equal(one[what], tensor) for one in found for what, tensor in expected.items())


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf, 1e30])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["tree_smu, no_op", "stack_tree_lstm", "tree_lstm", "child_sum"])
def test_what_is_not_finite_passes_as_in_torch(name: str, dtype: torch.dtype, value: float) -> None:
    cell = make_cell(name).to(dtype)
    trees = flat(cell, [*TREES, chain(3), Tree("neg", (chain(0),))])
    for parameter in (cell.embedding.weight, *(map_.bias for map_ in cell.named_maps().values())):
        before = parameter.detach().clone()
        with torch.no_grad():
            parameter[0].view(-1)[::3] = value
            found = propagate(trees, cell)
            with kernels("off"):
                expected = propagate(trees, cell)
            for part in expected:
                torch.testing.assert_close(found[part], expected[part], equal_nan=True, msg=part)
            parameter.copy_(before)


def test_gradients_of_states_that_are_not_finite_are_not_finite() -> None:
    cell = make_cell("tree_smu, no_op")
    with torch.no_grad():
        cell.embedding.weight[0, 0] = torch.nan
    found = {}
    for mode in ("off", "on"):
        with kernels(mode):
            given = gradients(cell, propagate(flat(cell), cell))
        found[mode] = {what for what, gradient in given.items() if gradient.isnan().any()}
    assert found["on"] == found["off"] != set()


@pytest.mark.parametrize("engine", KERNELS)
@pytest.mark.parametrize("size", [1, 2, 33, 64])
def test_any_width_agrees_with_recursion(engine: str, size: int) -> None:
    for name in FAMILIES:
        cell = make_cell(name, hidden_size=size)
        check(cell, flat(cell), KERNELS[engine])


def test_only_h_of_a_cell_that_reads_its_memory_from_leaves_gets_a_gradient_of_zeros() -> None:
    cell = TreeSMU(VOCABULARY, 4, stack_size=2, leaf="gates", input_size=3).double()
    leaves = batch(suited(cell, [chain(0)] * 3), VOCABULARY)
    states = propagate(leaves, cell)
    assert set(states) == {"h", "S"}
    states["S"].sum().backward()
    assert cell.maps["gates_0"].bias.grad is not None
