"""Message functions of a user along trees: compiled, by torch's operations, by DGL, and next to a bare loop."""

import importlib.util
import multiprocessing
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

import dgltree
from benchmarks.dgl_programs import PROGRAMS, Library, Program, from_dgl, ours
from benchmarks.inputs import equations, treebank
from benchmarks.operations import operations_of
from benchmarks.row import Row, Skipped, against, in_turn
from benchmarks.scale import STATUS, resident
from benchmarks.sst_example import BATCH, CLASSES, SIZE, AsCell, Fields, Sentiment, TreeLSTM, by_dgl, training_step
from dgltree import Tree, TreeBatch, Vocabulary, batch, prop_nodes_topo, topo_plan
from dgltree.cells import TreeSMU
from dgltree.engine import Graph, NoKernelError
from dgltree.engine.kernels.dispatch import kernels

BATCHES = (BATCH, 256, 1024)
CHAINS, LEVELS = 16, (200, 800)
STATES, GRAPHS, MANY_GRAPHS = 16, 8, 60
"""Of the programs: the size of states, and how many times the smallest number of graphs, for time and for memory."""


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite, in CPU time."""
    if device != "cpu" or not importlib.util.find_spec("dgl"):
        yield Skipped("users' functions", "DGL is not installed, or this is no CPU")
        return
    for name, model in (("binary Tree-LSTM", TreeLSTM(binary=True)), ("child-sum Tree-LSTM", TreeLSTM())):
        for count in BATCHES:
            trees = [tree for tree in treebank(count) if tree.children]
            yield from _rows(f"{name}, n = {SIZE}, {count:,} sentences", model, batched(trees), repeats)
    for count in BATCHES:
        sides = [side for equation in equations(count) for side in equation]
        trees = batched(sides)
        cell = TreeSMU(trees.vocabulary, 50, stack_size=5, no_op=True)  # type: ignore[arg-type]
        yield from _rows(f"Tree-SMU's functions, n = 50, {count:,} equations", cell, trees, repeats)
    yield from _chains(repeats)
    yield _operations()
    yield from _example(repeats)
    yield from _memory()
    yield from _programs(repeats)


def chain(levels: int) -> Tree:
    """A comb: one leaf more at each level."""
    tree = Tree("leaf", token="a")
    for _ in range(levels):
        tree = Tree("node", [tree, Tree("leaf", token="a")])
    return tree


def batched(trees: list[Tree]) -> TreeBatch:
    return batch(trees, Vocabulary.from_trees(trees))


def _rows(name: str, model: Any, trees: TreeBatch, repeats: int) -> Iterator[Row]:
    calls = recorded(model, trees)
    times = in_turn({**steps(model, trees), "bare loop": lambda: replay(calls)}, repeats, clock=time.process_time)
    yield against(name, "dgl", times, work={"nodes": trees.num_nodes / times["ours"].median})
    yield against(name, "torch", times)
    row = against(name, "bare loop", {**times, "ours": times["torch"]}, aim=1.3, least=1.5, falling=True)
    row.ratio, row.unit = 1 / row.ratio, "times the bare loop"
    yield row


def _chains(repeats: int) -> Iterator[Row]:
    model, each = TreeLSTM(50, binary=True), {}
    for levels in LEVELS:
        trees = batched([chain(levels)] * CHAINS)
        few = min(repeats, 3)
        yield from _rows(f"binary Tree-LSTM, n = 50, {CHAINS} chains of {levels} levels", model, trees, few)
        [timing] = in_turn({"ours": steps(model, trees)["ours"]}, few, clock=time.process_time).values()
        each[levels] = timing.median / trees.num_nodes
    short, long = each.values()
    name = f"time per node, chains of {LEVELS[1]} levels over {LEVELS[0]}"
    yield Row(name, long / short, "times", 1.1, 1.3, falling=True, work={"nodes": 1 / long})


def _example(repeats: int) -> Iterator[Row]:
    """Training steps of DGL's example, with embedding, readout and optimizer."""
    trees = batched([tree for tree in treebank(BATCH) if tree.children])
    assert trees.vocabulary is not None
    label = torch.arange(trees.num_nodes) % CLASSES
    model, graph, plan = Sentiment(trees.vocabulary, dropout=0), trees.graph, topo_plan(trees)
    cell = AsCell(trees.vocabulary, model)
    planned = dgltree.plan(trees, cell.cell)
    ways: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {
        "dgl": (model, lambda: model(graph, by_dgl)),
        "import": (model, lambda: model(graph, prop_nodes_topo)),
        "plan": (model, lambda: model(graph, partial(prop_nodes_topo, plan=plan))),
        "cell": (cell, lambda: cell(planned)),
    }
    found = {way: training_step(model, logits, label) for way, (model, logits) in ways.items()}
    times = in_turn(found, repeats, clock=time.process_time)
    for way, what in (("import", "one import changed"), ("plan", "and planned"), ("cell", "as a cell, planned")):
        ours = times[way]
        work = {"sentences": BATCH / ours.median}
        yield against(f"DGL's example, {BATCH} sentences, training, {what}", "dgl", {**times, "ours": ours}, work=work)


