"""Trees as NetworkX graphs and back."""

import json
import re

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read.graphs import from_networkx, read_node_link, to_networkx
from dgltree.trees.tree import Tree

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
    size = 3000
    with pytest.raises(ValueError, match=r"node \d+ is on a cycle"):
        from_networkx(graph_of(*((i, (i + 1) % size, 0) for i in range(size))))


BAD = {
    "the graph has no nodes": networkx.MultiDiGraph(),
    "the graph is undirected": graph_of((0, 1, 0), kind=networkx.MultiGraph),
    "node 0 is on a cycle": graph_of((0, 0, 0)),
    "node 1 is on a cycle": graph_of((0, 1, 0), (1, 2, 0), (2, 1, 0)),
    "nodes 0, 2 have no parents; expected a single root": graph_of((0, 1, 0), (2, 1, 0)),
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
    with pytest.raises(ValueError, match="the edge from 0 to 1 has the slot None; expected a child index from 0"):
        from_networkx(graph)


def test_attributes_that_no_tree_can_have_are_refused_with_the_node():
    for attributes, message in (({"value": float("nan")}, "nan"), ({"token": 3}, "3"), ({"function": ""}, "empty")):
        graph = graph_of((0, 1, 0))
        graph.nodes[1].update(attributes)
        with pytest.raises(ValueError, match=f"node 1: .*{message}"):
            from_networkx(graph)


def link(source, target, **attributes):
    return {"source": source, "target": target, **attributes}


def node_link(links, nodes=None, edges="edges", **fields):
    """Node-link JSON with nodes that are named and compute what ``links`` names."""
    if nodes is None:
        ids = dict.fromkeys(end for edge in links for end in (edge["source"], edge["target"]))
        nodes = [{"id": id, "function": f"f{id}"} for id in ids]
    return json.dumps({"directed": True, "nodes": nodes, edges: links, **fields})


def functions(tree):
    return [node.function for node in tree.preorder()]


@given(dags())
def test_trees_survive_networkxs_own_json(tree):
    data = networkx.node_link_data(to_networkx(tree), edges="edges")
    assert read_node_link(json.dumps(data)) == tree
    data["links"] = data.pop("edges")
    again = read_node_link(json.dumps(data))
    assert again == tree
    assert len(list(again.distinct())) == len(data["nodes"])


def test_edges_without_slots_are_in_the_order_of_the_text():
    links = [link(*ends) for ends in ("ac", "ab", "cd", "aB", "cb", "ac")]
    tree = read_node_link(node_link(links))
    assert functions(tree) == ["fa", "fc", "fd", "fb", "fb", "fB", "fc", "fd", "fb"]
    assert tree.children[0] is tree.children[3]
    assert functions(read_node_link(node_link([link("a", "b"), link("a", "c")], multigraph=False))) == [
        "fa",
        "fb",
        "fc",
    ]


def test_slots_come_before_the_order_of_the_text():
    links = [link("a", "b", slot=1), link("a", "c", slot=0)]
    assert functions(read_node_link(node_link(links))) == ["fa", "fc", "fb"]


def test_ids_may_be_numbers_texts_and_lists():
    nodes = [{"id": 0, "function": "f"}, {"id": "0", "function": "g"}, {"id": [0, 1], "function": "h"}]
    tree = read_node_link(node_link([link(0, "0"), link("0", [0, 1])], nodes))
    assert functions(tree) == ["f", "g", "h"]


def test_a_label_is_the_function_of_a_node_that_has_none():
    nodes = [{"id": 0, "label": "f"}, {"id": 1, "function": "g", "label": "h"}, {"id": 2, "label": "i", "token": "t"}]
    tree = read_node_link(node_link([link(0, 1), link(0, 2)], nodes))
    assert tree == Tree("f", (Tree("g", label="h"), Tree("i", token="t")))


def test_attributes_keep_their_types():
    nodes = [{"id": 0, "function": "f", "value": 2, "label": 3, "token": "4", "colour": "red"}]
    assert read_node_link(node_link([], nodes)) == Tree("f", token="4", value=2.0, label=3)


def test_a_deep_chain_in_json_is_read():
    tree = read_node_link(node_link([link(i, i + 1) for i in range(20_000)]))
    assert (tree.depth, tree.function) == (20_000, "f0")


f0 = [{"id": 0, "function": "f"}]
BAD_JSON = {
    "line 1, column 2: Expecting property name enclosed in double quotes; expected JSON": "{",
    "line 1, column 50: found NaN": '{"nodes": [{"id": 0, "function": "f", "value":   NaN}]}',
    "the JSON is nested too deeply": "[" * 100_000,
    "found no object; expected an object with 'nodes' and 'edges'": "[]",
    "the graph has no list 'nodes'; expected a list of objects": "{}",
    "the graph has no list 'nodes'": '{"nodes": {}, "edges": []}',
    "the graph has neither 'edges' nor 'links'": '{"nodes": []}',
    "the graph has no list 'links'": '{"nodes": [], "links": null}',
    "nodes[1] is 'a'; expected an object": node_link([], [*f0, "a"]),
    "edges[0] is 1; expected an object": node_link([1], f0),
    "links[1] has no 'target'; expected the id of a node": node_link([link(0, 0), {"source": 0}], f0, edges="links"),
    "edges[0] has no 'source'": node_link([link(None, 0)], f0),
    "the graph is undirected; expected '\"directed\": true'": '{"nodes": [], "edges": []}',
    "an edge names node 'x'; expected a node that 'nodes' lists": node_link([link(0, "x")], f0),
    "'nodes' has 2 items with 1 ids": node_link([], f0 * 2),
    "only 1 of the 2 edges differ; expected each once": node_link([link(0, 1), link(0, 1)], multigraph=False),
    "only 1 of the 3 edges differ": node_link([link(0, 1, key="a")] * 3),
    "networkx cannot read the graph: unhashable": node_link([], [{"id": {}}]),
    "networkx cannot read the graph: None": node_link([], [{"id": None}]),
    "networkx cannot read the graph: unhashable type": node_link([link(0, 1, key=[])]),
    "networkx cannot read the graph: ": node_link([], [{"id": 0, "node_for_adding": 1}]),
    "the graph has no nodes": node_link([]),
    "nodes 0, 1 have no parents; expected a single root": node_link([], [*f0, {"id": 1, "function": "g"}]),
    "is on a cycle": node_link([link(0, 1), link(1, 0)]),
    "the edge from 0 to 2 has the slot None": node_link([link(0, 1, slot=0), link(0, 2)]),
    "the edge from 0 to 1 has the slot '0'": node_link([link(0, 1, slot="0")]),
    "node 0 has no attribute 'function'": node_link([], [{"id": 0, "label": 3}]),
    "node 0: int too large": node_link([], [{**f0[0], "value": 10**400}]),
    "node 0: unhashable": node_link([], [{**f0[0], "label": []}]),
}


@pytest.mark.parametrize(("message", "text"), BAD_JSON.items())
def test_node_link_json_that_is_no_tree_is_refused(message, text):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_node_link(text)
