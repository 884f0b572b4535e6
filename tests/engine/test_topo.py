"""``prop_nodes_topo`` is DGL's and a recursion's, takes graphs of any kind, and says what is wrong with a function."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from second_device import DEVICE, second_device
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import dgltree
from dgltree import Tree, Vocabulary, batch, prop_nodes_topo, topo_plan
from dgltree.engine import Graph

EDGES = torch.tensor([[0, 1, 2, 0, 1, 4], [2, 2, 3, 3, 3, 5]])
"""Frontiers {0, 1, 4}, {2, 5} and {3}, of degrees 0, 1 and 2, and 3."""


def graph(**edata: Tensor) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    return EDGES, {"h": torch.arange(1.0, 7)}, edata


def send(edges: Any) -> dict[str, Tensor]:
    return {"m": edges.src["h"]}


def add(nodes: Any) -> dict[str, Tensor]:
    return {"h": nodes.mailbox["m"].sum(1)}


@pytest.mark.parametrize("seed", range(60))
def test_random_dags_have_the_fields_and_gradients_of_dgl_and_of_a_recursion(seed: int) -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    from topo_cases import check

    check(1_000_000 + seed)


class Seen:
    """The frontiers that an apply function has seen."""

    def __init__(self) -> None:
        self.nodes: list[list[int]] = []

    def apply(self, nodes: Any) -> dict[str, Tensor]:
        self.nodes.append(sorted(nodes.nodes().tolist()))
        return {**nodes.data}


def test_reverse_turns_the_order_and_not_the_messages() -> None:
    for reverse, order, h in (
        (False, [[0, 1, 4], [2, 5], [3]], [1, 2, 3, 6, 5, 5]),
        (True, [[3, 5], [2, 4], [0, 1]], [1, 2, 3, 13, 0, 5]),  # 4 is reached with 2, which has in-edges: 0, as by DGL
    ):
        given, seen = graph(), Seen()
        given[1]["h"][2] = 10
        prop_nodes_topo(given, send, add, reverse, seen.apply)
        assert (seen.nodes, given[1]["h"].tolist()) == (order, h)


def test_the_root_of_a_tree_of_five_nodes_is_the_sum_of_its_leaves() -> None:
    nodes = {"x": torch.tensor([[0.0, 0], [1, 1], [0, 0], [1, 1], [1, 1]])}
    tree = torch.tensor([[1, 2, 3, 4], [0, 0, 2, 2]]), nodes
    more = lambda nodes: {"x": nodes.data["x"] + nodes.mailbox["m"].sum(1)}  # noqa: E731
    prop_nodes_topo(tree, lambda edges: {"m": edges.src["x"]}, more)
    assert nodes["x"].tolist() == [[3, 3], [1, 1], [2, 2], [1, 1], [1, 1]]


def test_functions_see_what_dgl_shows_them() -> None:
    def message(edges: Any) -> dict[str, Tensor]:
        source, target, number = edges.edges()
        assert edges.batch_size() == len(edges) == len(source)
        assert torch.equal(EDGES[0][number], source)
        assert torch.equal(EDGES[1][number], target)
        assert torch.equal(edges.data["w"], number)
        assert torch.equal(edges.dst["h"], target + 1.0)
        assert ("h" in set(edges.src), "h" in edges.src, "q" in edges.src, edges.src.get("q")) == (
            True,
            True,
            False,
            None,
        )
        return {"from": source, "edge": number}

    def reduce(nodes: Any) -> dict[str, Tensor]:
        degree = nodes.mailbox["edge"].shape[1]
        assert nodes.batch_size() == len(nodes)
        assert torch.equal(nodes.mailbox["edge"], nodes.mailbox["edge"].sort(1).values)
        for node, numbers in zip(nodes.nodes(), nodes.mailbox["edge"], strict=True):
            assert torch.equal(numbers, torch.nonzero(EDGES[1] == node).squeeze(1))
        return {"degree": torch.full((len(nodes),), degree)}

    given = graph(w=torch.arange(6))
    written = prop_nodes_topo(given, message, reduce)
    assert written["degree"].tolist() == given[1]["degree"].tolist() == [0, 0, 2, 3, 0, 1]
    assert given[1]["h"].tolist() == [1, 2, 3, 4, 5, 6]


def test_a_mailbox_is_in_the_order_of_a_field() -> None:
    given = torch.tensor([[0, 1, 2], [3, 3, 3]]), {"h": torch.tensor([5.0, 6, 7, 0])}, {"slot": torch.tensor([2, 0, 1])}
    received: list[list[float]] = []
    for order in (None, "slot"):
        prop_nodes_topo(given, send, lambda nodes: received.append(nodes.mailbox["m"][0].tolist()) or {}, order=order)
    assert received == [[5, 6, 7], [6, 7, 5]]
    with pytest.raises(ValueError, match=r"order='place': the edges have no such field of one number each; .*'slot'"):
        topo_plan(given, order="place")


def keep(nodes: Any) -> dict[str, Tensor]:
    return {"h": nodes.data["h"]}


def doubled(nodes: Any) -> dict[str, Tensor]:
    return {"h": nodes.mailbox["m"].mul_(2).sum(1)}


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "rows of a message": (
        {"message_func": lambda edges: {"m": edges.src["h"][1:]}},
        ValueError,
        r"^frontier 1: the message function returned 'm' as \(2,\); it must have 3 rows$",
    ),
    "rows of a reduced field": (
        {"reduce_func": lambda nodes: {"h": nodes.mailbox["m"]}},
        ValueError,
        r"^frontier 1, degree 1: the reduce function returned rows of 'h' as torch.float32 \(1,\) on cpu; others are "
        r"torch.float32 \(\) on cpu$",
    ),
    "rows of an applied field": (
        {"apply_node_func": lambda nodes: {"h": nodes.data["h"].sum()}},
        ValueError,
        r"^frontier 0: the apply function returned 'h' as \(\); it must have 3 rows$",
    ),
    "another dtype": (
        {"reduce_func": lambda nodes: {"h": nodes.mailbox["m"].sum(1).double()}},
        ValueError,
        r"^frontier 1, degree 1: the reduce function returned rows of 'h' as torch.float64 \(\) on cpu; others are",
    ),
    "another dtype at a higher degree": (
        {
            "reduce_func": lambda nodes: {
                "n": nodes.mailbox["m"].sum(1) if len(nodes.mailbox["m"][0]) < 2 else nodes.nodes()
            },
            "apply_node_func": keep,
        },
        ValueError,
        r"^frontier 1, degree 2: the reduce function returned rows of 'n' as torch.int64",
    ),
    "a field that is missing at a higher degree": (
        {"reduce_func": lambda nodes: {"n": nodes.nodes()} if len(nodes.mailbox["m"][0]) < 2 else {}},
        ValueError,
        r"^frontier 1, degree 2: the reduce function returned no 'n', which a lower degree has$",
    ),
    "a field that is not there": (
        {"message_func": lambda edges: {"m": edges.src["q"]}},
        KeyError,
        r"^frontier 1: there is no field 'q'; the fields are h$",
    ),
    "a message that is not there": (
        {"reduce_func": lambda nodes: {"h": nodes.mailbox["q"].sum(1)}},
        KeyError,
        r"^frontier 1, degree 1: there is no field 'q'; the fields are m$",
    ),
    "a mailbox changed in place": (
        {"reduce_func": doubled},
        ValueError,
        r"^frontier 1, degree 1: the reduce function changed 'm' in place; return a new tensor$",
    ),
    "sources changed in place": (
        {"message_func": lambda edges: {"m": edges.src["h"].add_(1)}},
        ValueError,
        r"^frontier 1: the message function changed 'h' in place; return a new tensor$",
    ),
    "reduced nodes changed in place": (
        {"reduce_func": lambda nodes: {"h": nodes.data["h"].add_(nodes.mailbox["m"].sum(1))}},
        ValueError,
        r"^frontier 1, degree 1: the reduce function changed 'h' in place; return a new tensor$",
    ),
    "nodes changed in place": (
        {"apply_node_func": lambda nodes: {"h": nodes.data["h"].add_(1)}},
        ValueError,
        r"^frontier 0: the apply function changed 'h' in place; return a new tensor$",
    ),
    "no dict": (
        {"reduce_func": lambda nodes: nodes.mailbox["m"].sum(1)},
        ValueError,
        r"^frontier 1, degree 1: the reduce function returned Tensor, not a dict of tensors$",
    ),
    "an apply function in the place of reverse": (
        {"reverse": keep},
        TypeError,
        r"^reverse is a function; pass a function to apply as apply_node_func=...$",
    ),
    "no message function": (
        {"message_func": "copy_u"},
        TypeError,
        "^message_func is a str: give a function of edges, or a built-in one of dgl.function$",
    ),
    "no apply function": (
        {"apply_node_func": 1},
        TypeError,
        "^apply_node_func is a int: give a function of nodes, or None$",
    ),
    "no plan": ({"plan": EDGES}, TypeError, r"^plan is a Tensor: make one by dgltree.topo_plan\(graph\)$"),
    "no reduce function": (
        {"reduce_func": None},
        TypeError,
        "^reduce_func is a NoneType: give a function of nodes, or a built-in one of dgl.function$",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_function_that_is_wrong_is_refused_in_one_line_and_nothing_is_written(name: str) -> None:
    functions, error, said = WRONG[name]
    given = graph()
    with pytest.raises(error) as refused:
        prop_nodes_topo(given, **{"message_func": send, "reduce_func": add, **functions})
    refused.match(said)
    assert given[1]["h"].tolist() == [1, 2, 3, 4, 5, 6]


ONES = torch.ones(6)
BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "a cycle": ((EDGES.where(EDGES != 3, 0), {"h": ONES}), ValueError, r"the graph has a cycle through node [02];"),
    "a chain both ways": ((torch.cat([EDGES, EDGES.flip(0)], 1), {"h": ONES}), ValueError, "the graph has a cycle"),
    "no nodes": ((EDGES[:, :0], {"h": ONES[:0]}), ValueError, "an empty graph: give at least one node"),
    "no fields": ((EDGES, {}), ValueError, "the graph has no fields of nodes"),
    "other rows": ((EDGES, {"h": ONES, "x": ONES[1:]}), ValueError, "'x' of the nodes has 5 rows; there are 6 nodes"),
    "nodes that are not there": ((EDGES, {"h": ONES[1:]}), ValueError, "a node that does not exist: there are 5"),
    "other edges": (graph(w=ONES[1:]), ValueError, "'w' of the edges has 5 rows; there are 6 edges"),
    "no graph": ([1, 2], TypeError, "graph is a list: give a DGLGraph, a TreeBatch, a Data of PyG"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_no_dag_is_refused(name: str, reverse: bool) -> None:
    given, error, said = BAD[name]
    with pytest.raises(error, match=said):
        prop_nodes_topo(given, send, add, reverse)


def test_a_graph_without_edges_is_one_frontier() -> None:
    given = torch.empty(2, 0).long(), {"h": torch.ones(2)}
    prop_nodes_topo(given, send, add, apply_node_func=lambda nodes: {"h": nodes.data["h"] * 3})
    assert given[1]["h"].tolist() == [3, 3]


def test_a_plan_is_for_graphs_of_its_size_and_order() -> None:
    given = graph()
    plan = topo_plan(given, reverse=True)
    expected = prop_nodes_topo(graph(), send, add, True)["h"]
    assert torch.equal(prop_nodes_topo(given, send, add, plan=plan)["h"], expected)
    with pytest.raises(ValueError, match=r"the plan has 6 nodes and 6 edges, the graph 6 and 5"):
        prop_nodes_topo((EDGES[:, 1:], graph()[1]), send, add, plan=plan)
    with pytest.raises(ValueError, match="the plan was made with reverse=False and order=None; leave both out"):
        prop_nodes_topo(given, send, add, True, plan=topo_plan(given))


class Data(SimpleNamespace):
    """As much of PyG's ``Data`` as is used."""

    num_nodes = 6

    def node_attrs(self) -> list[str]:
        return ["h", "name"]

    def edge_attrs(self) -> list[str]:
        return ["edge_index", "w"]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    __setitem__ = SimpleNamespace.__setattr__


