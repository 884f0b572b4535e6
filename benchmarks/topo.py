"""Message functions of a user along trees, by us and by DGL, next to a bare loop over the same functions."""

import importlib.util
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.inputs import equations, treebank
from benchmarks.row import Row, Skipped, against, in_turn
from benchmarks.scale import STATUS, resident
from dgltree import Tree, TreeBatch, Vocabulary, batch, prop_nodes_topo, topo_plan
from dgltree.cells import TreeSMU
from dgltree.engine import Graph

SIZE = 150
"""Of the hidden state of DGL's example; its batches have 25 sentences."""
BATCHES = (25, 256, 1024)
CHAINS, LEVELS = 16, (200, 800)
Fields = dict[str, Tensor]


class TreeLSTM(nn.Module):
    """The Tree-LSTMs of arXiv 1503.00075, child-sum (equations 2 to 8) and binary (9 to 14), as functions for DGL.

    ``iou`` of a node is W x of its word, 0 where there is none; states of leaves come from ``apply_node_func``.
    """

    def __init__(self, n: int = SIZE, binary: bool = False) -> None:
        super().__init__()
        self.n, self.binary = n, binary
        arity = 2 if binary else 1
        self.U_iou = nn.Linear(arity * n, 3 * n, bias=False)
        self.U_f = nn.Linear(arity * n, arity * n)
        self.b_iou = nn.Parameter(torch.zeros(1, 3 * n))

    def message_func(self, edges: Any) -> Fields:
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def reduce_func(self, nodes: Any) -> Fields:
        h, c = nodes.mailbox["h"], nodes.mailbox["c"]
        h_all = h.flatten(1) if self.binary else h.sum(1)
        f = torch.sigmoid(self.U_f(h_all if self.binary else h)).view(c.shape)
        return {"iou": self.U_iou(h_all), "c": (f * c).sum(1)}

    def apply_node_func(self, nodes: Any) -> Fields:
        i, o, u = (nodes.data["iou"] + self.b_iou).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + nodes.data["c"]
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}

    def fields(self, trees: TreeBatch) -> Fields:
        """Before a pass: inputs that want gradients, and states of 0."""
        generator = torch.Generator().manual_seed(0)
        iou = torch.randn(trees.num_nodes, 3 * self.n, generator=generator) * (trees.arity == 0).unsqueeze(1)
        zeros = torch.zeros(trees.num_nodes, self.n)
        return {"iou": iou.requires_grad_(), "h": zeros, "c": zeros}


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite, in CPU time."""
    if device != "cpu" or not importlib.util.find_spec("dgl"):
        yield Skipped("users' functions", "DGL is not installed, or this is no CPU")
        return
    for name, model in (("binary Tree-LSTM", TreeLSTM(binary=True)), ("child-sum Tree-LSTM", TreeLSTM())):
        for count in BATCHES:
            trees = [tree for tree in treebank(count) if tree.children]
            yield from _rows(f"{name}, n = {SIZE}, {count:,} sentences", model, _batched(trees), repeats)
    for count in BATCHES:
        sides = [side for equation in equations(count) for side in equation]
        trees = _batched(sides)
        cell = TreeSMU(trees.vocabulary, 50, stack_size=5, no_op=True)  # type: ignore[arg-type]
        yield from _rows(f"Tree-SMU's functions, n = 50, {count:,} equations", cell, trees, repeats)
    yield from _chains(repeats)
    yield from _memory()


def chain(levels: int) -> Tree:
    """A comb: one leaf more at each level."""
    tree = Tree("leaf", token="a")
    for _ in range(levels):
        tree = Tree("node", [tree, Tree("leaf", token="a")])
    return tree


def _batched(trees: list[Tree]) -> TreeBatch:
    return batch(trees, Vocabulary.from_trees(trees))


def _rows(name: str, model: Any, trees: TreeBatch, repeats: int) -> Iterator[Row]:
    calls = recorded(model, trees)
    times = in_turn({**steps(model, trees), "bare loop": lambda: replay(calls)}, repeats, clock=time.process_time)
    yield against(name, "dgl", times, work={"nodes": trees.num_nodes / times["ours"].median})
    row = against(name, "bare loop", times, aim=1.3, least=1.5, falling=True)
    row.ratio, row.unit = 1 / row.ratio, "times the bare loop"
    yield row


def _chains(repeats: int) -> Iterator[Row]:
    model, each = TreeLSTM(50, binary=True), {}
    for levels in LEVELS:
        trees = _batched([chain(levels)] * CHAINS)
        few = min(repeats, 3)
        yield from _rows(f"binary Tree-LSTM, n = 50, {CHAINS} chains of {levels} levels", model, trees, few)
        [timing] = in_turn({"ours": steps(model, trees)["ours"]}, few, clock=time.process_time).values()
        each[levels] = timing.median / trees.num_nodes
    short, long = each.values()
    name = f"time per node, chains of {LEVELS[1]} levels over {LEVELS[0]}"
    yield Row(name, long / short, "times", 1.1, 1.3, falling=True, work={"nodes": 1 / long})


def steps(model: nn.Module, trees: TreeBatch) -> dict[str, Callable[[], None]]:
    """A forward and a backward pass by each; plans and DGL's graph are made before."""
    graph, plan = trees.graph, topo_plan(trees)

    given = model.fields(trees) if isinstance(model, TreeLSTM) else None

    def prepared(graph: Any) -> Any:
        model.prepare(graph) if given is None else graph.ndata.update(given)  # type: ignore[operator]
        return graph

    def ours() -> None:
        own = prepared(Graph(trees))
        functions = (model.message_func, model.reduce_func, False, model.apply_node_func)
        prop_nodes_topo(own, *functions, plan=plan)  # type: ignore[arg-type]
        own.ndata["h"].sum().backward()

    def dgl() -> None:
        by_dgl(model, prepared(graph)).sum().backward()

    return {"ours": ours, "dgl": dgl}


