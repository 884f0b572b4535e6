"""Exponentials of machine code are right to a few last bits over their whole range, by mpmath."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")
mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")

from dgltree.engine.compiled.module import CompiledModule  # noqa: E402, needs llvmlite
from dgltree.engine.compiled.printer import I64, Function, Printer  # noqa: E402

Array = np.ndarray[Any, Any]
EXACT = {
    "exp": lambda x: mpmath.exp(x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "tanh": lambda x: mpmath.tanh(x),
}
ENDS = {"exp": (-708.0, 709.7), "sigmoid": (-700.0, 700.0), "tanh": (-40.0, 40.0)}
"""In float64; beyond them the value is 0, 1 or infinite but for less than the smallest normal number."""
FLOAT_ENDS = {"exp": (-86.9, 88.7), "sigmoid": (-86.0, 86.0), "tanh": (-20.0, 20.0)}
ULPS = {"exp": 1.0, "sigmoid": 2.2, "tanh": 2.8}


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DGLTREE_CACHE", str(tmp_path))


def computed(name: str, x: Array) -> Array:
    """One of the functions at each number, in a loop as those over columns."""
    printer = Printer(is_double=x.dtype == np.float64)
    pointer = printer.float.as_pointer()
    function = Function(printer, "columns", False, {"x": pointer, "y": pointer, "count": I64})
    builder, given = function.builder, function.given
    with function.loop(function.number(0), given["count"]) as column:
        number = builder.load(builder.gep(given["x"], [column]))
        found = builder.call(printer.exponentials.named(name), [number])
        builder.store(found, builder.gep(given["y"], [column]))
    builder.ret_void()
    y = np.empty_like(x)
    module = CompiledModule(str(printer.module), {"columns": 3})  # its functions end with it
    module.functions["columns"](x.ctypes.data, y.ctypes.data, len(x))
    return y


def numbers(ends: tuple[float, float], dtype: Any) -> Array:
    """Drawn over the range and towards 0, where tanh is a number's own size."""
    drawn = np.random.default_rng(0)
    wide = drawn.uniform(*ends, 2000)
    small = np.exp(drawn.uniform(np.log(1e-30), np.log(max(ends)), 2000)) * drawn.choice([-1, 1], 2000)
    return np.concatenate([wide, small[(small > ends[0]) & (small < ends[1])]]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EXACT)
def test_the_last_bits_are_right(name: str, dtype: Any) -> None:
    x = numbers((ENDS if dtype == np.float64 else FLOAT_ENDS)[name], dtype)
    found = computed(name, x)
    with mpmath.workdps(40):
        exact = [EXACT[name](mpmath.mpf(float(number))) for number in x]
        spacing = [float(np.spacing(abs(dtype(float(number))))) for number in exact]
        ulps = [abs(float((mpmath.mpf(float(y)) - e) / s)) for y, e, s in zip(found, exact, spacing, strict=True)]
    assert max(ulps) < ULPS[name]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_has_no_size_goes_through(dtype: Any) -> None:
    x = np.array([-np.inf, np.inf, np.nan, -1e30, 1e30, 0.0, -0.0], dtype)
    expected = {
        "exp": [0, np.inf, np.nan, 0, np.inf, 1, 1],
        "sigmoid": [0, 1, np.nan, 0, 1, 0.5, 0.5],
        "tanh": [-1, 1, np.nan, -1, 1, 0, 0],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(computed(name, x), np.array(values, dtype), rtol=0, atol=1e-30)
