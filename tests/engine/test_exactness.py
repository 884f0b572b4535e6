"""Recursion == dgl.prop_nodes_topo == runner == levels == kernels, shared or not: states and gradients of all cells"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from engines import (
    CASES,
    ENGINES,
    INSTALLED,
    State,
    asked_for,
    assert_close,
    by_recursion,
    check,
    compare,
    difference,
    gradients,
)
from helpers import EDGE_CASES, TOKENS, VOCABULARY, chain, random_tree, suited
from oracle import fixed_dropout
from rows import ROWS, make_cell
from torch import Tensor

from dgltree import Tree, TreeBatch, Vocabulary, batch, propagate
from dgltree.cells import CELLS, Cell
from dgltree.engine.compiled import pass_memory
from dgltree.engine.gather_plan import GatherPlan
from dgltree.engine.kernels.dispatch import kernels

DRAWS = [(3, 3, 1), (5, 2, 2), (8, 6, 3), (12, 3, 4)]  # (depth, arity, seed)
DEEP = (70, 2, 5)
SMALLEST = 1e-6  # the largest entry of every tensor compared exceeds this: nothing passes by vanishing


def every_function() -> list[Tree]:
    """One tree in which each function stands, so that each set of weights gets a gradient."""
    x = random_tree(1, 1, 7)
    tree = x
    for name, arity in VOCABULARY.functions:
        if arity:
            tree = Tree(name, [tree, *[x] * (arity - 1)])
    return [tree]


def drawn(cell: Cell) -> TreeBatch:
    """Trees of several depths and widths, with all that the cell reads."""
    trees = [random_tree(*draw) for draw in DRAWS] + EDGE_CASES["wide node"] + every_function()
    return batch(suited(cell, trees), cell.vocabulary)


def deep(cell: Cell) -> TreeBatch:
    """A deep tree beside two that end early."""
    trees = [random_tree(*DEEP), *(random_tree(*draw) for draw in DRAWS[:2])]
    assert max(tree.depth for tree in trees) > 60
    return batch(suited(cell, trees), cell.vocabulary)


@cache
def oracle(name: str, trees: Callable[[Cell], TreeBatch] = drawn, dropout: float = 0.0) -> tuple[State, State]:
    """States and gradients of a row's cell by recursion: walked once for all engines."""
    cell = make_cell(name)
    cell.dropout = dropout
    return by_recursion(cell, trees(cell))


@pytest.mark.parametrize(("name", "engine"), CASES)
def test_engines_agree_with_recursion(name: str, engine: str) -> None:
    cell = make_cell(name)
    states, wanted = oracle(name)
    compare(cell, drawn(cell), ENGINES[engine], states, wanted)
    for what, tensor in [*states.items(), *wanted.items()]:
        assert not tensor.numel() or float(tensor.detach().abs().max()) > SMALLEST, (
            f"{what} vanishes: the comparison says nothing"
        )


@pytest.mark.parametrize(("name", "engine"), [case for case in CASES if case[0] in (*CELLS, "tree_smu, no_op")])
def test_engines_agree_with_recursion_on_a_deep_tree(name: str, engine: str) -> None:
    """The equations of one cell of each kind: depth is the engine's, and options are compared above."""
    cell = make_cell(name)
    compare(cell, deep(cell), ENGINES[engine], *oracle(name, deep))


@pytest.mark.parametrize(("name", "engine"), [case for case in CASES if case[0] in CELLS])
def test_engines_agree_with_recursion_where_all_weights_are_tiny(name: str, engine: str) -> None:
    """What is next to 0 has all its digits: a tanh made from exponentials has none of them there."""
    cell = make_cell(name)
    with torch.no_grad():
        for weights in cell.parameters():
            weights *= 2.0**-27
    trees = drawn(cell)
    expected, wanted = by_recursion(cell, trees)
    states = ENGINES[engine](cell, trees)
    assert difference(states, expected) < 1e-13
    assert difference(gradients(cell, states, asked_for(trees)), wanted) < 1e-13