def steps(model: nn.Module, trees: TreeBatch) -> dict[str, Callable[[], None]]:
    """A forward and a backward pass by each, ours compiled and by torch's operations; plans are made before."""
    graph, plan = trees.graph, topo_plan(trees)

    given = model.fields(trees) if isinstance(model, TreeLSTM) else None

    def prepared(graph: Any) -> None:
        model.prepare(graph) if given is None else graph.ndata.update(given)  # type: ignore[operator]

    def step(run: Callable[..., object], graph: Any) -> None:
        prepared(graph)
        run(graph, model.message_func, model.reduce_func, apply_node_func=model.apply_node_func)
        graph.ndata["h"].sum().backward()

    ours = partial(prop_nodes_topo, plan=plan)
    return {
        "ours": lambda: step(ours, Graph(trees)),
        "torch": lambda: uncompiled(lambda: step(ours, Graph(trees))),
        "dgl": lambda: step(by_dgl, graph),
    }


def uncompiled(run: Callable[[], object]) -> None:
    with kernels("off"):
        run()


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
    apply = kept(model.apply_node_func, ("data",))
    uncompiled(lambda: prop_nodes_topo(graph, message, reduce, apply_node_func=apply))
    return calls


def _ready(frame: Any) -> Fields:
    return {name: rows.detach().clone().requires_grad_(rows.requires_grad) for name, rows in frame.items()}


def replay(calls: list[Call]) -> None:
    """The calls without a traversal: no program that runs these functions one by one can be faster."""
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


def _operations() -> Row:
    """What a GPU would have to start for each frontier: a first pass of the binary Tree-LSTM over 25 sentences."""
    trees = batched([tree for tree in treebank(BATCH) if tree.children])
    model, plan, graph = TreeLSTM(binary=True), topo_plan(trees), Graph(trees)
    graph.ndata.update(model.fields(trees))
    functions = model.message_func, model.reduce_func
    step = partial(prop_nodes_topo, graph, *functions, apply_node_func=model.apply_node_func, plan=plan)
    found = operations_of(lambda: uncompiled(step))
    return Row("binary Tree-LSTM, forward", found.per_frontier, "operations a frontier", falling=True)


