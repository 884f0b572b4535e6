"""Programs of topological propagation as people write them for DGL, on drawn graphs; each runs by any library.

The first fourteen have the functions of public programs: what these read, change in place and return, and by which
calls they run. The last three are the uses that this project is for. Nothing here imports DGL.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import dgltree
from dgltree.engine import Graph, function

Fields = dict[str, Tensor]


@dataclass
class Library:
    """DGL, or what takes its place: the one import that differs."""

    graph: Callable[[tuple[Tensor, Tensor], int], Any]
    """Of sources and targets, and the number of nodes."""
    heterograph: Callable[[dict[tuple[str, str, str], tuple[Tensor, Tensor]], dict[str, int]], Any]
    """Of the sources and targets of each edge type, and the number of nodes of each node type."""
    propagation: Any
    """Has ``prop_nodes_topo``, ``prop_nodes`` and ``topological_nodes_generator``."""
    function: Any
    """Has the built-in functions."""


Program = tuple[nn.Module, Callable[[Library], Tensor]]
"""The module that holds the weights, and what the program computes by a library."""


def ours() -> Library:
    """Dgltree without DGL."""
    return Library(
        graph=lambda ends, count: Graph(ends, num_nodes=count),
        heterograph=lambda edges, counts: Graph(edges, num_nodes=counts),
        propagation=dgltree,
        function=function,
    )


def from_dgl(dgl: Any, propagation: Any) -> Library:
    """DGL's graphs, with the propagation of DGL or of dgltree."""
    return Library(
        graph=lambda ends, count: dgl.graph(ends, num_nodes=count),
        heterograph=lambda edges, counts: dgl.heterograph(edges, num_nodes_dict=counts),
        propagation=propagation,
        function=dgl.function,
    )


def forest(trees: int, size: int, arities: tuple[int, ...]) -> tuple[tuple[Tensor, Tensor], int, Tensor]:
    """Edges from children to parents, the number of nodes, and which are leaves: (N,) bool."""
    rng, source, target, leaf = random.Random(0), [], [], []
    for _ in range(trees):
        first = len(leaf)
        leaf.append(True)
        waiting = [first]
        while len(leaf) - first < size:
            parent = waiting.pop(rng.randrange(len(waiting)))
            leaf[parent] = False
            for _ in range(rng.choice(arities)):
                source.append(len(leaf))
                target.append(parent)
                waiting.append(len(leaf))
                leaf.append(True)
    return (torch.tensor(source), torch.tensor(target)), len(leaf), torch.tensor(leaf)


