"""Passes of functions by machine code: what is found again, noticed, refused and told, whatever the numbers are."""

import gc
import importlib.util
import logging
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn

import dgltree
from dgltree.engine import NoKernelError, why_not
from dgltree.engine.compiled import known_functions, run_functions
from dgltree.engine.compiled import module as machine_code
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import kernels

pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")
if product_address(torch.float64) is None:
    pytest.skip("the BLAS library of this torch is unknown", allow_module_level=True)

H = 6
SOURCE, TARGET = torch.tensor([[0, 1, 1, 2, 4, 3, 4], [3, 3, 4, 4, 5, 6, 6]])
Fields = dict[str, Tensor]


@pytest.fixture(autouse=True)
def new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DGLTREE_CACHE", str(tmp_path))
    monkeypatch.setattr(run_functions, "_memory", known_functions.Memory())
    monkeypatch.setattr(run_functions, "_told", set())
    machine_code._in_use.clear()


def graph(**more: Tensor) -> tuple[Tensor, Fields]:
    drawn = torch.Generator().manual_seed(1)
    h = torch.randn(7, H, dtype=torch.float64, generator=drawn)
    return torch.stack([SOURCE, TARGET]), {"h": h, **more}


def send(edges: Any) -> Fields:
    return {"m": edges.src["h"]}


class Net(nn.Module):
    """A cell of messages that are added up."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.dropout = nn.Linear(H, H), nn.Dropout(0.5)
        self.factor = 1.0
        self.kept: list[Tensor] = []

    def reduce(self, nodes: Any) -> Fields:
        return {"h": torch.tanh(self.factor * self.dropout(self.linear(nodes.mailbox["m"].sum(1))))}


def net() -> Net:
    torch.manual_seed(0)
    return Net().double().eval()


def states(reduce: Any, mode: str = "required", message: Any = send, given: Any = None, **options: Any) -> Tensor:
    given = given or graph()
    with kernels(mode):
        written: Tensor = dgltree.prop_nodes_topo(given, message, reduce, **options)["h"]
    return written


def is_as_torch(reduce: Any, **options: Any) -> bool:
    return torch.allclose(states(reduce, **options), states(reduce, "off", **options), rtol=0, atol=1e-13)


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each set of functions that is recorded."""
    found: list[int] = []
    original = known_functions.KnownFunctions.__init__

    def counted(self: Any, *arguments: Any) -> None:
        found.append(1)
        original(self, *arguments)

    monkeypatch.setattr(known_functions.KnownFunctions, "__init__", counted)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# A program that is out of date is noticed.


def test_functions_are_recorded_once_for_all_passes_and_graphs(recordings: list[int]) -> None:
    model = net()
    for _ in range(3):
        assert is_as_torch(model.reduce)
    bushy = torch.tensor([[0, 1, 2, 3, 4], [5, 5, 5, 5, 5]]), {"h": torch.randn(6, H, dtype=torch.float64)}
    assert is_as_torch(model.reduce, given=bushy)
    assert recordings == [1]


def test_functions_that_are_made_anew_for_each_pass_are_found_again(recordings: list[int]) -> None:
    for seed in range(4):
        torch.manual_seed(seed)
        weight = torch.randn(H, H, dtype=torch.float64)
        assert is_as_torch(lambda nodes, weight=weight: {"h": torch.tanh(nodes.mailbox["m"].sum(1) @ weight)})
    assert recordings == [1]


def test_functions_of_one_factory_are_told_apart(recordings: list[int]) -> None:
    def made(function: Callable[[Tensor], Tensor]) -> Callable[[Any], Fields]:
        return lambda nodes: {"h": function(nodes.mailbox["m"].sum(1))}

    functions = [torch.tanh, torch.sigmoid, lambda x: 2 * x, lambda x: x.abs()] * 6
    for function in functions:
        assert is_as_torch(made(function))
    assert len(recordings) == 4


