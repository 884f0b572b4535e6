"""Further rounds of an encoder, whose nodes read their context: by recursion, in files, and where they are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from downward_oracle import downward_recursion
from helpers import ANY, VOCABULARY, braid, chain, random_dag, random_tree, square, with_inner_tokens, with_numbers
from oracle import embedded, recursion
from rows import ROWS
from torch import Tensor

import dgltree
from dgltree import Tree, TreeBatch, batch, propagate
from dgltree.cells import DownwardBanyanCell, DownwardTreeLSTM, TreeLSTM
from dgltree.encoders import TreeEncoder, make_encoder
from dgltree.engine.kernels.dispatch import kernels
from dgltree.models import EquationModel, EquationReadout

WITH_INPUTS = [row for row, options in ROWS.items() if "input_size" in options]
FEW = ["tree_lstm, leaf gates", "tree_lstm, leaf gates, shared, numbers", "child_sum, inputs", "grc, leaf gates"]
CASES = [random_tree(4, 3, 1), chain(3), Tree("var", token="x"), random_dag(8, 3, 2), square(), braid(3)]


def oracle(encoder: TreeEncoder, flat: TreeBatch) -> Tensor:
    """(N, n), the states of the last round by the definition, one node at a time."""
    pointer, child = flat.child_ptr.tolist(), flat.child_index.tolist()
    parents: dict[int, list[int]] = {}
    for j in range(flat.num_nodes):
        for k in child[pointer[j] : pointer[j + 1]]:
            parents.setdefault(k, []).append(j)
    states = recursion(encoder.cell, flat)
    for each in encoder.rounds:
        if each.context is not None:
            contexts = downward_recursion(each.context, flat, states)["h"]
        else:
            tops = []
            for j in range(flat.num_nodes):
                while j in parents:
                    j = parents[j][0]
                tops.append(states["h"][j])
            contexts = torch.stack(tops)
        inputs = []
        for j in range(flat.num_nodes):
            own = embedded(each.cell.input_embedding, flat, j) if flat.x is None else flat.x[j]
            added = each.map.weight @ contexts[j]
            inputs.append(added if own is None else own + added)
        states = recursion(each.cell, replace(flat, x=torch.stack(inputs)))
    return states["h"]


def make(row: str, trees: list[Tree], **options: Any) -> tuple[TreeEncoder, TreeBatch]:
    """An encoder of a row in float64, and the trees with all that it reads."""
    vocabulary = ANY if "any arity" in row else VOCABULARY
    torch.manual_seed(0)
    encoder = make_encoder(row.split(",")[0], vocabulary, 5, **ROWS[row], **options).double()
    trees = [with_inner_tokens(tree) for tree in trees]
    if "numbers" in ROWS[row]:
        trees = [with_numbers(tree) for tree in trees]
    return encoder, batch(trees, vocabulary)


def check(row: str, trees: list[Tree], modes: tuple[str, ...] = ("off", "on"), **options: Any) -> None:
    """States and gradients are the oracle's, planned or not, compiled or not, and shared or not."""
    encoder, flat = make(row, trees, **options)
    expected = oracle(encoder, flat)
    weight = torch.randn_like(expected)
    (expected * weight).sum().backward()
    gradients = {name: p.grad for name, p in encoder.named_parameters()}
    for mode in modes:
        encoder.zero_grad()
        with kernels(mode):
            found = encoder.node_states(flat)
            (found * weight).sum().backward()
            planned = encoder.node_states(encoder.plan(flat, share=True), share=True)
            roots = encoder(flat, share=True)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(planned, expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(roots, expected[flat.roots], rtol=0, atol=1e-12)
        for name, parameter in encoder.named_parameters():
            theirs, ours = gradients[name], parameter.grad
            if theirs is None or ours is None:  # no node reads this map
                assert all(each is None or not each.any() for each in (theirs, ours)), name
            else:
                torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11, msg=name)


@pytest.mark.parametrize("context", ["root", "down"])
@pytest.mark.parametrize("row", FEW)
def test_rounds_are_those_of_the_recursion(row: str, context: str) -> None:
    compiled = row == FEW[0] and context == "down"  # the others take seconds to compile
    check(row, CASES, ("off", "on") if compiled else ("off",), rounds=2, context=context)


@pytest.mark.slow
@pytest.mark.parametrize("context", ["root", "down"])
@pytest.mark.parametrize("row", WITH_INPUTS)
def test_every_cell_with_inputs_has_rounds(row: str, context: str) -> None:
    positions = context == "root" or "any arity" not in row
    check(row, CASES if positions else CASES[:2], rounds=3, context=context)
    for seed in range(4):
        check(row, [random_tree(5, 3, seed), random_dag(12, 3, seed)], rounds=2, context=context)


