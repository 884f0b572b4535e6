"""Programs as machine code have the states and gradients of torch's operations, feature by feature."""

from typing import Any
from unittest.mock import patch

import features
import pytest
from features import FEATURES, largest_difference, outcome
from test_features import COMPILED

from dgltree.engine.compiled.catalogue import Catalogue
from dgltree.engine.compiled.recording import PassFunctions, kinds_of
from dgltree.engine.compiled.rows import plain_graph
from dgltree.engine.function import message_function, reduce_function
from dgltree.engine.kernels.blas import product_address

pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")


def by_code(graph: Any, plan: Any, message: Any, reduce: Any, apply: Any) -> Any:
    """As ``interpret``, by machine code."""
    from dgltree.engine.compiled.compiled_pass import run

    plain = plain_graph(graph)
    reduce, reduces_all = reduce_function(reduce)
    functions = PassFunctions(message_function(message), reduce, reduces_all, apply)
    catalogue = Catalogue(functions, kinds_of(plain.ndata), kinds_of(plain.edata))
    return run(plain, plan, catalogue), catalogue


@pytest.mark.parametrize("name", COMPILED)
def test_a_feature_as_machine_code_has_the_states_and_gradients_of_torchs_operations(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if product_address(features.NET.matrix.dtype) is None:
        pytest.skip("the BLAS of this torch is not known")
    monkeypatch.setenv("DGLTREE_CACHE", str(tmp_path))
    with patch.object(features, "interpret", by_code):
        found = outcome(FEATURES[name], is_interpreted=True)
    expected = outcome(FEATURES[name], is_interpreted=False)
    assert largest_difference(found.states, expected.states) < 1e-12
    assert largest_difference(found.gradients, expected.gradients) < 1e-11