def test_two_models_of_one_class_have_their_own_weights(recordings: list[int]) -> None:
    torch.manual_seed(1)
    models = Net().double().eval(), Net().double().eval()
    for model in (*models, *models):
        assert is_as_torch(model.reduce)
    assert recordings == [1]


def test_training_and_evaluation_do_different_things(recordings: list[int]) -> None:
    model = net()
    model.dropout.p = 1.0
    for training in (True, False, True, False):
        model.train(training)
        assert is_as_torch(model.reduce)
        assert bool(states(model.reduce)[3:].any()) != training
    assert len(recordings) == 2


def test_a_number_that_changes_takes_effect_at_the_next_pass() -> None:
    model = net()
    for factor in (1.0, 2.0, 0.5, 1.0):
        model.factor = factor
        assert is_as_torch(model.reduce)


def test_a_number_that_changes_with_every_pass_is_no_reason_to_compile_each_time(recordings: list[int]) -> None:
    model = net()
    for step in range(20):
        model.factor = 0.9**step
        with kernels("off"):
            expected = states(model.reduce, "off")
        assert torch.allclose(states(model.reduce, "on"), expected, rtol=0, atol=1e-13)
    assert len(recordings) == known_functions.MOST_RECORDED
    model.factor = 3.0
    assert "the functions computed something different in each of 16 passes" in str(
        why_not(graph(), send, model.reduce)
    )


def test_a_parameter_that_is_replaced_gets_the_gradient() -> None:
    model = net()
    states(model.reduce)
    old = model.linear.weight
    model.linear.weight = nn.Parameter(torch.eye(H, dtype=torch.float64))
    states(model.reduce).sum().backward()
    assert old.grad is None
    found = model.linear.weight.grad
    model.linear.weight.grad = None
    states(model.reduce, "off").sum().backward()
    assert found is not None and model.linear.weight.grad is not None
    assert torch.allclose(found, model.linear.weight.grad, rtol=0, atol=1e-13)


def test_a_branch_on_the_number_of_messages_may_change_its_bound() -> None:
    model = net()
    bound = 1

    def reduce(nodes: Any) -> Fields:
        mail = nodes.mailbox["m"].sum(1)
        return {"h": model.linear(mail) if nodes.mailbox["m"].shape[1] > bound else mail}

    for bound in (1, 2, 0, 1):  # noqa: B007 (the function reads it)
        assert is_as_torch(reduce)


def test_a_layer_that_is_frozen_has_no_gradient_and_others_keep_theirs() -> None:
    model = net()
    for frozen in (False, True, False):
        model.linear.weight.requires_grad_(not frozen)
        model.zero_grad()
        states(model.reduce).sum().backward()
        assert (model.linear.weight.grad is None) == frozen
        assert model.linear.bias.grad is not None


def test_no_model_is_kept_alive_by_its_programs() -> None:
    model = net()
    states(model.reduce).sum().backward()
    alive = weakref.ref(model.linear.weight)
    del model
    gc.collect()
    assert alive() is None


def test_random_numbers_go_on_as_if_functions_had_not_been_recorded() -> None:
    model = net()
    torch.manual_seed(3)
    random.seed(3)
    states(model.reduce)
    states(model.reduce)
    found = torch.rand(2), random.random()
    torch.manual_seed(3)
    random.seed(3)
    assert torch.equal(found[0], torch.rand(2))
    assert found[1] == random.random()


# ---------------------------------------------------------------------------------------------------------------------
# What machine code cannot do goes by torch's operations, and says why.


def keeps_a_tensor(model: Net) -> Callable[[Any], Fields]:
    def reduce(nodes: Any) -> Fields:
        h = torch.tanh(nodes.mailbox["m"].sum(1))
        model.kept.append(h)
        return {"h": h}

    return reduce


def without_gradients(nodes: Any) -> Fields:
    with torch.no_grad():
        gate = torch.sigmoid(nodes.mailbox["m"].sum(1))
    return {"h": gate * nodes.data["h"]}


