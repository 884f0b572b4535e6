"""Whether a kernel is compiled: asking does not compile it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the fast extra is not installed")
import numba

from dgltree.engine.kernels.numba_compile import is_compiled

GIVEN = (np.zeros(3), 1)
SIGNATURE = tuple(map(numba.typeof, GIVEN))


def function(known: bool, on_disk: bool) -> tuple[Any, list[Any]]:
    """One of Numba's, which records what is compiled, or read."""
    compiled: list[Any] = []
    made = SimpleNamespace(overloads={SIGNATURE: None} if known else {}, targetctx=None)
    made._cache = SimpleNamespace(load_overload=lambda *_: object() if on_disk else None)
    made.compile = lambda signature: (compiled.append(signature), made.overloads.update({signature: None}))
    return made, compiled


@pytest.mark.parametrize(
    ("known", "on_disk", "compile_it", "there", "begun"),
    [
        (True, False, False, True, False),
        (True, True, True, True, False),
        (False, True, False, True, True),
        (False, True, True, True, True),
        (False, False, False, False, False),
        (False, False, True, True, True),
    ],
)
def test_only_who_wants_it_compiled_waits_for_it(
    known: bool, on_disk: bool, compile_it: bool, there: bool, begun: bool
) -> None:
    made, compiled = function(known, on_disk)
    assert is_compiled(made, GIVEN, compile_it) == there
    assert compiled == [SIGNATURE] * begun
    assert is_compiled(made, GIVEN, False) == there
    assert compiled == [SIGNATURE] * begun