def by_dgl(model: Any, graph: Any) -> Tensor:
    """DGL's own pass."""
    import dgl

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        dgl.prop_nodes_topo(graph, model.message_func, model.reduce_func, False, model.apply_node_func)
    h: Tensor = graph.ndata["h"]
    return h


Call = tuple[Callable[[Any], Fields], SimpleNamespace, list[Tensor]]


def recorded(model: Any, trees: TreeBatch) -> list[Call]:
    """The calls of a pass: a function, a batch whose rows are ready, and what flows back into what it returns."""
    calls: list[Call] = []

    def kept(function: Callable[[Any], Fields], frames: tuple[str, ...]) -> Callable[[Any], Fields]:
        def record(given: Any) -> Fields:
            found = function(given)
            ready = {name: _ready(getattr(given, name)) for name in frames}
            calls.append((function, SimpleNamespace(**ready), [torch.ones_like(rows) for rows in found.values()]))
            return found

        return record

    graph = Graph(trees)
    graph.ndata.update(model.fields(trees)) if isinstance(model, TreeLSTM) else model.prepare(graph)
    message = kept(model.message_func, ("src", "dst", "data"))
    reduce = kept(model.reduce_func, ("data", "mailbox"))
    prop_nodes_topo(graph, message, reduce, apply_node_func=kept(model.apply_node_func, ("data",)))
    return calls


def _ready(frame: Any) -> Fields:
    return {name: rows.detach().clone().requires_grad_(rows.requires_grad) for name, rows in frame.items()}


def replay(calls: list[Call]) -> None:
    """The calls without a traversal: no program that runs these functions can be faster."""
    ends, flows = [], []
    for function, given, flow in calls:
        for rows, back in zip(function(given).values(), flow, strict=True):
            if rows.grad_fn is not None:
                ends.append(rows)
                flows.append(back)
    torch.autograd.backward(ends, flows)
    for _, given, _ in calls:
        for frame in vars(given).values():
            for rows in frame.values():
                rows.grad = None


def _memory() -> Iterator[Row | Skipped]:
    """What a training step takes more than there was before it, in processes of their own."""
    if not STATUS.exists():
        yield Skipped("memory of a training step", "it is read from /proc")
        return
    for name, trees in (("1,024 sentences", "treebank"), (f"{CHAINS} chains of {LEVELS[0]} levels", "chains")):
        used = {}
        for peer in ("ours", "dgl"):
            receive, send = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.get_context("spawn").Process(target=_peak, args=(trees, peer, send))
            process.start()
            nodes, used[peer] = receive.recv()
            process.join()
        what = f"binary Tree-LSTM, {name}: memory of a step, {used['ours'] / nodes:,.0f} bytes a node"
        yield Row(what, used["ours"] / used["dgl"], "of DGL's", 0.8, 1, falling=True)


def _peak(which: str, peer: str, send: Connection) -> None:
    torch.set_num_threads(1)
    trees = _batched(treebank(1024) if which == "treebank" else [chain(LEVELS[0])] * CHAINS)
    step = steps(TreeLSTM(SIZE if which == "treebank" else 50, binary=True), trees)[peer]
    STATUS.with_name("clear_refs").write_text("5", encoding="ascii")  # begins the peak again
    before = resident("VmRSS")
    step()
    send.send((trees.num_nodes, resident("VmHWM") - before))
