"""Programs as machine code have the states and gradients of torch's operations, feature by feature."""

from pathlib import Path

import features
import pytest
from features import FEATURES, largest_difference, outcome
from test_features import COMPILED

from dgltree.engine.kernels.blas import product_address

pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")
if product_address(features.NET.matrix.dtype) is None:
    pytest.skip("the BLAS library of this torch is unknown", allow_module_level=True)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DGLTREE_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    "name",
    [name if number % 4 == 0 else pytest.param(name, marks=pytest.mark.slow) for number, name in enumerate(COMPILED)],
)
def test_a_feature_as_machine_code_has_the_states_and_gradients_of_torchs_operations(name: str) -> None:
    found, expected = outcome(FEATURES[name], "required"), outcome(FEATURES[name], "off")
    assert largest_difference(found.states, expected.states) < 1e-12
    assert largest_difference(found.gradients, expected.gradients) < 1e-11
