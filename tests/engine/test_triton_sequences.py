"""Networks that read sequences through the kernels for GPUs, interpreted on a CPU: against torch's operations and the
equations.

TRITON_INTERPRET=1 .venv/bin/python -m pytest -m triton tests/engine/test_triton_sequences.py
"""

import math
import os
from collections.abc import Iterator
from unittest import mock

import pytest
import torch
from on_lstm_oracle import transcribed
from torch import Tensor, nn

from dgltree.encoders import ONLSTM
from dgltree.engine.kernels.backends import BACKENDS, TRITON
from dgltree.engine.kernels.choice import kernels

pytest.importorskip("triton", reason="Triton is not installed")

from dgltree.engine.kernels.triton_on_lstm import TritonONLSTM

pytestmark = [
    pytest.mark.triton,
    pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="TRITON_INTERPRET=1 is not set"),
]


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The words that kernels computed, on a CPU that has Triton's."""
    seen: list[str] = []
    compute = TritonONLSTM.forward
    monkeypatch.setattr(TritonONLSTM, "forward", lambda self, t: (seen.append("on_lstm"), compute(self, t))[1])
    with mock.patch.dict(BACKENDS, cpu=TRITON), mock.patch.object(TRITON, "known", {}):
        yield seen


def sentences(words: int, dtype: torch.dtype = torch.float64, sequences: int = 3) -> tuple[Tensor, Tensor]:
    """Drawn vectors, (B, T, 3), with padding within and after them."""
    draw = torch.Generator().manual_seed(words)
    x = torch.randn(sequences, words, 3, generator=draw, dtype=torch.float64).to(dtype).requires_grad_()
    padding = torch.rand(sequences, words, generator=draw) < 0.3
    padding[:, 0] = padding[0] = False
    padding[-1, -2:] = True
    return x, padding


def results(layer: nn.Module, x: Tensor, padding: Tensor | None, mode: str) -> list[Tensor]:
    """The output, and the gradients with respect to the input and all parameters."""
    torch.manual_seed(0)
    with kernels(mode):
        steps = layer(x, padding)
    outputs = [part for part in steps[:3] if isinstance(part, Tensor)]
    weights = (torch.rand(part.shape, generator=torch.Generator().manual_seed(k)) for k, part in enumerate(outputs))
    loss = sum((part.sin() * weight).sum() for part, weight in zip(outputs, weights, strict=True))
    return [*outputs, *torch.autograd.grad(loss, [x, *layer.parameters()])]


def close(found: list[Tensor], expected: list[Tensor], tolerance: float = 1e-11) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.isfinite().all()
        assert (one - other).abs().max() <= tolerance * other.abs().max().clamp(min=1)


@pytest.mark.parametrize(("size", "chunk_size"), [(2, 1), (9, 3), (10, 5), (7, 1)])
def test_on_lstm_agrees_with_torchs_operations_and_with_itself(size: int, chunk_size: int, words: list[str]) -> None:
    torch.manual_seed(1)
    layer = ONLSTM(3, [size], chunk_size=chunk_size, weight_dropout=0.3).double()
    x, padding = sentences(6)
    expected, found = (results(layer, x, padding, mode) for mode in ("off", "on"))
    close(found, expected)
    assert len(words) == 1 + 6, "one to compile"
    assert all(map(torch.equal, results(layer, x, padding, "on"), found))


def test_on_lstm_agrees_with_its_equations(words: list[str]) -> None:
    torch.manual_seed(1)
    lstm = ONLSTM(3, [6], chunk_size=2).double()
    x, padding = sentences(5)
    root, states, d, *_ = results(lstm, x, padding, "on")
    for row in range(len(x)):
        own, distances, _ = transcribed(lstm.layers[0], list(x[row][~padding[row]]))
        close([states[row][~padding[row]], root[row]], [torch.stack(own), own[-1]])
        close([d[row][~padding[row]][:, 0]], [torch.stack(distances)])
    assert len(words) == 1 + 5


def test_on_lstm_continues_from_a_state_and_wide_rows_agree_in_float32(words: list[str]) -> None:
    """1,000 units, one sequence in which all words are there."""
    torch.manual_seed(1)
    layer = ONLSTM(3, [1000], chunk_size=10)
    x = sentences(2, torch.float32, 2)[0]
    state = [tuple(torch.randn(2, 1000) for _ in range(2))]
    found = []
    for mode in ("off", "on"):
        with kernels(mode):
            steps = layer(x, None, state)
        found.append([steps.root, *torch.autograd.grad(steps.states.sum(), [x, *layer.parameters()])])
    close(found[1], found[0], 1e-4)
    assert words


def test_dropout_between_layers_and_of_a_network_has_the_masks_of_torch() -> None:
    layer = ONLSTM(3, [4, 4], chunk_size=2, dropout=0.5, weight_dropout=0.5).double()
    x, padding = sentences(3)
    close(results(layer, x, padding, "on"), results(layer, x, padding, "off"))


@pytest.mark.filterwarnings("ignore:(invalid value|All-NaN):RuntimeWarning")
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_passes_on_lstm_as_in_torch(value: float) -> None:
    layer = ONLSTM(3, [4], chunk_size=2).double()
    x, _ = sentences(3)
    states = []
    with torch.no_grad():
        x[0, 1, 0] = value
        for mode in ("on", "off"):
            with kernels(mode):
                states.append(layer(x).states)
    torch.testing.assert_close(*states, equal_nan=True)


def test_half_precision_runs_on_torchs_operations_and_autocast_in_the_weights_dtype(words: list[str]) -> None:
    layer = ONLSTM(3, [4], chunk_size=2)
    x, padding = sentences(3, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16), kernels("on"):
        assert layer(x, padding).states.dtype == torch.float32
    assert words
    words.clear()
    with kernels("on"):
        assert layer.bfloat16()(x.bfloat16(), padding).states.isfinite().all()
    assert not words


def test_without_triton_torchs_operations_compute_and_it_is_reported_once(words: list[str]) -> None:
    layer = ONLSTM(3, [4], chunk_size=2).double()
    x, padding = sentences(3)
    expected = results(layer, x, padding, "off")
    missing = ModuleNotFoundError("No module named 'triton'", name="triton")
    with mock.patch.object(TRITON, "load", side_effect=missing):
        with pytest.warns(RuntimeWarning, match=r"Triton is not installed \(pip install triton\)"):
            first = results(layer, x, padding, "on")
        assert not words
        for found in (first, results(layer, x, padding, "on")):
            assert all(map(torch.equal, found, expected))