def test_data_of_pyg_is_a_graph() -> None:
    data = Data(edge_index=EDGES, h=torch.arange(1.0, 7), w=torch.ones(6), name=["six"] * 6)
    prop_nodes_topo(data, lambda edges: {"m": edges.src["h"] * edges.data["w"] * len(edges.data)}, add)
    assert data.h.tolist() == [1, 2, 3, 6, 5, 5]


def test_data_of_pyg_itself_is_a_graph() -> None:
    data = pytest.importorskip("torch_geometric.data", reason="PyG is not installed").Data
    made = data(edge_index=EDGES, h=torch.arange(1.0, 7), edge_attr=torch.ones(6), num_nodes=6)
    prop_nodes_topo(made, lambda edges: {"m": edges.src["h"] * edges.data["edge_attr"]}, add)
    assert made.h.tolist() == [1, 2, 3, 6, 5, 5]


def test_a_dgl_graph_of_int32_keeps_its_other_fields() -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    given = dgl.graph((EDGES[0].int(), EDGES[1].int()))
    given.ndata["h"], given.ndata["x"] = torch.arange(1.0, 7), torch.zeros(6)
    dtypes = set()
    prop_nodes_topo(given, send, lambda nodes: dtypes.add(nodes.nodes().dtype) or add(nodes))
    assert (given.ndata["h"].tolist(), dtypes) == ([1, 2, 3, 6, 5, 5], {torch.int32})
    two = dgl.heterograph({("a", "in", "b"): ([0], [0])})
    with pytest.raises(ValueError, match=r"several node types or edge types: convert it by TreeBatch.from_graph"):
        prop_nodes_topo(two, send, add)


