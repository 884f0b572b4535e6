"""The hyperbolic tangent of the kernels, in units in the last place."""

import os
from collections.abc import Callable

import numpy as np
import pytest
import torch

MOST = 4
"""Units in the last place by which it may be off, at any x."""


def by_numba(x: np.ndarray) -> np.ndarray:
    pytest.importorskip("numba", reason="the fast extra is not installed")
    from dgltree.engine.kernels.numba_compile import activate

    a = x.copy()
    activate(a, np.zeros_like(a), len(a))
    return a


def by_triton(x: np.ndarray) -> np.ndarray:
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("TRITON_INTERPRET=1 is not set")
    pytest.importorskip("triton", reason="Triton is not installed")
    from triton_tanh import apply

    padded = torch.zeros(2 ** int(np.ceil(np.log2(len(x)))), dtype=torch.from_numpy(x).dtype)
    padded[: len(x)] = torch.from_numpy(x)
    found = torch.empty_like(padded)
    apply[(1,)](padded, found, len(padded))
    return found[: len(x)].numpy()


BACKENDS = [by_numba, pytest.param(by_triton, marks=pytest.mark.triton)]


def every_scale(dtype: type) -> np.ndarray:
    """Both signs: from 1e-30 to 20 by powers of ten, and evenly; and the values between which the ways change."""
    changes = np.array([np.log(2) * (k + 0.5) / 2 for k in range(30)] + [0.35])
    near = np.concatenate([np.nextafter(changes, 0), changes, np.nextafter(changes, 99)])
    sizes = np.concatenate([np.logspace(-30, np.log10(20), 20_000), np.linspace(0, 20, 20_000), near]).astype(dtype)
    return np.concatenate([sizes, -sizes])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tanh", BACKENDS)
def test_tanh_is_right_to_some_units_in_the_last_place_at_every_scale(
    tanh: Callable[[np.ndarray], np.ndarray], dtype: type
) -> None:
    x = every_scale(dtype)
    exact = np.tanh(x.astype(np.longdouble))
    off = np.abs(tanh(x) - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert off.max() <= MOST, f"{off.max():.3g} at {x[off.argmax()]}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tanh", BACKENDS)
def test_tanh_of_what_is_not_finite_or_large_or_nothing_is_that_of_numpy(
    tanh: Callable[[np.ndarray], np.ndarray], dtype: type
) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1e30, -1e30, 100, -100, 1e-40, -1e-40], dtype)
    np.testing.assert_array_equal(tanh(x), np.tanh(x))
