"""Random DAGs with message, reduce and apply functions, and what DGL and a recursion over single nodes make of them.

``scripts/fuzz --only topo`` draws them for as long as it is given.
"""

import os
import random
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import node_by_node
import torch
from fuzzing import Target
from hypothesis import strategies as st
from torch import Tensor

import dgltree
from dgltree.engine import Graph
from dgltree.engine.kernels.dispatch import kernels

Fields = dict[str, Tensor]
WIDTH = 3


class Case(NamedTuple):
    """A graph and functions for it."""

    source: Tensor
    target: Tensor
    ndata: Fields
    edata: Fields
    sizes: list[int]
    """Nodes of each graph of the batch, and edges of each."""
    edges: list[int]
    reverse: bool
    message: Any
    reduce: Any
    apply: Callable[[Any], Fields] | None
    weights: list[Tensor]


def drawn(seed: int) -> Case:
    """A batch of DAGs of degrees 0 to 40, float64, with several edges between two nodes; functions, built-in or not."""
    rng = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    pairs, sizes, edges = [], [], []
    for _ in range(rng.choice([1, 1, 2, 4])):
        n = rng.choice([1, 2, 5, 9, 20])
        first, order = sum(sizes), rng.sample(range(n), n)
        before = len(pairs)
        for node in range(1, n):
            degree = rng.choice([0, 1, 1, 2, 2, 2, 3, rng.randrange(41) if rng.random() < 0.1 else 2])
            low = max(0, node - rng.choice([1, 3, n]))
            pairs += [(first + order[rng.randrange(low, node)], first + order[node]) for _ in range(degree)]
        pairs[before:] = rng.sample(pairs[before:], len(pairs) - before)
        sizes.append(n)
        edges.append(len(pairs) - before)
    dtype = rng.choice([torch.int32, torch.int64])
    ends = torch.tensor(pairs, dtype=dtype).view(-1, 2)
    n, e = sum(sizes), len(pairs)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    ndata = {"h": numbers(n, WIDTH), "c": numbers(n), "x": torch.arange(n) % 3, "m": numbers(n, 2, WIDTH)}
    edata = {"w": numbers(e), "v": numbers(e, WIDTH), "slot": torch.arange(e) % 2}
    weights = [numbers(WIDTH, WIDTH) for _ in range(3)]
    functions = _functions(rng, weights)
    return Case(ends[:, 0], ends[:, 1], ndata, edata, sizes, edges, rng.random() < 0.3, *functions, weights)


def _functions(rng: random.Random, weights: list[Tensor]) -> tuple[Any, Any, Any]:
    a, b, c = weights
    import dgl.function as fn

    def message(edges: Any) -> Fields:
        gate = torch.sigmoid(edges.src["c"] + edges.dst["c"]).unsqueeze(-1)
        return {"m": torch.tanh(edges.src["h"] @ a) * gate + edges.data["v"], "k": edges.data["w"] * edges.src["c"]}

    def copied(edges: Any) -> Fields:
        return {"m": edges.src["h"], "k": edges.src["c"]}

    def ordered(nodes: Any) -> Fields:  # which message came first matters
        mail = nodes.mailbox["m"]
        place = torch.arange(1.0, mail.shape[1] + 1, dtype=mail.dtype).view(-1, 1)
        new = {"h": torch.tanh((mail / place).sum(1) @ b + nodes.data["h"]), "y": nodes.data["x"] + mail.shape[1]}
        return new if mail.shape[1] < 3 else {**new, "z": mail[:, 2]}

    def fewer(nodes: Any) -> Fields:
        new = ordered(nodes)
        return new if nodes.mailbox["m"].shape[1] < 3 else {"h": new["h"]}

    def several(nodes: Any) -> Fields:
        mail, kept = nodes.mailbox["m"], nodes.mailbox["k"]
        return {"c": kept.mean(1) + nodes.data["c"], "h": mail.max(1).values, "new": mail[:, 0] @ c}

    def apply(nodes: Any) -> Fields:
        return {"h": nodes.data["h"] * torch.cos(nodes.data["c"]).unsqueeze(-1), "c": torch.tanh(nodes.data["c"])}

    def fresh(nodes: Any) -> Fields:
        return {"h": torch.tanh(nodes.data["h"] @ c), "other": nodes.data["h"].sum(-1)}

    messages: dict[bool, list[Any]] = {
        False: [message, message, copied],
        True: [
            fn.copy_u("h", "m"), fn.copy_e("v", "m"), fn.u_mul_e("h", "w", "m"), fn.u_add_v("h", "h", "m"),
            fn.v_sub_e("h", "v", "m"), fn.u_div_e("h", "v", "m"), fn.u_dot_v("h", "h", "m"), fn.u_add_e("m", "v", "m"),
        ],
    }  # fmt: skip
    sent = rng.choice(messages[rng.random() < 0.5])
    reduced = rng.choice([f("m", name) for f in (fn.sum, fn.mean, fn.max, fn.min) for name in ("h", "s")])
    if sent in messages[True]:
        scalar, tall = "dot" in sent.name, getattr(sent, "lhs_field", "h") == "m"
        reduced = type(reduced)(reduced.name, "m", "s") if scalar or tall else reduced
        return sent, reduced, rng.choice([None, apply, fresh])
    return sent, rng.choice([ordered, ordered, fewer, several, several, reduced]), rng.choice([None, apply, fresh])


