"""Drawn cells, by someone who had not seen the compiler, mean the same compiled and by torch's operations."""

from collections import Counter
from dataclasses import replace

import pytest
from drawn_cases import difference
from drawn_cells import FEATURES, DrawnCell, draw_cell

from dgltree.engine.kernels.dispatch import NoKernelError

TOLERANCE = 1e-10
QUICK = [2, 5, 14]
"""Seeds that run always."""


def off_when_compiled(case: DrawnCell) -> tuple[float, str]:
    """The largest difference of states and gradients, and whose it is."""
    return difference(case.run("required"), case.run("off"))


def check_compiled(seed: int) -> None:
    case = draw_cell(seed)
    try:
        off, where = off_when_compiled(case)
    except NoKernelError as error:
        print(f"seed {seed} is refused: {error}")
        pytest.skip(f"refused: {error}")
    assert off <= TOLERANCE, f"{where}: {off:.1e} off\n{case.text}"


@pytest.mark.parametrize("seed", QUICK)
def test_drawn_cells_have_the_states_and_gradients_of_torch(seed: int) -> None:
    pytest.importorskip("numba", reason="the fast extra is not installed")
    check_compiled(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_more_drawn_cells_have_the_states_and_gradients_of_torch(seed: int) -> None:
    pytest.importorskip("numba", reason="the fast extra is not installed")
    check_compiled(seed)


@pytest.mark.parametrize("seed", QUICK)
def test_each_tree_alone_has_the_states_and_gradients_of_its_batch(seed: int) -> None:
    """By torch's operations: what a drawn cell means does not depend on the other rows."""
    case = draw_cell(seed)
    off, where = difference(case.of_roots(alone=False), case.of_roots(alone=True))
    assert off <= TOLERANCE, f"{where}: {off:.1e} off\n{case.text}"


def test_a_changed_sign_is_seen() -> None:
    case = draw_cell(QUICK[1])
    changed = replace(case, text=case.text.replace("3 * torch.tanh(v / 3)", "-3 * torch.tanh(v / 3)"))
    assert changed.text != case.text
    off, _ = difference(changed.run("off"), case.run("off"))
    assert off > 1e-3


def test_each_feature_is_drawn_twice_in_100_cells() -> None:
    counts = Counter(feature for seed in range(100) for feature in draw_cell(seed).features)
    table = "\n".join(f"{counts[feature]:4} {feature}" for feature in FEATURES)
    assert min(counts[feature] for feature in FEATURES) >= 2, table


def test_a_seed_draws_the_same_cell_again() -> None:
    for seed in range(20):
        first = draw_cell(seed)
        second = draw_cell(seed)
        assert first == second
        assert difference(first.run("off"), second.run("off"))[0] == 0
