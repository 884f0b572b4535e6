"""``prop_nodes_topo`` is DGL's and a recursion's, takes graphs of any kind, and says what is wrong with a function."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from second_device import DEVICE, second_device
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import dgltree
from dgltree import Tree, Vocabulary, batch, prop_nodes, prop_nodes_topo, topo_plan
from dgltree.engine import Graph
from dgltree.engine.kernels.dispatch import kernels

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
    with pytest.raises(
        ValueError, match=r"order='place': the edges have no such field with one number per edge; .*'slot'"
    ):
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
        r"^frontier 1, degree 1: the reduce function returned rows of 'h' as torch.float32 \(1,\) on cpu, but other"
        r" rows are torch.float32 \(\) on cpu$",
    ),
    "rows of an applied field": (
        {"apply_node_func": lambda nodes: {"h": nodes.data["h"].sum()}},
        ValueError,
        r"^frontier 0: the apply function returned 'h' as \(\); it must have 3 rows$",
    ),
    "another dtype": (
        {"reduce_func": lambda nodes: {"h": nodes.mailbox["m"].sum(1).double()}},
        ValueError,
        r"^frontier 1, degree 1: the reduce function returned rows of 'h' as torch.float64 \(\) on cpu, but other",
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
    "rows of a reduced field at a higher degree": (
        {"reduce_func": lambda nodes: {"h": nodes.mailbox["m"].sum(1)[: 3 - nodes.mailbox["m"].shape[1]]}},
        ValueError,
        r"^frontier 2, degree 3: the reduce function returned 'h' as \(0,\); it must have 1 rows$",
    ),
    "a field that is missing at a higher degree": (
        {"reduce_func": lambda nodes: {"n": nodes.nodes()} if len(nodes.mailbox["m"][0]) < 2 else {}},
        ValueError,
        r"^frontier 1, degree 2: the reduce function returned no 'n', although it did for nodes with fewer children$",
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
    "no dict": (
        {"reduce_func": lambda nodes: nodes.mailbox["m"].sum(1)},
        ValueError,
        r"^frontier 1, degree 1: the reduce function returned Tensor, not a dict of tensors$",
    ),
    "an apply function in the place of reverse": (
        {"reverse": keep},
        TypeError,
        r"^reverse is a function; pass an apply function as apply_node_func=...$",
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
    "no fields": ((EDGES, {}), ValueError, "the graph has no node fields"),
    "other rows": (
        (EDGES, {"h": ONES, "x": ONES[1:]}),
        ValueError,
        "'x' of the nodes has 5 rows, but there are 6 nodes",
    ),
    "nodes that are not there": ((EDGES, {"h": ONES[1:]}), ValueError, "a node that does not exist: there are 5"),
    "other edges": (graph(w=ONES[1:]), ValueError, "'w' of the edges has 5 rows, but there are 6 edges"),
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


def test_a_plan_without_edges_moves_to_a_device() -> None:
    plan = topo_plan((torch.empty(2, 0).long(), {"h": torch.ones(2)}))
    with second_device():
        there = plan.to(DEVICE)
        assert there.device == there.edges.device == torch.device(DEVICE)
        assert there.nodes.cpu().tolist() == [0, 1]


def test_a_plan_is_for_graphs_of_its_size_and_order() -> None:
    given = graph()
    plan = topo_plan(given, reverse=True)
    expected = prop_nodes_topo(graph(), send, add, True)["h"]
    assert torch.equal(prop_nodes_topo(given, send, add, plan=plan)["h"], expected)
    with pytest.raises(ValueError, match=r"the plan has 6 nodes and 6 edges, but the graph has 6 nodes and 5 edges"):
        prop_nodes_topo((EDGES[:, 1:], graph()[1]), send, add, plan=plan)
    for options in ({"reverse": True}, {"order": "w"}, {"leaves": False}, {"by": "h"}):
        [name] = options
        with pytest.raises(
            ValueError, match=f"the plan was made with {name}=[^;]*; leave out {name}, or make a new plan"
        ):
            prop_nodes_topo(given, send, add, **options, plan=topo_plan(given))
    with pytest.raises(ValueError, match="the plan was made with by=None"):
        prop_nodes(given, topo_plan(given), send, add, by="h")


@pytest.mark.parametrize("seed", range(60))
def test_random_frontiers_have_the_fields_and_gradients_of_dgl_and_of_a_recursion(seed: int) -> None:
    """Also divided by a field or without leaves; some functions change what they read."""
    pytest.importorskip("dgl", reason="DGL is not installed")
    from topo_cases import check_frontiers

    check_frontiers(1_000_000 + seed)


def ids(*nodes: int) -> Tensor:
    return torch.tensor(nodes)


WRONG_FRONTIERS: dict[str, tuple[list[Any], str]] = {
    "a node twice": ([ids(0, 1, 0)], "^frontier 0 has node 0 twice$"),
    "a node in two": (
        [ids(0), ids(2, 0)],
        "^node 0 is in frontier 0 and in frontier 1, but a pass computes each node once: run two passes",
    ),
    "a node that is not there": ([ids(0), ids(6)], "^frontier 1 has node 6: there are 6, numbered from 0$"),
    "a negative node": ([[-1]], "^frontier 0 has node -1: there are 6, numbered from 0$"),
    "no whole numbers": (
        [torch.ones(2)],
        r"^frontier 0 has shape \(2,\) and is float32: give the numbers",
    ),
    "a mask": ([torch.ones(6).bool()], "^frontier 0 has shape .* and is bool: give the numbers of its nodes"),
    "a matrix": ([torch.ones(2, 2).long()], "^frontier 0 has shape .* give the numbers of its nodes"),
    "a source that comes later": (
        [ids(3), ids(2)],
        "^node 3 of frontier 0 reads node 2, which is computed in frontier 1: order the frontiers so that",
    ),
    "a source in the same": ([ids(2, 3)], "^node 3 of frontier 0 reads node 2, which is computed in frontier 0"),
}


@pytest.mark.parametrize("name", WRONG_FRONTIERS)
def test_wrong_frontiers_are_refused_and_nothing_is_written(name: str) -> None:
    given = graph()
    frontiers, said = WRONG_FRONTIERS[name]
    with pytest.raises(ValueError, match=said):
        prop_nodes(given, frontiers, send, add)
    assert given[1]["h"].tolist() == [1, 2, 3, 4, 5, 6]


def test_a_generator_that_ends_early_leaves_the_other_nodes_as_they_are_and_its_error_is_passed_on() -> None:
    given = graph()
    prop_nodes(given, iter([[2]]), send, add)
    assert given[1]["h"].tolist() == [1, 2, 3, 4, 5, 6]
    given[1]["h"][0] = 5
    prop_nodes(given, iter([[2]]), send, add)
    assert given[1]["h"].tolist() == [5, 2, 7, 4, 5, 6]
    prop_nodes(given, [], send, add)

    def frontiers() -> Iterator[list[int]]:
        yield [2]
        raise OSError("the file ended")

    with pytest.raises(OSError, match="the file ended"):
        prop_nodes(given, frontiers(), send, add)
    assert given[1]["h"].tolist() == [5, 2, 7, 4, 5, 6]


def test_fields_to_divide_frontiers_by_are_whole_numbers() -> None:
    given = graph()
    for name in ("h", "missing"):
        with pytest.raises(
            ValueError,
            match=f"by='{name}': the nodes have no such field with one whole number per node; their fields are",
        ):
            prop_nodes_topo(given, send, add, by=name)
    given[1]["kind"] = torch.tensor([0, 0, 7, -3, 0, -3])
    seen = Seen()
    prop_nodes_topo(given, send, add, apply_node_func=seen.apply, by="kind")
    assert seen.nodes == [[0, 1, 4], [5], [2], [3]]
    seen = Seen()
    prop_nodes_topo(given, send, add, apply_node_func=seen.apply, by="kind", leaves=False)
    assert seen.nodes == [[5], [2], [3]]


def test_a_pass_that_starts_again_draws_the_same_numbers_and_calls_functions_twice() -> None:
    def masked(nodes: Any) -> dict[str, Tensor]:
        called.append(1)
        mask = torch.rand(len(nodes))
        if changes:
            nodes.data["h"].mul_(mask)
            return {"h": nodes.data["h"]}
        return {"h": nodes.data["h"] * mask}

    found, calls = [], []
    for changes in (False, True):  # noqa: B007 (the function reads it)
        called: list[int] = []
        torch.manual_seed(0)
        given = graph()
        with kernels("off"):
            prop_nodes_topo(given, send, add, apply_node_func=masked)
        found.append(given[1]["h"])
        calls.append(len(called))
    assert torch.equal(*found)
    assert calls == [3, 4]


def added(frame: Any) -> Tensor:
    frame["h"] += 1  # changes the rows, and then puts them in their own place
    return frame["h"]


def popped(frame: Any) -> Tensor:
    return frame.pop("h").add_(1)


@pytest.mark.parametrize("change", [added, popped])
def test_rows_that_are_changed_and_replaced_or_taken_out_are_not_lent_to_others(change: Any) -> None:
    """Along a chain a frontier reads the block of the one before as it is, and could spoil it."""
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    found = []
    for message in (lambda edges: {"m": change(edges.src)}, lambda edges: {"m": edges.src["h"] + 1}):
        given = edges, {"h": torch.ones(5)}
        prop_nodes_topo(given, message, add)
        found.append(given[1]["h"])
    assert torch.equal(*found)


def test_a_batch_as_a_graph_says_its_size_degrees_and_device() -> None:
    flat = trees()
    for reverse in (False, True):
        known = Graph(flat, reverse)
        source, target = known.edges()
        assert (known.num_nodes(), known.num_edges(), known.device) == (flat.num_nodes, len(source), flat.device)
        assert torch.equal(known.nodes(), torch.arange(flat.num_nodes))
        assert torch.equal(known.in_degrees(), torch.bincount(target, minlength=flat.num_nodes))
        assert torch.equal(known.out_degrees(), torch.bincount(source, minlength=flat.num_nodes))
    assert torch.equal(Graph(flat).in_degrees(), flat.arity)


def test_the_graph_of_a_frontier_says_what_it_has() -> None:
    def apply(nodes: Any) -> dict[str, Tensor]:
        seen.append((nodes._graph.srcnodes().tolist(), nodes._graph.dstnodes().tolist(), nodes._graph.num_edges()))
        assert nodes._graph.device == torch.device("cpu")
        return {"h": nodes.data["h"]}

    seen: list[tuple[list[int], list[int], int]] = []
    prop_nodes_topo(graph(), send, add, apply_node_func=apply)
    assert [(a, sorted(b), c) for a, b, c in seen] == [([], [0, 1, 4], 0), ([0, 1, 4], [2, 5], 3), ([0, 1, 2], [3], 3)]
    with pytest.raises(
        AttributeError,
        match=r"nodes\._graph has no 'ndata', only srcnodes\(\), dstnodes\(\), num_edges\(\) and device: read fields",
    ):
        prop_nodes_topo(graph(), send, add, apply_node_func=lambda nodes: nodes._graph.ndata)


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
    with pytest.raises(ValueError, match=r"several node types or edge types: give \{edge type: .* \('a', 'in', 'b'\)"):
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
        run(there, on_device, plan)  # compares the edges with those of the plan
        device.reads.clear()
        found = run(there, on_device, plan)
        assert not device.reads
        for one, other, right in zip(found, unplanned, expected, strict=True):
            assert torch.equal(one.cpu(), other.cpu())
            torch.testing.assert_close(one.cpu(), right, rtol=0, atol=1e-12)
        with pytest.raises(ValueError, match=r"the plan is on cpu, but the graph is on cuda:0: use plan.to\(device\)"):
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
