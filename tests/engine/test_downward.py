"""Recursion == DGL on the reversed graph == runner == levels == shared, both sweeps: states and gradients."""

import warnings
from functools import cache

import pytest
import torch
from downward_engines import DOWN, both, both_by_recursion, by_dgl, by_runner, compare, engines_of, gradients
from engines import INSTALLED
from helpers import ANY, EDGE_CASES, TOKENS, VOCABULARY, random_dag, random_tree, suited
from oracle import State
from rows import DOWNWARD, make_cell, make_downward

import dgltree
from dgltree import Tree, TreeBatch, Vocabulary, batch, propagate
from dgltree.cells import (
    SWEEPS,
    Cell,
    DownwardBanyanCell,
    DownwardCell,
    DownwardStrAECell,
    DownwardTreeLSTM,
    StrAECell,
    TreeLSTM,
)
from dgltree.engine.graph import Graph
from dgltree.engine.runner import prop_nodes_topo

FIRST = "downward tree_lstm"
CASES = [
    (name, engine)
    for name in DOWNWARD
    for engine in engines_of(name)
    if engine in INSTALLED and (name == FIRST or "kernels" not in engine)  # whose way down is that of the levels
    if name in (FIRST, "downward tree_lstm, any arity", "downward banyan") or engine != "dgl"  # the runner's functions
]
"""The others are in tests/engine/exactness.md."""


def drawn(cell: Cell) -> TreeBatch:
    """Trees and DAGs, one of them twice, some with a node that is two children of one."""
    dag, x = random_dag(7, 3, 1), random_tree(1, 1, 7)
    one_each = [Tree(name, [x] * (arity or 2)) for name, arity in cell.vocabulary.functions if arity != 0]
    alike = Tree("add", [random_tree(1, 1, 7), random_tree(1, 1, 7)])  # equal, and not one object
    return batch(
        suited(cell, [dag, alike, *one_each, *EDGE_CASES["one node"], random_dag(6, 6, 4), dag]), cell.vocabulary
    )


@cache
def oracle(name: str) -> tuple[State, State]:
    """States and gradients of both sweeps by recursion: walked once for all engines."""
    up, down = make_downward(name)
    states = both_by_recursion(up, down, drawn(up))
    wanted = gradients(up, down, states)
    return {part: rows.detach() for part, rows in states.items()}, wanted


@pytest.mark.parametrize(("name", "engine"), CASES)
def test_engines_agree_with_recursion(name: str, engine: str) -> None:
    up, down = make_downward(name)
    trees = drawn(up)
    expected, wanted = oracle(name)
    found = both(engine, up, down, trees)
    compare(found, expected)
    compare(gradients(up, down, found), wanted)
    assert all(float(each.abs().max()) > 1e-6 for each in [*expected.values(), *wanted.values()])


@pytest.mark.parametrize("case", [case for case in EDGE_CASES if case not in ("braid", "mixed depths")])
@pytest.mark.parametrize("name", ["downward tree_lstm", "downward banyan"])
def test_edge_cases_agree_with_recursion(name: str, case: str) -> None:
    up, down = make_downward(name)
    trees = batch(EDGE_CASES[case], up.vocabulary)
    expected = both_by_recursion(up, down, trees)
    for engine in ("runner", "levels", "levels shared"):
        compare(both(engine, up, down, trees), expected)


@pytest.mark.parametrize("name", ["downward tree_lstm", "downward strae, typed"])
def test_recompute_has_the_same_gradients_and_masks_of_dropout(name: str) -> None:
    up, down = make_downward(name)
    down.dropout = 0.4
    trees = drawn(up)
    found = []
    for recompute in (False, True):
        torch.manual_seed(7)
        states = propagate(trees, up)
        below = propagate(trees, down, recompute=recompute, direction="down", up=states)
        found.append(gradients(up, down, {"up h": states["h"], "down h": below["h"]}))
    compare(found[1], found[0])
    without = down.eval()(trees, propagate(trees, up))["h"]
    assert not torch.allclose(below["h"], without), "there was no dropout"


def test_gradients_reach_the_upward_states_given() -> None:
    up, down = make_downward("downward tree_lstm")
    trees = batch([random_dag(12, 3, 5), random_tree(3, 3, 1)], up.vocabulary)
    given = {part: rows.detach().requires_grad_() for part, rows in propagate(trees, up).items()}
    assert torch.autograd.gradcheck(
        lambda h, c: tuple(propagate(trees, down, direction="down", up={"h": h, "c": c}).values()),
        (given["h"], given["c"]),
        fast_mode=True,
    )


