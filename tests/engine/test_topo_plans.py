"""What a pass of message functions refuses or honours silently no longer: plans of other edges, functions that read the
graph, initializers of fields, and transforms of torch.func."""

import random
import warnings
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

import dgltree
from dgltree import prop_nodes_topo, topo_plan
from dgltree.engine import Graph

SUM = (lambda edges: {"m": edges.src["h"]}, lambda nodes: {"h": nodes.data["h"] + nodes.mailbox["m"].sum(1)})


def dag(rng: random.Random, n: int, edges: int) -> Tensor:
    """(2, edges), from lower to higher numbers of a drawn order."""
    order = rng.sample(range(n), n)
    pairs = [sorted(rng.sample(range(n), 2)) for _ in range(edges)]
    return torch.tensor([[order[a], order[b]] for a, b in pairs]).T.contiguous()


def states(edges: Any, h: Tensor, **options: Any) -> Tensor:
    nodes = {"h": h.clone()}
    prop_nodes_topo((edges, nodes), *SUM, **options)
    return nodes["h"]


def by_recursion(edges: Tensor, h: Tensor) -> Tensor:
    found: dict[int, Tensor] = {}

    def of(node: int) -> Tensor:
        if node not in found:
            found[node] = h[node] + sum(of(int(a)) for a, b in edges.T if int(b) == node)
        return found[node]

    return torch.stack([of(node) for node in range(len(h))])


@pytest.mark.parametrize("seed", range(60))
def test_a_plan_runs_the_edges_it_was_made_for_and_no_others(seed: int) -> None:
    """Graphs of one size: their plans are exchanged, their edges copied, changed in place and restored."""
    rng = random.Random(seed)
    n = rng.randint(3, 9)
    first, second = dag(rng, n, n), dag(rng, n, n)
    h = torch.randn(n, dtype=torch.float64)
    plan = topo_plan((first, {"h": h}))
    given = rng.choice([lambda e: e, lambda e: (e[0].clone(), e[1].int()), lambda e: e.clone(), list])
    torch.testing.assert_close(states(given(first), h, plan=plan), by_recursion(first, h))
    torch.testing.assert_close(states(given(first), h, plan=plan), by_recursion(first, h))  # remembered
    if torch.equal(first, second):
        return
    with pytest.raises(
        ValueError,
        match="the plan was made for other edges, or the edges have changed since: make a new plan by topo_plan",
    ):
        states(given(second), h, plan=plan)
    kept = first.clone()
    first.copy_(second)
    with pytest.raises(
        ValueError,
        match="the plan was made for other edges, or the edges have changed since: make a new plan by topo_plan",
    ):
        states(first, h, plan=plan)
    first.copy_(kept)
    torch.testing.assert_close(states(first, h, plan=plan), by_recursion(first, h))


def test_edges_of_numpy_that_change_in_place_are_compared_again() -> None:
    edges = torch.tensor([[0, 1, 2], [2, 2, 3]]).numpy()
    h = torch.ones(4, dtype=torch.float64)
    plan = topo_plan((edges, {"h": h}))
    assert states(edges, h, plan=plan).tolist() == [1, 1, 3, 4]
    edges[:] = [[3, 2, 1], [1, 1, 0]]
    with pytest.raises(ValueError, match="the plan was made for other edges"):
        states(edges, h, plan=plan)


def test_a_plan_of_a_batch_travels_and_is_compared_where_it_arrives() -> None:
    import pickle

    trees = [dgltree.read_infix(text) for text in ("sin(x)^2", "x*y + 1")]
    vocabulary = dgltree.Vocabulary.from_trees(trees)
    batch, turned = dgltree.batch(trees, vocabulary), dgltree.batch(trees[::-1], vocabulary)
    plan = pickle.loads(pickle.dumps(topo_plan(batch)))
    for graph, fits in ((Graph(batch), True), (Graph(turned), False)):
        graph.ndata["h"] = torch.ones(batch.num_nodes)
        if fits:
            prop_nodes_topo(graph, *SUM, plan=plan)
            continue
        with pytest.raises(ValueError, match="other edges"):
            prop_nodes_topo(graph, *SUM, plan=plan)


HELD: Any = None
"""A global that functions below name."""


def holders(graph: Any) -> dict[str, Any]:
    """Message functions that can read a graph, by the way in which they hold it."""
    global HELD
    HELD = graph

    def nested(edges: Any) -> Any:
        def inside() -> Any:
            return HELD

        return {"m": edges.src["h"] + 0 * len(inside().ndata)}

    class Model:
        def message(self, edges: Any) -> Any:
            return {"m": edges.src["h"] + graph.ndata["h"][0]}

    def with_default(edges: Any, held: Any = graph) -> Any:
        return {"m": edges.src["h"] + held.ndata["h"][0]}

    return {
        "closure": lambda edges: {"m": edges.src["h"] + graph.ndata["h"][0]},
        "global": lambda edges: {"m": edges.src["h"] + HELD.ndata["h"][0]},
        "nested": nested,
        "method": Model().message,
        "default": with_default,
        "partial": partial(lambda more, edges: {"m": edges.src["h"] + graph.ndata["h"][0] + more}, 1.0),
    }


