"""``Graph``: DGL's methods, one frontier each, and passes over several edge types."""

import copy
import pickle
from collections.abc import Callable
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from second_device import DEVICE, second_device
from torch import Tensor

import dgltree
from dgltree import prop_nodes, prop_nodes_topo, topo_plan, topological_nodes_generator
from dgltree.engine import Graph

EDGES = torch.tensor([[0, 1, 2, 0, 1, 4], [2, 2, 3, 3, 3, 5]])


def graph() -> Graph:
    made = Graph(EDGES)
    made.ndata["h"] = torch.arange(1.0, 7)
    made.edata["w"] = torch.arange(6.0)
    return made


def send(edges: Any) -> dict[str, Tensor]:
    return {"m": edges.src["h"]}


def add(nodes: Any) -> dict[str, Tensor]:
    return {"h": nodes.mailbox["m"].sum(1)}


def tenfold(nodes: Any) -> dict[str, Tensor]:
    return {"h": nodes.data["h"] * 10}


@pytest.mark.parametrize("seed", range(80))
def test_drawn_calls_of_methods_have_the_fields_and_gradients_of_dgl_and_of_a_recursion(seed: int) -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    from topo_cases import check_methods

    check_methods(3_000_000 + seed)


@pytest.mark.parametrize("seed", range(80))
def test_drawn_types_of_edges_have_the_fields_and_gradients_of_pulls_of_dgl_and_of_a_recursion(seed: int) -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    from topo_cases import check_types

    check_types(4_000_000 + seed)


