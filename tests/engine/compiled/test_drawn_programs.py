"""Drawn functions, by someone who had not seen the compiler, mean the same as programs and by torch's operations."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from drawn_cases import Fields, difference
from drawn_functions import draw_case
from interpreter import interpret
from torch import Tensor

import dgltree
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.frontiers import topo_plan
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import NoKernelError, kernels
from dgltree.engine.message_graph import open_graph

TOLERANCE = 1e-11
Edges = tuple[Tensor, Tensor]


def by_torch(edges: Edges, ndata: Fields, edata: Fields, message: Any, reduce: Any, apply: Any) -> None:
    with kernels("off"):
        dgltree.prop_nodes_topo((edges, ndata, edata), message, reduce, apply_node_func=apply)


def by_machine_code(edges: Edges, ndata: Fields, edata: Fields, message: Any, reduce: Any, apply: Any) -> None:
    with kernels("required"):
        dgltree.prop_nodes_topo((edges, ndata, edata), message, reduce, apply_node_func=apply)


def by_programs(edges: Edges, ndata: Fields, edata: Fields, message: Any, reduce: Any, apply: Any) -> None:
    graph = (edges, ndata, edata)
    written, _ = interpret(open_graph(graph), topo_plan(graph), message, reduce, apply)
    ndata.update(written)


def check(seeds: range, run: Any = by_programs) -> Counter[str]:
    """Compares what becomes programs; returns the reasons why others do not."""
    refused: Counter[str] = Counter()
    for seed in seeds:
        case = draw_case(seed)
        try:
            found = case.run(run)
        except (NotAProgramError, NoKernelError) as error:
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


@pytest.mark.slow
def test_fifty_drawn_functions_are_the_same_as_machine_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")
    if product_address(torch.float64) is None:
        pytest.skip("the BLAS library of this torch is unknown")
    monkeypatch.setenv("DGLTREE_CACHE", str(tmp_path))
    refused = check(range(2000, 2050), by_machine_code)
    assert refused.total() <= 15, refused
