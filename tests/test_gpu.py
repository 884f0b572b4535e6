"""The level engine on a GPU: the numbers of the CPU, and no step that waits for the device."""

import warnings
from collections.abc import Callable

import pytest
import torch
from engines import assert_close, gradients
from helpers import VOCABULARY, chain, random_tree, suited
from rows import ROWS, make_cell

from dgltree import batch, plan, propagate, root_states
from dgltree.cells import TreeSMU

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


def waits(run: Callable[[], object]) -> int:
    """How often a run waits for the device."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            run()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return len(found)


@pytest.mark.parametrize("name", ROWS)
def test_a_gpu_gives_the_same_states_and_gradients(name: str) -> None:
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(6, 3, seed) for seed in range(5)]), cell.vocabulary)
    expected = propagate(trees, cell)
    wanted = gradients(cell, expected)
    found = propagate(trees.to("cuda"), cell.cuda())
    given = gradients(cell, found)
    for results, right in ((found, expected), (given, wanted)):
        for what, tensor in right.items():
            assert_close(results[what].cpu(), tensor, what)


def test_no_step_of_the_level_engine_waits() -> None:
    cell, counts = TreeSMU(VOCABULARY, 5, stack_size=3, no_op=True).cuda(), []
    for depth in (5, 50):
        planned = plan(batch([chain(depth), chain(3)], VOCABULARY).to("cuda"), cell)

        def step(planned=planned) -> None:
            root_states(planned, cell).sum().backward()

        step()  # the first call sets up the device's libraries
        counts.append(waits(step))
    assert counts[0] == counts[1]