def levels_of(case: Case) -> list[list[int]]:
    """The nodes by the longest way from a node without in-edges (out-edges in reverse)."""
    graph = node_by_node.graph((case.source, case.target), sum(case.sizes))
    return [level.tolist() for level in node_by_node.topological_nodes_generator(graph, case.reverse)]


def drawn_frontiers(case: Case, rng: random.Random) -> list[list[int]]:
    """Frontiers as programs give them: levels, the last or the first of them, parts of them, some nodes left out."""
    found = levels_of(case)
    found = rng.choice([found, found[1:], found[: rng.randrange(len(found) + 1)]])
    if rng.random() < 0.5:
        found = [rng.sample(level, len(level)) for level in found]
        cuts = [sorted(rng.randrange(len(level) + 1) for _ in range(2)) for level in found]
        parts = [[level[:a], level[a:b], level[b:]] for level, (a, b) in zip(found, cuts, strict=True)]
        found = [part for level in parts for part in level]
    if rng.random() < 0.3:
        found = [[node for node in part if rng.random() < 0.7] for part in found]
    return [part for part in found if part]


def in_place(case: Case, rng: random.Random) -> Case:
    """The same case, some of whose functions change what they read."""

    def message(edges: Any) -> Fields:
        edges.src["h"].mul_(0.5)
        edges.data["v"] = edges.data["v"] + 1
        return case.message(edges)

    def reduce(nodes: Any) -> Fields:
        nodes.mailbox["m"].add_(0.1)
        nodes.data["c"] = nodes.data["c"] * 2
        return case.reduce(nodes)

    def apply(nodes: Any) -> Fields:
        nodes.data["h"][:, 1:].tanh_()
        return case.apply(nodes)

    chosen: dict[str, Any] = {"message": message, "reduce": reduce, "apply": apply}
    return case._replace(
        **{name: new for name, new in chosen.items() if callable(getattr(case, name)) and rng.random() < 0.6}
    )


def by_dgl(case: Case, frontiers: list[list[int]] | None = None) -> Fields:
    """The fields of the nodes after DGL's pass."""
    os.environ["DGLBACKEND"] = "pytorch"
    import dgl

    graph = dgl.graph((case.source, case.target), num_nodes=sum(case.sizes), idtype=case.source.dtype)
    graph.set_batch_num_nodes(torch.tensor(case.sizes))
    graph.set_batch_num_edges(torch.tensor(case.edges))
    graph.ndata.update(case.ndata)
    graph.edata.update(case.edata)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        if frontiers is None:
            dgl.prop_nodes_topo(graph, case.message, case.reduce, case.reverse, case.apply)
        else:
            given = [torch.tensor(nodes, dtype=case.source.dtype) for nodes in frontiers]
            dgl.prop_nodes(graph, given, case.message, case.reduce, case.apply)
    return dict(graph.ndata)


