"""Heterographs of DGL, whose types are functions and positions, are batches of trees and come back."""

import os
import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from helpers import VOCABULARY, random_tree
from rows import make_cell

from dgltree import Tree, TreeBatch, Vocabulary, batch, propagate, unbatch
from dgltree.batching.vocabulary import ANY_ARITY, NO_LABEL, NO_TOKEN

os.environ["DGLBACKEND"] = "pytorch"
dgl = pytest.importorskip("dgl", reason="DGL is not installed")


def pair(left: int, **fields: torch.Tensor) -> Any:
    """A sum of a number and a product of numbers, or the other way around."""
    sides = [("number", "left", "add"), ("product", "right", "add")]
    if not left:
        sides = [("number", "right", "add"), ("product", "left", "add")]
    empty = [(a, b, c) for a in ("number", "product") for b in ("left", "right") for c in ("add",)]
    edges: dict[Any, Any] = {kind: ([], []) for kind in empty}
    edges |= {kind: ([0], [0]) for kind in sides}
    edges |= {("number", "left", "product"): ([1], [0]), ("number", "right", "product"): ([2], [0])}
    made = dgl.heterograph(edges, num_nodes_dict={"number": 3, "product": 1, "add": 1})
    made.nodes["number"].data["x"] = torch.tensor([[1.0, 2], [3, 4], [5, 6]])
    made.nodes["add"].data["x"] = torch.tensor([[7.0]])
    made.nodes["number"].data["token"] = torch.tensor([0, 1, 2])
    made.nodes["add"].data["label"] = torch.tensor([4])
    return made


def test_types_are_functions_and_positions_are_slots() -> None:
    made = TreeBatch.from_graph(dgl.batch([pair(1), pair(0)]), positions=("left", "right"))
    assert made.vocabulary == Vocabulary([("add", 2), ("number", 0), ("product", 2)], ["0", "1", "2"])
    product = Tree("product", [Tree("number", token="1"), Tree("number", token="2")])
    first = Tree("number", token="0")
    sums = [Tree("add", [first, product], label=4), Tree("add", [product, first], label=4)]
    assert unbatch(made) == sums
    assert made.sizes.tolist() == [5, 5]
    assert made.x is not None
    assert made.x[:5].tolist() == [[7, 0], [1, 2], [3, 4], [5, 6], [0, 0]]  # add, number, product, as DGL sorts types
    assert made.label.tolist() == [4, NO_LABEL, NO_LABEL, NO_LABEL, NO_LABEL] * 2
    back = made.to_heterograph(positions=("left", "right"))
    for kind in (given := dgl.batch([pair(1), pair(0)])).canonical_etypes:
        assert torch.equal(torch.stack(back.edges(etype=kind)), torch.stack(given.edges(etype=kind)))
    assert made.token.tolist() == [NO_TOKEN, 0, 1, 2, NO_TOKEN] * 2


def test_edges_from_parents_to_children_are_read_on_request() -> None:
    given = dgl.batch([pair(1), pair(0)])
    made = TreeBatch.from_graph(dgl.reverse(given), positions=("left", "right"), reverse=True)
    assert unbatch(made) == unbatch(TreeBatch.from_graph(given, positions=("left", "right")))


@pytest.mark.parametrize("seed", range(8))
def test_random_batches_come_back_with_their_states(seed: int) -> None:
    rng = random.Random(seed)
    trees = [random_tree(rng.randrange(1, 6), 3, 10 * seed + k) for k in range(rng.randrange(1, 5))]
    cell = make_cell("tree_lstm")
    flat = batch(trees, VOCABULARY)
    states = propagate(flat, cell)["h"]
    graph = flat.to_heterograph({"h": states})
    again = TreeBatch.from_graph(graph, VOCABULARY)
    assert unbatch(again) == trees
    assert torch.equal(again.sizes, flat.sizes)
    back = again.to_heterograph({"h": propagate(again, cell)["h"]})
    assert (back.ntypes, back.canonical_etypes) == (graph.ntypes, graph.canonical_etypes)
    for kind in graph.canonical_etypes:
        assert torch.equal(torch.stack(back.edges(etype=kind)), torch.stack(graph.edges(etype=kind)))
        assert torch.equal(back.batch_num_edges(kind), graph.batch_num_edges(kind))
    for name in graph.ntypes:
        assert torch.equal(back.batch_num_nodes(name), graph.batch_num_nodes(name))
        for field, column in graph.nodes[name].data.items():
            torch.testing.assert_close(back.nodes[name].data[field], column, rtol=0, atol=1e-12, equal_nan=True)
    assert len(dgl.unbatch(back)) == len(trees)


def test_numbers_and_a_field_of_slots_are_positions() -> None:
    graph = dgl.heterograph({("leaf", "any", "list"): ([0, 1, 2], [0, 0, 0])})
    graph.edges["any"].data["slot"] = torch.tensor([2, 0, 1])
    graph.nodes["leaf"].data["token"] = torch.tensor([0, 1, 2])
    vocabulary = Vocabulary([("leaf", ANY_ARITY), ("list", ANY_ARITY)], ["a", "b", "c"])
    [tree] = unbatch(TreeBatch.from_graph(graph, vocabulary))
    assert [child.token for child in tree.children] == ["b", "c", "a"]
    single = dgl.heterograph({("leaf", "0", "leaf"): ([], [])}, num_nodes_dict={"leaf": 2})
    assert unbatch(TreeBatch.from_graph(single)) == [Tree("leaf"), Tree("leaf")]
    assert TreeBatch.from_graph(single).to_heterograph().num_nodes("leaf") == 2


def test_what_is_no_batch_of_trees_is_refused() -> None:
    graph = pair(1)
    with pytest.raises(
        ValueError, match=r'the edge type \'left\' is not a child index: name the edge types "0", "1", .*positions='
    ):
        TreeBatch.from_graph(graph)
    with pytest.raises(ValueError, match="the edge type 'right' is not a child index"):
        TreeBatch.from_graph(graph, positions=["left"])
    with pytest.raises(ValueError, match="unknown function 'add'; "):
        TreeBatch.from_graph(graph, Vocabulary([("number", 0)], []), positions=["left", "right"])
    with pytest.raises(ValueError, match="has a child in slot 1 but no child in slot 0"):
        TreeBatch.from_graph(dgl.heterograph({("leaf", "1", "sum"): ([0], [0])}))
    empty = dgl.heterograph({("leaf", "0", "sum"): ([], [])}, num_nodes_dict={"leaf": 0, "sum": 0})
    with pytest.raises(ValueError, match="an empty graph: give at least one node"):
        TreeBatch.from_graph(empty)
    made = TreeBatch.from_graph(pair(1), positions=["left", "right"])
    with pytest.raises(ValueError, match=r"this batch has no vocabulary: pass one to TreeBatch.from_graph"):
        replace(made, vocabulary=None).to_heterograph()
