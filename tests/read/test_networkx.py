"""Trees as NetworkX graphs and back."""

import re

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read.networkx import from_networkx, to_networkx
from dgltree.tree import Tree

x = Tree("Symbol", token="x")
sin = Tree("sin", (x,))
texts = st.text(min_size=1, max_size=3)
nodes = st.builds(
    Tree,
    texts,
    token=st.none() | texts,
    value=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    label=st.none() | st.integers() | texts,
)


@st.composite
def dags(draw):
    """A tree, some of whose child objects are shared."""
    pool = draw(st.lists(nodes, min_size=1, max_size=4))
    for node in draw(st.lists(nodes, max_size=6)):
        pool.append(node.replace(children=draw(st.lists(st.sampled_from(pool), max_size=3))))
    return pool[-1]


def graph_of(*edges, missing=(), kind=networkx.MultiDiGraph):
    """A graph of edges (parent, child, slot), its nodes' functions named after them."""
    graph = kind()
    for parent, child, slot in edges:
        graph.add_edge(parent, child, slot=slot)
    for node in graph:
        if node not in missing:
            graph.nodes[node]["function"] = f"f{node}"
    return graph


def test_nodes_are_numbered_in_preorder_and_attributes_are_there_only_where_set():
    graph = to_networkx(Tree("Add", (sin, Tree("Number", value=0.0, label=3))))
    assert dict(graph.nodes(data=True)) == {
        0: {"function": "Add"},
        1: {"function": "sin"},
        2: {"function": "Symbol", "token": "x"},
        3: {"function": "Number", "value": 0.0, "label": 3},
    }
    assert sorted(graph.edges(data="slot")) == [(0, 1, 0), (0, 3, 1), (1, 2, 0)]


def test_a_shared_child_is_one_node_with_an_edge_for_each_slot():
    graph = to_networkx(Tree("Add", (Tree("Mul", (x, x)), sin)))
    assert [graph.nodes[node]["function"] for node in range(4)] == ["Add", "Mul", "Symbol", "sin"]
    assert sorted(graph.edges(data="slot")) == [(0, 1, 0), (0, 3, 1), (1, 2, 0), (1, 2, 1), (3, 2, 0)]


def test_equal_children_that_are_different_objects_stay_apart():
    assert len(to_networkx(Tree("Mul", (x, x.replace())))) == 3


def test_a_node_with_two_parents_becomes_one_shared_object():
    tree = from_networkx(graph_of(("a", "b", 0), ("a", "c", 1), ("b", "d", 0), ("c", "d", 0)))
    assert tree.children[0].children[0] is tree.children[1].children[0]


def test_slots_order_the_children_whatever_the_order_of_the_edges():
    edges = [(0, 1, 2), (0, 2, 0), (0, 3, 1)]
    names = ["f2", "f3", "f1"]
    for graph in (graph_of(*edges), graph_of(*edges[::-1]), graph_of(*edges, kind=networkx.DiGraph)):
        assert [child.function for child in from_networkx(graph).children] == names


def test_slots_may_be_numpy_integers():
    assert from_networkx(graph_of((0, 1, np.int64(1)), (0, 2, np.int32(0)))).children[0].function == "f2"


@given(dags())
def test_trees_survive_with_all_their_fields_and_their_sharing(tree):
    graph = to_networkx(tree)
    again = from_networkx(graph)
    assert again == tree
    assert len(list(again.distinct())) == len(list(tree.distinct())) == len(graph)
    assert networkx.utils.graphs_equal(to_networkx(again), graph)


def test_a_tree_that_unfolds_to_a_huge_one_stays_small():
    tree = x
    for _ in range(60):
        tree = Tree("Mul", (tree, tree))
    graph = to_networkx(tree)
    assert (len(graph), graph.number_of_edges()) == (61, 120)
    assert from_networkx(graph) == tree


def test_a_deep_chain_goes_there_and_back():
    tree = x
    for _ in range(20_000):
        tree = Tree("sin", (tree,))
    assert from_networkx(to_networkx(tree)) == tree


def test_a_long_cycle_is_found():
    size = 20_000
    with pytest.raises(ValueError, match=r"node \d+ is on a cycle"):
        from_networkx(graph_of(*((i, (i + 1) % size, 0) for i in range(size))))


BAD = {
    "the graph has no nodes": networkx.MultiDiGraph(),
    "the graph is undirected": graph_of((0, 1, 0), kind=networkx.MultiGraph),
    "node 0 is on a cycle": graph_of((0, 0, 0)),
    "node 1 is on a cycle": graph_of((0, 1, 0), (1, 2, 0), (2, 1, 0)),
    "nodes 0, 2 have no parents; expected one root": graph_of((0, 1, 0), (2, 1, 0)),
    "node 0 has two children in slot 1: 2 and 3": graph_of((0, 1, 0), (0, 2, 1), (0, 3, 1)),
    "node 0 has two children in slot 0: 1 and 1": graph_of((0, 1, 0), (0, 1, 0)),
    "the edge from 0 to 1 has the slot 'left'": graph_of((0, 1, "left")),
    "node 0 has children in slots [0, 2]; expected 0 to 1": graph_of((0, 1, 0), (0, 2, 2)),
    "node 0 has children in slots [-1, 0]; expected 0 to 1": graph_of((0, 1, 0), (0, 2, -1)),
    "node 1 has no attribute 'function'": graph_of((0, 1, 0), missing=[1]),
}


@pytest.mark.parametrize(("message", "graph"), BAD.items())
def test_a_graph_that_is_no_tree_is_refused_with_the_node(message, graph):
    with pytest.raises(ValueError, match=re.escape(message)):
        from_networkx(graph)


def test_an_edge_without_a_slot_is_refused():
    graph = graph_of((0, 1, 0))
    del graph.edges[0, 1, 0]["slot"]
    with pytest.raises(ValueError, match="the edge from 0 to 1 has the slot None; expected a position from 0"):
        from_networkx(graph)


def test_attributes_that_no_tree_can_have_are_refused_with_the_node():
    for attributes, message in (({"value": float("nan")}, "nan"), ({"token": 3}, "3"), ({"function": ""}, "empty")):
        graph = graph_of((0, 1, 0))
        graph.nodes[1].update(attributes)
        with pytest.raises(ValueError, match=f"node 1: .*{message}"):
            from_networkx(graph)