@pytest.mark.parametrize("case", EDGE_CASES)
@pytest.mark.parametrize(
    "name",
    [
        "tree_rnn, two layers",
        "tree_lstm, leaf gates",
        "child_sum, any arity, leaf gates",
        "stack_tree_rnn, children",
        "tree_smu, no_op",
        "tree_cell",
    ],
)
def test_edge_cases_agree_with_recursion(name: str, case: str) -> None:
    cell = make_cell(name)
    trees = batch(EDGE_CASES[case], cell.vocabulary)
    expected = by_recursion(cell, trees)
    for engine in INSTALLED.values():
        compare(cell, trees, engine, *expected)


WITH_INPUTS = [name for name, options in ROWS.items() if "input_size" in options and "numbers" not in options]


def with_vectors(cell: Cell, trees: list[Tree]) -> TreeBatch:
    """A random input vector at every node that reads one."""
    flat = batch(trees, cell.vocabulary)
    x = torch.randn(flat.num_nodes, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    if cell.leaf != "gates":
        x[flat.arity == 0] = 0
    return batch(trees, cell.vocabulary, x=x)


def drawn_with_vectors(cell: Cell) -> TreeBatch:
    """Drawn trees, whose input vectors ask for gradients."""
    trees = with_vectors(cell, [random_tree(*draw) for draw in DRAWS])
    trees.x.requires_grad_()
    return trees


@pytest.mark.parametrize(
    ("name", "engine"), [case for case in CASES if case[0] in WITH_INPUTS and "shared" not in case[1]]
)
def test_input_vectors_reach_every_node_and_receive_gradients(name: str, engine: str) -> None:
    cell = make_cell(name)
    trees = drawn_with_vectors(cell)
    expected, wanted = oracle(name, drawn_with_vectors)
    compare(cell, trees, ENGINES[engine], expected, wanted)
    reading = trees.arity >= (0 if cell.leaf == "gates" else 1)
    assert float(wanted["x"][reading].abs().amax(1).min()) > 0, "a node's own input is lost"


def test_equal_subtrees_with_different_inputs_are_not_shared() -> None:
    cell = make_cell("tree_lstm, inputs")
    for engine in ("levels shared", "kernels shared"):
        check(cell, with_vectors(cell, EDGE_CASES["same tree twice"]), ENGINES[engine])


@pytest.mark.parametrize("name", CELLS)
def test_gradcheck(name: str) -> None:
    """The equations of one cell of each kind: gradients of options are compared above with those of recursion."""
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(3, 3, 8), EDGE_CASES["x*x"][0]]), cell.vocabulary)
    parameters = list(cell.parameters())

    def states(*_: Tensor) -> tuple[Tensor, ...]:
        return tuple(propagate(trees, cell, share=True).values())

    assert torch.autograd.gradcheck(states, parameters, fast_mode=True)


@pytest.mark.parametrize("name", ROWS)
def test_a_seed_gives_the_same_weights_states_and_gradients(name: str) -> None:
    cells = [make_cell(name, seed=5) for _ in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(cells[0].parameters(), cells[1].parameters(), strict=True))
    for cell in cells:
        sum(part.sum() for part in propagate(drawn(cell), cell).values()).backward()
    for a, b in zip(cells[0].parameters(), cells[1].parameters(), strict=True):
        assert torch.equal(a.grad, b.grad)


OPTIONS = [(mode, recompute) for mode in ("off", "on") for recompute in (False, True)]


@pytest.mark.parametrize(("mode", "recompute"), OPTIONS)
def test_backward_twice_under_retain_graph_gives_the_same_gradients_twice(mode: str, recompute: bool) -> None:
    cell = make_cell("tree_smu, no_op")
    with kernels(mode):
        loss = propagate(drawn(cell), cell, recompute=recompute)["h"].sum()
    first = torch.autograd.grad(loss, list(cell.parameters()), retain_graph=True)
    second = torch.autograd.grad(loss, list(cell.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, list(cell.parameters()))


@pytest.mark.parametrize(("mode", "recompute"), OPTIONS)
def test_weights_changed_in_place_are_noticed_by_backward(mode: str, recompute: bool) -> None:
    cell = make_cell("tree_lstm")
    with kernels(mode):
        loss = propagate(drawn(cell), cell, recompute=recompute)["h"].sum()
    with torch.no_grad():
        cell.maps["gates_2"].weight.mul_(2)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation|has been modified inplace"):
        loss.backward()


@pytest.mark.parametrize(("mode", "recompute"), OPTIONS)
def test_deterministic_algorithms_and_anomaly_mode_change_no_gradient(mode: str, recompute: bool) -> None:
    cell = make_cell("tree_smu, no_op")

    def found() -> list[Tensor]:
        loss = propagate(drawn(cell), cell, recompute=recompute)["h"].square().sum()
        return list(torch.autograd.grad(loss, list(cell.parameters())))

    with kernels(mode):
        expected = found()
        torch.use_deterministic_algorithms(True)
        try:
            with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():  # which warns of its cost
                again = found()
        finally:
            torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True))


