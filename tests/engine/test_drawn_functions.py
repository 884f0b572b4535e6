"""Drawn functions mean the same to ``prop_nodes_topo`` and to a recursion, and have all that is promised of them."""

from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest
import torch
from drawn_cases import DrawnCase, Fields, FunctionText, difference, minimise, recursion
from drawn_functions import FEATURES, draw_case
from torch import Tensor

import dgltree
from dgltree.engine.kernels.dispatch import kernels

TOLERANCE = 1e-11


def by_frontiers(
    edges: tuple[Tensor, Tensor], ndata: Fields, edata: Fields, message: Any, reduce: Any, apply: Any
) -> None:
    with kernels("off"):
        dgltree.prop_nodes_topo((edges, ndata, edata), message, reduce, apply_node_func=apply)


@pytest.mark.parametrize("seed", range(60))
def test_drawn_functions_have_the_states_and_gradients_of_a_recursion(seed: int) -> None:
    case = draw_case(seed)
    off, where = difference(case.run(by_frontiers), case.run(recursion))
    assert off < TOLERANCE, f"{where}: {off:.1e} off\n{case.source()}"


def test_each_feature_is_drawn_three_times_in_400_cases() -> None:
    counts = Counter(feature for seed in range(400) for feature in draw_case(seed).features)
    table = "\n".join(f"{counts[feature]:4} {feature}" for feature in FEATURES)
    assert min(counts[feature] for feature in FEATURES) >= 3, table


def test_functions_have_10_to_60_statements_or_some_more() -> None:
    lengths = [sum(len(text.statements) for text in draw_case(seed).texts()) for seed in range(400)]
    assert min(lengths) >= 8
    assert sum(lengths) / len(lengths) > 25
    assert max(lengths) < 100


def test_a_seed_draws_the_same_case_again() -> None:
    for seed in range(20):
        first = draw_case(seed)
        second = draw_case(seed)
        assert first.source() == second.source()
        assert difference(first.run(recursion), second.run(recursion))[0] == 0


def case_with(text: str) -> DrawnCase:
    """The first case whose reduce function has the text, and messages to reduce."""
    cases = (draw_case(seed) for seed in range(1000))
    return next(
        case
        for case in cases
        if isinstance(case.reduce, FunctionText) and text in case.reduce.source() and len(case.edges[0]) > 5
    )


def test_a_wrong_value_is_seen_and_minimised_to_the_statements_that_show_it() -> None:
    log_sum_exp = torch.logsumexp

    def wrong(*given: Any) -> None:
        with patch("torch.logsumexp", lambda rows, dim: log_sum_exp(rows, dim) + 1e-9):
            by_frontiers(*given)

    def fails(case: DrawnCase) -> bool:
        return difference(case.run(wrong), case.run(recursion))[0] > TOLERANCE

    case = case_with("torch.logsumexp(")
    assert fails(case)
    small = minimise(case, fails)
    assert fails(small)
    assert "torch.logsumexp(" in small.source()
    length = sum(len(text.statements) for text in case.texts())
    assert sum(len(text.statements) for text in small.texts()) < length / 2


def test_a_wrong_gradient_is_seen_where_states_are_right() -> None:
    tanh = torch.tanh

    def wrong(*given: Any) -> None:
        with patch("torch.tanh", lambda rows: tanh(rows) + 1e-6 * (rows - rows.detach())):
            by_frontiers(*given)

    case = case_with("torch.tanh(")
    off, where = difference(case.run(wrong), case.run(recursion))
    assert off > TOLERANCE
    assert where.startswith("gradients")


def test_an_error_in_a_drawn_function_shows_its_line() -> None:
    case = case_with("torch.tanh(")
    with patch("torch.tanh", side_effect=RuntimeError("no such function")), pytest.raises(RuntimeError) as raised:
        case.run(recursion)
    assert any("torch.tanh(" in str(entry.statement) for entry in raised.traceback)