def trees(count: int = 3, levels: int = 4) -> dgltree.TreeBatch:
    tree = Tree("x")
    for k in range(levels):
        tree = Tree("neg", [tree]) if k % 3 == 2 else Tree("add", [tree, Tree("x")])
    return batch([tree] * count, Vocabulary.from_trees([tree]))


def test_a_batch_of_trees_stays_as_it_is() -> None:
    flat = trees()
    size = lambda nodes: {"size": nodes.data.get("size", torch.ones(len(nodes)))}  # noqa: E731
    sum_up = lambda nodes: {"size": nodes.mailbox["size"].sum(1) + 1}  # noqa: E731
    own = prop_nodes_topo(flat, lambda edges: {"size": edges.src["size"]}, sum_up, apply_node_func=size)
    assert own["size"][flat.roots].tolist() == flat.sizes.tolist()
    assert not hasattr(flat, "size")


def test_changes_in_place_do_no_harm_where_torch_does_not_count_them() -> None:
    with torch.inference_mode():
        given = torch.tensor([[0, 1], [1, 2]]), {"h": torch.tensor([1.0, 0, 0])}
        prop_nodes_topo(given, send, doubled, apply_node_func=keep)
    assert given[1]["h"].tolist() == [1, 2, 4]


def weighted(weight: Tensor) -> tuple[Any, Any, Any]:
    return (
        lambda edges: {"m": edges.src["h"] @ weight, "k": edges.dst["h"] + edges.data["slot"].unsqueeze(-1)},
        lambda nodes: {"h": torch.tanh(nodes.mailbox["m"].sum(1) + nodes.mailbox["k"].mean(1))},
        lambda nodes: {"h": nodes.data["h"] * 2},
    )