CALLS: dict[str, tuple[Callable[[Graph], object], list[float]]] = {
    "pull reads what was there before": (lambda g: g.pull([2, 3], send, add), [1, 2, 3, 6, 5, 6]),
    "pull of a node without edges": (lambda g: g.pull([0, 2], send, add), [0, 2, 3, 4, 5, 6]),
    "pull of one number": (lambda g: g.pull(3, send, add), [1, 2, 3, 6, 5, 6]),
    "pull applies everywhere": (lambda g: g.pull([0, 2], send, add, tenfold), [0, 2, 30, 4, 5, 6]),
    "pull of no node": (lambda g: g.pull([], send, add), [1, 2, 3, 4, 5, 6]),
    "push": (lambda g: g.push(torch.tensor([0, 3]), send, add), [1, 2, 1, 1, 5, 6]),
    "push of a node without edges": (lambda g: g.push(5, send, add), [1, 2, 3, 4, 5, 6]),
    "send_and_recv of ids": (lambda g: g.send_and_recv([4, 0], send, add, tenfold), [1, 2, 10, 20, 5, 6]),
    "send_and_recv of ends": (lambda g: g.send_and_recv(([4, 0], [5, 3]), send, add), [1, 2, 3, 1, 5, 5]),
    "send_and_recv of in_edges": (lambda g: g.send_and_recv(g.in_edges([3]), send, add), [1, 2, 3, 6, 5, 6]),
    "update_all": (lambda g: g.update_all(send, add), [0, 0, 3, 6, 0, 5]),
    "apply_nodes": (lambda g: g.apply_nodes(tenfold, [4, 1]), [1, 20, 3, 4, 50, 6]),
    "apply_nodes to all": (lambda g: g.apply_nodes(tenfold), [10, 20, 30, 40, 50, 60]),
    "prop_nodes": (lambda g: g.prop_nodes([[2], torch.tensor([3, 5])], send, add, etype="_E"), [1, 2, 3, 6, 5, 5]),
    "a function that changes what it reads": (
        lambda g: g.pull([2, 3], lambda edges: {"m": edges.src["h"].mul_(2)}, add),
        [1, 2, 6, 12, 5, 6],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_writes_its_nodes_and_leaves_others(name: str) -> None:
    call, expected = CALLS[name]
    given = graph()
    before = given.ndata["h"]
    call(given)
    assert given.ndata["h"].tolist() == expected
    assert before.tolist() == [1, 2, 3, 4, 5, 6]


def test_a_mailbox_is_in_the_order_in_which_edges_are_given() -> None:
    received: list[list[float]] = []
    given = graph()
    for edges in ([4, 2, 3], [2, 3, 4]):
        given.send_and_recv(edges, send, lambda nodes: received.append(nodes.mailbox["m"][0].tolist()) or {})
    given.pull([3], send, lambda nodes: received.append(nodes.mailbox["m"][0].tolist()) or {})
    assert received == [[2, 3, 1], [3, 1, 2], [3, 1, 2]]


def test_apply_edges_writes_edges_by_what_their_ends_have() -> None:
    given = graph()
    given.apply_edges(lambda edges: {"w": edges.src["h"] - edges.dst["h"]}, [5, 0])
    given.apply_edges(lambda edges: {"y": edges.data["w"]})
    assert given.edata["w"].tolist() == given.edata["y"].tolist() == [-2, 1, 2, 3, 4, -1]
    given.apply_edges(lambda edges: {"z": edges.data["w"]}, [])
    assert given.edata["z"].tolist() == [0] * 6


def test_edges_between_two_nodes_are_named_by_their_ends_one_after_the_other() -> None:
    square = Graph(([0, 0, 1], [2, 2, 2]))
    square.ndata["h"] = torch.tensor([3.0, 5, 0])
    square.edata["w"] = torch.tensor([1.0, 10, 100])
    received: list[list[float]] = []
    both = (
        lambda edges: {"m": edges.data["w"]},
        lambda nodes: received.append(nodes.mailbox["m"][0].tolist()) or {},
    )
    square.send_and_recv(square.in_edges([2]), *both)
    square.send_and_recv(([0, 0], [2, 2]), *both)
    assert received == [[1, 10, 100], [1, 10]]
    with pytest.raises(
        ValueError,
        match=r"edges contains the edge from node 0 to node 2 3 times, but the graph has 2 such edges of type",
    ):
        square.send_and_recv(([0, 0, 0], [2, 2, 2]), *both)


def test_a_graph_says_its_edges_and_degrees_by_node() -> None:
    given = graph()
    assert [each.tolist() for each in given.in_edges([3, 2], "all")] == [
        [2, 0, 1, 0, 1],
        [3, 3, 3, 2, 2],
        [2, 3, 4, 0, 1],
    ]
    assert given.out_edges(torch.tensor([4, 0]), "eid").tolist() == [5, 0, 3]
    assert given.in_degrees([3, 0]).tolist() == [3, 0]
    assert given.out_degrees(1).tolist() == [2]
    assert given.nodes().tolist() == list(range(6))
    assert (given.num_nodes(), given.num_edges(), given.ntypes, given.etypes) == (6, 6, ["_N"], ["_E"])
    assert repr(given) == "<Graph: nodes 6 _N; edges 6 _E>"
    assert torch.equal(torch.stack(Graph(EDGES, reverse=True).edges()), EDGES.flip(0))
    turned = Graph({("a", "in", "b"): ([0, 1], [0, 0])}, reverse=True)
    assert (turned.canonical_etypes, turned.num_nodes("a"), turned.num_nodes("b")) == ([("b", "in", "a")], 2, 1)
    relations = {("a", "in", "b"): ([0, 4], [0, 0]), ("b", "of", "a"): ([2], [1]), ("a", "at", "a"): ([1], [0])}
    for order in permutations(relations.items()):
        several = Graph(dict(order))
        assert (several.num_nodes("a"), several.num_nodes("b")) == (5, 3), order
    with pytest.raises(ValueError, match="form is 'uve'; give 'uv', 'eid' or 'all'"):
        given.in_edges([3], "uve")


NETS: dict[Any, Any] = {("n", "net", "n"): ([0, 3], [1, 4]), ("n", "cell", "n"): ([1, 0, 2], [3, 3, 3])}


def timing() -> Graph:
    """A path of nets and cells: 0 and 2 are inputs, 0 -> 1 and 3 -> 4 are nets."""
    made = Graph(NETS, num_nodes=6)
    made.ndata["h"] = torch.tensor([1.0, 0, 10, 0, 0, 7])
    made.edges["cell"].data["w"] = torch.tensor([2.0, 3, 4])
    return made


BY_TYPE: dict[Any, Any] = {
    "cell": (lambda edges: {"m": edges.src["h"] * edges.data["w"]}, lambda nodes: {"h": nodes.mailbox["m"].sum(1)}),
    "net": (send, add, lambda nodes: {"h": nodes.data["h"] + 1}),
}


def test_each_type_of_edges_has_functions_which_get_the_nodes_that_its_edges_lead_to() -> None:
    given = timing()
    written = prop_nodes_topo(given, BY_TYPE)
    assert written["h"].tolist() == given.ndata["h"].tolist() == [1, 2, 10, 47, 48, 7]
    planned = timing()
    plan = pickle.loads(pickle.dumps(topo_plan(planned, etypes=["cell", "net"])))
    prop_nodes_topo(planned, BY_TYPE, plan=plan)
    assert planned.ndata["h"].tolist() == [1, 2, 10, 47, 48, 7]
    by_calls = timing()
    for etype, nodes in (("net", [1]), ("cell", [3]), ("net", [4])):
        message, reduce, *apply = BY_TYPE[etype]
        by_calls.prop_nodes([nodes], message, reduce, *apply, etype=etype)
    assert by_calls.ndata["h"].tolist() == [1, 2, 10, 47, 48, 7]
    chosen = timing()
    prop_nodes(chosen, topological_nodes_generator(chosen)[:2], {"net": BY_TYPE["net"]})
    assert chosen.ndata["h"].tolist() == [1, 2, 10, 0, 0, 7]


def test_functions_of_types_run_in_their_order_at_a_node_and_the_apply_function_after_them() -> None:
    called: list[str] = []

    def functions(name: str) -> tuple[Any, Any]:
        def reduce(nodes: Any) -> dict[str, Tensor]:
            called.append(name)
            return {"h": nodes.data["h"] * 10 + nodes.mailbox["m"].sum(1)}

        return send, reduce

    def apply(nodes: Any) -> dict[str, Tensor]:
        called.append(f"apply {sorted(nodes.nodes().tolist())} {nodes.ntype} {nodes._graph.num_edges()}")
        return {"h": nodes.data["h"] + 0.5}

    for names, h in ((["a", "b"], 12.5), (["b", "a"], 21.5)):
        given = Graph({("n", "a", "n"): ([0], [2]), ("n", "b", "n"): ([1], [2])})
        given.ndata["h"] = torch.tensor([1.0, 2.0, 0.0])
        called.clear()
        prop_nodes_topo(given, {name: functions(name) for name in names}, apply_node_func=apply, leaves=False)
        assert called == [*names, "apply [2] n 2"]
        assert given.ndata["h"].tolist() == [1, 2, h]


def test_nodes_of_one_frontier_have_other_degrees_by_each_edge_type() -> None:
    """By ``a`` their order is 4, 5, 6, by ``b`` it is 6, 4, 5."""
    given = Graph(
        {
            ("n", "a", "n"): ([0, 0, 1, 0, 1, 2], [4, 5, 5, 6, 6, 6]),
            ("n", "b", "n"): ([0, 1, 0, 1, 2, 3], [4, 4, 5, 5, 5, 6]),
        }
    )
    given.ndata["h"] = torch.tensor([1.0, 10, 100, 1000, 0, 0, 0])
    seen: list[tuple[list[int], int]] = []

    def reduce(nodes: Any) -> dict[str, Tensor]:
        seen.append((nodes.nodes().tolist(), nodes.mailbox["m"].shape[1]))
        return {"h": nodes.data["h"] + nodes.mailbox["m"].sum(1)}

    prop_nodes_topo(given, {"a": (send, reduce), "b": (send, reduce)})
    assert given.ndata["h"].tolist()[4:] == [1 + 11, 11 + 111, 111 + 1000]
    assert seen == [([4], 1), ([5], 2), ([6], 3), ([6], 1), ([4], 2), ([5], 3)]


def test_types_of_nodes_have_fields_of_their_own_shapes() -> None:
    given = Graph({("word", "in", "phrase"): ([0, 1, 2], [0, 0, 1]), ("phrase", "of", "text"): ([0, 1], [0, 0])})
    given.nodes["word"].data["x"] = torch.tensor([[1.0, 2], [3, 4], [5, 6]])
    up = {
        "in": (lambda edges: {"m": edges.src["x"]}, lambda nodes: {"h": nodes.mailbox["m"].sum((1, 2))}),
        "of": (lambda edges: {"m": edges.src["h"]}, lambda nodes: {"h": nodes.mailbox["m"].sum(1).long()}),
    }
    levels = topological_nodes_generator(given)
    assert [{name: each.tolist() for name, each in level.items()} for level in levels] == [
        {"word": [0, 1, 2]},
        {"phrase": [0, 1]},
        {"text": [0]},
    ]
    written = prop_nodes(given, levels[1:], up)
    assert {name: fields["h"].tolist() for name, fields in written.items()} == {"phrase": [10, 11], "text": [21]}
    assert given.nodes["text"].data["h"].dtype == torch.int64
    assert (given.num_nodes(), given.num_nodes("word"), given.num_edges("of")) == (6, 3, 2)
    for read in (lambda: given.ndata, lambda: given.edata, lambda: given.nodes(), lambda: given.in_degrees()):
        with pytest.raises(ValueError, match=r"the graph has several (node|edge) types: give"):
            read()


def test_fields_that_sort_mailboxes_and_divide_frontiers_are_those_of_every_type() -> None:
    given = Graph({("a", "x", "b"): ([0, 1], [0, 0]), ("b", "y", "a"): ([0, 0, 0], [2, 3, 2])})
    for ntype, kind in (("a", [0, 0, 1, 0]), ("b", [0])):
        given.nodes[ntype].data["h"] = torch.arange(1.0, len(kind) + 1)
        given.nodes[ntype].data["kind"] = torch.tensor(kind)
    given.edges["x"].data["slot"] = torch.tensor([1, 0])
    seen: list[tuple[str, list[int], list[float]]] = []

    def reduce(nodes: Any) -> dict[str, Tensor]:
        seen.append((nodes.ntype, nodes.nodes().tolist(), nodes.mailbox["m"][0].tolist()))
        return {"h": nodes.mailbox["m"].sum(1)}

    both = {"x": (send, reduce), "y": (send, reduce)}
    with pytest.raises(
        ValueError, match=r"order='slot': the edges have no such field with one number per edge; their fields are \[\]"
    ):
        prop_nodes_topo(given, both, order="slot")
    given.edges["y"].data["slot"] = torch.tensor([0, 0, 0])
    prop_nodes_topo(given, both, order="slot", by="kind")
    assert seen == [("b", [0], [2, 1]), ("a", [3], [3]), ("a", [2], [3, 3])]
    del given.nodes["b"].data["kind"]
    with pytest.raises(
        ValueError, match="by='kind': the nodes have no such field with one whole number per node; their fields are"
    ):
        prop_nodes_topo(given, both, by="kind")


def test_a_heterograph_of_dgl_keeps_its_features() -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    given = dgl.heterograph({etype: (torch.tensor(a), torch.tensor(b)) for etype, (a, b) in NETS.items()}, {"n": 6})
    own = timing()
    given.ndata["h"], given.edges["cell"].data["w"] = own.ndata["h"], own.edges["cell"].data["w"]
    given.ndata["name"], given.edges["net"].data["ef"] = torch.arange(6), torch.arange(2)
    prop_nodes_topo(given, BY_TYPE)
    assert given.ndata["h"].tolist() == [1, 2, 10, 47, 48, 7]
    assert given.ndata["name"].tolist() == list(range(6))
    assert given.edges["net"].data["ef"].tolist() == [0, 1]
    assert given.edges["cell"].data["w"].tolist() == [2, 3, 4]


ETYPES = r"\('n', 'net', 'n'\), \('n', 'cell', 'n'\)"
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "an edge type that is not there": (
        lambda: timing().pull([1], send, add, etype="wire"),
        ValueError,
        rf"^the graph has no edge type 'wire'; there are {ETYPES}$",
    ),
    "a name of several edge types": (
        lambda: topo_plan(Graph({("a", "in", "b"): ([0], [0]), ("b", "in", "c"): ([0], [0])}), etypes=["in"]),
        ValueError,
        r"^several edge types are named 'in': give a whole type, one of \('a', 'in', 'b'\), \('b', 'in', 'c'\)$",
    ),
    "frontiers of an edge type that is not there": (
        lambda: graph().prop_nodes([[2]], send, add, etype="wire"),
        ValueError,
        r"^the graph has no edge type 'wire'; there are \('_N', '_E', '_N'\)$",
    ),
    "no edge type": (
        lambda: timing().update_all(send, add),
        ValueError,
        rf"^the graph has several edge types: give etype=..., one of {ETYPES}$",
    ),
    "a plan of an edge type that is not there": (
        lambda: topo_plan(timing(), etypes=["wire"]),
        ValueError,
        f"no edge type 'wire'; there are {ETYPES}",
    ),
    "functions of an edge type that is not there": (
        lambda: prop_nodes_topo(timing(), {"wire": (send, add)}),
        ValueError,
        f"no edge type 'wire'; there are {ETYPES}",
    ),
    "an edge type twice": (
        lambda: prop_nodes_topo(timing(), {"net": (send, add), ("n", "net", "n"): (send, add)}),
        ValueError,
        r"^the edge types \['net', \('n', 'net', 'n'\)\] name one of the graph's types twice: ",
    ),
    "functions without types": (
        lambda: prop_nodes_topo(timing(), send, add),
        ValueError,
        rf"several node types or edge types: give \{{edge type: .* the edge types are {ETYPES}$",
    ),
    "one function for a type": (
        lambda: prop_nodes_topo(timing(), {"net": send}),
        TypeError,
        r"^the functions of edge type 'net' are <function send.*>: give \(message_func, reduce_func\)",
    ),
    "a reduce function beside types": (
        lambda: prop_nodes_topo(timing(), BY_TYPE, add),
        TypeError,
        "^message_func is a dict, which also contains the reduce functions: leave out reduce_func$",
    ),
    "a plan of other types": (
        lambda: prop_nodes_topo(timing(), BY_TYPE, plan=topo_plan(timing())),
        ValueError,
        r"^the plan is for the edge types .*.*: make the plan by topo_plan\(graph, etypes=...\)",
    ),
    "a plan of types for one function": (
        lambda: prop_nodes_topo(graph(), send, add, plan=topo_plan(graph(), etypes=["_E"])),
        ValueError,
        r"^the plan needs functions for each edge type: give \{edge type: ",
    ),
    "the same edges under other types": (
        lambda: prop_nodes_topo(
            Graph({etype: ends[::-1] for etype, ends in NETS.items()}, num_nodes=6),
            BY_TYPE,
            plan=topo_plan(timing(), etypes=["cell", "net"]),
        ),
        ValueError,
        "^the plan was made for other edges",
    ),
    "a cycle through two types": (
        lambda: topo_plan(Graph({("n", "a", "n"): ([0], [1]), ("n", "b", "n"): ([1], [0])})),
        ValueError,
        "the graph has a cycle through node [01];",
    ),
    "a node type that is not there": (
        lambda: timing().apply_nodes(tenfold, ntype="m"),
        ValueError,
        "^the graph has no node type 'm'; there are 'n'$",
    ),
    "a node twice": (lambda: graph().pull([2, 0, 2], send, add), ValueError, "^v has node 2 twice$"),
    "a node that is not there": (
        lambda: graph().push([6], send, add),
        ValueError,
        "^u has node 6: there are 6, numbered from 0$",
    ),
    "an edge twice": (lambda: graph().send_and_recv([1, 1], send, add), ValueError, "^edges has edge 1 twice$"),
    "an edge that is not there": (
        lambda: graph().apply_edges(send, [6]),
        ValueError,
        "^edges has edge 6: there are 6, numbered from 0$",
    ),
    "nodes without an edge": (
        lambda: graph().send_and_recv(([0, 0], [2, 5]), send, add),
        ValueError,
        r"^edges contains the edge from node 0 to node 5 1 times, but the graph has 0 such edges of type ",
    ),
    "more sources than targets": (
        lambda: graph().send_and_recv(([0, 0], [2]), send, add),
        ValueError,
        "^edges are 2 sources and 1 targets: give as many of both$",
    ),
    "a message of other rows": (
        lambda: graph().pull([2], lambda edges: {"m": edges.src["h"][1:]}, add),
        ValueError,
        r"^pull: the message function returned 'm' as \(1,\); it must have 2 rows$",
    ),
    "another dtype of a field of edges": (
        lambda: graph().apply_edges(lambda edges: {"w": edges.src["h"].long()}, [0]),
        ValueError,
        r"^apply_edges: the message function returned rows of 'w' as torch.int64 \(\) on cpu, but other rows are",
    ),
    "a field that is not there": (
        lambda: timing().pull([1], lambda edges: {"m": edges.src["q"]}, add, etype="net"),
        KeyError,
        "^pull: there is no field 'q'; the fields are h$",
    ),
    "a field that is not there, by types": (
        lambda: prop_nodes_topo(timing(), {"net": (lambda edges: {"m": edges.src["q"]}, add)}),
        KeyError,
        "^frontier 1, edges 'net': there is no field 'q'; the fields are h$",
    ),
    "no apply function": (lambda: graph().apply_nodes(None), TypeError, "^func is None: give a function of nodes$"),
    "three rows of edges": (
        lambda: Graph(torch.zeros(3, 2).long()),
        ValueError,
        r"^the edges of type \('_N', '_E', '_N'\) have 3 rows: give two, their sources and their targets$",
    ),
    "edges that are no whole numbers": (
        lambda: Graph(EDGES.float()),
        ValueError,
        r"are \(6,\) torch.float32: give \(E,\) torch.int64 or torch.int32$",
    ),
    "a negative node": (lambda: Graph(EDGES - 1), ValueError, "names node -1: nodes are numbered from 0$"),
    "fewer nodes than edges name": (
        lambda: Graph(EDGES, num_nodes=5),
        ValueError,
        "^an edge names node 5 of '_N', but num_nodes is 5$",
    ),
    "an edge type of one name": (
        lambda: Graph({"net": EDGES}),
        ValueError,
        r"^the edge type 'net' is not a tuple \(node type, name, node type\)$",
    ),
    "no edge types": (lambda: Graph({}), ValueError, "^the graph has no edge types: give "),
    "frontiers of a graph of several node types": (
        lambda: prop_nodes(Graph({("a", "in", "b"): ([0], [0])}), [[0]], {"in": (send, add)}),
        ValueError,
        r"^frontier 0 is not a dict: give \{node type: nodes\} for a graph with several node types$",
    ),
    "a frontier of another graph": (
        lambda: prop_nodes(timing(), [{"cell": [3]}], BY_TYPE),
        ValueError,
        "^frontier 0 has the node type 'cell'; the graph has n$",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_in_one_line(name: str) -> None:
    call, error, said = REFUSED[name]
    with pytest.raises(error, match=said):
        call()


def test_nothing_is_written_when_a_call_fails() -> None:
    given = graph()
    with pytest.raises(ValueError, match="must have 2 rows"):
        given.pull([2, 3], send, add, lambda nodes: {"h": nodes.data["h"][1:]})
    assert given.ndata["h"].tolist() == [1, 2, 3, 4, 5, 6]
    assert given.ndata.keys() == {"h"}


@pytest.mark.parametrize("method", ["pull", "apply_nodes", "apply_edges"])
def test_a_function_of_a_call_cannot_read_the_graph(method: str) -> None:
    given = graph()
    held = lambda batch: {"h": given.ndata["h"]}  # noqa: E731
    arguments: dict[str, tuple[Any, ...]] = {"pull": ([2], held, add), "apply_nodes": (held,), "apply_edges": (held,)}
    with pytest.raises(
        ValueError,
        match=r"reads the graph 'given', whose fields do not change during the pass: read edges\.src",
    ):
        getattr(given, method)(*arguments[method])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))])
