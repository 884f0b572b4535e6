"""What DGL calls, on graphs that were prepared and on those that were not."""

import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers import VOCABULARY, random_tree

from dgltree import batch
from dgltree.cells import Cell, ChildSumTreeLSTM, TreeLSTM, TreeRNN, TreeSMU
from dgltree.cells.cell import COMPUTED, check_order
from dgltree.engine.graph import Graph
from dgltree.engine.runner import prop_nodes_topo

CELLS: list[Callable[..., Cell]] = [TreeRNN, TreeLSTM, TreeSMU, ChildSumTreeLSTM]


def in_dgl(graph: Any, message: Any, reduce: Any, apply: Any = None) -> None:
    """A pass of DGL's own, whose warning of the leaf frontier is known."""
    import dgl

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        dgl.prop_nodes_topo(graph, message, reduce, apply_node_func=apply)


@pytest.fixture(params=["runner", "dgl"])
def engine(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], Callable[..., None]]:
    """What makes a graph of a batch, and what runs a cell's functions along it."""
    if request.param == "runner":
        return Graph, (lambda graph, *functions: prop_nodes_topo(graph, *functions[:2], apply_node_func=functions[2]))
    os.environ["DGLBACKEND"] = "pytorch"
    pytest.importorskip("dgl", reason="DGL is not installed")
    return (lambda trees: trees.graph), in_dgl


@pytest.mark.parametrize("make", CELLS)
def test_a_graph_that_was_not_prepared_says_so(make: Callable[..., Cell], engine: Any) -> None:
    graph_of, run = engine
    cell, trees = make(VOCABULARY, 3), batch([random_tree(5, 4, 1)], VOCABULARY)
    told = pytest.raises(
        ValueError, match=r"has no states '\w' of this \w+: call cell.prepare\(graph\) before every pass"
    )
    with told:
        run(graph_of(trees), cell.message_func, cell.reduce_func, cell.apply_node_func)
    if run is in_dgl:
        with told:
            run(graph_of(trees), cell.message_func, cell.reduce_func)


def test_a_graph_that_was_prepared_for_another_size_says_so() -> None:
    graph = Graph(batch([random_tree(5, 4, 1)], VOCABULARY))
    TreeLSTM(VOCABULARY, 3).prepare(graph)
    cell = TreeLSTM(VOCABULARY, 4)
    with pytest.raises(ValueError, match="has no states 'h' of this TreeLSTM"):
        prop_nodes_topo(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)


@pytest.mark.parametrize("make", CELLS)
def test_a_second_pass_over_a_graph_that_was_not_prepared_again_says_so(make: Callable[..., Cell], engine: Any) -> None:
    graph_of, run = engine
    cell = make(VOCABULARY, 3)
    graph = graph_of(batch([random_tree(5, 4, 1)], VOCABULARY))
    for _ in range(2):
        cell.prepare(graph)
        run(graph, cell.message_func, cell.reduce_func, cell.apply_node_func)
    with pytest.raises(ValueError, match=r"states of an earlier pass: call cell.prepare\(graph\) before every pass"):
        run(graph, cell.message_func, cell.reduce_func, cell.apply_node_func)


@pytest.mark.parametrize(
    ("own", "children", "refused"),
    [
        ([False, False], [[True, True], [True, True]], None),
        ([False, True], [[True, True], [True, True]], "has the states of an earlier pass"),
        ([False, False], [[True, True], [True, False]], "a node is reached before its children"),
    ],
)
def test_one_node_that_is_early_or_stale_is_enough(own: list[bool], children: list[list[bool]], refused: str) -> None:
    nodes = SimpleNamespace(data={COMPUTED: torch.tensor(own)}, mailbox={COMPUTED: torch.tensor(children)})
    with pytest.raises(ValueError, match=refused) if refused else nullcontext():
        check_order(nodes)