def test_gates_are_traced_by_edges_shared_or_not() -> None:
    up, down = make_downward("downward tree_lstm")
    trees = drawn(up)
    states = propagate(trees, up)
    kept = [propagate(trees, down, share, ["f", "o"], direction="down", up=states) for share in (False, True)]
    assert kept[0]["f"].shape == (len(trees.child_index), 5)
    compare(kept[1], kept[0])
    only = trees.child_index.bincount(minlength=trees.num_nodes)[trees.child_index] == 1
    h = kept[0]["h"].detach()[trees.child_index[only]]
    assert float((h / kept[0]["o"][only]).abs().max()) < 1, "h = o * tanh(c), edge by edge"
    with pytest.raises(ValueError, match=r"trace 'g': DownwardTreeLSTM computes .*in, o, u"):
        propagate(trees, down, trace=["g"], direction="down", up=states)


def test_a_plan_serves_both_directions() -> None:
    up, down = make_downward("downward strae, typed")
    trees = drawn(up)
    expected = both("levels", up, down, trees)
    planned = dgltree.plan(trees, up, downward=down)
    assert planned.downward is planned.downward_for(down)
    assert planned.downward_for(DownwardTreeLSTM(VOCABULARY, 5, positions=True)) is not planned.downward
    for each in (planned, planned.map(torch.clone)):
        states = propagate(each, up)
        compare({"down h": propagate(each, down, direction="down", up=states)["h"]}, {"down h": expected["down h"]})


def test_autocast_does_not_reach_into_the_pass() -> None:
    up, down = (cell.float() for cell in make_downward("downward tree_lstm"))
    trees = drawn(up)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = both("levels", up, down, trees)
        by_functions = by_runner(down, trees, {part: found[f"up {part}"] for part in up.state})
    compare(found, both("levels", up, down, trees), 1e-6)
    assert by_functions["h"].dtype == torch.float32


def test_rows_of_one_level_may_be_cut_into_several_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    up, down = make_downward("downward tree_lstm")
    trees = drawn(up)
    expected = both("levels", up, down, trees)
    monkeypatch.setattr("dgltree.engine.schedule.MOST_ROWS", 3)
    compare(both("levels", up, down, trees), expected)


def test_a_wrong_call_says_what_would_be_right() -> None:
    up, down = make_downward("downward tree_lstm")
    trees = drawn(up)
    states = propagate(trees, up)
    for given, message in (
        (None, r"up is missing: a DownwardTreeLSTM starts from upward states, up=dgltree.propagate\("),
        ({"c": states["c"]}, "up is without h: "),
        ({"h": states["h"][1:]}, r"up\['h'\] has shape .*; this batch and cell need \d+ rows of hidden_size 5"),
        ({"h": states["h"][:, 1:]}, r"up\['h'\] has shape"),
        ({"h": states["h"].float()}, r"up\['h'\] is torch.float32 on cpu, but the cell is torch.float64 on cpu"),
    ):
        with pytest.raises(ValueError, match=message):
            propagate(trees, down, direction="down", up=given)
    for cell, direction, more, message in (
        (down, "up", {}, "a DownwardTreeLSTM computes downwards: give a Cell"),
        (up, "down", {"up": states}, "a TreeLSTM computes upwards: give a DownwardCell such as"),
        (up, "up", {"up": states}, "up is the start of a downward cell; leave out up if direction is 'up'"),
        (up, "sideways", {}, "direction is 'sideways'; it must be 'up' or 'down'"),
    ):
        with pytest.raises(ValueError, match=message):
            propagate(trees, cell, direction=direction, **more)
    other = batch([Tree("f", [Tree("a")])], Vocabulary([("f", 1), ("a", 0)], []))
    with pytest.raises(ValueError, match="a different vocabulary"):
        propagate(other, down, direction="down", up={"h": torch.zeros(2, 5, dtype=torch.float64)})


def test_sharing_is_refused_where_equal_nodes_would_not_be_equal() -> None:
    up, down = make_downward("downward tree_lstm")
    trees = drawn(up)
    states = {part: rows.detach() for part, rows in propagate(trees, up).items()}
    asked = {part: rows.clone().requires_grad_() for part, rows in states.items()}
    with pytest.raises(ValueError, match=r"share=True with an up\['h'\] that requires gradients"):
        propagate(trees, down, True, direction="down", up=asked)
    mixed = {**states, "h": states["h"] + torch.arange(trees.num_nodes).unsqueeze(1)}
    with pytest.raises(ValueError, match=r"share=True with an up\['h'\] that differs between equal subtrees"):
        propagate(trees, down, True, direction="down", up=mixed)
    down.dropout = 0.1
    with pytest.raises(ValueError, match="share=True with dropout in training"):
        propagate(trees, down, True, direction="down", up=states)