def _programs(repeats: int) -> Iterator[Row | Skipped]:
    """Programs written for DGL, in training: by DGL, and by ours without DGL; nothing is planned in advance."""
    ratios: dict[str, list[float]] = {"dgl": [], "torch": []}
    compiled = 0
    for make in PROGRAMS:
        program = make(STATES, GRAPHS)
        steps = {peer: partial(_program_step, program, library) for peer, library in _libraries().items()}
        steps["torch"] = partial(uncompiled, steps["ours"])
        is_compiled = _is_compiled(steps["ours"])
        compiled += is_compiled
        times = in_turn(steps, repeats, clock=time.process_time)
        for peer, of in ratios.items():
            row = against(f"{make.__name__}{', compiled' if is_compiled else ''}", peer, times)
            of.append(row.ratio)
            yield row
    for peer, of in ratios.items():
        yield Row(f"{len(PROGRAMS)} programs, geometric mean", statistics.geometric_mean(of), f"times {peer}")
    yield Row(f"of {len(PROGRAMS)} programs", compiled, "are compiled whole")
    if not STATUS.exists():
        yield Skipped("memory of the programs", "it is read from /proc")
        return
    means = []
    for number, make in enumerate(PROGRAMS):
        used = {peer: _in_new_process(_peak_of_program, number, peer) for peer in ("ours", "dgl")}
        means.append(used["ours"] / used["dgl"])
        yield Row(f"{make.__name__}: memory of a step", means[-1], "of DGL's", falling=True)
    mean = statistics.geometric_mean(means)
    yield Row(f"{len(PROGRAMS)} programs, memory, geometric mean", mean, "of DGL's", falling=True)


def _libraries() -> dict[str, Library]:
    import dgl

    return {"ours": ours(), "dgl": from_dgl(dgl, dgl)}


def _is_compiled(step: Callable[[], object]) -> bool:
    """Whether all passes of a program are compiled."""
    try:
        with kernels("required"):
            step()
    except NoKernelError:
        return False
    return True


def _program_step(program: Program, library: Library) -> None:
    net, run = program
    net.zero_grad()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        run(library).sum().backward()


def _peak_of_program(number: int, peer: str, send: Connection) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    library = _libraries()[peer]
    _program_step(PROGRAMS[number](STATES, 1), library)  # what the first pass of a process loads is not the program's
    program = PROGRAMS[number](STATES, MANY_GRAPHS)
    send.send(_peak_over(lambda: _program_step(program, library)))


def _memory() -> Iterator[Row | Skipped]:
    """What a training step takes more than there was before it, in processes of their own."""
    if not STATUS.exists():
        yield Skipped("memory of a training step", "it is read from /proc")
        return
    for name, trees in (("1,024 sentences", "treebank"), (f"{CHAINS} chains of {LEVELS[0]} levels", "chains")):
        used = {}
        for peer in ("ours", "torch", "dgl"):
            nodes, used[peer] = _in_new_process(_peak, trees, peer)
        what = f"binary Tree-LSTM, {name}: memory of a step, {used['ours'] / nodes:,.0f} bytes per node"
        yield Row(what, used["ours"] / used["dgl"], "of DGL's", 0.8, 1, falling=True)
        yield Row(what, used["ours"] / used["torch"], "of torch's operations'", falling=True)


def _peak(which: str, peer: str, send: Connection) -> None:
    torch.set_num_threads(1)
    forest = treebank(1024) if which == "treebank" else [chain(LEVELS[0])] * CHAINS
    model, trees = TreeLSTM(SIZE if which == "treebank" else 50, binary=True), batched(forest)
    steps(model, trees[:1])[peer]()  # what the first pass of a process loads and compiles is not the step's
    step = steps(model, trees)[peer]
    send.send((trees.num_nodes, _peak_over(step)))


def _in_new_process(measure: Callable[..., None], *arguments: Any) -> Any:
    """What a function sends, whose last argument is where to: this process's memory has no part in it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "benchmarks.topo", "dgl"])  # else each process imports them again
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(*arguments, send))
    process.start()
    found = receive.recv()
    process.join()
    return found


def _peak_over(step: Callable[[], object]) -> int:
    """Bytes that a step takes at its peak, more than there were before it."""
    STATUS.with_name("clear_refs").write_text("5", encoding="ascii")  # begins the peak again
    before = resident("VmRSS")
    step()
    return resident("VmHWM") - before