def by_us(case: Case, planned: bool = False) -> Fields:
    """The same by ours, of plain tensors."""
    graph = ((case.source, case.target), dict(case.ndata), dict(case.edata))
    plan = dgltree.topo_plan(graph, case.reverse) if planned else None
    dgltree.prop_nodes_topo(graph, case.message, case.reduce, case.reverse, case.apply, plan=plan)
    return graph[1]


def by_recursion(case: Case, frontiers: list[list[int]] | None = None) -> Fields:
    """The same node by node, by levels if no frontiers are given."""
    graph = node_by_node.graph((case.source, case.target), sum(case.sizes))
    graph.ndata.update(case.ndata)
    graph.edata.update(case.edata)
    graph.prop_nodes(levels_of(case) if frontiers is None else frontiers, case.message, case.reduce, case.apply)
    return dict(graph.ndata)


def gradients(case: Case, fields: Fields) -> Fields:
    """Of a loss that reads every entry of every field, by everything that has gradients."""
    wanted = {k: v for d in (case.ndata, case.edata) for k, v in d.items() if v.requires_grad}
    wanted |= {f"weight {k}": weight for k, weight in enumerate(case.weights)}
    generator = torch.Generator().manual_seed(1)
    loss = torch.zeros((), dtype=torch.float64)
    for name in sorted(fields):
        if fields[name].is_floating_point():
            loss = (
                loss + (fields[name] * torch.randn(fields[name].shape, generator=generator, dtype=torch.float64)).sum()
            )
    found = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(wanted, found, strict=True))


def assert_equal(found: Fields, expected: Fields, tolerance: float = 1e-12) -> None:
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert (found[name].dtype, found[name].shape) == (rows.dtype, rows.shape), name
        scale = max(1.0, float(rows.detach().abs().max())) if rows.numel() else 1.0
        off = float((found[name].detach() - rows.detach()).abs().max()) if rows.numel() else 0.0
        assert off <= tolerance * scale, f"{name}: {off:.2e} off"


def check(seed: int) -> bool:
    """Whether DGL took the case; then ours has its fields and gradients, and the recursion's. Else ours refuses it."""
    case = drawn(seed)
    with kernels(mode_of(seed)):
        return compared(case, None, lambda: by_us(case, planned=seed % 2 == 0))


def mode_of(seed: int) -> str:
    """One of eight cases is compiled, which takes a second."""
    return "on" if seed % 8 == 0 else "off"


def check_frontiers(seed: int) -> bool:
    """The same of frontiers that are given, or divided by a field, and of functions that change what they read."""
    rng = random.Random(seed)
    case = in_place(drawn(seed)._replace(reverse=False), rng)
    graph = ((case.source, case.target), dict(case.ndata), dict(case.edata))
    functions = case.message, case.reduce, case.apply
    leaves, by = rng.random() < 0.5, rng.choice([None, "x"])
    if rng.random() < 0.5:
        frontiers = drawn_frontiers(case, rng)
        if rng.random() < 0.5:
            planned = dgltree.topo_plan(graph, frontiers=frontiers, by=by)
            run = partial(dgltree.prop_nodes, graph, planned, *functions)
        else:
            given = (torch.tensor(nodes) for nodes in frontiers)
            run = partial(dgltree.prop_nodes, graph, given, *functions, by=by)
    else:
        frontiers = levels_of(case)[0 if leaves else 1 :]
        run = partial(dgltree.prop_nodes_topo, graph, *functions[:2], False, functions[2], leaves=leaves, by=by)
    if by is not None:
        kinds = case.ndata[by].tolist()
        frontiers = [[v for v in part if kinds[v] == kind] for part in frontiers for kind in sorted(set(kinds))]
        frontiers = [part for part in frontiers if part]

    def by_ours() -> Fields:
        run()
        return graph[1]

    with kernels(mode_of(seed)):
        return compared(case, frontiers, by_ours)


