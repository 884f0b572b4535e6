"""A demonstration in four steps that you can change: ``scripts/demo`` or ``python -m tasks.equations.demo``.

Trees of different shape become one graph; a network's message and reduce functions run over it; a trained network ranks
what may fill a blank; and what it says is judged exactly.
"""

import logging
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch

import dgltree
from dgltree.cells import TreeSMU
from dgltree.engine import Graph
from tasks.equations.generator.identities import identities

BLANKS = ("sin(x)^2 + _ = 1", "tan(x)*_ = sin(x)", "log(x*y) = log(x) + _", "(x + y)^2 = x^2 + _ + y^2")
TEXTS = ("sin(x)^2", "x*y", "tan(x)")


def main() -> None:
    logging.basicConfig(format="   (%(message)s)", stream=sys.stdout)
    logging.getLogger("dgltree").setLevel(logging.INFO)  # says when kernels are compiled
    batch_trees()
    run_network()
    rank_fillers()
    complete_equations()


def batch_trees() -> None:
    """Expression trees of different shape as one graph, with a function type for each node."""
    print("1. Trees of different shape become one graph, with a function type per node.\n")
    trees = [dgltree.read_infix(text) for text in TEXTS]
    vocabulary = dgltree.Vocabulary.from_trees(trees)
    batch = dgltree.batch(trees, vocabulary)
    names = [vocabulary.functions[number][0] for number in batch.function.tolist()]
    print(f"   {', '.join(TEXTS)}: {batch.num_nodes} nodes, {len(batch.child_index)} edges")
    print(f"   function of each node: {' '.join(names)}")
    edges = zip(batch.child_index.tolist(), batch.parent_index.tolist(), strict=True)
    print(f"   edges, child to parent: {' '.join(f'{child}>{parent}' for child, parent in edges)}")
    print(f"   {batch.graph if find_spec('dgl') else 'As a DGLGraph it is batch.graph; DGL is not installed here.'}\n")


def run_network() -> None:
    """A Tree-SMU over 256 equations by message and reduce functions, and by the engine."""
    equations = [*identities("paper"), *identities("elementary")][:256]
    sides = [side for equation in equations for side in equation]
    vocabulary = dgltree.Vocabulary.from_trees(sides)
    batch = dgltree.batch(sides, vocabulary)
    cell = TreeSMU(vocabulary, hidden_size=50, stack_size=5, no_op=True)
    graph, propagate, name = _message_passing(batch)

    def by_messages() -> dict[str, torch.Tensor]:
        cell.prepare(graph)  # leaf states
        propagate(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
        return dict(graph.ndata)

    print(f"2. A Tree-SMU over {batch.num_nodes:,} nodes of {len(equations)} equations, inference on one thread.\n")
    torch.set_num_threads(1)
    with torch.no_grad():
        plan = dgltree.plan(batch, cell)
        states = by_messages()  # compiles kernels
        found = dgltree.propagate(plan, cell)
        rounds = [(_seconds(by_messages), _seconds(lambda: dgltree.propagate(plan, cell))) for _ in range(2)]
    messages, engine = min(rounds, key=lambda times: times[0] / times[1])  # the round with the lower ratio
    shapes = ", ".join(f"{name} {tuple(state.shape)}" for name, state in found.items())
    apart = max((found[name] - states[name]).abs().max().item() for name in found)
    print(f"   states in node data: {shapes}; S holds a stack of five vectors per node")
    print(f"   {name} with the cell's functions: {messages * 1e3:.0f} ms")
    kernels = "" if find_spec("numba") else " without kernels, since Numba is not installed"
    print(f"   dgltree.propagate: {engine * 1e3:.1f} ms{kernels}, {messages / engine:.1f} times as fast")
    print(f"   largest difference of the states: {apart:.1g}\n")


def _message_passing(batch: dgltree.TreeBatch) -> tuple[Any, Callable[..., object], str]:
    """The batch as a graph for message functions, and what runs them over it."""
    if not find_spec("dgl"):
        return Graph(batch), dgltree.prop_nodes_topo, "dgltree.prop_nodes_topo (DGL is not installed)"
    graph = batch.graph
    import dgl  # after the line above, which sets its backend

    warnings.filterwarnings("ignore", "The input graph")  # DGL's warning of leaves, to which no message goes
    return graph, dgl.prop_nodes_topo, "dgl.prop_nodes_topo"


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def rank_fillers() -> None:
    """A trained network orders 4,748 expressions by how well they fill a blank; each is then judged exactly."""
    fillers = dgltree.shipped_fillers()
    print(f"3. A trained Tree-LSTM ranks {len(fillers):,} expressions for each blank. Its score proves nothing.\n")
    ranker = dgltree.Ranker(dgltree.open_model(), fillers)
    equations = [dgltree.read_equation(blank) for blank in BLANKS]
    for blank, ranking in zip(BLANKS, ranker.rank(equations, top=3, any_variables=False), strict=True):
        print(f"   {blank}")
        for filler, score in zip(ranking.fillers, ranking.probabilities.tolist(), strict=True):
            text = dgltree.write_infix(filler)
            print(f"      {score:.3f}  {text:10}  {dgltree.verify(blank.replace('_', f'({text})')).verdict}")
    print()


def complete_equations() -> None:
    """Without a network: a search for what fills the blank, each answer with a proof, a test or a counterexample."""
    print("4. A search fills blanks exactly, and says where each answer holds.\n")
    for blank in (*BLANKS[:1], "x^2 - 5x + 6 = (x - 2)_"):
        print(f"   {dgltree.complete(blank, top=1)}".replace("\n", "\n   "))
    print(f"   sqrt(x^2) = x\n      {dgltree.verify('sqrt(x^2) = x')}")


if __name__ == "__main__":
    main()
