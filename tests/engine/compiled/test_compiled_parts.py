"""Parts of a compiled pass, computed by threads: the same bits for any number of them, and torch's numbers."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from drawn_cases import Fields, difference
from drawn_functions import draw_case
from torch import Tensor, nn

import dgltree
from dgltree.engine.compiled import compiled_pass, rows
from dgltree.engine.compiled.rows import rows_of
from dgltree.engine.frontiers import topo_plan
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import NoKernelError, kernels

pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")
if product_address(torch.float64) is None:
    pytest.skip("the BLAS library of this torch is unknown", allow_module_level=True)

COPIES = 9
Edges = tuple[Tensor, Tensor]


@pytest.fixture(autouse=True)
def small_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("DGLTREE_CACHE", str(tmp_path))
    monkeypatch.setattr(rows, "MIN_PART_ROWS", 16)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def many(mode: str, reverse: bool) -> Any:
    """Runs functions on several copies of a graph, each with other numbers, and adds up what they write."""

    def run(edges: Edges, ndata: Fields, edata: Fields, message: Any, reduce: Any, apply: Any) -> None:
        count = len(next(iter(ndata.values())))
        ends = torch.stack(edges)
        repeated = torch.cat([ends + k * count for k in range(COPIES)], 1)
        given = {name: torch.cat([_scaled(column, k) for k in range(COPIES)]) for name, column in ndata.items()}
        along = {name: torch.cat([_scaled(column, k) for k in range(COPIES)]) for name, column in edata.items()}
        with kernels(mode):
            written = dgltree.prop_nodes_topo((repeated, given, along), message, reduce, reverse, apply)
        for name, column in written.items():
            copies = column.view(COPIES, count, *column.shape[1:])
            ndata[name] = sum((k + 1) * copy for k, copy in enumerate(copies)) if column.is_floating_point() else column

    return run


def _scaled(column: Tensor, k: int) -> Tensor:
    return column * (1 - k / 32) if column.is_floating_point() else column


def check(seed: int) -> bool:
    """Whether drawn functions are compiled; then one, two and three threads have the same bits."""
    case, reverse = draw_case(seed), bool(seed % 3 == 0)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        try:
            found.append(case.run(many("required", reverse)))
        except NoKernelError:
            return False
    for other in found[1:]:
        off, where = difference(found[0], other)
        assert off == 0.0, f"seed {seed}, {where}: {off:.1e} off with other threads\n{case.source()}"
    off, where = difference(found[0], case.run(many("off", reverse)))
    assert off < 1e-11, f"seed {seed}, {where}: {off:.1e} off\n{case.source()}"
    return True


def test_any_number_of_threads_has_the_same_bits() -> None:
    assert sum(map(check, range(3))) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("first", [100, 110, 120])
def test_any_number_of_threads_has_the_same_bits_for_drawn_functions(first: int) -> None:
    assert sum(map(check, range(first, first + 10))) >= 5


def forest(sizes: list[int]) -> tuple[Tensor, int]:
    """Chains of some nodes."""
    firsts = np.cumsum([0, *sizes])
    edges = [np.arange(first, last - 1) for first, last in pairwise(firsts)]
    source = torch.from_numpy(np.concatenate(edges))
    return torch.stack([source, source + 1]), int(firsts[-1])


def parts_of(sizes: list[int], **options: Any) -> list[int]:
    """How many rows each part has."""
    edges, count = forest(sizes)
    plan_rows = rows_of(topo_plan((edges, {"h": torch.zeros(count)}), **options))
    low, high, _, part = plan_rows.bunches
    return np.bincount(part, high - low).astype(int).tolist()


def test_parts_are_whole_components_of_about_one_size() -> None:
    assert parts_of([10] * 16) == [20] * 8
    assert parts_of([31]) == [31]
    assert parts_of([200]) == [200]  # one thread
    assert parts_of([180, *[2] * 10]) == [180, 20]


def test_a_component_of_nine_tenths_of_the_nodes_is_one_part() -> None:
    edges, count = forest([180, *[2] * 10])
    nodes = {"h": torch.randn(count, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))}
    weight = nn.Parameter(torch.eye(3, dtype=torch.float64) * 0.9)
    found = []
    for threads, mode in ((1, "required"), (2, "required"), (1, "off")):
        torch.set_num_threads(threads)
        given = {"h": nodes["h"].clone().requires_grad_()}
        leaf = given["h"]
        with kernels(mode):
            written = dgltree.prop_nodes_topo(
                (edges, given),
                lambda edges: {"m": edges.src["h"]},
                lambda nodes: {"h": nodes.mailbox["m"].sum(1) @ weight},
            )
        found.append(torch.autograd.grad(written["h"].sin().sum(), [leaf, weight]))
    assert all(torch.equal(one, two) for one, two in zip(found[0], found[1], strict=True))
    assert all(torch.allclose(one, two, rtol=1e-12) for one, two in zip(found[0], found[2], strict=True))


def test_where_copies_of_a_table_would_be_large_parts_are_computed_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    table = nn.Embedding(7, 3).double()
    edges, count = forest([10] * 16)
    nodes = {"h": torch.randn(count, 3, dtype=torch.float64), "token": torch.arange(count) % 7}
    found = []
    for most in (compiled_pass.MOST_COPIED, 20):
        monkeypatch.setattr(compiled_pass, "MOST_COPIED", most)
        for threads in (1, 2):
            torch.set_num_threads(threads)
            with kernels("required"):
                written = dgltree.prop_nodes_topo(
                    (edges, dict(nodes)),
                    lambda edges: {"m": edges.src["h"]},
                    lambda nodes: {"h": torch.tanh(nodes.mailbox["m"].sum(1) + table(nodes.data["token"]))},
                )
            found.append(torch.autograd.grad(written["h"].sum(), table.weight)[0])
    assert torch.equal(found[0], found[1]) and torch.equal(found[2], found[3])
    assert torch.allclose(found[0], found[2], rtol=1e-13)