def test_a_state_that_is_not_finite_is_named_from_the_top() -> None:
    up, down = make_downward("downward banyan")
    trees = batch([Tree("sin", [Tree("neg", [Tree("var", token="x")])])], VOCABULARY)
    states = propagate(trees, up)
    states["h"] = states["h"].clone().index_fill(0, torch.tensor([0]), torch.nan)
    with pytest.raises(ValueError, match=r"node 1 .*'sin'.* all nodes above are finite"):
        propagate(trees, down, check=True, direction="down", up=states)


def test_vocabularies_of_any_arity_need_positions() -> None:
    for make in (DownwardTreeLSTM, DownwardStrAECell):
        with pytest.raises(ValueError, match=r"functions of any arity, .*use positions=True, or a vocabulary with"):
            make(ANY, 4)


def test_channels_divide_the_width() -> None:
    for make in (StrAECell, DownwardStrAECell, DownwardBanyanCell):
        with pytest.raises(ValueError, match="channels is 3; it must divide hidden_size 4"):
            make(VOCABULARY, 4, channels=3)


def test_banyan_has_fourteen_weights_and_self_strae_a_thousand() -> None:
    words = Vocabulary([("phrase", 2), ("word", 0)], TOKENS)
    count = {}
    for name, channels in (("banyan", 128), ("strae", 16)):
        up, down = (kind(words, 256, channels=channels) for kind in SWEEPS[name])
        own = [parameter.numel() for key, parameter in up.named_parameters() if not key.startswith("embedding")]
        count[name] = sum(own) + sum(parameter.numel() for parameter in down.parameters())
    assert count == {"banyan": 14, "strae": 1072}


def test_a_graph_that_was_not_reversed_or_prepared_says_so() -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    up, down = make_downward("downward tree_lstm")
    trees = drawn(up)
    states = propagate(trees, up)
    with pytest.raises(ValueError, match=r"a downward cell runs on dgl.reverse\(graph, copy_ndata=True, copy_edata"):
        down.prepare(trees.graph, states)
    functions = down.message_func, down.reduce_func
    for graph, run in ((Graph(trees, reverse=True), prop_nodes_topo), (None, dgl.prop_nodes_topo)):
        graph = dgl.reverse(trees.graph, copy_ndata=True, copy_edata=True) if graph is None else graph
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ValueError, match=r"call cell.prepare\(graph, up\) before every pass"):
                run(graph, *functions, apply_node_func=down.apply_node_func)
            down.prepare(graph, states)
            run(graph, *functions, apply_node_func=down.apply_node_func)
            with pytest.raises(ValueError, match=r"states of an earlier pass: call cell.prepare\(graph, up\)"):
                run(graph, *functions, apply_node_func=down.apply_node_func)


def test_bad_graphs_are_refused_before_the_way_down() -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    _, down = make_downward("downward banyan")
    up = {"h": torch.zeros(2, 5, dtype=torch.float64)}
    function = VOCABULARY.function_id("sin", 1)
    for edges, fields, message in (
        (([0, 1], [1, 0]), {"slot": torch.zeros(2, dtype=torch.long)}, "the graph has a cycle through node"),
        (([0], [1]), {"slot": torch.ones(1, dtype=torch.long)}, "node 1 has a child in slot 1 but no child in slot 0"),
    ):
        graph = dgl.graph(edges)
        graph.ndata["function"] = torch.full((2,), function)
        graph.edata.update(fields)
        with pytest.raises(ValueError, match=message):
            propagate(graph, down, direction="down", up=up)


def test_hooks_of_a_downward_cell_run_once_a_pass() -> None:
    up, down = make_downward("downward banyan")
    trees, calls = drawn(up), []
    down.register_forward_hook(lambda *given: calls.append(given))
    propagate(trees, down, direction="down", up=propagate(trees, up))
    assert len(calls) == 1
    assert DOWN["dgl"] is by_dgl
    assert isinstance(down, DownwardCell)
    assert make_cell("tree_lstm").__class__ is TreeLSTM
