"""What DGL calls, on graphs that were prepared and on those that were not."""

import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from helpers import VOCABULARY, random_tree

from dgltree import batch
from dgltree.cells import Cell, ChildSumTreeLSTM, TreeLSTM, TreeRNN, TreeSMU
from dgltree.engine.runner import Graph, prop_nodes_topo

CELLS: list[Callable[..., Cell]] = [TreeRNN, TreeLSTM, TreeSMU, ChildSumTreeLSTM]


def in_dgl(graph: Any, cell: Cell, **further: Any) -> None:
    os.environ["DGLBACKEND"] = "pytorch"
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")  # the leaf frontier
        dgl.prop_nodes_topo(graph, cell.message_func, cell.reduce_func, **further)


@pytest.mark.parametrize("make", CELLS)
def test_a_graph_that_was_not_prepared_says_so(make: Callable[..., Cell]) -> None:
    cell, trees = make(VOCABULARY, 3), batch([random_tree(5, 4, 1)], VOCABULARY)
    told = pytest.raises(
        ValueError, match=r"has no states '\w' of this \w+: call cell.prepare\(graph\) before every pass"
    )
    with told:
        prop_nodes_topo(Graph(trees), cell.message_func, cell.reduce_func, cell.apply_node_func)
    with told:
        in_dgl(trees.graph, cell, apply_node_func=cell.apply_node_func)
    with told:
        in_dgl(trees.graph, cell)


def test_a_graph_that_was_prepared_for_another_size_says_so() -> None:
    graph = Graph(batch([random_tree(5, 4, 1)], VOCABULARY))
    TreeLSTM(VOCABULARY, 3).prepare(graph)
    cell = TreeLSTM(VOCABULARY, 4)
    with pytest.raises(ValueError, match="has no states 'h' of this TreeLSTM"):
        prop_nodes_topo(graph, cell.message_func, cell.reduce_func, cell.apply_node_func)


@pytest.mark.parametrize("make", CELLS)
def test_a_second_pass_over_a_graph_that_was_not_prepared_again_says_so(make: Callable[..., Cell]) -> None:
    cell, trees = make(VOCABULARY, 3), batch([random_tree(5, 4, 1)], VOCABULARY)
    graph, own = trees.graph, Graph(trees)
    for _ in range(2):
        cell.prepare(own)
        prop_nodes_topo(own, cell.message_func, cell.reduce_func, cell.apply_node_func)
        cell.prepare(graph)
        in_dgl(graph, cell, apply_node_func=cell.apply_node_func)
    again = pytest.raises(ValueError, match=r"states of an earlier pass: call cell.prepare\(graph\) before every pass")
    with again:
        prop_nodes_topo(own, cell.message_func, cell.reduce_func, cell.apply_node_func)
    with again:
        in_dgl(graph, cell, apply_node_func=cell.apply_node_func)