@pytest.mark.parametrize("reverse", [False, True])
def test_a_planned_pass_reads_nothing_from_the_device(reverse: bool) -> None:
    flat, h = trees(), torch.randn(trees().num_nodes, 3).double()

    def run(graph: Graph, weight: Tensor, plan: Any) -> tuple[Tensor, Tensor]:
        message, reduce, apply = weighted(weight)
        graph.ndata["h"] = h.to(weight.device)
        prop_nodes_topo(graph, message, reduce, reverse, apply, plan=plan)
        return graph.ndata["h"], torch.autograd.grad(graph.ndata["h"].square().sum(), weight)[0]

    weight = torch.randn(3, 3).double().requires_grad_()
    expected = run(Graph(flat), weight, None)
    with second_device() as device:
        there = Graph(flat.to(DEVICE))
        unplanned = run(there, weight.detach().to(DEVICE).requires_grad_(), None)
        plan = topo_plan(flat, reverse).to(DEVICE)
        on_device = weight.detach().to(DEVICE).requires_grad_()
        there.ndata["h"] = h.to(DEVICE)
        device.reads.clear()
        found = run(there, on_device, plan)
        assert not device.reads
        for one, other, right in zip(found, unplanned, expected, strict=True):
            assert torch.equal(one.cpu(), other.cpu())
            torch.testing.assert_close(one.cpu(), right, rtol=0, atol=1e-12)
        with pytest.raises(ValueError, match=r"the plan is on cpu, the graph on cuda:0: use plan.to\(device\)"):
            run(there, on_device, topo_plan(flat, reverse))


class Rows(TorchDispatchMode):
    """Counts the entries of what torch computes, forward and backward."""

    entries = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        new = [each for each in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(each, Tensor)]
        self.entries += sum(each.numel() for each in new if not each._is_view())
        return found


@pytest.mark.parametrize("held", [False, True], ids=["written at leaves", "held by leaves"])
def test_work_grows_with_nodes_and_not_with_levels_times_nodes(held: bool) -> None:
    entries = []
    for levels in (40, 80):
        flat = trees(4, levels)
        given = Graph(flat)
        given.ndata["h"] = torch.randn(flat.num_nodes, 8).double().requires_grad_()
        message, reduce, apply = weighted(torch.eye(8).double().requires_grad_())
        plan = topo_plan(flat)
        with Rows() as rows:
            prop_nodes_topo(given, message, reduce, apply_node_func=None if held else apply, plan=plan)
            given.ndata["h"].sum().backward()
        entries.append(rows.entries / flat.num_nodes)
    assert entries[1] < 1.1 * entries[0]
