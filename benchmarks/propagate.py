"""Training and inference over batches of trees, against recursion, DGL, pytorch-tree-lstm and the bare products."""

import importlib.util
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from benchmarks.inputs import equations, treebank
from benchmarks.peers import BareProducts, RecursiveTreeSMU, child_sum_input, dgl_root_states
from benchmarks.row import Row, Skipped, against, in_turn
from dgltree import Vocabulary, batch, plan, root_states
from dgltree.cells import ChildSumTreeLSTM, TreeLSTM, TreeSMU
from dgltree.engine.kernels.dispatch import kernels

SIZES = (1024, 4096, 16384, 65536)
"""Equations in a batch on a GPU."""
RECURSIVE = 32  # equations that recursion is timed on: a batch is no faster than its equations one by one


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    vocabulary = Vocabulary.from_trees(side for equation in equations(1024) for side in equation)
    cell = TreeSMU(vocabulary, 50, stack_size=5, no_op=True).to(device)
    yield from _training(cell, vocabulary, device, repeats)
    yield _over_products(cell, vocabulary, device, repeats)
    yield _inference(cell, vocabulary, device, repeats)
    yield _child_sum(device, repeats)
    if device == "cuda":
        yield from _by_size(vocabulary, device, repeats)


def _training(cell: TreeSMU, vocabulary: Vocabulary, device: str, repeats: int) -> Iterator[Row | Skipped]:
    size = 256
    known = equations(size)
    trees = batch(known, vocabulary).to(device)
    shared, unshared = plan(trees, cell, share=True), plan(trees, cell)
    recursive = RecursiveTreeSMU(cell).to(device)
    single = [side for equation in known[:RECURSIVE] for side in equation]
    steps: dict[str, Callable[[], object]] = {
        "ours": training_step(cell, lambda: root_states(shared, cell)),
        "unshared": training_step(cell, lambda: root_states(unshared, cell)),
        "recursion": _one_by_one(recursive, single),
    }
    if importlib.util.find_spec("dgl") and device == "cpu":
        _ = trees.graph
        steps["dgl"] = training_step(cell, lambda: dgl_root_states(cell, trees))
    times = in_turn(steps, repeats, device)
    work = {"equations": size / times["ours"].median, "nodes": trees.num_nodes / times["ours"].median}
    name = f"Tree-SMU n=50 p=5, training, {size} equations"
    yield against(f"{name}, shared", "recursion", times, size / RECURSIVE, aim=400, least=150, work=work)
    if "dgl" not in steps:
        yield Skipped(f"{name}, against dgl.prop_nodes_topo", "DGL is not installed, or this is no CPU")
        return
    yield against(f"{name}, shared", "dgl", times, aim=20, least=15, work=work)
    unshared = {"ours": times["unshared"], "dgl": times["dgl"]}
    yield against(f"{name}, not shared", "dgl", unshared, aim=6, least=4)


def _by_size(vocabulary: Vocabulary, device: str, repeats: int) -> Iterator[Row]:
    """Up to batches that keep a GPU busy; equal subtrees are not shared, since the equations repeat."""
    cells = {"Tree-SMU": TreeSMU(vocabulary, 50, stack_size=5, no_op=True), "Tree-LSTM": TreeLSTM(vocabulary, 50)}
    for name, cell in cells.items():
        cell.to(device)
        for size in SIZES:
            trees = batch(equations(size), vocabulary)
            planned = plan(trees, cell).to(device)
            step = training_step(cell, lambda cell=cell, planned=planned: root_states(planned, cell))
            [time] = in_turn({"ours": step}, repeats, device).values()
            work = {"nodes": trees.num_nodes / time.median}
            what = f"{name}, training, {size:,} equations, not shared"
            yield Row(what, size / time.median, "equations a second", ours_s=time.median, work=work)


