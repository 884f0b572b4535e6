"""Parts of a batch do not wait for each other; they change no number but by rounding, and threads change none."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from engines import assert_close, gradients
from helpers import ANY, VOCABULARY, random_tree, suited
from rows import make_cell
from torch import Tensor

from dgltree import Tree, TreeBatch, batch, plan, propagate
from dgltree.cells import Cell, TreeLSTM, TreeSMU
from dgltree.engine import planned as planning
from dgltree.engine import schedule as module
from dgltree.engine.kernels import threads
from dgltree.engine.kernels.dispatch import kernels
from dgltree.engine.kernels.layout import Layout, layout
from dgltree.engine.kernels.threads import passes_on
from dgltree.engine.schedule import Schedule, schedule

pytest.importorskip("numba", reason="the fast extra is not installed")
CELLS = [
    "tree_smu, no_op",
    "tree_lstm, inputs",
    "tree_smu, leaf gates",
]
FOREST = [random_tree(seed % 7, 2 + seed % 3, seed) for seed in range(60)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Parts, threads and groups for a few rows."""
    monkeypatch.setattr(module, "MIN_PART_ROWS", 20)
    monkeypatch.setattr(module, "MIN_SHARED_PART_ROWS", 20)
    monkeypatch.setattr(threads, "MIN_ROWS_PER_THREAD", 3)
    monkeypatch.setattr("dgltree.engine.kernels.layout.GROUP", 16)
    with kernels("on"):
        yield


def results(cell: Cell, trees: TreeBatch, share: bool) -> dict[str, Tensor]:
    torch.manual_seed(0)  # of dropout
    states = propagate(trees, cell, share=share)
    return {**states, **gradients(cell, states)}


def parts_of(found: Schedule) -> list[set[int]]:
    """The rows of each part; first those of none."""
    assert found.part is not None
    return [set(np.flatnonzero(found.part == part).tolist()) for part in range(found.part.max() + 1)]


@pytest.mark.parametrize("by_arity", [True, False])
@pytest.mark.parametrize("share", [False, True])
def test_parts_read_leaves_what_comes_before_them_and_themselves(share: bool, by_arity: bool) -> None:
    flat = batch(FOREST, VOCABULARY if by_arity else ANY)
    found = schedule(flat, share, by_arity, in_parts=True)
    before, *parts = parts_of(found)
    assert len(parts) >= 4
    assert set(range(found.leaves)) <= before
    assert (len(before) > found.leaves) == share, "what several parts share comes first"
    assert sum(map(len, parts)) + len(before) == len(found) == len(schedule(flat, share, by_arity))
    for part in (set[int](), *parts):
        for step in found.steps:
            rows = found.parent[step.edges] + step.start
            read = {int(c) for c, row in zip(found.sources[step.edges], rows, strict=True) if int(row) in part | before}
            assert read <= before | part
    inner = [len(part) for part in parts]
    assert max(inner) <= 3 * min(inner), "parts are of about one cost"


@pytest.mark.parametrize("name", CELLS)
def test_the_runs_of_a_step_and_matrix_are_those_of_the_table_part_after_part(name: str) -> None:
    cell = make_cell(name)
    planned = plan(batch(suited(cell, FOREST), cell.vocabulary), cell)
    made, part = planned.layout, planned.schedule.part
    assert sorted(made.queue.tolist()) == sorted(made.table.tolist())
    of_run = [sorted({int(part[row]) for row in range(start, stop)}) for start, stop, *_ in made.queue.tolist()]
    assert all(len(parts) == 1 for parts in of_run)
    assert [parts[0] for parts in of_run] == sorted(parts[0] for parts in of_run)
    assert made.parts[0] == sum(parts == [0] for parts in of_run)


def test_parts_do_not_change_the_order_of_rows_by_which_masks_are_drawn() -> None:
    flat = batch(FOREST, VOCABULARY)
    whole, cut = (schedule(flat, in_parts=in_parts) for in_parts in (False, True))
    assert torch.equal(whole.node, cut.node)
    assert whole.steps == cut.steps