@pytest.mark.parametrize("context", ["root", "down"])
def test_gradients_reach_the_inputs_of_every_round(context: str) -> None:
    encoder, flat = make("tree_lstm, leaf gates", [random_tree(2, 2, 1), square()], rounds=2, context=context)
    x = torch.randn(flat.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: encoder.node_states(replace(flat, x=x)), (x,))
    expected = oracle(encoder, replace(flat, x=x))
    torch.testing.assert_close(encoder.node_states(replace(flat, x=x)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("row", FEW)
def test_a_further_round_still_sees_each_token(row: str) -> None:
    """Without what the context adds, the second pass is one over the tokens: it changes where a token does."""
    encoder, flat = make(row, [random_tree(3, 2, 1)], rounds=2)
    other = flat.token.clone()
    other[-1] = (other[-1] + 1) % 5
    changed = replace(flat, token=other)
    moved = (encoder.node_states(changed) - encoder.node_states(flat)).abs().amax(1)
    assert bool((moved > 1e-9)[flat.arity > 0].all()), "every inner node reads its context"
    torch.nn.init.zeros_(encoder.rounds[0].map.weight)
    states = encoder.node_states(flat)
    torch.testing.assert_close(states, propagate(flat, encoder.rounds[0].cell)["h"], rtol=0, atol=1e-12)
    assert not torch.allclose(states[0], encoder.node_states(changed)[0])


@pytest.mark.parametrize("context", ["root", "down"])
def test_equal_subtrees_differ_in_different_contexts(context: str) -> None:
    twin = Tree("sin", [Tree("var", token="x")])
    trees = [Tree("add", [twin, Tree("var", token="y")]), Tree("add", [twin, Tree("var", token="z")])]
    encoder, flat = make("tree_lstm, leaf gates", trees, rounds=2, context=context)
    first = propagate(flat, encoder.cell, share=True)["h"]
    torch.testing.assert_close(first[1], first[5])
    for share in (False, True):
        states = encoder.node_states(flat, share=share)
        assert not torch.allclose(states[1], states[5], atol=1e-6)
        torch.testing.assert_close(states, oracle(encoder, flat), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="rows between equal subtrees, whose contexts differ in 2 rounds: plan with"):
        encoder(dgltree.plan(flat, encoder.cell, share=True))


@pytest.mark.parametrize("context", ["root", "down"])
def test_the_last_round_can_be_traced(context: str) -> None:
    encoder, flat = make("tree_lstm, leaf gates", CASES[:2], rounds=2, context=context)
    planned, cell = encoder.last_round(flat)
    traced = propagate(planned, cell, trace=["o", "f"])
    torch.testing.assert_close(traced["h"], oracle(encoder, flat), rtol=0, atol=1e-12)
    assert traced["o"].shape == (flat.num_nodes, 5) and traced["f"].shape == (len(flat.child_index), 5)


def test_weights_are_those_of_a_round() -> None:
    encoder, _ = make("child_sum, any arity, attention, positions", CASES[:1], rounds=1)
    gates = {"input_size": 3, "leaf": "gates", "aggregation": encoder.cell.aggregate.float()}
    cell = dgltree.cells.ChildSumTreeLSTM(ANY, 5, **gates).double()
    rounds = TreeEncoder(cell, rounds=3, context=DownwardTreeLSTM.matching(cell))
    weights = [weight for _, weight in rounds.named_parameters(remove_duplicate=False)]
    assert len({weight.data_ptr() for weight in weights}) == len(weights)
    assert {weight.dtype for weight in weights} == {torch.float64}


def test_what_cannot_be_is_refused_by_name(tmp_path: Path) -> None:
    options = {"input_size": 3, "leaf": "gates"}
    for rounds in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match=r"rounds is .*; it must be a whole number, 1 or more"):
            make_encoder("tree_lstm", VOCABULARY, 4, rounds=rounds, **options)
    with pytest.raises(
        ValueError, match="rounds is 2, which adds context to the input of each node: give the cell an input_size"
    ):
        make_encoder("tree_lstm", VOCABULARY, 4, rounds=2)
    with pytest.raises(ValueError, match="context is 'up'; it must be 'root', 'down' or a downward cell"):
        make_encoder("tree_lstm", VOCABULARY, 4, context="up", rounds=2, **options)
    with pytest.raises(ValueError, match="context is 'root', which a further round reads: give rounds=2, or context="):
        make_encoder("tree_lstm", VOCABULARY, 4, context="root", **options)
    with pytest.raises(ValueError, match="lstm has no option 'rounds'"):
        make_encoder("lstm", VOCABULARY, 4, rounds=2)
    encoder = make_encoder("tree_lstm", VOCABULARY, 4, rounds=2, **options)
    with pytest.raises(
        ValueError, match="this model has 2 cells, one per round, but ranking needs a single cell; use rounds=1"
    ):
        EquationModel(encoder, EquationReadout()).cell  # noqa: B018
    with pytest.raises(ValueError, match="an exported graph makes one upward pass, but this encoder makes 2"):
        dgltree.export(encoder, tmp_path / "graph")
    own = TreeEncoder(TreeLSTM(VOCABULARY, 4), context=DownwardBanyanCell(VOCABULARY, 4))
    with pytest.raises(
        ValueError, match="context is a DownwardBanyanCell object, which cannot be saved; use context='down'"
    ):
        dgltree.save(own, tmp_path / "encoder.safetensors")


def test_a_graph_of_several_roots_has_no_root_to_read() -> None:
    encoder, _ = make("tree_lstm, leaf gates", CASES[:1], rounds=2)
    trees = batch([random_tree(2, 2, 1), random_tree(2, 2, 2)], VOCABULARY)
    together = replace(trees, sizes=trees.sizes.sum().unsqueeze(0))
    with pytest.raises(ValueError, match=r"this batch does not have one root per tree in the order of the trees \("):
        encoder(together)
    down, _ = make("tree_lstm, leaf gates", CASES[:1], rounds=2, context="down")
    torch.testing.assert_close(down(together), down(trees))
