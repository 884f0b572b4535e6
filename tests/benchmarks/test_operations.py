"""Operations of a pass of message functions are counted frontier by frontier, without Triton and without a device."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.operations import operations_of
from dgltree import prop_nodes_topo, topo_plan

EDGES = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])


def send(edges: Any) -> dict[str, Tensor]:
    return {"m": edges.src["h"]}


def counted(reduce: Any, backward: bool = False) -> Any:
    nodes = {"h": torch.ones(5, 2, requires_grad=True)}
    plan = topo_plan((EDGES, nodes))

    def run() -> None:
        written = prop_nodes_topo((EDGES, nodes), send, reduce, plan=plan)
        if backward:
            written["h"].sum().backward()

    return operations_of(run)


def test_each_frontier_has_the_operations_of_its_functions_and_of_what_they_read() -> None:
    once = counted(lambda nodes: {"h": nodes.mailbox["m"].sum(1)})
    twice = counted(lambda nodes: {"h": nodes.mailbox["m"].sum(1).tanh()})
    assert len(once.frontiers) == 5
    assert once.frontiers[0].total() == 0  # a leaf, whose functions are not called
    assert once.frontiers[2]["aten::sum.dim_IntList"] == 1
    assert [b.total() - a.total() for a, b in zip(once.frontiers, twice.frontiers, strict=True)] == [0, 1, 1, 1, 1]
    assert twice.per_frontier == pytest.approx(once.per_frontier + 4 / 5)
    assert "aten::sum.dim_IntList" not in once.rest


def test_a_backward_pass_is_counted_apart() -> None:
    forward = counted(lambda nodes: {"h": nodes.mailbox["m"].sum(1).tanh()})
    both = counted(lambda nodes: {"h": nodes.mailbox["m"].sum(1).tanh()}, backward=True)
    assert both.frontiers == forward.frontiers
    assert both.rest["aten::tanh_backward"] == 4


def test_what_runs_no_pass_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^nothing was computed: give what calls dgltree.prop_nodes_topo"):
        operations_of(lambda: torch.ones(2) + 1)


def test_counting_needs_no_triton() -> None:
    code = (
        "import sys; sys.modules['triton'] = None; import torch, dgltree; "
        "from benchmarks.operations import operations_of; "
        "graph = torch.tensor([[0], [1]]), {'h': torch.ones(2)}; "
        "send, add = lambda e: {'m': e.src['h'] * 2}, lambda n: {'h': n.mailbox['m'].sum(1)}; "
        "print(operations_of(lambda: dgltree.prop_nodes_topo(graph, send, add)).frontiers[1]['aten::mul.Tensor'])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
