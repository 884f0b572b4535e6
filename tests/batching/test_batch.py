"""A batch is its trees: public numbering, fields and order come back from it, and from its graph of DGL.

Bad trees, inputs and graphs are refused with the tree and node at fault; a user's DAG has the promised columns.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import EDGE_CASES, VOCABULARY, braid, chain, random_tree, square
from hypothesis import given
from hypothesis import strategies as st

from dgltree import Equation, Tree, TreeBatch, Vocabulary, batch, plan, propagate, unbatch
from dgltree.cells import TreeLSTM, TreeRNN
from dgltree.engine.schedule import schedule

FOREST = [random_tree(depth, 3, depth) for depth in (0, 1, 4, 12, 160)]
COLUMNS = ("function", "token", "label", "child_ptr", "child_index", "level", "roots", "sizes")


@pytest.fixture(name="dgl")
def fixture_dgl():
    os.environ["DGLBACKEND"] = "pytorch"
    return pytest.importorskip("dgl", reason="DGL is not installed")


@pytest.mark.parametrize("trees", [*EDGE_CASES.values(), FOREST])
def test_unbatch_gives_the_trees_back(trees: list[Tree]) -> None:
    assert unbatch(batch(trees, VOCABULARY)) == trees


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v, t: batch(["x + y"], v), "tree 1 is a str; read it first, for example by dgltree.read_infix"),
        (lambda v, t: batch([t, (t, 3)], v), "tree 2 is a int"),
        (lambda v, t: batch([t, 3], v), "tree 2 is a int"),
        (lambda v, t: batch("x + y", v), "trees must be a list, not a str"),
        (lambda v, t: batch(t, v), "trees must be a list, not a Tree"),
        (lambda v, t: batch(v, [t]), r"the trees come first: dgltree.batch\(trees, vocabulary\)"),
        (lambda v, t: batch([t], None), "the vocabulary is of type NoneType; make one by"),
        (
            lambda v, t: batch([t], v, [[0.5], [0.5]]),
            r"x is list; expected a floating-point tensor \(N, d\), one row per node",
        ),
        (lambda v, t: batch([t], v, torch.zeros(2)), r"x is torch.float32 of shape \(2,\); expected"),
        (lambda v, t: batch([t], v, torch.zeros(2, 1, dtype=torch.long)), "x is torch.int64 of shape"),
        (lambda v, t: Vocabulary.from_trees(["x"]), "tree 1 is a str"),
        (
            lambda v, t: propagate(TreeLSTM(v, 4), batch([t], v)),
            "propagate takes a batch and a cell, but the cell is a Tree",
        ),
        (lambda v, t: propagate("x + y", TreeLSTM(v, 4)), "propagate takes a batch, not a str"),
        (lambda v, t: plan(TreeLSTM(v, 4), batch([t], v)), "plan must be a batch, not a TreeLSTM"),
    ],
)
def test_what_is_no_tree_and_swapped_arguments_are_refused_by_name(call: Callable[..., Any], message: str) -> None:
    tree = Tree("f", (Tree("leaf", token="x"),))
    with pytest.raises(TypeError, match=message):
        call(Vocabulary.from_trees([tree]), tree)


def test_labels_and_values_come_back() -> None:
    trees = [Tree("add", (Tree("num", value=2.5), Tree("var", token="x", label=0)), label=3)]
    flat = batch(trees, VOCABULARY)
    assert unbatch(flat) == trees
    assert flat.label.tolist() == [3, -100, 0]


def test_public_numbering_is_tree_after_tree_each_in_preorder() -> None:
    x, y = Tree("var", token="x"), Tree("var", token="y")
    flat = batch([Tree("add", (Tree("sin", (x,)), y)), y], VOCABULARY)
    names = [VOCABULARY.functions[f][0] for f in flat.function.tolist()]
    assert names == ["add", "sin", "var", "var", "var"]
    assert flat.child_ptr.tolist() == [0, 2, 3, 3, 3, 3]
    assert flat.child_index.tolist() == [1, 3, 2]
    assert flat.level.tolist() == [2, 1, 0, 0, 0]
    assert flat.roots.tolist() == [0, 4]


def test_a_batch_of_pairs_has_roots_2i_and_2i_plus_1() -> None:
    pairs = [Equation(FOREST[1], FOREST[2]), Equation(FOREST[3], FOREST[0])]
    assert unbatch(batch(pairs, VOCABULARY)) == [FOREST[1], FOREST[2], FOREST[3], FOREST[0]]


def test_a_child_object_held_twice_is_one_node_with_two_edges() -> None:
    flat = batch([square()], VOCABULARY)
    assert (flat.num_nodes, flat.child_index.tolist(), flat.slot.tolist()) == (2, [1, 1], [0, 1])
    assert batch([braid(50)], VOCABULARY).num_nodes == 51


def test_children_are_the_same_whatever_a_tree_is_batched_with() -> None:
    """Alone in a batch of few nodes, among many of which none is shared, and next to an object that is held twice."""
    trees = [apart(tree) for tree in FOREST]
    many, shared = batch(trees, VOCABULARY), batch([*trees, square()], VOCABULARY)
    assert many.num_nodes == sum(tree.size for tree in trees)
    alone = [batch([tree], VOCABULARY).child_index + start for tree, start in zip(trees, many.starts, strict=True)]
    assert torch.equal(many.child_index, torch.cat(alone))
    held_twice = torch.full((2,), many.num_nodes + 1)
    assert torch.equal(shared.child_index, torch.cat([many.child_index, held_twice]))


def apart(tree: Tree) -> Tree:
    """An equal tree that holds no object twice."""
    by_number: list[Tree] = []
    for node in reversed(list(tree.preorder())):
        below = [by_number.pop() for _ in node.children]
        by_number.append(node.replace(children=below))
    return by_number[0]


def test_labels_never_reach_a_cell() -> None:
    cell = TreeRNN(VOCABULARY, 4)
    labelled = [tree.fold(lambda node, below: node.replace(children=below, label=len(below))) for tree in FOREST]
    plain, other = (propagate(batch(trees, VOCABULARY), cell)["h"] for trees in (FOREST, labelled))
    assert torch.equal(plain, other)


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        ([], "empty batch"),
        (
            [FOREST[1], Tree("sni", (FOREST[0],))],
            "tree 2, node 1 in preorder: unknown function 'sni'; nearest known: sin",
        ),
        ([Tree("sin", (Tree("var", token="q"),))], "tree 1, node 2 in preorder: unknown token 'q'"),
        ([Tree("sin", (FOREST[0], FOREST[0]))], "'sin' has 2 children here; in this vocabulary it has 1"),
        ([Tree("var", token="x", label="NP")], "label 'NP' .* is not a class number"),
        ([Tree("var", token="x", label=-1)], "label -1 .* is not a class number"),
    ],
)
def test_bad_trees_are_named(trees: list[Tree], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        batch(trees, VOCABULARY)


def test_inputs_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="x has 2 rows, but the batch has 1 nodes"):
        batch([FOREST[0]], VOCABULARY, x=torch.zeros(2, 3))


def test_a_cell_refuses_what_it_would_lose() -> None:
    cell = TreeRNN(VOCABULARY, 4)
    with pytest.raises(ValueError, match="no input_size and would ignore them"):
        propagate(batch([FOREST[0]], VOCABULARY, x=torch.zeros(1, 3)), cell)
    with pytest.raises(ValueError, match="tree 1, node 1 is an inner node with a token"):
        propagate(batch([Tree("sin", (FOREST[0],), token="x")], VOCABULARY), cell)
    with pytest.raises(ValueError, match="carries a number"):
        propagate(batch([Tree("num", value=1)], VOCABULARY), cell)
    numbers = TreeRNN(VOCABULARY, 4, numbers=True)
    with pytest.raises(ValueError, match="node 2 has a token and a number"):
        propagate(batch([Tree("sin", (Tree("num", token="1", value=1),))], VOCABULARY), numbers)
    with pytest.raises(ValueError, match="inner node with a number"):
        propagate(batch([Tree("sin", (FOREST[0],), value=1)], VOCABULARY), numbers)
    with pytest.raises(ValueError, match="leaf without a token"):
        propagate(batch([Tree("var")], VOCABULARY), cell)
    with pytest.raises(ValueError, match="a different vocabulary"):
        propagate(batch([FOREST[0]], Vocabulary([("var", 0), ("num", 0)], VOCABULARY.tokens)), cell)


def test_the_graph_is_the_batch(dgl) -> None:
    flat = batch(FOREST, VOCABULARY)
    graph = flat.graph
    assert graph.batch_size == len(FOREST)
    assert [part.num_nodes() for part in dgl.unbatch(graph)] == flat.sizes.tolist()
    assert [part.num_edges() for part in dgl.unbatch(graph)] == [
        int((flat.parent_index < end).sum() - (flat.parent_index < end - size).sum())
        for end, size in zip(flat.sizes.cumsum(0).tolist(), flat.sizes.tolist(), strict=True)
    ]
    back = TreeBatch.from_graph(graph, VOCABULARY)
    for column in COLUMNS:
        assert torch.equal(getattr(back, column), getattr(flat, column)), column
    assert unbatch(back) == FOREST


def test_a_graph_of_leaves_is_a_batch(dgl) -> None:
    flat = batch([leaf for leaf in FOREST if not leaf.children], VOCABULARY)
    back = TreeBatch.from_graph(flat.graph, VOCABULARY)
    assert back.num_nodes
    assert back.slot.dtype == torch.int64
    assert unbatch(back) == unbatch(flat)


def test_children_keep_their_order_whatever_the_edge_ids(dgl) -> None:
    flat = batch(FOREST, VOCABULARY)
    order = torch.randperm(len(flat.slot), generator=torch.Generator().manual_seed(1))
    graph = dgl.graph((flat.child_index[order], flat.parent_index[order]), num_nodes=flat.num_nodes)
    graph.edata["slot"] = flat.slot[order]
    graph.ndata["function"], graph.ndata["token"] = flat.function, flat.token
    assert unbatch(TreeBatch.from_graph(graph, VOCABULARY)) == FOREST
    cell = TreeRNN(VOCABULARY, 4)
    torch.testing.assert_close(propagate(graph, cell)["h"], propagate(flat, cell)["h"])
    assert set(graph.ndata) == {"function", "token"}, "nothing is left behind in the user's graph"


def test_labels_that_are_numbers_are_refused_by_name(dgl) -> None:
    graph = batch(FOREST, VOCABULARY).graph
    graph.ndata["label"] = torch.rand(graph.num_nodes())
    with pytest.raises(
        ValueError, match=r'the graph\'s "label" is torch\.float32; labels of a batch must be class numbers'
    ):
        TreeBatch.from_graph(graph, VOCABULARY)


def make(dgl, child, parent, slot, function, nodes):
    graph = dgl.graph(
        (torch.tensor(child, dtype=torch.int64), torch.tensor(parent, dtype=torch.int64)), num_nodes=nodes
    )
    if slot is not None:
        graph.edata["slot"] = torch.tensor(slot)
    if function is not None:
        graph.ndata["function"] = torch.tensor(function)
    return graph


@pytest.mark.parametrize(
    ("child", "parent", "slot", "function", "nodes", "message"),
    [
        ([], [], None, None, 0, "empty graph"),
        ([1], [0], [0], None, 2, 'no ndata\\["function"\\]'),
        (
            [0, 0],
            [1, 2],
            None,
            [0, 0, 0],
            3,
            "no node has two children, .* reverse=True",
        ),
        ([1, 2], [0, 0], [0, 0], [0, 0, 0], 3, "node 0 has two children in slot 0"),
        ([1, 2], [0, 0], [0, 2], [0, 0, 0], 3, "node 0 has a child in slot 2 but no child in slot 1"),
        ([1, 0, 2], [0, 1, 0], [0, 0, 1], [0, 0, 0], 3, "cycle through node [01];"),
        ([0, 1, 2, 3], [1, 2, 3, 1], [0, 0, 0, 1], [0] * 4, 4, "cycle through node [123];"),
    ],
)
def test_bad_graphs_are_named(dgl, child, parent, slot, function, nodes, message) -> None:
    with pytest.raises(ValueError, match=message):
        TreeBatch.from_graph(make(dgl, child, parent, slot, function, nodes))


def test_a_users_graph_is_checked_against_the_cell(dgl) -> None:
    cell = TreeRNN(VOCABULARY, 4)
    graph = make(dgl, [1], [0], [0], [4, 0], 2)  # add, with one child
    graph.ndata["token"] = torch.tensor([-1, 0])
    with pytest.raises(ValueError, match=r"tree 1, node 1 \('add'\) has 1 children; in this vocabulary it has 2"):
        propagate(graph, cell)
    graph.ndata["function"] = torch.tensor([2, 99])
    with pytest.raises(ValueError, match="tree 1, node 2 has function id 99"):
        propagate(graph, cell)


@pytest.mark.slow
def test_a_deep_chain_batches() -> None:
    tree = chain(100_000)
    assert unbatch(batch([tree], VOCABULARY)) == [tree]


def marked(tree: Tree, seed: int) -> Tree:
    """Labels on some nodes and numbers on some leaves."""
    rng = random.Random(seed)

    def mark(node: Tree, below: list[Tree]) -> Tree:
        value = rng.uniform(-1, 1) if not below and rng.random() < 0.5 else None
        return node.replace(children=below, value=value, label=rng.choice([None, 0, 3]))

    return tree.fold(mark)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 3), st.integers(0, 10**6)), min_size=1, max_size=5))
def test_unbatch_gives_random_trees_back_with_labels_values_and_sharing(drawn: list[tuple[int, int, int]]) -> None:
    trees = [marked(random_tree(*each), each[-1]) for each in drawn]
    flat = batch(trees, VOCABULARY)
    back = unbatch(flat)
    assert back == trees
    assert flat.sizes.tolist() == [len(list(tree.distinct())) for tree in trees]
    assert [len(list(tree.distinct())) for tree in back] == flat.sizes.tolist()
    children = [flat.child_index[a:b].tolist() for a, b in zip(flat.child_ptr, flat.child_ptr[1:], strict=False)]
    for root, size, tree in zip(flat.roots.tolist(), flat.sizes.tolist(), trees, strict=True):
        met: list[int] = []
        stack = [root]
        while stack:
            node = stack.pop()
            if node not in met:
                met.append(node)
                stack += children[node][::-1]
        assert met == list(range(root, root + size)), "preorder, a shared node where it is first met"
        assert flat.level[root] == tree.depth


def test_an_unknown_name_in_a_later_tree_is_placed_in_that_tree() -> None:
    pair = Equation(FOREST[2], Tree("add", (Tree("sin", (FOREST[0],)), Tree("var", token="zz"))))
    with pytest.raises(ValueError, match=r"tree 2, node 4 in preorder: unknown token 'zz'; nearest known: z\b"):
        batch([pair, pair], VOCABULARY)


@pytest.mark.parametrize("label", [True, False])
def test_labels_are_int64_whatever_their_python_type(label: bool) -> None:
    flat = batch([Tree("var", token="x", label=label)], VOCABULARY)
    assert (flat.label.dtype, flat.label.tolist()) == (torch.int64, [int(label)])


def test_without_a_vocabulary_nothing_is_unbatched(dgl) -> None:
    with pytest.raises(ValueError, match=r"no vocabulary: pass one to TreeBatch.from_graph"):
        unbatch(TreeBatch.from_graph(batch(FOREST, VOCABULARY).graph))


@pytest.mark.parametrize("seed", range(4))
def test_children_without_slots_stand_in_the_order_of_their_edges(dgl, seed: int) -> None:
    flat = batch(FOREST, VOCABULARY)
    order = torch.randperm(len(flat.slot), generator=torch.Generator().manual_seed(seed))
    graph = dgl.graph((flat.child_index[order], flat.parent_index[order]), num_nodes=flat.num_nodes)
    graph.ndata["function"] = flat.function
    seen = Counter[int]()
    slots = []
    for parent in flat.parent_index[order].tolist():
        slots.append(seen[parent])
        seen[parent] += 1
    found = TreeBatch.from_graph(graph)
    graph.edata["slot"] = torch.tensor(slots)
    assert found == TreeBatch.from_graph(graph)


def test_the_graph_carries_edges_slots_values_and_inputs(dgl) -> None:
    trees = [marked(tree, 7) for tree in FOREST[:3]]
    nodes = batch(trees, VOCABULARY).num_nodes
    flat = batch(trees, VOCABULARY, x=torch.arange(nodes * 2.0).view(nodes, 2))
    graph = flat.graph
    assert torch.equal(torch.stack(graph.edges()), torch.stack([flat.child_index, flat.parent_index]))
    assert graph.edata["slot"].tolist() == flat.slot.tolist()
    back = TreeBatch.from_graph(graph, VOCABULARY)
    for column in COLUMNS:
        assert torch.equal(getattr(back, column), getattr(flat, column)), column
    torch.testing.assert_close(back.value, flat.value, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(back.x, flat.x)
    assert unbatch(back) == trees
    assert [unbatch(TreeBatch.from_graph(part, VOCABULARY)) for part in dgl.unbatch(graph)] == [[t] for t in trees]


def test_a_part_of_a_graph_runs_where_only_another_part_has_numbers(dgl) -> None:
    plain = FOREST[1]
    graph = batch([Tree("sin", (Tree("num", value=1),)), plain], VOCABULARY).graph
    cell = TreeRNN(VOCABULARY, 4)
    found = propagate(dgl.unbatch(graph)[1], cell)["h"]
    assert torch.equal(found, propagate(batch([plain], VOCABULARY), cell)["h"])


def test_a_users_dag_with_two_roots_over_one_leaf(dgl) -> None:
    graph = make(dgl, [1, 1, 1], [0, 2, 2], [0, 1, 0], [2, 0, 4], 3)
    graph.ndata["token"] = torch.tensor([-1, 0, -1])
    flat = TreeBatch.from_graph(graph, VOCABULARY)
    x = Tree("var", token="x")
    assert unbatch(flat) == [Tree("sin", (x,)), Tree("add", (x, x))]
    assert (flat.roots.tolist(), flat.level.tolist(), flat.sizes.tolist()) == ([0, 2], [1, 0, 1], [3])


def test_trees_are_told_apart_after_dgls_own_file(dgl, tmp_path: Path) -> None:
    path = str(tmp_path / "trees.bin")
    dgl.save_graphs(path, [batch(FOREST, VOCABULARY).graph])
    [graph], _ = dgl.load_graphs(path)
    back = TreeBatch.from_graph(graph, VOCABULARY)
    assert unbatch(back[[3, 1]]) == [FOREST[3], FOREST[1]]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_a_users_graph_of_any_integer_width_gives_the_promised_columns(dgl, dtype: torch.dtype) -> None:
    child, parent = torch.tensor([2, 1], dtype=dtype), torch.tensor([0, 0], dtype=dtype)
    graph = dgl.graph((child, parent), num_nodes=3)
    graph.edata["slot"] = torch.tensor([1, 0], dtype=dtype)
    graph.ndata["function"] = torch.tensor([4, 1, 1], dtype=dtype)
    graph.ndata["value"] = torch.tensor([float("nan"), 1.0, 2.0], dtype=torch.float32)
    flat = TreeBatch.from_graph(graph, VOCABULARY)
    assert {getattr(flat, column).dtype for column in COLUMNS} == {torch.int64}
    assert flat.value is not None
    assert flat.value.dtype == torch.float64
    assert unbatch(flat) == [Tree("add", (Tree("num", value=1), Tree("num", value=2)))]
    assert len(schedule(flat, share=True)) == 3
    assert unbatch(TreeBatch.from_graph(flat.graph, VOCABULARY)) == unbatch(flat)


def test_a_node_that_is_its_own_child_is_a_cycle(dgl) -> None:
    with pytest.raises(ValueError, match="cycle through node 1;"):
        TreeBatch.from_graph(make(dgl, [1, 1], [0, 1], [0, 0], [2, 2], 2))


@pytest.mark.parametrize(
    ("function", "token", "message"),
    [
        ([4, 0], [-1, 0], r"tree 1, node 1 \('add'\) has 1 children; in this vocabulary it has 2"),
        ([2, len(VOCABULARY.functions)], [-1, 0], f"node 2 has function id {len(VOCABULARY.functions)}, but"),
        ([2, 0], [-1, len(VOCABULARY.tokens)], f"node 2 has token id {len(VOCABULARY.tokens)}, but"),
        ([2, 99], [-1, 0], "node 2 has function id 99, but the vocabulary has ids from 0 to "),
        ([2, -1], [-1, 0], "node 2 has function id -1"),
        ([2, 0], [-1, 99], "node 2 has token id 99, but the vocabulary has ids from 0 to "),
        ([2, 0], [-1, -7], "node 2 has token id -7"),
    ],
)
def test_a_users_graph_is_checked_against_the_vocabulary_it_comes_with(dgl, function, token, message: str) -> None:
    graph = make(dgl, [1], [0], [0], function, 2)
    graph.ndata["token"] = torch.tensor(token)
    with pytest.raises(ValueError, match=message):
        TreeBatch.from_graph(graph, VOCABULARY)


def test_edges_from_parents_to_children_are_read_on_request_and_named_otherwise(dgl) -> None:
    flat = batch(FOREST[:3], VOCABULARY)
    turned = dgl.reverse(flat.graph, copy_edata=True)
    assert unbatch(TreeBatch.from_graph(turned, VOCABULARY, reverse=True)) == FOREST[:3]
    with pytest.raises(
        ValueError,
        match="edges must lead from children to parents: if your edges lead from parents to children, give",
    ):
        TreeBatch.from_graph(turned, VOCABULARY)