def compared(case: Case, frontiers: list[list[int]] | None, by_ours: Callable[[], Fields]) -> bool:
    """Whether DGL takes a case; ours then has its fields and gradients, and those of the recursion."""
    try:
        expected = by_dgl(case, frontiers)
    except KeyError:  # a reduce function that returns fewer fields for a higher degree
        try:
            by_ours()
        except ValueError as error:
            assert "returned no" in str(error)
            return False
        raise AssertionError("DGL refuses what we take") from None
    found, literal = by_ours(), by_recursion(case, frontiers)
    assert_equal(found, literal)
    own = gradients(case, found)
    assert_equal(own, gradients(case, literal))
    if getattr(case.reduce, "name", "") not in (
        "max",
        "min",
    ):  # DGL's have memory as it was, and no gradient, at leaves
        assert_equal(found, expected)
        assert_equal(own, gradients(case, expected))
    return True


def check_methods(seed: int) -> bool:
    """The same of one call of a method of a graph that may have cycles, and of functions that change what they read."""
    os.environ["DGLBACKEND"] = "pytorch"
    import dgl

    rng = random.Random(seed)
    case = drawn(seed)._replace(reverse=False)
    turned = torch.tensor([rng.random() < 0.2 for _ in case.source], dtype=torch.bool)
    case = case._replace(source=case.source.where(~turned, case.target), target=case.target.where(~turned, case.source))
    n = sum(case.sizes)
    nodes = sorted(rng.sample(range(n), rng.randint(1, n)))
    pairs = list(zip(case.source.tolist(), case.target.tolist(), strict=True))
    method = rng.choice(["pull", "push", "send_and_recv", "update_all", "apply_nodes", "apply_edges"])
    if method in ("pull", "push", "send_and_recv"):  # in the others DGL lends the columns themselves
        case = in_place(case, rng)
    chosen = rng.sample(range(len(pairs)), rng.randint(0, len(pairs)))
    if method == "push":
        chosen = [edge for node in nodes for edge, (source, _) in enumerate(pairs) if source == node]
    if method in ("pull", "update_all"):
        nodes = list(range(n)) if method == "update_all" else nodes
        chosen = [edge for edge, (_, target) in enumerate(pairs) if target in nodes]
    if method in ("push", "send_and_recv"):
        nodes = sorted({pairs[edge][1] for edge in chosen})
    if method == "send_and_recv" and rng.random() < 0.5:  # DGL names several edges between two nodes by one id
        chosen = [edge for edge in chosen if pairs.count(pairs[edge]) == 1]
        nodes = sorted({pairs[edge][1] for edge in chosen})
        edges: Any = tuple(torch.tensor([pairs[edge][k] for edge in chosen], dtype=case.source.dtype) for k in (0, 1))
    else:
        edges = torch.tensor(chosen, dtype=case.source.dtype)
    arguments: dict[str, Any] = {
        "pull": (nodes, case.message, case.reduce, case.apply),
        "push": (sorted({pairs[edge][0] for edge in chosen}), case.message, case.reduce, case.apply),
        "send_and_recv": (edges, case.message, case.reduce, case.apply),
        "update_all": (case.message, case.reduce, case.apply),
        "apply_nodes": (_doubled if case.apply is None else case.apply, nodes),
        "apply_edges": (case.message, edges),
    }
    both = []
    graphs = (
        dgl.graph((case.source, case.target), num_nodes=n, idtype=case.source.dtype),
        Graph((case.source, case.target), num_nodes=n),
    )
    refused = []
    for graph in graphs:
        graph.ndata.update(case.ndata)
        graph.edata.update(case.edata)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
                getattr(graph, method)(*arguments[method])
        except (KeyError, ValueError) as error:  # a reduce function that returns fewer fields for a higher degree
            assert isinstance(error, KeyError) or "returned no" in str(error)
            refused.append(graph)
        edata = {f"edge {name}": column for name, column in graph.edata.items()}
        both.append({**graph.ndata, **edata})
    if refused:
        assert len(refused) == 2
        return False
    expected, found = both
    own = gradients(case, found)
    degrees = torch.bincount(case.target[torch.tensor(chosen, dtype=torch.long)].long(), minlength=n)[nodes]
    no_message = method in ("pull", "update_all") and bool((degrees == 0).any())
    if not (no_message and getattr(case.reduce, "name", "") in ("max", "min")):  # DGL's is -inf there, or no gradient
        assert_equal(found, expected)
        assert_equal(own, gradients(case, expected))
    if method not in ("apply_nodes", "apply_edges") and nodes:
        few = torch.tensor(chosen, dtype=torch.long)
        edata = {name: column[few] for name, column in case.edata.items()}
        part = case._replace(source=case.source[few], target=case.target[few], edata=edata)
        literal = by_recursion(part, [nodes])
        assert_equal({name: found[name] for name in literal}, literal)
    return True