def circuit(nodes: int, inputs: int, most: int, window: int) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Edges of a DAG whose nodes read at most so many of the last ones, and the in-degree of each node, (N,)."""
    rng, source, target, degrees = random.Random(1), [], [], [0] * inputs
    for node in range(inputs, nodes):
        degrees.append(rng.randint(1, most))
        for other in rng.sample(range(max(0, node - window), node), degrees[-1]):
            source.append(other)
            target.append(node)
    return (torch.tensor(source), torch.tensor(target)), torch.tensor(degrees)


def h_and_c(edges: Any) -> Fields:
    return {"h": edges.src["h"], "c": edges.src["c"]}


def h_alone(edges: Any) -> Fields:
    return {"h": edges.src["h"]}


def gated(iou: Tensor, c: Tensor) -> Fields:
    """The state of an LSTM from its gates and what its forget gates left."""
    i, o, u = torch.chunk(iou, 3, 1)
    c = torch.sigmoid(i) * torch.tanh(u) + c
    return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


# ---------------------------------------------------------------------------------------------------------------------
# Uses that public programs have.


def n_ary_tree_lstm(n: int, scale: int) -> Program:
    """Binary Tree-LSTM of a treebank."""
    ends, count, leaf = forest(6 * scale, 13, (2,))
    net = nn.ModuleDict({"words": nn.Embedding(9, n), "W_iou": nn.Linear(n, 3 * n, bias=False)})
    net["U_iou"], net["U_f"] = nn.Linear(2 * n, 3 * n, bias=False), nn.Linear(2 * n, 2 * n)
    b_iou = nn.Parameter(torch.zeros(1, 3 * n))
    net["rest"] = nn.ParameterList([b_iou])
    words = torch.randint(0, 9, (count,))

    def reduce(nodes: Any) -> Fields:
        h_cat = nodes.mailbox["h"].view(nodes.mailbox["h"].size(0), -1)
        f = torch.sigmoid(net["U_f"](h_cat)).view(*nodes.mailbox["h"].size())
        return {"iou": net["U_iou"](h_cat), "c": torch.sum(f * nodes.mailbox["c"], 1)}

    def apply(nodes: Any) -> Fields:
        return gated(nodes.data["iou"] + b_iou, nodes.data["c"])

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        graph.ndata["iou"] = net["W_iou"](net["words"](words)) * leaf.to(b_iou.dtype).unsqueeze(-1)
        graph.ndata["h"] = torch.zeros(count, n)
        graph.ndata["c"] = torch.zeros(count, n)
        library.propagation.prop_nodes_topo(graph, h_and_c, reduce, apply_node_func=apply)
        return graph.ndata.pop("h")

    return net, run


def sentence_graphs(n: int, scale: int) -> Program:
    """Graph LSTM over sentences: two labels of edges, which choose half of the weights; forwards and backwards."""
    (source, target), degree = circuit(60 * scale, 4, 3, 9 + 2 * scale)
    count = len(degree)
    label, x = torch.randint(0, 2, (len(source), 1)).to(torch.get_default_dtype()), torch.randn(count, n)

    class Direction(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.W_iou, self.W_f = nn.Linear(n, 3 * n, bias=False), nn.Linear(n, n, bias=False)
            self.U_iou, self.U_f = nn.Linear(2 * n, 3 * n, bias=False), nn.Linear(2 * n, n, bias=False)
            self.b_iou, self.b_f = nn.Parameter(torch.randn(1, 3 * n)), nn.Parameter(torch.randn(1, n))

        def message(self, edges: Any) -> Fields:
            return {**h_and_c(edges), "edge_label": edges.data["edge_label"]}

        def reduce(self, nodes: Any) -> Fields:
            label = nodes.mailbox["edge_label"].repeat(1, 1, n)
            h_cat = torch.cat(((1 - label) * nodes.mailbox["h"], label * nodes.mailbox["h"]), 2)
            below = self.U_f(h_cat)
            own = nodes.data["wf_x"].unsqueeze(1).repeat(1, below.size(1), 1)
            f = torch.sigmoid(own + below + self.b_f)
            return {"iou_mid": self.U_iou(h_cat).sum(1), "c": (f * nodes.mailbox["c"]).sum(1)}

        def apply(self, nodes: Any) -> Fields:
            return gated(nodes.data["iou"] + nodes.data["iou_mid"] + self.b_iou, nodes.data["c"])

    net = nn.ModuleList([Direction(), Direction()])

    def run(library: Library) -> Tensor:
        found = []
        for direction, ends in zip(net, ((source, target), (target, source)), strict=True):
            graph = library.graph(ends, count)
            graph.edata["edge_label"] = label
            graph.ndata["iou"], graph.ndata["wf_x"] = direction.W_iou(x), direction.W_f(x)
            graph.ndata["iou_mid"] = torch.zeros(count, 3 * n)
            graph.ndata["h"] = torch.zeros(count, n)
            graph.ndata["c"] = torch.zeros(count, n)
            library.propagation.prop_nodes_topo(
                graph, direction.message, direction.reduce, apply_node_func=direction.apply
            )
            found.append(graph.ndata["h"])
        return torch.cat(found, 1)

    return net, run


def dependency_trees(n: int, scale: int) -> Program:
    """Children of two types, gates chosen by numpy, both directions; leaves are known by the graph of the frontier."""
    ends, count, _ = forest(6 * scale, 13, (1, 2, 3))
    x, kind = torch.randn(count, n), torch.randint(0, 2, (count,))
    net = nn.ModuleDict({"W_iou": nn.Linear(n, 3 * n, bias=False), "U_iou": nn.Linear(2 * n, 3 * n, bias=False)})
    net["W_f"], net["U_f"] = nn.Linear(n, n, bias=False), nn.Linear(2 * n, 2 * n)
    b_iou = nn.Parameter(torch.randn(1, 3 * n))
    net["rest"] = nn.ParameterList([b_iou])

    def message(edges: Any) -> Fields:
        return {**h_and_c(edges), "kind": edges.src["kind"]}

    def reduce(nodes: Any) -> Fields:
        h, c, kinds = nodes.mailbox["h"], nodes.mailbox["c"], nodes.mailbox["kind"]
        sums = []
        for k in (0, 1):
            mask = torch.zeros_like(h)
            mask[kinds == k] = 1
            sums.append((mask * h).sum(1))
        h_cat = torch.cat(sums, 1)
        rows = np.repeat(np.arange(c.size(0)), c.size(1))
        f = net["U_f"](h_cat).view(-1, 2, n)[rows, kinds.reshape(-1), :].view(*c.size())
        own = net["W_f"](nodes.data["x"]).unsqueeze(1)
        return {"h": h_cat, "c": (torch.sigmoid(own + f) * c).sum(1)}

    def apply(nodes: Any) -> Fields:
        h = nodes.data["h"]
        if nodes._graph.srcnodes().nelement() == 0:
            h = torch.cat((h, h), 1)
        return gated(net["W_iou"](nodes.data["x"]) + net["U_iou"](h) + b_iou, nodes.data["c"])

    def run(library: Library) -> Tensor:
        found = []
        for reverse in (False, True):
            graph = library.graph(ends, count)
            graph.ndata.update({"x": x, "kind": kind})
            graph.ndata["h"] = torch.full((count, n), 0.1)
            graph.ndata["c"] = torch.full((count, n), 0.2)
            library.propagation.prop_nodes_topo(graph, message, reduce, reverse, apply)
            found.append(graph.ndata.pop("h"))
        return torch.cat(found, 1)

    return net, run


def tree_sequences(n: int, scale: int) -> Program:
    """Genealogies: a learnt norm of messages, features from a convolution, directions that alternate from pass to pass.

    Between passes a field is changed in place (``relu_``).
    """
    ends, count, _ = forest(6 * scale, 13, (2,))
    net = nn.ModuleDict({"conv": nn.Conv2d(1, 3, (1, 3), padding=(0, 1)), "between": nn.Linear(3 * n, 3 * n)})
    net["U_iou"], net["U_f"] = nn.Linear(2 * n, 3 * n, bias=False), nn.Linear(2 * n, 2 * n)
    scale_of, b_iou = nn.Parameter(torch.ones(1)), nn.Parameter(torch.randn(1, 3 * n))
    net["rest"] = nn.ParameterList([scale_of, b_iou])
    x = torch.randn(count, n)

    def as_long_as(like: Tensor, rows: Tensor) -> Tensor:
        return nn.functional.normalize(rows, dim=-1) * like.norm(dim=-1, keepdim=True) * scale_of

    def reduce(nodes: Any) -> Fields:
        h_cat = nodes.mailbox["h"].view(nodes.mailbox["h"].size(0), -1)
        f = torch.sigmoid(net["U_f"](h_cat)).view(*nodes.mailbox["h"].size())
        c = (f * nodes.mailbox["c"]).sum(1)
        iou = net["U_iou"](as_long_as(nodes.data["iou"], h_cat))
        return {"iou": iou, "c": as_long_as(nodes.mailbox["c"][:, 0, :], c)}

    def apply(nodes: Any) -> Fields:
        return gated(nodes.data["iou"] + b_iou, nodes.data["c"])

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        graph.ndata["x"] = x.view(count, 1, 1, n)
        graph.ndata["iou"] = net["conv"](graph.ndata["x"]).reshape(count, 3 * n)
        graph.ndata["h"] = torch.zeros(count, n)
        graph.ndata["c"] = torch.ones(count, n)
        for reverse in (False, True, False):
            library.propagation.prop_nodes_topo(graph, h_and_c, reduce, reverse, apply)
            graph.ndata["iou"] = net["between"](graph.ndata["iou"].relu_())
        return graph.ndata.pop("h")

    return net, run


def join_plans(n: int, scale: int) -> Program:
    """Plans of joins: leaves keep what their predicates say, so the pass begins above them."""
    ends, count, _ = forest(6 * scale, 13, (2,))
    net = nn.ModuleDict({"columns": nn.Embedding(30, 4 * n), "U_f": nn.Linear(2 * n, 2 * n)})
    net["W_iou"], net["W_f"] = nn.Linear(n, 3 * n, bias=False), nn.Linear(n, n, bias=False)
    net["U_iou"] = nn.Linear(2 * n, 3 * n, bias=False)
    b_iou = nn.Parameter(torch.randn(1, 3 * n))
    net["rest"] = nn.ParameterList([b_iou])
    column, value = torch.randint(0, 30, (count, 3)), torch.rand(count, 3, 4)

    def reduce(nodes: Any) -> Fields:
        rows, degree, size = nodes.mailbox["h"].size()
        h_cat = nodes.mailbox["h"].view(rows, -1)
        below = net["U_f"](h_cat).view(rows, degree, size).sum(1)
        f = torch.sigmoid(nodes.data["wf_x"].view(-1, size) + below).view(rows, 1, size)
        return {"wiou_x": nodes.data["wiou_x"] + net["U_iou"](h_cat), "c": (f * nodes.mailbox["c"]).sum(1)}

    def apply(nodes: Any) -> Fields:
        return gated(nodes.data["wiou_x"] + b_iou, nodes.data["c"])

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        predicates = torch.einsum("npha,npa->nph", net["columns"](column).view(count, 3, n, 4), value)
        graph.ndata["wiou_x"] = net["W_iou"](predicates[:, 0])
        graph.ndata["wf_x"] = net["W_f"](predicates[:, 1])
        graph.ndata["h"] = predicates.max(1).values
        graph.ndata["c"] = torch.zeros(count, n)
        order = list(library.propagation.topological_nodes_generator(graph))
        library.propagation.prop_nodes(graph, order[1:], h_and_c, reduce, apply)
        return graph.ndata["h"]

    return net, run


def netlist(n: int, scale: int) -> Program:
    """Operators of one or two inputs, chosen by the first row; a field that is there only above the inputs."""
    ends, degree = circuit(60 * scale, 4, 2, 9 + 2 * scale)
    count = len(degree)
    net = nn.ModuleDict({"own": nn.Linear(8, n), "one": nn.Linear(n, n), "two": nn.Linear(2 * n, n)})
    net["first"], net["second"] = nn.Linear(2 * n, n), nn.Linear(n, n)
    features = torch.randn(count, 8)

    def reduce(nodes: Any) -> Fields:
        if bool(nodes.data["is_unary"][0]):
            return {"inputs": torch.relu(net["one"](nodes.mailbox["m"]))}
        return {"inputs": torch.relu(net["two"](nodes.mailbox["m"].reshape((len(nodes), 1, 2 * n))))}

    def apply(nodes: Any) -> Fields:
        rows = len(nodes.nodes())
        state = torch.relu(net["own"](nodes.data["features"]))
        if "inputs" in nodes.data.keys():  # noqa: SIM118 (as programs have it)
            both = torch.cat((state, nodes.data["inputs"].reshape((rows, n))), -1)
            state = torch.relu(net["second"](torch.relu(net["first"](both))))
        return {"state": state}

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        graph.ndata.update({"is_unary": degree == 1, "features": features, "state": torch.zeros(count, n)})
        order = library.propagation.topological_nodes_generator(graph)
        library.propagation.prop_nodes(graph, order, lambda edges: {"m": edges.src["state"]}, reduce, apply)
        return graph.ndata["state"]

    return net, run


def tree_gru(n: int, scale: int) -> Program:
    """N-ary Tree-GRU: children padded to three, gates that are added to a field of the nodes in place."""
    ends, count, _ = forest(6 * scale, 13, (1, 2, 3))
    net = nn.ModuleDict({"W": nn.Linear(n, 5 * n), "U_r": nn.Linear(3 * n, n, bias=False)})
    net["U_h"], net["U_z"] = nn.Linear(3 * n, n, bias=False), nn.Linear(3 * n, 3 * n, bias=False)
    x = torch.randn(count, n)

    def reduce(nodes: Any) -> Fields:
        below = nodes.mailbox["h"]
        padding = below.new_zeros(below.size(0), (3 - below.size(1)) * n)
        h_cat = torch.cat((below.view(below.size(0), -1), padding), 1)
        wx = nodes.data["wx"]
        r = torch.sigmoid(wx[:, :n] + net["U_r"](h_cat))
        wx[:, n : 2 * n] += net["U_h"](r.repeat(1, 3) * h_cat)
        return {"wx": wx, "z": net["U_z"](h_cat), "h_cat": h_cat}

    def apply(nodes: Any) -> Fields:
        wx = nodes.data["wx"]
        z = torch.sigmoid(nodes.data["z"] + wx[:, 2 * n :]).view(-1, 3, n)
        kept = (nodes.data["h_cat"].view(-1, 3, n) * z).sum(1)
        return {"h": kept + (torch.ones(*kept.size()) - z.sum(1)) * torch.tanh(wx[:, n : 2 * n])}

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        graph.ndata["wx"] = net["W"](x)
        for name, width in (("h", n), ("z", 3 * n), ("h_cat", 3 * n)):
            graph.ndata[name] = torch.zeros(count, width)
        library.propagation.prop_nodes_topo(graph, h_alone, reduce, apply_node_func=apply)
        return graph.ndata["h"]

    return net, run


def rounds_of_attention(n: int, scale: int) -> Program:
    """Attention of a node to its two children, itself, its word and a vector of all, round after round."""
    ends, count, _ = forest(6 * scale, 13, (2,))
    net = nn.ModuleDict({"words": nn.Embedding(9, n), "norm": nn.LayerNorm(n)})
    for name in ("query", "key", "value"):
        net[name] = nn.Linear(n, n)
    words = torch.randint(0, 9, (count,))

    def apply(nodes: Any) -> Fields:
        rows = nodes.data["below"].size(0)
        parts = [nodes.data["below"].view(rows, -1), nodes.data["h"], nodes.data["word"], nodes.data["all"]]
        seen = torch.cat(parts, -1).view(rows, -1, n)
        query = net["query"](nodes.data["h"].unsqueeze(1))
        found = nn.functional.scaled_dot_product_attention(query, net["key"](seen), net["value"](seen))
        return {"h": net["norm"](torch.relu(found.squeeze(1)))}

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        word = net["words"](words)
        graph.ndata["below"] = torch.zeros(count, 2, n)
        graph.ndata["word"], graph.ndata["h"] = word, word
        graph.ndata["all"] = word.mean(0).repeat(count, 1)
        for _ in range(3):
            library.propagation.prop_nodes_topo(
                graph, h_alone, lambda nodes: {"below": nodes.mailbox["h"]}, apply_node_func=apply
            )
            graph.ndata["all"] = graph.ndata["h"].mean(0).repeat(count, 1)
        return graph.ndata.pop("h")

    return net, run


def junction_trees(n: int, scale: int) -> Program:
    """A GRU on the messages of junction trees: nodes are directed edges, which read those before them but not back."""
    (child, parent), _, _ = forest(4 * scale, 8, (1, 2, 3))
    pairs = list(zip(torch.cat([child, parent]).tolist(), torch.cat([parent, child]).tolist(), strict=True))
    into: dict[int, list[int]] = {}
    for k, (_, end) in enumerate(pairs):
        into.setdefault(end, []).append(k)
    steps = [(k, m) for m, (start, end) in enumerate(pairs) for k in into.get(start, []) if pairs[k][0] != end]
    source, target = torch.tensor(steps).unbind(1)
    first, last = torch.tensor(pairs).unbind(1)
    net = nn.ModuleDict({"cliques": nn.Embedding(20, n), "W_z": nn.Linear(2 * n, n), "W_h": nn.Linear(2 * n, n)})
    net["W_r"], net["U_r"] = nn.Linear(n, n, bias=False), nn.Linear(n, n)
    clique = torch.randint(0, 20, (int(first.max()) + 1,))

    def message(edges: Any) -> Fields:
        return {"m": edges.src["m"], "rm": edges.src["rm"]}

    def reduce(nodes: Any) -> Fields:
        return {"s": nodes.mailbox["m"].sum(1), "sum_rm": nodes.mailbox["rm"].sum(1)}

    def apply(nodes: Any) -> Fields:
        x, s, sum_rm = nodes.data["x"], nodes.data["s"], nodes.data["sum_rm"]
        z = torch.sigmoid(net["W_z"](torch.cat([x, s], 1)))
        m = (1 - z) * s + z * torch.tanh(net["W_h"](torch.cat([x, sum_rm], 1)))
        r = torch.sigmoid(net["W_r"](nodes.data["next_x"]) + net["U_r"](m))
        return {"s": s, "m": m, "r": r, "z": z, "rm": r * m, "sum_rm": sum_rm}

    def run(library: Library) -> Tensor:
        graph = library.graph((source, target), len(pairs))
        x = net["cliques"](clique)
        graph.ndata["x"], graph.ndata["next_x"] = x[first], x[last]
        for name in ("s", "m", "r", "z", "rm", "sum_rm"):
            graph.ndata[name] = torch.zeros(len(pairs), n)
        library.propagation.prop_nodes_topo(graph, message, reduce, apply_node_func=apply)
        return graph.ndata["m"]

    return net, run


def _layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 8), nn.LeakyReLU(0.2), nn.Linear(8, outputs))


def _pins(levels: int, width: int) -> tuple[list[Tensor], dict[tuple[str, str, str], tuple[Tensor, Tensor]]]:
    """Levels of pins, the odd ones reached by a net from one pin each, the even ones by cells from up to three."""
    rng = random.Random(2)
    rows = [list(range(level * width, (level + 1) * width)) for level in range(levels)]
    found: dict[str, list[tuple[int, int]]] = {"net_out": [], "cell_out": []}
    for level in range(1, levels):
        for pin in rows[level]:
            if level % 2:
                found["net_out"].append((rng.choice(rows[level - 1]), pin))
            else:
                found["cell_out"] += [(other, pin) for other in rng.sample(rows[level - 1], rng.randint(1, 3))]
    edges = {("pin", name, "pin"): tuple(torch.tensor(pairs).unbind(1)) for name, pairs in found.items()}
    return [torch.tensor(row) for row in rows], edges  # type: ignore[return-value]


def timing_by_levels(n: int, scale: int) -> Program:
    """Timing of a chip by level: ``pull`` along nets; ``apply_edges``, ``send_and_recv`` of sums and of maxima
    along cells, and then ``apply_nodes``."""
    levels, edges = _pins(6, 4 * scale)
    count = sum(map(len, levels))
    net = nn.ModuleDict({"net": _layers(8 + 2 * n, 8), "cell": _layers(8 + 2 * n + 5, 17), "pins": _layers(n + 16, 8)})
    features, arrival = torch.randn(count, n), torch.randn(count, 8)
    cell_features = torch.randn(len(edges["pin", "cell_out", "pin"][0]), 5)

    def ends(batch: Any) -> Tensor:
        return torch.cat([batch.src["new_nf"], batch.src["nf"], batch.dst["nf"]], 1)

    def along_cells(batch: Any) -> Fields:
        gate, total, most = torch.split(net["cell"](torch.cat([ends(batch), batch.data["ef"]], 1)), [1, 8, 8], 1)
        return {"total": total * torch.sigmoid(gate), "most": most * torch.sigmoid(gate)}

    def at_pins(nodes: Any) -> Fields:
        return {"new_nf": net["pins"](torch.cat([nodes.data[name] for name in ("nf", "sum", "max")], 1))}

    def run(library: Library) -> Tensor:
        fn, graph = library.function, library.heterograph(edges, {"pin": count})
        graph.edges["cell_out"].data["ef"] = cell_features
        graph.ndata["nf"] = features
        graph.ndata["new_nf"] = torch.zeros(count, 8)
        graph.apply_nodes(lambda nodes: {"new_nf": arrival[nodes.nodes()]}, levels[0])
        for k, pins in enumerate(levels[1:], 1):
            if k % 2:
                graph.pull(pins, lambda batch: {"m": net["net"](ends(batch))}, fn.sum("m", "new_nf"), etype="net_out")
                continue
            into = graph.in_edges(pins, etype="cell_out")
            graph.apply_edges(along_cells, into, etype="cell_out")
            graph.send_and_recv(into, fn.copy_e("total", "total"), fn.sum("total", "sum"), etype="cell_out")
            graph.send_and_recv(into, fn.copy_e("most", "most"), fn.max("most", "max"), etype="cell_out")
            graph.apply_nodes(at_pins, pins)
        return graph.ndata["new_nf"]

    return net, run


def and_inverter_graphs(n: int, scale: int) -> Program:
    """A GRU with attention for each kind of gate, along the edges and back, round after round."""
    (source, target), degree = circuit(60 * scale, 4, 2, 9 + 2 * scale)
    count = len(degree)
    kind = torch.tensor([0, 2, 1])[degree]
    x, start = nn.functional.one_hot(kind, 3).to(torch.get_default_dtype()), torch.randn(count, n)

    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = nn.Linear(n, 1), nn.Linear(n, 1), nn.Linear(n, n)
            self.gru = nn.GRUCell(n + 3, n)

        def forward(self, h: Tensor, below: Tensor, x: Tensor) -> Tensor:
            weight = torch.softmax(self.query(h).unsqueeze(1) + self.key(below), 1)
            return self.gru(torch.cat([(weight * self.value(below)).sum(1), x], 1), h)

    net = nn.ModuleList([nn.ModuleList([Gate(), Gate()]) for _ in range(2)])

    def reduce_by(gates: Any) -> Callable[[Any], Fields]:
        def reduce(nodes: Any) -> Fields:
            h = nodes.data["h"]
            new = h.clone()
            for k, gate in enumerate(gates, 1):
                which = nodes.data["kind"] == k
                if which.any():
                    new[which] = gate(h[which], nodes.mailbox["h"][which], nodes.data["x"][which])
            return {"h": new}

        return reduce

    def run(library: Library) -> Tensor:
        h = start
        for _ in range(2):
            for ends, gates in zip(((source, target), (target, source)), net, strict=True):
                graph = library.graph(ends, count)
                graph.ndata.update({"x": x, "kind": kind, "h": h})
                library.propagation.prop_nodes_topo(graph, h_alone, reduce_by(gates))
                h = graph.ndata["h"]
        return h

    return net, run


def down_from_roots(n: int, scale: int) -> Program:
    """From roots to leaves by the position of each child, in channels; roots keep what they have."""
    (child, parent), count, _ = forest(6 * scale, 13, (2,))
    net = nn.ModuleDict({"left": nn.Linear(4, 4), "right": nn.Linear(4, 4)})
    composed = nn.Parameter(torch.randn(count, 4 * n))
    net["rest"] = nn.ParameterList([composed])
    position = torch.eye(2).repeat(len(child) // 2, 1)

    def message(edges: Any) -> Fields:
        position, feature = edges.data["position"].unsqueeze(-1), edges.src["feature"]
        left, right = torch.tanh(net["left"](feature)), torch.tanh(net["right"](feature))
        return {"m": left * position[:, :1] + right * position[:, 1:]}

    def run(library: Library) -> Tensor:
        graph = library.graph((parent, child), count)
        graph.ndata["feature"], graph.edata["position"] = composed.view(count, n, 4), position
        order = list(library.propagation.topological_nodes_generator(graph))
        library.propagation.prop_nodes(
            graph, order[1:], message, lambda nodes: {"feature": nodes.mailbox["m"].mean(1)}, None
        )
        return graph.ndata["feature"]

    return net, run


def _equations(count: int, depth: int) -> tuple[tuple[Tensor, Tensor], Tensor, Tensor]:
    """Edges, and the function and the token of each node: 0 leaf, 1 and 2 unary, 3 and 4 binary, 5 equality."""
    rng, source, target, functions, tokens = random.Random(3), [], [], [], []

    def grow(function: int, depth: int) -> int:
        node = len(functions)
        functions.append(function)
        tokens.append(rng.randrange(12) if function == 0 else 0)
        for _ in range((0, 1, 1, 2, 2, 2)[function]):
            below = 0 if depth == 0 or rng.random() < 0.2 else rng.choice([1, 2, 3, 4])
            child = grow(below, depth - 1)
            source.append(child)
            target.append(node)
        return node

    for _ in range(count):
        grow(5, depth)
    return (torch.tensor(source), torch.tensor(target)), torch.tensor(functions), torch.tensor(tokens)


def _by_function(library: Library, graph: Any, function: Tensor) -> list[Tensor]:
    """Frontiers of one level and one function, in the order of levels."""
    levels = [level.long() for level in library.propagation.topological_nodes_generator(graph)]
    found = [level[function[level] == each] for level in levels for each in range(6)]
    return [nodes for nodes in found if len(nodes)]


def equation_logits(n: int, scale: int) -> Program:
    """Tree-RNN of equations: the module is chosen by the first row, roots get a logit instead of a state."""
    ends, function, token = _equations(5 * scale, 3)
    count = len(function)
    net = nn.ModuleDict({"tokens": nn.Embedding(12, n)})
    for k, arity in ((1, 1), (2, 1), (3, 2), (4, 2)):
        net[str(k)] = nn.Sequential(nn.Linear(arity * n, n), nn.Tanh())
    bias = nn.Parameter(torch.zeros(1))
    net["rest"] = nn.ParameterList([bias])

    def reduce(nodes: Any) -> Fields:
        kind = int(nodes.data["function"][0])
        if kind == 0:
            return {}
        below = nodes.mailbox["embed"]
        if kind == 5:
            return {"logits": (below[:, 0] * below[:, 1]).sum(-1) + bias}
        return {"embed": net[str(kind)](below.reshape(len(nodes), -1))}

    def apply(nodes: Any) -> Fields:
        kind = int(nodes.data["function"][0])
        if kind == 0:
            return {"embed": net["tokens"](nodes.data["token"])}
        name = "logits" if kind == 5 else "embed"
        return {name: nodes.data[name]}

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        graph.ndata.update({"function": function, "token": token, "embed": torch.zeros(count, n)})
        frontiers = _by_function(library, graph, function)
        library.propagation.prop_nodes(graph, frontiers, lambda edges: {"embed": edges.src["embed"]}, reduce, apply)
        return graph.ndata["logits"][function == 5]

    return net, run


def traces(n: int, scale: int) -> Program:
    """Child-sum Tree-LSTM of traces: forget gates are made on the edges, and sums have a field of their own."""
    ends, count, _ = forest(6 * scale, 13, (1, 2, 3, 5))
    net = nn.ModuleDict({"W": nn.Linear(n, 4 * n), "U_iou": nn.Linear(n, 3 * n, bias=False), "U_f": nn.Linear(n, n)})
    x = torch.randn(count, n)

    def message(edges: Any) -> Fields:
        f = torch.sigmoid(edges.dst["f"] + net["U_f"](edges.src["h"]))
        return {"h": edges.src["h"], "fc": f * edges.src["c"]}

    def reduce(nodes: Any) -> Fields:
        return {"sum": net["U_iou"](nodes.mailbox["h"].sum(1)), "c": nodes.mailbox["fc"].sum(1)}

    def apply(nodes: Any) -> Fields:
        return gated(nodes.data["iou"] + nodes.data["sum"], nodes.data["c"])

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        graph.ndata["iou"], graph.ndata["f"] = torch.split(net["W"](x), [3 * n, n], -1)
        for name, width in (("sum", 3 * n), ("h", n), ("c", n)):
            graph.ndata[name] = torch.zeros(count, width)
        library.propagation.prop_nodes_topo(graph, message, reduce, apply_node_func=apply)
        return graph.ndata["h"]

    return net, run


# ---------------------------------------------------------------------------------------------------------------------
# Uses of our own.


def query_plans(n: int, scale: int) -> Program:
    """Costs of query plans: unary and binary operators of several kinds above tables, which keep their vector."""
    ends, count, _ = forest(6 * scale, 13, (1, 2))
    net = nn.ModuleDict({"tables": nn.Embedding(7, n), "operators": nn.Embedding(5, n), "join": nn.Linear(3 * n, n)})
    net["cost"] = nn.Linear(n, 1)
    table, operator = torch.randint(0, 7, (count,)), torch.randint(0, 5, (count,))

    def reduce(nodes: Any) -> Fields:
        below = nodes.mailbox["h"]
        spread = torch.cat([below.mean(1), below.amax(1), nodes.data["operator"]], 1)
        return {"h": torch.tanh(net["join"](spread)), "below": nodes.mailbox["total"].sum(1)}

    def apply(nodes: Any) -> Fields:
        cost = nn.functional.softplus(net["cost"](nodes.data["h"]))
        return {"h": nodes.data["h"], "total": cost + nodes.data["below"]}

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        graph.ndata.update({"h": net["tables"](table), "operator": net["operators"](operator)})
        graph.ndata["total"] = torch.zeros(count, 1)
        order = list(library.propagation.topological_nodes_generator(graph))
        message = lambda edges: {"h": edges.src["h"], "total": edges.src["total"]}  # noqa: E731
        library.propagation.prop_nodes(graph, order[1:], message, reduce, apply)
        return graph.ndata["total"]

    return net, run


def timing(n: int, scale: int) -> Program:
    """Arrival times along two edge types, each with its functions: one call of ours, by others a pull per level."""
    levels, edges = _pins(6, 4 * scale)
    count = sum(map(len, levels))
    net = nn.ModuleDict({"wire": nn.Linear(2 * n, n), "gate": nn.Linear(2 * n + 3, n), "pin": nn.Linear(2 * n, n)})
    drive, delay = torch.randn(count, n), torch.randn(len(edges["pin", "cell_out", "pin"][0]), 3)

    def wire(batch: Any) -> Fields:
        return {"m": torch.tanh(net["wire"](torch.cat([batch.src["arrival"], batch.dst["drive"]], 1)))}

    def gate(batch: Any) -> Fields:
        seen = torch.cat([batch.src["arrival"], batch.dst["drive"], batch.data["delay"]], 1)
        return {"m": torch.tanh(net["gate"](seen))}

    def latest(nodes: Any) -> Fields:
        total = torch.logsumexp(nodes.mailbox["m"], 1)
        return {"arrival": net["pin"](torch.cat([total, nodes.data["drive"]], 1))}

    def run(library: Library) -> Tensor:
        graph = library.heterograph(edges, {"pin": count})
        graph.ndata.update({"drive": drive, "arrival": drive.sigmoid()})
        graph.edges["cell_out"].data["delay"] = delay
        functions = {"net_out": (wire, library.function.sum("m", "arrival")), "cell_out": (gate, latest)}
        if library.propagation is dgltree:
            dgltree.prop_nodes_topo(graph, functions)
        else:
            for k, pins in enumerate(levels[1:], 1):
                etype = "net_out" if k % 2 else "cell_out"
                graph.pull(pins, *functions[etype], etype=etype)
        return graph.ndata["arrival"]

    return net, run


def equation_tree_rnn(n: int, scale: int) -> Program:
    """Tree-RNN of equations: a module for each function, so frontiers have one function; ours also by a field."""
    ends, function, token = _equations(5 * scale, 4)
    count = len(function)
    net = nn.ModuleDict({"tokens": nn.Embedding(12, n)})
    for k, arity in ((1, 1), (2, 1), (3, 2), (4, 2), (5, 2)):
        net[str(k)] = nn.Linear(arity * n, n)

    def reduce(nodes: Any) -> Fields:
        module = net[str(int(nodes.data["function"][0]))]
        return {"h": torch.tanh(module(nodes.mailbox["h"].flatten(1)))}

    def run(library: Library) -> Tensor:
        graph = library.graph(ends, count)
        leaf = (function == 0).unsqueeze(1)
        graph.ndata.update({"function": function, "h": net["tokens"](token) * leaf})
        if library.propagation is dgltree:
            dgltree.prop_nodes_topo(graph, h_alone, reduce, by="function", leaves=False)
        else:
            frontiers = [nodes for nodes in _by_function(library, graph, function) if not leaf[nodes[0]]]
            library.propagation.prop_nodes(graph, frontiers, h_alone, reduce, None)
        return graph.ndata["h"]

    return net, run


PROGRAMS: list[Callable[[int, int], Program]] = [
    n_ary_tree_lstm,
    sentence_graphs,
    dependency_trees,
    tree_sequences,
    join_plans,
    netlist,
    tree_gru,
    rounds_of_attention,
    junction_trees,
    timing_by_levels,
    and_inverter_graphs,
    down_from_roots,
    equation_logits,
    traces,
    query_plans,
    timing,
    equation_tree_rnn,
]
"""Each takes the size of states, and how many times its smallest number of graphs it draws."""
