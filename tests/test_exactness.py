"""Recursion == dgl.prop_nodes_topo == runner == levels == levels shared, states and gradients, for every cell."""

import os
import warnings
from collections.abc import Callable

import pytest
import torch
from helpers import (
    CELLS,
    EDGE_CASES,
    VOCABULARY,
    assert_close,
    chain,
    cotangents,
    make_cell,
    random_tree,
    recursion,
    with_inner_tokens,
)
from torch import Tensor

from dgltree import TreeBatch, batch, propagate
from dgltree.cells import Cell
from dgltree.runner import Graph, prop_nodes_topo

DRAWS = [(3, 3, 1), (6, 2, 2), (10, 3, 3), (25, 3, 4), (160, 2, 5)]  # (depth, arity, seed)
SMALLEST = 1e-6  # the largest entry of every tensor compared exceeds this: nothing passes by vanishing

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
    prop_nodes_topo(graph, cell.message_func, cell.reduce_func, cell.apply_node_func)
    return {part: graph.ndata[part] for part in cell.state}


ENGINES: dict[str, Engine] = {
    "dgl": dgl_engine,
    "runner": runner_engine,
    "levels": lambda cell, trees: propagate(trees, cell),
    "levels shared": lambda cell, trees: propagate(trees, cell, share=True),
}


def gradients(cell: Cell, states: State, x: Tensor | None = None) -> dict[str, Tensor]:
    """Of every parameter (and of x), 0 where the loss does not depend on it."""
    weights = cotangents(states)
    loss = sum((states[part] * weights[part]).sum() for part in states)
    named = dict(cell.named_parameters()) | ({} if x is None else {"x": x})
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(named, found, strict=True))


def check(cell: Cell, trees: TreeBatch, engine: Engine) -> tuple[State, dict[str, Tensor]]:
    """Compare an engine with recursion; returns the expected states and gradients."""
    expected = recursion(cell, trees)
    found = engine(cell, trees)
    assert set(found) == set(expected)
    for part in expected:
        assert_close(found[part], expected[part], part)
    x = trees.x if trees.x is not None and trees.x.requires_grad else None
    wanted = gradients(cell, expected, x)
    for name, gradient in gradients(cell, found, x).items():
        assert_close(gradient, wanted[name], f"gradient of {name}")
    return expected, wanted


def drawn(cell: Cell | None = None) -> TreeBatch:
    """Deep and wide trees; a cell with inputs gets tokens at inner nodes too, which must not be lost."""
    trees = [random_tree(*draw) for draw in DRAWS] + EDGE_CASES["wide node"]
    assert max(tree.depth for tree in trees) > 150
    if cell is not None and cell.input_size is not None:
        trees = [with_inner_tokens(tree) for tree in trees]
    return batch(trees, VOCABULARY)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CELLS)
def test_engines_agree_with_recursion(name: str, engine: str) -> None:
    cell = make_cell(name)
    states, wanted = check(cell, drawn(cell), ENGINES[engine])
    for what, tensor in [*states.items(), *wanted.items()]:
        assert what == "weight.0" or float(tensor.detach().abs().max()) > SMALLEST, (
            f"{what} vanishes: the comparison says nothing"
        )


@pytest.mark.parametrize("case", EDGE_CASES)
@pytest.mark.parametrize("name", ["tree_rnn, two layers", "tree_lstm, leaf gates", "tree_smu, no_op"])
def test_edge_cases_agree_with_recursion(name: str, case: str) -> None:
    cell = make_cell(name)
    trees = batch(EDGE_CASES[case], VOCABULARY)
    for engine in ENGINES.values():
        check(cell, trees, engine)


@pytest.mark.parametrize("engine", ["dgl", "runner", "levels"])
@pytest.mark.parametrize("name", ["tree_lstm, inputs", "tree_lstm, leaf gates", "tree_smu, leaf gates"])
def test_input_vectors_reach_every_node_and_receive_gradients(name: str, engine: str) -> None:
    trees = [random_tree(*draw) for draw in DRAWS[:4]]
    size = batch(trees, VOCABULARY).num_nodes
    x = torch.randn(size, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).requires_grad_()
    _, wanted = check(make_cell(name), batch(trees, VOCABULARY, x=x), ENGINES[engine])
    inner = batch(trees, VOCABULARY).arity > 0
    assert float(wanted["x"][inner].abs().amin(1).min()) > 0, "an inner node's own input is lost"