REFUSED: dict[str, tuple[Callable[[Any], Fields], str]] = {
    "sort": (lambda nodes: {"h": nodes.mailbox["m"].sort(1).values[:, 0]}, "sort compares or accumulates"),
    "a value": (
        lambda nodes: {"h": nodes.data["h"] * float(nodes.data["h"][0, 0])},
        "the functions branch on a value",
    ),
    "no_grad": (without_gradients, "gradients are switched on or off: use detach()"),
    "data": (lambda nodes: {"h": nodes.mailbox["m"].sum(1).data}, "a tensor is detached by .data: use detach()"),
    "requires_grad": (
        lambda nodes: {"h": nodes.mailbox["m"].sum(1) if nodes.data["h"].requires_grad else nodes.data["h"]},
        "the functions read requires_grad",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_why_not_gives_the_reason_and_the_line_and_required_raises_it(name: str) -> None:
    reduce, reason = REFUSED[name]
    why = why_not(graph(), send, reduce)
    assert why is not None
    assert why.startswith("not compiled: ")
    assert reason in why
    assert "test_run_functions.py:" in why
    with pytest.raises(NoKernelError, match=r"^not compiled: "):
        states(reduce)
    assert torch.equal(states(reduce, "on"), states(reduce, "off"))


def test_functions_that_keep_what_they_computed_run_on_the_true_nodes() -> None:
    model = net()
    assert "the functions keep a computed tensor after the call" in str(why_not(graph(), send, keeps_a_tensor(model)))
    model.kept.clear()
    states(keeps_a_tensor(model), "on")
    assert [len(each) for each in model.kept][-3:] == [2, 1, 1]


def test_functions_that_are_refused_are_not_run_on_made_up_nodes_again() -> None:
    seen = []

    def reduce(nodes: Any) -> Fields:
        seen.append(len(nodes))
        return {"h": nodes.mailbox["m"].sort(1).values[:, 0]}

    states(reduce, "on")
    seen.clear()
    states(reduce, "on")
    assert seen == [2, 1, 1]


def test_a_refusal_does_not_outlive_its_functions() -> None:
    """Their ids are given to others, which would be refused for a reason that is not theirs."""

    def made(sorts: bool) -> Callable[[Any], Fields]:
        return lambda nodes: {"h": nodes.mailbox["m"].sort(1).values[:, 0] if sorts else nodes.mailbox["m"].sum(1)}

    refused = made(sorts=True)
    states(refused, "on")
    identity = id(refused)
    del refused
    gc.collect()
    others = []
    while len(others) < 100 and (not others or id(others[-1]) != identity):
        others.append(made(sorts=False))
    if id(others[-1]) != identity:
        pytest.skip("no other function got the id")
    assert why_not(graph(), send, others[-1]) is None


def test_the_log_says_once_what_was_compiled_and_what_was_not(caplog: pytest.LogCaptureFixture) -> None:
    model = net()
    with caplog.at_level(logging.DEBUG, "dgltree"):
        for _ in range(2):
            states(model.reduce)
            states(REFUSED["sort"][0], "on")
    compiled, refused = (record.getMessage() for record in caplog.records)
    assert compiled.startswith("send, Net.reduce: compiled in ")
    assert refused.startswith("send, <lambda>: not compiled: sort compares or accumulates along an axis")


def test_without_llvmlite_torchs_operations_compute() -> None:
    model = net()
    with patch.object(run_functions, "is_installed", lambda name: False):
        assert why_not(graph(), send, model.reduce) == (
            "not compiled: llvmlite is not installed (pip install llvmlite)"
        )
        assert torch.equal(states(model.reduce, "on"), states(model.reduce, "off"))


def test_off_and_cached_compile_nothing() -> None:
    model = net()
    with patch.object(run_functions, "compile_code", side_effect=AssertionError):
        states(model.reduce, "off")
    with patch("dgltree.engine.compiled.module._compiled", side_effect=AssertionError):
        states(model.reduce, "cached")
    states(model.reduce)
    run_functions._memory = known_functions.Memory()
    with patch("dgltree.engine.compiled.module._compiled", side_effect=AssertionError):
        states(model.reduce)  # from disk
    with kernels("off"):
        assert why_not(graph(), send, model.reduce) == "not compiled: kernels are off"


def test_what_has_no_kernel_is_an_error_where_one_is_required() -> None:
    from dgltree.cells import TreeLSTM, TreeRNN

    trees = [dgltree.read_infix("sin(x) + 3")]
    vocabulary = dgltree.Vocabulary.from_trees(trees)
    batch = dgltree.batch(trees, vocabulary)
    single = dgltree.engine.Graph(graph()[0])
    single.ndata.update(graph()[1])
    with kernels("required"):
        with pytest.raises(NoKernelError, match="a single frontier is computed"):
            single.pull([3], send, net().reduce)
        with pytest.raises(NoKernelError, match="functions of edge types"):
            dgltree.prop_nodes_topo(graph(), {"_E": (send, net().reduce)})
        own = dgltree.engine.Graph(batch)
        cell = TreeRNN(vocabulary, 4)
        cell.prepare(own)
        with pytest.raises(NoKernelError, match="functions of a TreeRNN"):
            dgltree.prop_nodes_topo(own, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
        dgltree.propagate(batch, TreeRNN(vocabulary, 4), recompute=True)
        if importlib.util.find_spec("numba") is not None:
            dgltree.propagate(batch, TreeLSTM(vocabulary, 4))


def test_half_precision_fields_are_no_matter_unless_they_are_read() -> None:
    more = {"half": torch.ones(7, 2, dtype=torch.float16), "complex": torch.ones(7, dtype=torch.complex64)}
    model = net()
    assert why_not(graph(**more), send, model.reduce) is None
    assert is_as_torch(model.reduce, given=graph(**more))
    why = why_not(graph(**more), send, lambda nodes: {"h": nodes.mailbox["m"].sum(1) * nodes.data["half"][:, :1]})
    assert why is not None


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_autocast_and_transforms_go_by_torchs_operations() -> None:
    model = net()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert "autocast is on" in str(why_not(graph(), send, model.reduce))

    def loss(h: Tensor) -> Tensor:
        edges, _ = graph()
        return dgltree.prop_nodes_topo((edges, {"h": h}), send, model.reduce)["h"].sum()

    h = graph()[1]["h"]
    expected = torch.autograd.grad(loss(h.requires_grad_()), h)[0]
    assert torch.allclose(torch.func.grad(loss)(h.detach()), expected, rtol=0, atol=1e-13)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(h.detach(), torch.ones_like(h))
        tangent = torch.autograd.forward_ad.unpack_dual(loss(dual)).tangent
    assert tangent is not None
    assert torch.allclose(tangent, expected.sum(), rtol=0, atol=1e-12)


def test_a_pass_within_a_function_is_computed_too() -> None:
    inner = net()

    def reduce(nodes: Any) -> Fields:
        below = dgltree.prop_nodes_topo(graph(), send, inner.reduce)["h"]
        return {"h": torch.tanh(nodes.mailbox["m"].sum(1) + below.mean(0))}

    assert torch.allclose(states(reduce, "on"), states(reduce, "off"), rtol=0, atol=1e-13)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients.


def test_second_derivatives_are_those_of_torchs_operations() -> None:
    model = net()
    found = []
    for mode in ("required", "off"):
        edges, nodes = graph()
        h = nodes["h"].requires_grad_()
        with kernels(mode):
            written = dgltree.prop_nodes_topo((edges, nodes), send, model.reduce)["h"]
        [first] = torch.autograd.grad(written.sin().sum(), h, create_graph=True)
        second = torch.autograd.grad(first.square().sum(), [h, *model.parameters()])
        found.append([first, *second])
    assert all(torch.allclose(a, b, rtol=0, atol=1e-12) for a, b in zip(*found, strict=True))


def test_a_second_derivative_through_a_drawn_mask_is_an_error() -> None:
    model = net().train()
    edges, nodes = graph()
    h = nodes["h"].requires_grad_()
    written = states(model.reduce, given=(edges, nodes))
    with pytest.raises(RuntimeError, match=r'draw a mask, such as dropout: .*kernels\("off"\)'):
        torch.autograd.grad(written.sum(), h, create_graph=True)


def test_a_graph_that_is_retained_gives_the_same_gradients_twice_and_a_freed_one_none() -> None:
    model = net()
    edges, nodes = graph()
    h = nodes["h"].requires_grad_()
    loss = states(model.reduce, given=(edges, nodes)).sin().sum()
    wanted = [h, model.linear.weight]
    first, again = (torch.autograd.grad(loss, wanted, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, again))
    [only] = torch.autograd.grad(loss, h)
    assert torch.equal(only, first[0])
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad(loss, h)


def test_a_weight_that_is_changed_before_the_backward_pass_is_noticed() -> None:
    model = net()
    loss = states(model.reduce).sum()
    with torch.no_grad():
        model.linear.weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_parameter_that_is_freed_in_between_is_still_there_for_its_gradient() -> None:
    model = net()
    edges, nodes = graph()
    h = nodes["h"].requires_grad_()
    loss = states(model.reduce, given=(edges, nodes)).sum()
    expected = torch.autograd.grad(loss, h, retain_graph=True)[0]
    model.linear = nn.Linear(H, H).double()
    del model
    gc.collect()
    assert torch.equal(torch.autograd.grad(loss, h)[0], expected)


def test_dropout_has_a_mask_for_each_row_with_its_gradient() -> None:
    model = net().train()
    ones = torch.ones(7, H, dtype=torch.float64).requires_grad_()
    torch.manual_seed(5)
    given = graph()[0], {"h": ones}
    dropped = states(lambda batch: {"h": model.dropout(batch.mailbox["m"].sum(1))}, given=given)
    [gradient] = torch.autograd.grad(dropped[3:5].sum(), ones)
    first = dropped[3:5].detach()
    assert set(first.unique().tolist()) == {0.0, 4.0}
    assert torch.allclose(gradient[0], first[0] / 2)
    assert torch.allclose(gradient[1], first[0] / 2 + first[1] / 2)


def test_a_field_that_some_programs_do_not_write_keeps_its_gradient() -> None:
    edges, nodes = graph(c=torch.ones(7, H, dtype=torch.float64).requires_grad_())

    def reduce(batch: Any) -> Fields:
        if batch.mailbox["m"].shape[1] == 1:
            return {"h": batch.mailbox["m"].sum(1), "c": batch.data["c"] * 2}
        return {"h": batch.mailbox["m"].sum(1), "c": batch.data["c"]}

    def apply(batch: Any) -> Fields:
        return {"h": batch.data["h"] * 3}

    found = []
    for mode in ("on", "off"):
        given = edges, dict(nodes)
        with kernels(mode):
            written = dgltree.prop_nodes_topo(given, send, reduce, leaves=False)
        found.append(torch.autograd.grad(sum(each.sin().sum() for each in written.values()), nodes["c"])[0])
    assert torch.allclose(*found, rtol=0, atol=1e-13)


# ---------------------------------------------------------------------------------------------------------------------
# Input that is wrong, or strange.


def looked_up(table: nn.Embedding) -> Callable[[Any], Fields]:
    return lambda nodes: {"h": nodes.mailbox["m"].sum(1) + table(nodes.data["token"])}


@pytest.mark.parametrize("wrong", [9, -1, 2**40])
def test_a_row_that_a_table_does_not_have_is_torchs_error(wrong: int) -> None:
    table = nn.Embedding(9, H).double()
    token = torch.tensor([wrong, 0, 0, 1, 2, 8, 3])  # the first node reads none
    assert is_as_torch(looked_up(table), given=graph(token=token))
    token[5] = wrong
    with pytest.raises(IndexError):
        states(looked_up(table), given=graph(token=token))


def test_nan_and_infinity_in_rows_that_nobody_reads_stay_there() -> None:
    edges, nodes = graph()
    x = torch.randn(7, H, dtype=torch.float64)
    x[0], x[1] = float("nan"), float("inf")
    found = states(lambda batch: {"h": batch.mailbox["m"].sum(1) + batch.data["x"]}, given=(edges, {**nodes, "x": x}))
    assert bool(found.isfinite().all())


def test_a_graph_without_edges_and_one_node_are_computed() -> None:
    for count in (1, 4):
        given = torch.empty(2, 0, dtype=torch.int64), {"h": torch.randn(count, H, dtype=torch.float64)}
        found = states(net().reduce, given=given, apply_node_func=lambda nodes: {"h": nodes.data["h"] * 2})
        assert torch.equal(found, given[1]["h"])
        assert len(found) == count


def test_only_what_this_pass_writes_is_returned() -> None:
    def reduce(nodes: Any) -> Fields:
        return {"h": nodes.mailbox["m"].sum(1), "depth": nodes.mailbox["m"].sum(1)}

    def apply(nodes: Any) -> Fields:
        return {name: nodes.data[name] for name in ("h", "depth") if name in nodes.data}

    for edges in (graph()[0], torch.empty(2, 0, dtype=torch.int64)):
        found = []
        for mode in ("on", "off"):
            with kernels(mode):
                given = edges, graph()[1]
                found.append(list(dgltree.prop_nodes_topo(given, send, reduce, apply_node_func=apply)))
        assert found[0] == found[1]


def test_a_field_that_only_leaves_would_write_is_missing_where_they_are_left_out() -> None:
    def apply(nodes: Any) -> Fields:
        return {"state": nodes.data["h"]}

    def message(edges: Any) -> Fields:
        return {"m": edges.src["state"]}

    def reduce(nodes: Any) -> Fields:
        return {"h": nodes.mailbox["m"].sum(1)}

    with kernels("on"):
        dgltree.prop_nodes_topo(graph(), message, reduce, apply_node_func=apply)
        with pytest.raises(KeyError, match="no field 'state'"):
            dgltree.prop_nodes_topo(graph(), message, reduce, apply_node_func=apply, leaves=False)


def test_threads_share_functions() -> None:
    model = net()
    expected = states(model.reduce, "off")
    found: list[bool] = []

    def work() -> None:
        for _ in range(20):
            found.append(torch.allclose(states(model.reduce), expected, rtol=0, atol=1e-13))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


# ---------------------------------------------------------------------------------------------------------------------
# Code on disk.


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Callable[[], list[Path]]]:
    yield lambda: sorted(tmp_path.rglob("*.o"))


def forget() -> None:
    run_functions._memory = known_functions.Memory()
    machine_code._in_use.clear()


def test_a_file_that_was_cut_or_changed_is_made_again(files: Callable[[], list[Path]]) -> None:
    model = net()
    expected = states(model.reduce)
    [file] = files()
    for content in (b"", file.read_bytes()[:-1], bytes(100), file.read_bytes()[:40] + b"x" + file.read_bytes()[41:]):
        file.write_bytes(content)
        forget()
        assert torch.equal(states(model.reduce), expected)


def test_a_folder_that_cannot_be_written_is_no_hindrance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DGLTREE_CACHE", str(tmp_path / "file"))
    assert is_as_torch(net().reduce)


def test_files_that_were_used_long_ago_make_room(
    files: Callable[[], list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dgltree.engine.compiled.module.MOST_BYTES", 1)
    states(net().reduce)
    states(lambda nodes: {"h": nodes.mailbox["m"].mean(1)})
    assert len(files()) == 1


def test_a_processor_without_wide_registers_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from llvmlite import binding

    class Features(dict[str, bool]):
        def flatten(self) -> str:
            return ""

    model = net()
    expected = states(model.reduce, "off")
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "x86-64" if "x86" in binding.get_process_triple() else "")
    monkeypatch.setattr(binding, "get_host_cpu_features", Features)
    assert torch.allclose(states(model.reduce), expected, rtol=0, atol=1e-13)


@pytest.mark.slow
def test_two_processes_compile_the_same_functions_at_once(tmp_path: Path) -> None:
    program = (
        "import torch, dgltree\n"
        "from dgltree.engine.kernels.dispatch import kernels\n"
        "given = torch.tensor([[0, 1], [2, 2]]), {'h': torch.ones(3, 4)}\n"
        "with kernels('required'):\n"
        "    found = dgltree.prop_nodes_topo(given, lambda edges: {'m': edges.src['h']},\n"
        "                                    lambda nodes: {'h': torch.tanh(nodes.mailbox['m'].sum(1))})\n"
        "print(float(found['h'][2, 0]))\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(3)]
    assert len({process.communicate()[0] for process in started}) == 1
    assert len(list(tmp_path.rglob("*.o"))) == 1


def test_functions_with_a_tensor_that_cannot_be_found_again_stay_with_torch() -> None:
    model = net()

    def reduce(nodes: Any) -> Fields:
        mail = nodes.mailbox["m"]
        return model.reduce(nodes) if mail.shape[1] < 3 else {"h": mail.mean(1)}

    bushy = torch.tensor([[0, 1, 2], [3, 3, 3]]), {"h": torch.ones(4, H, dtype=torch.float64)}
    assert is_as_torch(reduce, given=bushy)
    with patch("dgltree.engine.compiled.shadow.Shadow.trace", return_value=False):
        assert "the functions create a new tensor in each call in a way that torch cannot trace" in str(
            why_not(graph(), send, reduce)
        )
    assert "the functions create a new tensor in each call in a way that torch cannot trace" in str(
        why_not(graph(), send, reduce)
    )
    assert torch.equal(states(reduce, "on"), states(reduce, "off"))
    assert is_as_torch(reduce, given=bushy)


def test_functions_that_raise_at_made_up_nodes_from_some_pass_on_are_for_torchs_operations() -> None:
    model = net()
    least = [0]

    def reduce(nodes: Any) -> Fields:
        mail = nodes.mailbox["m"]
        if len(mail) * 1 < least[0]:
            raise ValueError("too few")
        return {"h": torch.tanh(model.linear(mail.sum(1)))}

    assert is_as_torch(reduce)
    wide = torch.stack([torch.arange(9) % 3, torch.arange(9) + 3]), {"h": torch.randn(12, H, dtype=torch.float64)}
    least[0] = 5
    assert torch.equal(states(reduce, "on", given=wide), states(reduce, "off", given=wide))


def test_a_lazily_negated_parameter_is_read_as_its_numbers_are() -> None:
    model = net()
    model.factor = torch.randn(H, dtype=torch.float64)  # type: ignore[assignment]
    assert is_as_torch(model.reduce)
    model.factor = torch._neg_view(model.factor)  # the same memory, which the program reads
    assert is_as_torch(model.reduce)


def test_a_degree_that_was_met_with_one_that_is_no_program_is_a_program_by_itself() -> None:
    model = net()

    def reduce(nodes: Any) -> Fields:
        mail = nodes.mailbox["m"]
        if mail.shape[1] == 3 and mail.sum() > 1e9:
            return {"h": mail[:, 0]}
        return {"h": model.linear(mail[:, -1])}

    def of_degrees(*degrees: int) -> tuple[Tensor, Fields]:
        target = torch.tensor([8 + place for place, degree in enumerate(degrees) for _ in range(degree)])
        source = torch.cat([torch.arange(degree) for degree in degrees])
        return torch.stack([source, target]), {"h": torch.randn(12, H, dtype=torch.float64)}

    assert is_as_torch(reduce, given=of_degrees(1))
    states(reduce, "on", given=of_degrees(2, 3))  # of which 2 is recorded, and 3 then refused
    assert is_as_torch(reduce, given=of_degrees(2))