@pytest.mark.parametrize("where", ["message_func", "reduce_func", "apply_node_func"])
@pytest.mark.parametrize("way", ["closure", "global", "nested", "method", "default", "partial"])
def test_a_function_that_can_read_the_graph_of_its_pass_is_refused_before_it(way: str, where: str) -> None:
    trees = [dgltree.read_infix("sin(x)^2")]
    batch = dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees))
    graph = Graph(batch)
    graph.ndata["h"] = torch.ones(batch.num_nodes)
    before = dict(graph.ndata)
    functions = {"message_func": SUM[0], "reduce_func": SUM[1], "apply_node_func": None}
    functions[where] = holders(graph)[way]
    with pytest.raises(
        ValueError,
        match=rf"^{where} reads the graph '(graph|HELD|held)', whose fields do not change .* read edges\.src",
    ):
        prop_nodes_topo(graph, **functions)
    assert graph.ndata == before
    other = Graph(batch)  # a function may read another graph
    other.ndata["h"] = torch.ones(batch.num_nodes)
    if where == "message_func":
        prop_nodes_topo(other, holders(graph)[way], SUM[1])


def test_an_attribute_with_the_name_of_a_global_graph_is_not_the_graph() -> None:
    global HELD
    nodes = {"h": torch.tensor([1.0, 2.0, 0.0])}

    class Gates:
        HELD = 2.0

    gates = Gates()
    HELD = nodes
    prop_nodes_topo(
        (torch.tensor([[0, 1], [2, 2]]), nodes),
        lambda edges: {"m": gates.HELD * edges.src["h"]},
        lambda nodes: {"h": nodes.mailbox["m"].sum(1)},
    )
    assert nodes["h"].tolist() == [1.0, 2.0, 6.0]


@pytest.mark.parametrize("field", [None, "s"])
def test_initializers_of_a_dgl_graph_are_honoured(field: str | None) -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")

    def run(propagate: Any) -> Tensor:
        graph = dgl.graph((torch.tensor([0, 1, 3]), torch.tensor([1, 2, 2])), num_nodes=5)
        graph.ndata["h"] = torch.arange(5.0)
        graph.set_n_initializer(lambda shape, dtype, device, ids: torch.full(shape, -9.0, dtype=dtype), field)
        send, receive = dgl.function.copy_u("h", "m"), lambda nodes: {"s": nodes.mailbox["m"].sum(1)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of leaves
            propagate(graph, send, receive)
        return graph.ndata["s"]

    assert run(prop_nodes_topo).tolist() == run(dgl.prop_nodes_topo).tolist() == [-9.0, 0.0, 4.0, -9.0, -9.0]


EDGES = torch.tensor([[0, 1, 2, 2, 4], [2, 2, 3, 5, 5]])
H = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def root(weight: Tensor) -> Tensor:
    """Of a network along the edges, without a plan."""
    nodes = {"h": H}
    prop_nodes_topo(
        (EDGES, nodes),
        lambda edges: {"m": torch.tanh(edges.src["h"] @ weight)},
        lambda nodes: {"h": nodes.data["h"] * nodes.mailbox["m"].sum(1)},
    )
    return nodes["h"][3] + nodes["h"][5]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own, in some transforms
def test_transforms_of_torch_func_plan_outside_of_themselves() -> None:
    generator = torch.Generator().manual_seed(1)
    weight, turn = torch.randn(2, 3, 3, dtype=torch.float64, generator=generator)
    jacobian = torch.autograd.functional.jacobian(root, weight)
    close = partial(torch.testing.assert_close, rtol=1e-12, atol=1e-12)
    func = torch.func
    close(func.grad(lambda w: root(w).sum())(weight), jacobian.sum(0))
    close(func.jacrev(root)(weight), jacobian)
    close(func.jacfwd(root)(weight), jacobian)
    close(func.jvp(root, (weight,), (turn,))[1], torch.einsum("iab,ab->i", jacobian, turn))
    close(func.vjp(root, weight)[1](turn[0])[0], torch.einsum("iab,i->ab", jacobian, turn[0]))
    close(func.vmap(root)(torch.stack([weight, turn])), torch.stack([root(weight), root(turn)]))
    hessian = torch.autograd.functional.hessian(lambda w: root(w).sum(), weight)
    close(func.hessian(lambda w: root(w).sum())(weight), hessian)
    plan = topo_plan((EDGES, {"h": H}))
    close(
        func.grad(lambda w: states(EDGES, H @ w, plan=plan).sum())(weight),
        func.grad(lambda w: states(EDGES, H @ w).sum())(weight),
    )
