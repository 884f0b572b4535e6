"""Random DAGs with message, reduce and apply functions, and what DGL and a recursion over single nodes make of them.

``scripts/fuzz --only topo`` draws them for as long as it is given.
"""

import os
import random
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from fuzzing import Target
from hypothesis import strategies as st
from torch import Tensor

import dgltree

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


def by_dgl(case: Case) -> Fields:
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
        dgl.prop_nodes_topo(graph, case.message, case.reduce, case.reverse, case.apply)
    return dict(graph.ndata)


def by_us(case: Case, planned: bool = False) -> Fields:
    """The same by ours, of plain tensors."""
    graph = ((case.source, case.target), dict(case.ndata), dict(case.edata))
    plan = dgltree.topo_plan(graph, case.reverse) if planned else None
    dgltree.prop_nodes_topo(graph, case.message, case.reduce, case.reverse, case.apply, plan=plan)
    return graph[1]


def by_recursion(case: Case) -> Fields:
    """The same node by node, a level being the longest way from a node without in-edges (out-edges in reverse)."""
    n, pairs = sum(case.sizes), list(zip(case.source.tolist(), case.target.tolist(), strict=True))
    kept = [{name: column[node : node + 1] for name, column in case.ndata.items()} for node in range(n)]
    edata = [{name: column[edge : edge + 1] for name, column in case.edata.items()} for edge in range(len(pairs))]
    blank = {name: torch.zeros_like(column[:1]) for name, column in case.ndata.items()}
    before = [[b if case.reverse else a for a, b in pairs if (a if case.reverse else b) == node] for node in range(n)]

    @cache
    def level(node: int) -> int:
        return max((level(other) + 1 for other in before[node]), default=0)

    for now in range(max(map(level, range(n))) + 1):
        frontier = [node for node in range(n) if level(node) == now]
        into = {node: [edge for edge, (_, b) in enumerate(pairs) if b == node] for node in frontier}
        reduced: dict[int, Fields] = {}
        for node in sorted(frontier, key=lambda node: len(into[node])):
            sent = [_sent(case.message, kept[pairs[edge][0]], kept[node], edata[edge]) for edge in into[node]]
            if sent:
                mail = {name: torch.stack([each[name] for each in sent], 1) for name in sent[0]}
                reduced[node] = _reduced(case.reduce, kept[node], mail)
        lowest = next(iter(reduced.values()), {})
        if not reduced and not callable(case.reduce):  # its 0 has the shape of a message
            edge = {name: torch.zeros(1, *column.shape[1:], dtype=column.dtype) for name, column in case.edata.items()}
            mail = {name: rows.unsqueeze(1) for name, rows in _sent(case.message, blank, blank, edge).items()}
            lowest = _reduced(case.reduce, blank, mail)
        for node in frontier:
            new = {
                name: reduced[node][name] if node in reduced else torch.zeros_like(row) for name, row in lowest.items()
            }
            if case.apply is not None:
                new = case.apply(SimpleNamespace(data={**kept[node], **new}))
            for name, row in new.items():
                if name not in blank:
                    blank[name] = torch.zeros_like(row)
                    for other in kept:
                        other[name] = blank[name]
            kept[node] = {**kept[node], **new}
    return {name: torch.cat([row[name] for row in kept]) for name in blank}


def _sent(message: Any, source: Fields, target: Fields, edge: Fields) -> Fields:
    if callable(message):
        return message(SimpleNamespace(src=source, dst=target, data=edge))
    ends = {"u": source, "v": target, "e": edge}
    first, operation, *last = message.name.split("_")
    if first == "copy":
        return {"m": ends[operation][message.in_field]}
    a, b = ends[first][message.lhs_field], ends[last[0]][message.rhs_field]
    while a.dim() != b.dim():
        a, b = (each.unsqueeze(1) if each.dim() < max(a.dim(), b.dim()) else each for each in (a, b))
    both = {"mul": a * b, "add": a + b, "sub": a - b, "div": a / b, "dot": (a * b).sum(-1, True)}
    return {"m": both[operation]}


def _reduced(reduce: Any, node: Fields, mail: Fields) -> Fields:
    if callable(reduce):
        return reduce(SimpleNamespace(data=node, mailbox=mail))
    rows = mail["m"]
    found = {"sum": rows.sum(1), "mean": rows.mean(1), "max": rows.amax(1), "min": rows.amin(1)}
    return {reduce.out_field: found[reduce.name]}


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
    try:
        expected = by_dgl(case)
    except KeyError:  # a reduce function that returns fewer fields for a higher degree
        try:
            by_us(case)
        except ValueError as error:
            assert "returned no" in str(error)
            return False
        raise AssertionError("DGL refuses what we take") from None
    found, literal = by_us(case, planned=seed % 2 == 0), by_recursion(case)
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


def topo_targets() -> dict[str, Target]:
    """For ``scripts/fuzz``; none without DGL."""
    if find_spec("dgl") is None:
        return {}
    return {"topo": Target(st.integers(0, 2**32 - 1), check)}
