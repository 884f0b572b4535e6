"""Programs written for DGL's topological propagation run with one import changed: states and gradients, in float64.

They are beside DGL where it is installed, and beside an oracle that computes node by node everywhere.
"""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import node_by_node
import pytest
import torch
from torch import Tensor, nn

import dgltree
from benchmarks.dgl_programs import PROGRAMS, Library, Program, from_dgl, ours
from dgltree.engine import function

ROOT = Path(__file__).parents[2]
LITERAL = Library(node_by_node.graph, node_by_node.Graph, node_by_node, function)


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


def states_and_gradients(program: Program, library: Library) -> list[Tensor | None]:
    net, run = program
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        states = run(library)
    weight = torch.arange(1.0, states.numel() + 1).cos().view(states.shape)
    gradients = torch.autograd.grad((states * weight).sum(), list(net.parameters()), allow_unused=True)
    return [states, *gradients]


def assert_equal(found: list[Tensor | None], expected: list[Tensor | None]) -> None:
    for given, wanted in zip(found, expected, strict=True):
        assert (wanted is None) == (given is None)
        if wanted is not None and given is not None:
            assert given.shape == wanted.shape
            torch.testing.assert_close(given, wanted, rtol=0, atol=1e-12 * max(1.0, float(wanted.detach().abs().max())))


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_a_program_of_dgl_has_the_states_and_gradients_of_single_nodes(make: Callable[[int, int], Program]) -> None:
    program = make(4, 1)
    found = states_and_gradients(program, ours())
    assert_equal(found, states_and_gradients(program, LITERAL))
    assert found[0] is not None
    assert float(found[0].detach().std()) > 1e-3
    assert any(each is not None and bool(each.any()) for each in found[1:])


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_a_program_of_dgl_has_its_states_and_gradients_with_one_import_changed(
    make: Callable[[int, int], Program],
) -> None:
    os.environ.setdefault("DGLBACKEND", "pytorch")
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    program = make(4, 1)
    expected = states_and_gradients(program, from_dgl(dgl, dgl))
    assert_equal(states_and_gradients(program, from_dgl(dgl, dgltree)), expected)
    assert_equal(states_and_gradients(program, ours()), expected)


def test_the_programs_run_where_dgl_cannot_be_imported() -> None:
    """Of Python 3.12 and 3.13 it has no wheels; the tests that need no DGL are these programs, beside the oracle."""
    code = (
        "import sys; sys.modules['dgl'] = None; import pytest; "
        f"sys.exit(pytest.main(['-q', '-n', '0', '-p', 'no:cacheprovider', {str(Path(__file__))!r}, "
        "'-k', 'single_nodes']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    assert f"{len(PROGRAMS)} passed" in done.stdout


def test_a_built_in_function_is_named_as_in_dgl() -> None:
    from dgltree.engine import function as fn

    assert fn.copy_u("h", "m") == ("copy_u", "h", "m")
    assert fn.u_mul_e("h", "w", out="m") == ("u_mul_e", "h", "w", "m")
    nodes = {"h": torch.tensor([1.0, 5.0, 2.0])}
    given: Any = torch.tensor([[0, 1], [2, 2]]), nodes, {"w": torch.tensor([3.0, 2.0])}
    dgltree.prop_nodes_topo(given, fn.u_mul_e("h", "w", "m"), fn.max("m", "s"))
    assert nodes["s"].tolist() == [0, 0, 10]
    with pytest.raises(
        AttributeError,
        match=r"^there is no built-in function 'copy_src'; use copy_u, copy_v, copy_e, u_mul_e and the like with",
    ):
        fn.copy_src("h", "m")


def test_modules_of_programs_are_seen_as_modules() -> None:
    for make in PROGRAMS:
        net, _ = make(4, 1)
        assert isinstance(net, nn.Module)
        assert sum(1 for _ in net.parameters()) > 1