def test_few_rows_and_one_tree_are_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert schedule(batch(FOREST[:3], VOCABULARY), in_parts=True).part is None
    assert schedule(batch([random_tree(3, 6, 1)], VOCABULARY), in_parts=True).part is None
    monkeypatch.setattr(module, "MIN_PART_ROWS", 100_000)
    assert schedule(batch(FOREST, VOCABULARY), in_parts=True).part is None


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_parts_change_no_number_but_by_rounding_and_threads_none(
    name: str, share: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = make_cell(name)
    trees = batch(suited(cell, FOREST), cell.vocabulary)
    planned = plan(trees, cell, share=share)
    assert planned.layout is not None
    assert len(planned.layout.parts) > 4
    assert max(planned.layout.addend) > 0, "several groups of rows have the gradient of one matrix"
    found = results(cell, trees, share)
    for count in (2, 3, 8):
        with passes_on(count):
            for what, tensor in results(cell, trees, share).items():
                assert torch.equal(tensor, found[what]), (what, count)
    with kernels("off"):
        expected = results(cell, trees, share)
    for what, tensor in found.items():
        assert_close(tensor, expected[what], what, 1e-10)


def test_dropout_has_the_masks_of_the_seed_whatever_computes_the_parts() -> None:
    cell = TreeSMU(VOCABULARY, 5, stack_size=3, dropout=0.5).double().train()
    trees = batch(FOREST, VOCABULARY)
    alone = results(cell, trees, share=False)
    with passes_on(3):
        for what, tensor in results(cell, trees, share=False).items():
            assert torch.equal(tensor, alone[what]), what
    planned = plan(trees, cell)
    with kernels("off"):
        for given in (trees, planned):
            for what, tensor in results(cell, given, share=False).items():
                assert_close(tensor, alone[what], what)


def test_a_backward_pass_can_be_repeated() -> None:
    cell = make_cell("tree_smu, no_op")
    h = propagate(batch(FOREST, VOCABULARY), cell)["h"].square().sum()
    found = []
    with passes_on(2):
        for _ in range(2):
            cell.zero_grad()
            h.backward(retain_graph=True)
            found.append([parameter.grad for parameter in cell.parameters() if parameter.grad is not None])
    assert len(found[0]) > 2
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_an_error_in_one_part_is_raised_once_and_the_next_pass_is_right() -> None:
    layout = plan(batch(FOREST, VOCABULARY), make_cell("tree_smu, no_op")).layout
    assert isinstance(layout, Layout)
    seen: list[tuple[int, int]] = []

    def fails(lo: int, hi: int) -> None:
        seen.append((lo, hi))
        if lo == layout.parts[2]:
            raise ArithmeticError("in one part")

    token = threads._count.set(2)
    try:
        with pytest.raises(ArithmeticError, match="in one part"):
            threads.over_runs(fails, layout, False)
    finally:
        threads._count.reset(token)
    assert len(seen) == len(set(seen))
    test_a_backward_pass_can_be_repeated()


def test_a_batch_has_parts_where_passes_are_compiled_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    trees, cell = batch(FOREST, VOCABULARY), make_cell("tree_smu, no_op")
    assert plan(trees, cell).schedule.part is not None
    assert plan(trees).schedule.part is None
    assert plan(trees, make_cell("tree_cell")).schedule.part is None, "it has no kernel"
    with kernels("off"):
        assert plan(trees, cell).schedule.part is None
    monkeypatch.setattr(planning, "computes_in_parts", lambda cell: False)
    assert plan(trees, cell).schedule.part is None


def test_parts_are_of_the_batch_alone() -> None:
    cell, trees = make_cell("tree_smu, no_op"), batch(random.Random(0).sample(FOREST, 50), VOCABULARY)
    expected = plan(trees, cell, share=True).schedule.part
    with passes_on(7):
        assert np.array_equal(plan(trees, cell, share=True).schedule.part, expected)


def test_one_tree_next_to_many_is_a_part_of_its_own() -> None:
    large = Tree("add", (random_tree(1, 6, 0), random_tree(2, 6, 0)))
    found = schedule(batch([*FOREST[:20], large], VOCABULARY), in_parts=True)
    assert max(map(len, parts_of(found)[1:])) >= large.size // 2 - 2


def test_a_layout_fits_cells_whose_functions_have_the_same_matrices() -> None:
    cell, other = (TreeLSTM(VOCABULARY, 4, typed=typed) for typed in (True, False))
    trees = batch([random_tree(3, 2, 1)], VOCABULARY)
    made = layout(schedule(trees), cell)
    assert made.fits(TreeLSTM(VOCABULARY, 6))
    assert not made.fits(other)