def _doubled(nodes: Any) -> Fields:
    return {"c": nodes.data["c"] * 2, "y": nodes.data["x"] + 1}


EdgeType = tuple[str, str, str]


class TypedCase(NamedTuple):
    """The nodes and edges of a case, divided into types, and functions for each edge type."""

    case: Case
    nodes: dict[str, list[int]]
    """The nodes of each type."""
    edges: dict[EdgeType, list[int]]
    """The edges of each type."""
    functions: dict[EdgeType, tuple[Any, Any, Any]]
    """Of some of the types, in the order in which they run."""
    apply: Callable[[Any], Fields] | None


def drawn_types(seed: int) -> TypedCase:
    """One or two node types, one to three names of edges; some edge types may have no functions."""
    rng = random.Random(seed)
    case = drawn(seed)._replace(reverse=False)
    ntypes = rng.choice([["n"], ["a", "b"]])
    kind = [rng.choice(ntypes) for _ in range(sum(case.sizes))]
    nodes = {ntype: [node for node, each in enumerate(kind) if each == ntype] for ntype in ntypes}
    names = rng.choice([["net"], ["net", "cell"], ["net", "cell", "pin"]])
    edges: dict[EdgeType, list[int]] = {}
    for edge, (source, target) in enumerate(zip(case.source.tolist(), case.target.tolist(), strict=True)):
        edges.setdefault((kind[source], rng.choice(names), kind[target]), []).append(edge)
    if not edges:
        edges = {(ntypes[0], "net", ntypes[-1]): []}
    etypes = rng.sample(list(edges), len(edges) if rng.random() < 0.7 else rng.randint(1, len(edges)))
    functions = {etype: _typed_functions(rng, case.weights, k) for k, etype in enumerate(etypes)}
    return TypedCase(case, nodes, edges, functions, rng.choice([None, _doubled]))


def _typed_functions(rng: random.Random, weights: list[Tensor], k: int) -> tuple[Any, Any, Any]:
    import dgl.function as fn

    weight = weights[k % len(weights)]

    def message(edges: Any) -> Fields:
        gate = (edges.src["c"] + edges.dst["c"] * edges.data["w"]).tanh().unsqueeze(-1)
        return {"m": torch.tanh(edges.src["h"] @ weight) * gate + edges.data["v"]}

    def changing(edges: Any) -> Fields:
        edges.src["h"].mul_(0.5)
        return message(edges)

    def ordered(nodes: Any) -> Fields:
        mail = nodes.mailbox["m"]
        place = torch.arange(1.0, mail.shape[1] + 1, dtype=mail.dtype).view(-1, 1)
        return {"h": torch.tanh((mail / place).sum(1) + nodes.data["h"]), "y": nodes.data["x"] + mail.shape[1]}

    def apply(nodes: Any) -> Fields:
        return {"h": nodes.data["h"] * torch.cos(nodes.data["c"]).unsqueeze(-1), "c": torch.tanh(nodes.data["c"])}

    reduce = rng.choice([ordered, ordered, fn.sum("m", "h"), fn.mean("m", f"s{k}")])
    return rng.choice([message, changing, fn.u_mul_e("h", "w", "m")]), reduce, rng.choice([None, apply])