@pytest.mark.parametrize("name", ["tree_smu, no_op", "child_sum", "tree_cell"])
def test_weight_gradients_that_are_multiplied_at_once_or_in_parts_agree(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gradients() -> list[Tensor]:
        cell = make_cell(name)
        propagate(drawn(cell), cell)["h"].square().sum().backward()
        return [parameter.grad for parameter in cell.parameters() if parameter.grad is not None]

    with kernels("on"):
        at_once = gradients()
        monkeypatch.setattr(pass_memory, "CHUNK_ROWS", 3)
        for found, expected in zip(gradients(), at_once, strict=True):
            assert_close(found, expected, name)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_nothing_is_recorded(mode: Callable) -> None:
    with mode(), kernels("off"):
        cell = make_cell("tree_smu")
        assert not propagate(drawn(cell), cell)["h"].requires_grad


@pytest.mark.parametrize("engine", ["dgl", "runner"])
@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_rnn, tanh, leaf network", "child_sum, inputs"])
def test_autocast_does_not_reach_into_the_functions_of_dgl(name: str, engine: str) -> None:
    cell = make_cell(name).float()
    trees = drawn(cell)
    with torch.no_grad():
        expected = ENGINES[engine](cell, trees)
        with torch.autocast("cpu", torch.bfloat16):
            found = ENGINES[engine](cell, trees)
    assert all(torch.equal(found[part], expected[part]) for part in expected)


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_rnn, tanh, leaf network", "child_sum, inputs"])
def test_autocast_does_not_reach_into_the_pass(name: str) -> None:
    cell = make_cell(name).float()
    trees = drawn(cell)
    expected = propagate(trees, cell)
    with torch.autocast("cpu", torch.bfloat16):
        found = propagate(trees, cell)
    assert all(torch.equal(found[part], expected[part]) for part in expected)
    given, wanted = gradients(cell, found), gradients(cell, expected)
    assert all(torch.equal(given[part], wanted[part]) for part in wanted)


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm", "stack_tree_rnn", "child_sum, inputs"])
def test_bfloat16_weights_give_states_and_gradients_to_some_percent(name: str) -> None:
    cell = make_cell(name).bfloat16().double()  # the same weights in both
    trees = batch(suited(cell, [random_tree(6, 2, seed) for seed in range(20)]), cell.vocabulary)
    expected = propagate(trees, cell)
    wanted = gradients(cell, expected)
    found = propagate(trees, cell.bfloat16())
    assert found["h"].dtype == torch.bfloat16
    for part in expected:
        assert_close(found[part].double(), expected[part], part, 0.02)
    for part, gradient in gradients(cell, found).items():
        assert_close(gradient.double(), wanted[part], part, 0.1)


def test_a_chain_of_ten_thousand_nodes_is_propagated_and_differentiated() -> None:
    cell = make_cell("tree_lstm")
    states = propagate(batch([chain(10_000)], VOCABULARY), cell)
    states["c"].sum().backward()
    assert float(cell.maps["gates_1"].weight.grad.abs().max()) > SMALLEST


def test_dropout_in_training_is_refused_where_equal_subtrees_would_share_a_mask() -> None:
    cell = make_cell("tree_smu")
    cell.dropout = 0.5
    trees = drawn(cell)
    with pytest.raises(ValueError, match="dropout"):
        propagate(trees, cell, share=True)
    assert not torch.equal(propagate(trees, cell)["h"], propagate(trees, cell)["h"])
    cell.eval()
    assert_close(propagate(trees, cell, share=True)["h"], propagate(trees, cell)["h"], "h", tolerance=1e-5)


# Mutants: the comparison above must notice each of these.


def swapped_slots(trees: TreeBatch) -> TreeBatch:
    child = trees.child_index.clone()
    for j in torch.nonzero(trees.arity == 2).squeeze(-1).tolist():
        a = int(trees.child_ptr[j])
        child[[a, a + 1]] = child[[a + 1, a]]
    return replace(trees, child_index=child)


def dropped_edge(trees: TreeBatch) -> TreeBatch:
    """The last child of one node is replaced by its first: the edge to it is gone."""
    child = trees.child_index.clone()
    j = next(
        j
        for j in torch.nonzero(trees.arity > 1).squeeze(-1).tolist()
        if child[trees.child_ptr[j]] != child[trees.child_ptr[j + 1] - 1]
    )
    child[trees.child_ptr[j + 1] - 1] = child[trees.child_ptr[j]]
    return replace(trees, child_index=child)


@pytest.mark.parametrize("mutate", [swapped_slots, dropped_edge])
@pytest.mark.parametrize("engine", ENGINES)
def test_mutants_of_the_graph_are_caught(engine: str, mutate: Callable[[TreeBatch], TreeBatch]) -> None:
    expected = oracle("tree_smu, no_op")
    with pytest.raises(AssertionError, match="off, largest entry"):
        cell = make_cell("tree_smu, no_op")
        compare(cell, drawn(cell), lambda cell, trees: ENGINES[engine](cell, mutate(trees)), *expected)


@pytest.mark.parametrize("engine", ["levels", "levels shared"])
def test_a_mutant_without_accumulation_is_caught(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = oracle("tree_lstm")
    split = GatherPlan.split

    def lossy(*given: Any) -> list[Tensor]:
        *pieces, last = split(*given)
        return [*pieces, last.detach()]

    monkeypatch.setattr(GatherPlan, "split", lossy)
    with pytest.raises(AssertionError, match=r"gradient of .* off, largest entry"):
        cell = make_cell("tree_lstm")
        compare(cell, drawn(cell), ENGINES[engine], *expected)


@pytest.mark.parametrize("name", ["tree_rnn, two layers", "child_sum, inputs", "tree_cell"])
def test_frozen_weights_leave_the_other_gradients_as_they_are(name: str) -> None:
    cell = make_cell(name)
    trees = drawn(cell)
    wanted = torch.autograd.grad(propagate(trees, cell)["h"].sum(), [cell.embedding.weight])
    for parameter in (p for name, p in cell.named_parameters() if "embedding" not in name):
        parameter.requires_grad_(False)
    loss = propagate(trees, cell)["h"].sum()
    assert torch.equal(torch.autograd.grad(loss, [cell.embedding.weight])[0], wanted[0])


DROPPING = [*CELLS, "stack_tree_lstm, data gate", "tree_rnn, two layers", "tree_cell, leaf gates"]


@pytest.mark.parametrize(
    ("name", "engine"), [case for case in CASES if case[0] in DROPPING and "shared" not in case[1]]
)
def test_dropout_acts_where_the_equations_say(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.functional, "dropout", fixed_dropout)
    cell = make_cell(name)
    trees, without = drawn(cell), propagate(drawn(cell), cell)["h"]
    cell.dropout = 0.4
    expected, wanted = oracle(name, dropout=cell.dropout)
    compare(cell.train(), trees, ENGINES[engine], expected, wanted)
    assert not torch.allclose(expected["h"], without), "the masks make a difference"
    torch.testing.assert_close(propagate(trees, cell.eval())["h"], without)


def test_a_run_of_just_enough_rows_for_a_product_of_its_own_has_its_weight_gradient() -> None:
    trees = batch([Tree("sin", (Tree("var", token=TOKENS[k % 5]),)) for k in range(128)], VOCABULARY)
    for engine in ("levels", "kernels"):
        check(make_cell("tree_lstm"), trees, ENGINES[engine])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["tree_lstm", "child_sum"])
def test_a_vocabulary_without_functions_that_have_children_runs(name: str, engine: str) -> None:
    leaves = Vocabulary([("leaf", 0)], ["a"])
    cell = type(make_cell(name))(leaves, 4)
    trees = batch([Tree("leaf", token="a")] * 2, leaves)
    assert torch.equal(ENGINES[engine](cell, trees)["h"], cell.embedding.weight.expand(2, 4))