def training_step(module: nn.Module, states: Callable[[], Tensor]) -> Callable[[], None]:
    """Forward, loss, backward and a fused optimizer."""
    adam = torch.optim.Adam(module.parameters(), 1e-3, fused=True)

    def step() -> None:
        roots = states()
        nn.functional.softplus((roots[::2] * roots[1::2]).sum(1)).mean().backward()
        adam.step()
        adam.zero_grad()

    return step


def _one_by_one(model: RecursiveTreeSMU, sides: list) -> Callable[[], None]:
    return training_step(model, lambda: torch.stack([model(side)[0] for side in sides]))


def _over_products(cell: TreeSMU, vocabulary: Vocabulary, device: str, repeats: int) -> Row:
    size = 1024
    trees = batch(equations(size), vocabulary).to(device)
    planned = plan(trees, cell, share=True)
    bare = BareProducts(cell, planned.schedule, device)
    ours = training_step(cell, lambda: root_states(planned, cell))
    times = in_turn({"ours": ours, "bare products": bare}, repeats, device)
    row = against(
        f"Tree-SMU, training, {size} equations, shared", "bare products", times, aim=2.5, least=3.5, falling=True
    )
    row.ratio, row.unit = 1 / row.ratio, "times the bare products"
    row.work = {"equations": size / times["ours"].median, "nodes": trees.num_nodes / times["ours"].median}
    return row


def _inference(cell: TreeSMU, vocabulary: Vocabulary, device: str, repeats: int) -> Row:
    size = 1024
    trees = batch(equations(size), vocabulary).to(device)
    planned = plan(trees, cell, share=True)

    def ours() -> None:
        with torch.no_grad():
            root_states(planned, cell)

    [time] = in_turn({"ours": ours}, repeats, device).values()
    rate = size / time.median
    name = f"Tree-SMU, inference, {size} equations, shared"
    nodes = {"nodes": trees.num_nodes / time.median}
    return Row(name, rate, "equations a second", 120_000, 60_000, ours_s=time.median, work=nodes)


def _child_sum(device: str, repeats: int) -> Row | Skipped:
    name = "child-sum Tree-LSTM, SST, hidden 150, training, batch 128"
    if not importlib.util.find_spec("treelstm"):
        return Skipped(name, "the package pytorch-tree-lstm is not installed")
    from treelstm import TreeLSTM

    sentences = [tree for tree in treebank(128) if tree.children]
    vocabulary = Vocabulary.from_trees(sentences)
    given = child_sum_input(sentences, vocabulary, 150)
    trees = batch(sentences, vocabulary, x=given["features"])
    theirs = TreeLSTM(150, 150)
    cell = ChildSumTreeLSTM(vocabulary, 150, input_size=150, leaf="gates")
    planned = plan(trees, cell)
    del given["tree_sizes"]
    roots = trees.roots
    times = in_turn(
        {
            "ours": squared_step(cell, lambda: root_states(planned, cell)),
            "pytorch-tree-lstm": squared_step(theirs, lambda: theirs(**given)[0][roots]),
        },
        repeats,
        device,
    )
    work = {"sentences": len(sentences) / times["ours"].median, "nodes": trees.num_nodes / times["ours"].median}
    return against(name, "pytorch-tree-lstm", times, aim=6, least=3, work=work)


def squared_step(module: nn.Module, states: Callable[[], Tensor]) -> Callable[[], None]:
    """The same with a loss that needs no pairs."""
    adam = torch.optim.Adam(module.parameters(), 1e-3, fused=True)

    def step() -> None:
        states().square().mean().backward()
        adam.step()
        adam.zero_grad()

    return step


def against_operations(name: str, run: Callable[[], object], repeats: int, **limits: float) -> Row:
    """The same work on a CPU with and without compiled kernels."""

    def by_operations() -> None:
        with kernels("off"):
            run()

    times = in_turn({"ours": run, "torch's operations": by_operations}, repeats)
    return against(name, "torch's operations", times, **limits)