def test_a_copy_of_a_graph_has_fields_of_its_own(copied: Callable[[Graph], Graph]) -> None:
    given = graph()
    other = copied(given)
    other.pull([2, 3], send, add)
    assert other.ndata["h"].tolist() == [1, 2, 3, 6, 5, 6]
    assert given.ndata["h"].tolist() == [1, 2, 3, 4, 5, 6]


def test_hetero_data_of_pyg_is_refused_by_name() -> None:
    data = SimpleNamespace(edge_types=[("a", "in", "b")], node_types=["a", "b"])
    with pytest.raises(TypeError, match=r"^graph is a HeteroData of PyG, which is not read: give dgltree.engine.Graph"):
        prop_nodes_topo(data, send, add)


def test_a_cell_runs_on_a_graph_of_edges() -> None:
    trees = [dgltree.read_infix("x*y + x")]
    vocabulary = dgltree.Vocabulary.from_trees(trees)
    batch = dgltree.batch(trees, vocabulary)
    cell = dgltree.cells.TreeLSTM(vocabulary, 3).double()
    own = Graph((batch.child_index, batch.parent_index))
    own.ndata.update(function=batch.function, token=batch.token)
    own.edata["slot"] = batch.slot
    cell.prepare(own)
    prop_nodes_topo(own, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
    torch.testing.assert_close(own.ndata["h"], dgltree.propagate(batch, cell)["h"], rtol=0, atol=1e-12)


def calls(graph: Graph, weight: Tensor) -> Tensor:
    """(3,) of a network of calls whose weight is (3, 3)."""
    graph.pull(
        [2, 3],
        lambda edges: {"m": torch.tanh(edges.src["h"] @ weight)},
        lambda nodes: {"h": nodes.data["h"] * nodes.mailbox["m"].sum(1)},
    )
    graph.apply_edges(lambda edges: {"w": edges.src["h"] @ weight}, [0, 3])
    graph.send_and_recv(([4], [5]), lambda edges: {"m": edges.src["h"] + edges.data["w"]}, add)
    graph.update_all(lambda edges: {"m": edges.src["h"] * edges.data["w"]}, add)
    graph.apply_nodes(lambda nodes: {"h": nodes.data["h"].tanh()})
    return graph.ndata["h"][3] + graph.ndata["h"][5]


def of_vectors(edges: Tensor) -> Graph:
    made = Graph(edges)
    made.ndata["h"] = torch.linspace(-1, 1, 18, dtype=torch.float64, device=edges.device).view(6, 3)
    made.edata["w"] = torch.ones(6, 3, dtype=torch.float64, device=edges.device)
    return made


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own, in some transforms
def test_transforms_of_torch_func_go_through_calls() -> None:
    def run(weight: Tensor) -> Tensor:
        return calls(of_vectors(EDGES), weight)

    weight, other = torch.randn(2, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    jacobian = torch.autograd.functional.jacobian(run, weight)
    assert jacobian.abs().max() > 0.1
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        torch.testing.assert_close(transform(run)(weight), jacobian, rtol=0, atol=1e-12)
    both = torch.func.vmap(run)(torch.stack([weight, other]))
    torch.testing.assert_close(both, torch.stack([run(weight), run(other)]), rtol=0, atol=1e-12)


def test_calls_and_passes_by_types_run_on_another_device() -> None:
    weight = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    expected = calls(of_vectors(EDGES), weight)
    with second_device():
        there = of_vectors(EDGES.to(DEVICE))
        torch.testing.assert_close(calls(there, weight.to(DEVICE)).cpu(), expected, rtol=0, atol=1e-12)
        made = Graph({etype: torch.tensor(ends).to(DEVICE) for etype, ends in NETS.items() if etype[1] == "net"})
        made.ndata["h"] = torch.tensor([1.0, 0, 0, 4, 0]).to(DEVICE)
        prop_nodes_topo(made, {"net": BY_TYPE["net"]})
        assert made.ndata["h"].cpu().tolist() == [1, 2, 0, 4, 5]


def test_a_graph_of_another_library_is_no_list_of_edges() -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    with pytest.raises(TypeError, match=r"a DGLGraph is run as it is, or give Graph\(graph.edges\(\)\)"):
        Graph(dgl.graph(([0], [1])), reverse=True)