def test_equal_subtrees_with_different_inputs_are_not_shared() -> None:
    trees = EDGE_CASES["same tree twice"]
    size = batch(trees, VOCABULARY).num_nodes
    x = torch.randn(size, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    check(make_cell("tree_lstm, inputs"), batch(trees, VOCABULARY, x=x), ENGINES["levels shared"])


@pytest.mark.parametrize("name", CELLS)
def test_gradcheck(name: str) -> None:
    cell = make_cell(name)
    trees = batch([random_tree(3, 3, 8), EDGE_CASES["x*x"][0]], VOCABULARY)
    parameters = list(cell.parameters())

    def states(*_: Tensor) -> tuple[Tensor, ...]:
        return tuple(propagate(trees, cell, share=True).values())

    assert torch.autograd.gradcheck(states, parameters, fast_mode=True)


def test_backward_twice_under_retain_graph_gives_the_same_gradients_twice() -> None:
    cell = make_cell("tree_smu, no_op")
    loss = propagate(drawn(), cell)["h"].sum()
    first = torch.autograd.grad(loss, list(cell.parameters()), retain_graph=True)
    second = torch.autograd.grad(loss, list(cell.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, list(cell.parameters()))


def test_weights_changed_in_place_are_noticed_by_backward() -> None:
    cell = make_cell("tree_lstm")
    loss = propagate(drawn(), cell)["h"].sum()
    with torch.no_grad():
        cell.weight["2"].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_second_derivatives_are_refused() -> None:
    cell = make_cell("tree_rnn")
    loss = propagate(drawn(), cell)["h"].square().sum()
    (gradient,) = torch.autograd.grad(loss, [cell.weight["2"]], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_without_gradients_nothing_is_recorded() -> None:
    with torch.no_grad():
        assert not propagate(drawn(), make_cell("tree_smu"))["h"].requires_grad


def test_a_chain_of_ten_thousand_nodes_is_propagated_and_differentiated() -> None:
    cell = make_cell("tree_lstm")
    states = propagate(batch([chain(10_000)], VOCABULARY), cell)
    states["c"].sum().backward()
    assert float(cell.weight["1"].grad.abs().max()) > SMALLEST


def test_dropout_in_training_is_refused_where_equal_subtrees_would_share_a_mask() -> None:
    cell = CELLS["tree_smu"]()
    cell.dropout = 0.5
    trees = drawn()
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
    return TreeBatch(**{**vars_of(trees), "child_index": child})


def dropped_edge(trees: TreeBatch) -> TreeBatch:
    """The last child of one node is replaced by its first: the edge to it is gone."""
    child = trees.child_index.clone()
    j = next(
        j
        for j in torch.nonzero(trees.arity > 1).squeeze(-1).tolist()
        if child[trees.child_ptr[j]] != child[trees.child_ptr[j + 1] - 1]
    )
    child[trees.child_ptr[j + 1] - 1] = child[trees.child_ptr[j]]
    return TreeBatch(**{**vars_of(trees), "child_index": child})


def vars_of(trees: TreeBatch) -> dict[str, object]:
    return {name: getattr(trees, name) for name in TreeBatch.__dataclass_fields__}


@pytest.mark.parametrize("mutate", [swapped_slots, dropped_edge])
@pytest.mark.parametrize("engine", ENGINES)
def test_mutants_of_the_graph_are_caught(engine: str, mutate: Callable[[TreeBatch], TreeBatch]) -> None:
    with pytest.raises(AssertionError, match="off, largest entry"):
        check(make_cell("tree_smu, no_op"), drawn(), lambda cell, trees: ENGINES[engine](cell, mutate(trees)))


@pytest.mark.parametrize("engine", ["levels", "levels shared"])
def test_a_mutant_without_accumulation_is_caught(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "index_add_", lambda self, dim, index, rows: self.index_copy_(dim, index, rows))
    with pytest.raises(AssertionError, match=r"gradient of .* off, largest entry"):
        check(make_cell("tree_lstm"), drawn(), ENGINES[engine])
