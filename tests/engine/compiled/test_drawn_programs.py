"""Drawn functions, by someone who had not seen the compiler, mean the same as programs and by torch's operations."""

from collections import Counter
from typing import Any

import pytest
from drawn_cases import Fields, difference
from drawn_functions import draw_case
from torch import Tensor

import dgltree
from dgltree.engine.compiled.interpreter import interpret
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.frontiers import topo_plan
from dgltree.engine.message_graph import open_graph

TOLERANCE = 1e-11
Edges = tuple[Tensor, Tensor]


def by_torch(edges: Edges, ndata: Fields, edata: Fields, message: Any, reduce: Any, apply: Any) -> None:
    dgltree.prop_nodes_topo((edges, ndata, edata), message, reduce, apply_node_func=apply)


def by_programs(edges: Edges, ndata: Fields, edata: Fields, message: Any, reduce: Any, apply: Any) -> None:
    graph = (edges, ndata, edata)
    written, _ = interpret(open_graph(graph), topo_plan(graph), message, reduce, apply)
    ndata.update(written)


def check(seeds: range) -> Counter[str]:
    """Compares what becomes programs; returns the reasons why others do not."""
    refused: Counter[str] = Counter()
    for seed in seeds:
        case = draw_case(seed)
        try:
            found = case.run(by_programs)
        except NotAProgramError as error:
            refused[str(error).partition(': "')[0]] += 1
            continue
        off, where = difference(found, case.run(by_torch))
        assert off < TOLERANCE, f"seed {seed}, {where}: {off:.1e} off\n{case.source()}"
    return refused


def test_twenty_drawn_functions_are_the_same_as_programs() -> None:
    assert check(range(20)).total() <= 6


@pytest.mark.slow
def test_a_hundred_drawn_functions_are_the_same_as_programs() -> None:
    refused = check(range(1000, 1100))
    assert refused.total() <= 25, refused
