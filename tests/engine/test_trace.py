"""What the networks did: traced gates, actions and stacks."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import VOCABULARY, chain, random_tree, suited
from rows import ROWS, make_cell

from dgltree import Tree, batch, propagate
from dgltree.cells.stack_cell import usage_by_depth, used_rows
from dgltree.engine.kernels.dispatch import kernels

NAMES = {
    "tree_lstm, leaf gates": ["in", "o", "u", "f"],
    "child_sum, any arity, leaf gates": ["in", "o", "u", "f"],
    "child_sum": ["in", "o", "u", "f"],
    "stack_tree_rnn, no_op": ["push", "pop", "noop", "g", "u"],
    "tree_smu, gated top_k": ["push", "pop", "g", "q", "o", "u"],
    "tree_cell, typed": ["g", "c", "u"],
}


MAKERS = {
    "f": ["tree_lstm", "child_sum"],
    "g": ["stack_tree_rnn", "stack_tree_lstm", "tree_smu", "tree_cell"],
    "u": ["tree_lstm", "child_sum", "stack_tree_rnn", "stack_tree_lstm", "tree_smu", "tree_cell"],
    "push": ["stack_tree_rnn", "stack_tree_lstm", "tree_smu"],
}


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_traced_makes_the_state(name: str, share: bool) -> None:
    """Gates and actions, put together by hand for each node, give the states that propagation gives."""
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(6, 4, 1), random_tree(3, 6, 2), random_tree(6, 4, 1)]), cell.vocabulary)
    found = propagate(trees, cell, share=share, trace=NAMES[name])
    for j in torch.nonzero(trees.arity > 0).squeeze(-1).tolist():
        edges = range(int(trees.child_ptr[j]), int(trees.child_ptr[j + 1]))
        kids = trees.child_index[edges.start : edges.stop]
        at = {k: v[edges.start : edges.stop] if k in ("f", "g") else v[j] for k, v in found.items()}
        if "f" in at:
            c = at["in"] * at["u"] + (at["f"] * found["c"][kids]).sum(0)
            torch.testing.assert_close(at["c"], c)
            torch.testing.assert_close(at["h"], at["o"] * torch.tanh(c))
        elif "push" in at:
            Sc = (at["g"].unsqueeze(1) * found["S"][kids]).sum(0)
            zero = torch.zeros_like(Sc[:1])
            S = at["push"] * torch.cat([at["u"][None], Sc[:-1]]) + at["pop"] * torch.cat([Sc[1:], zero])
            torch.testing.assert_close(at["S"], S + at.get("noop", 0) * Sc)
            if "q" in at:
                torch.testing.assert_close(at["h"], at["o"] * torch.tanh((at["q"] * at["S"][:3]).sum(0)))
        else:
            h = (at["g"] * found["h"][kids]).sum(0) + at["c"] * at["u"]
            torch.testing.assert_close(at["h"], cell.norm(h))


@pytest.mark.parametrize("name", ROWS)
def test_a_trace_changes_no_state_and_is_detached(name: str) -> None:
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(5, 3, 1)]), cell.vocabulary)
    wanted = [key for key in ("f", "g", "u", "push") if name.split(",")[0] in MAKERS[key]]
    with kernels("off"):  # a traced pass runs on torch's operations
        plain = propagate(trees, cell)
        traced = propagate(trees, cell, trace=[*wanted, "h"])
    assert set(traced) == {*plain, *wanted}
    for part, tensor in plain.items():
        assert torch.equal(tensor, traced[part])
    for key in wanted:
        assert not traced[key].requires_grad
        edges, nodes = len(trees.child_index), trees.num_nodes
        assert len(traced[key]) == (edges if key in ("f", "g") else nodes)


def test_actions_are_nan_at_embedded_leaves_and_add_up_to_one_where_they_are_a_softmax() -> None:
    cell = make_cell("tree_smu, no_op")
    trees = batch([random_tree(5, 3, 1)], VOCABULARY)
    found = propagate(trees, cell, trace=["push", "pop", "noop"])
    total = found["push"] + found["pop"] + found["noop"]
    leaves = trees.arity == 0
    assert total[leaves].isnan().all()
    torch.testing.assert_close(total[~leaves], torch.ones_like(total[~leaves]))


def test_unknown_names_are_refused_with_those_that_are_known() -> None:
    cell = make_cell("tree_lstm")
    with pytest.raises(ValueError, match="trace 'forget': TreeLSTM computes c, f, h, in, o, u"):
        propagate(batch([chain(2)], VOCABULARY), cell, trace=["forget"])
    with pytest.raises(ValueError, match="trace 'f', because the batch contains only leaves"):
        propagate(batch([chain(0)], VOCABULARY), cell, trace=["f"])
    with pytest.raises(TypeError, match=r"trace must be a sequence of names, not the string 'in'; write \['in'\]"):
        propagate(batch([chain(2)], VOCABULARY), cell, trace="in")
    gates = make_cell("tree_lstm, leaf gates")
    found = propagate(batch([Tree("var", token="x")], VOCABULARY), gates, trace=["in"])
    assert found["in"].isfinite().all()


def test_stack_usage_counts_rows_over_the_threshold_by_depth() -> None:
    S = torch.zeros(4, 3, 2)
    S[1, 0] = 0.001  # 2-norm 0.0014
    S[2, 0, 0] = 0.001  # 2-norm 0.001: not over
    S[3, :2] = 1.0
    assert used_rows(S).tolist() == [0, 1, 0, 2]
    assert usage_by_depth(S, torch.tensor([0, 1, 1, 4])) == {0: 0.0, 1: 0.5, 4: 2.0}
    assert usage_by_depth(S, torch.tensor([0, 1, 1, 4]), threshold=0.0009) == {0: 0.0, 1: 1.0, 4: 2.0}
    assert usage_by_depth(S, torch.tensor([0, 1, 1, 4]), threshold=1.5) == {0: 0.0, 1: 0.0, 4: 0.0}
    cell = make_cell("tree_smu, no_op")
    trees = batch([chain(6)], VOCABULARY)
    usage = usage_by_depth(propagate(trees, cell)["S"], trees.level)
    assert [usage[d] for d in (0, 1, 2, 6)] == [0.0, 1.0, 2.0, 4.0]


def test_the_examples_of_the_docs_run() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cells.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert any("trace=" in example for example in examples)
    page_globals: dict[str, Any] = {}  # a reader goes from the top of the page to its end
    for example in examples:
        exec(example, page_globals)


@pytest.mark.parametrize("name", NAMES)
def test_a_star_traces_everything_that_has_a_name(name: str) -> None:
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(6, 4, 1)]), cell.vocabulary)
    found = propagate(trees, cell, trace=["*"])
    assert found.keys() >= {*cell.state, *NAMES[name]}
    for part, values in propagate(trees, cell, trace=NAMES[name]).items():
        torch.testing.assert_close(found[part], values, equal_nan=True)