def check_types(seed: int) -> bool:
    """A pass of several edge types, ours in four ways, by pulls of DGL, and node by node."""
    os.environ["DGLBACKEND"] = "pytorch"
    import dgl

    typed = drawn_types(seed)
    case, rng = typed.case, random.Random(seed)
    local = {node: k for nodes in typed.nodes.values() for k, node in enumerate(nodes)}
    ends = {
        etype: tuple(
            torch.tensor([local[node] for node in end[edges].tolist()], dtype=torch.long)
            for end in (case.source, case.target)
        )
        for etype, edges in typed.edges.items()
    }
    kept = [edge for etype in typed.functions for edge in typed.edges[etype]]
    levels = levels_of(case._replace(source=case.source[kept], target=case.target[kept]))
    leaves = rng.random() < 0.5
    frontiers = [
        {ntype: [local[node] for node in level if node in set(nodes)] for ntype, nodes in typed.nodes.items()}
        for level in levels[0 if leaves else 1 :]
    ]
    counts = {ntype: len(nodes) for ntype, nodes in typed.nodes.items()}
    used = {ntype for etype in ends for ntype in (etype[0], etype[2])}
    if not all(ntype in used and counts[ntype] for ntype in counts):  # DGL has node types by their edges alone
        return False

    def filled(graph: Any) -> Any:
        for ntype, nodes in typed.nodes.items():
            graph.nodes[ntype].data.update({name: column[nodes] for name, column in case.ndata.items()})
        for etype, edges in typed.edges.items():
            graph.edges[etype].data.update({name: column[edges] for name, column in case.edata.items()})
        return graph

    def by_pulls(graph: Any) -> Any:
        for frontier in frontiers:
            for etype, functions in typed.functions.items():
                degrees = graph.in_degrees(etype=etype)
                nodes = [node for node in frontier[etype[2]] if degrees[node]]
                if nodes:
                    graph.pull(nodes, *functions, etype=etype)
            for ntype, nodes in frontier.items():
                if typed.apply is not None and nodes:
                    graph.apply_nodes(typed.apply, nodes, ntype=ntype)
        return graph

    def by_plan(graph: Any) -> Any:
        plan = dgltree.topo_plan(graph, etypes=list(typed.functions), leaves=leaves)
        dgltree.prop_nodes_topo(graph, typed.functions, apply_node_func=typed.apply, plan=plan)
        return graph

    def by_frontiers(graph: Any) -> Any:
        given = frontiers if len(counts) > 1 else [next(iter(each.values())) for each in frontiers]
        dgltree.prop_nodes(graph, given, typed.functions, apply_node_func=typed.apply)
        return graph

    def fields(graph: Any) -> Fields:
        return {f"{ntype} {name}": column for ntype in counts for name, column in graph.nodes[ntype].data.items()}

    literal = fields(by_pulls(filled(node_by_node.Graph(ends, counts))))
    expected = fields(by_pulls(filled(dgl.heterograph(ends, num_nodes_dict=counts))))
    assert_equal(expected, literal)
    wanted = gradients(case, expected)
    for run, graph in (
        (by_pulls, Graph(ends, num_nodes=counts)),
        (by_plan, Graph(ends, num_nodes=counts)),
        (by_plan, dgl.heterograph(ends, num_nodes_dict=counts)),
        (by_frontiers, Graph(ends, num_nodes=counts)),
    ):
        found = fields(run(filled(graph)))
        assert_equal(found, expected)
        assert_equal(gradients(case, found), wanted)
    return True


def topo_targets() -> dict[str, Target]:
    """For ``scripts/fuzz``; none without DGL."""
    if find_spec("dgl") is None:
        return {}
    seeds = st.integers(0, 2**32 - 1)
    return {
        "topo": Target(seeds, check),
        "topo frontiers": Target(seeds, check_frontiers),
        "topo methods": Target(seeds, check_methods),
        "topo types": Target(seeds, check_types),
    }
