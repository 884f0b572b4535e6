"""Networks that read sequences through the kernels for GPUs, interpreted on a CPU: against torch's operations and the
equations.

TRITON_INTERPRET=1 .venv/bin/python -m pytest -m triton tests/engine/test_triton_sequences.py
"""

import math
import os
from collections.abc import Callable, Iterator
from unittest import mock

import pytest
import torch
from on_lstm_oracle import transcribed
from ordered_memory_oracle import transcribed as transcribed_memory
from torch import Tensor, nn

from dgltree.encoders import ONLSTM, OrderedMemory
from dgltree.engine.kernels.dispatch import BACKENDS, TRITON, kernels

pytest.importorskip("triton", reason="Triton is not installed")

from dgltree.engine.kernels.triton_memory import TritonMemory
from dgltree.engine.kernels.triton_on_lstm import TritonONLSTM

pytestmark = [
    pytest.mark.triton,
    pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="TRITON_INTERPRET=1 is not set"),
]


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The words that kernels of ON-LSTM and the batches that kernels of Ordered Memory computed, on a CPU that has
    Triton's, those that compile them included.
    """
    seen: list[str] = []
    read = TritonMemory.forward
    monkeypatch.setattr(TritonMemory, "forward", lambda self: (seen.append("memory"), read(self))[1])
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
    if words > 3:
        padding[1] = torch.arange(words) == words - 2
    return x, padding


def results(layer: nn.Module, x: Tensor, padding: Tensor | None, mode: str) -> list[Tensor]:
    """The output, and the gradients with respect to the input and all parameters."""
    torch.manual_seed(0)
    with kernels(mode):
        steps = layer(x, padding)
    outputs = [steps.root, steps.states, steps.d if isinstance(layer, ONLSTM) else steps.p]
    weights = (torch.rand(part.shape, generator=torch.Generator().manual_seed(k)) for k, part in enumerate(outputs))
    loss = sum((part.sin() * weight).sum() for part, weight in zip(outputs, weights, strict=True))
    return [*outputs, *torch.autograd.grad(loss, [x, *layer.parameters()], materialize_grads=True)]


def close(found: list[Tensor], expected: list[Tensor], tolerance: float = 1e-11) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.isfinite().all()
        assert (one - other).abs().max() <= tolerance * other.abs().max().clamp(min=1)


@pytest.mark.parametrize(("size", "chunk_size"), [(2, 1), (9, 3), (10, 5)])
def test_on_lstm_agrees_with_torchs_operations_and_with_itself(size: int, chunk_size: int, words: list[str]) -> None:
    torch.manual_seed(1)
    layer = ONLSTM(3, [size], chunk_size=chunk_size, weight_dropout=0.3).double()
    x, padding = sentences(4)
    expected, found = (results(layer, x, padding, mode) for mode in ("off", "on"))
    close(found, expected)
    assert len(words) == 1 + 4, "one to compile"
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


def memory(
    size: int = 5, num_slots: int = 3, dtype: torch.dtype = torch.float64, seed: int = 2, **options: object
) -> OrderedMemory:
    """With wide weights, so that attention is sharp; all cells run, as on a GPU."""
    torch.manual_seed(seed)
    made = OrderedMemory(3, size, num_slots=num_slots, dynamic=False, **options).to(dtype)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return made


@pytest.mark.parametrize(
    ("size", "num_slots", "words_read", "options"),
    [
        (5, 3, 5, {}),
        (5, 4, 5, {"operator": "grc", "allowed_maximum": True}),
        (20, 3, 4, {"attention": "paper", "cell_dropout": 0.3, "attention_dropout": 0.3}),
        (5, 2, 4, {"cell_dropout": 0.3, "attention_dropout": 0.3}),
        (5, 3, 4, {"operator": "grc", "cell_dropout": 0.3}),
        (1, 2, 4, {}),
        (3, 1, 4, {}),
        (5, 9, 3, {}),
        (5, 2, 1, {}),
    ],
)
def test_ordered_memory_agrees_with_torchs_operations_and_with_itself(
    size: int, num_slots: int, words_read: int, options: dict[str, object], words: list[str]
) -> None:
    """Dropout has the same masks."""
    layer = memory(size, num_slots, **options)
    x, padding = sentences(words_read, sequences=4)
    if words_read == 1:
        padding[:] = False
    elif words_read > 3:
        padding[2] = torch.arange(words_read) < 2
    expected, found = (results(layer, x, padding, mode) for mode in ("off", "on"))
    close(found, expected, 1e-10)
    assert words == ["memory"] * 2, "one to compile"
    assert all(map(torch.equal, results(layer, x, padding, "on"), found))


def test_sharp_attention_that_leaves_no_slot_agrees() -> None:
    """Where dropout gives the largest score to a closed slot, the sum is bounded from below: the maximum matters."""
    layer, (x, _) = memory(seed=3, attention_dropout=0.5), sentences(5, sequences=6)
    with torch.no_grad():
        layer.attention.w.weight.mul_(30)
    expected, found = (results(layer, x, None, mode) for mode in ("off", "on"))
    close(found, expected)
    left = found[2].sum(2)[:, 1:]
    assert ((left < 0.9) & (left > 0.1)).any()


def test_rows_of_several_blocks_and_sequences_of_several_tiles_agree_with_torchs_operations(words: list[str]) -> None:
    for layer, count, sequences in ((memory(70, 1), 2, 2), (memory(3, 2), 3, 18)):
        x, _ = sentences(count, sequences=sequences)
        close(results(layer, x, None, "on"), results(layer, x, None, "off"), 1e-9)
    assert len(words) == 4


@pytest.mark.parametrize("options", [{}, {"operator": "grc", "attention": "paper", "allowed_maximum": True}])
def test_ordered_memory_agrees_with_its_equations(options: dict[str, object], words: list[str]) -> None:
    layer = memory(6, 3, **options)
    x, padding = sentences(5)
    root, states, p, *_ = results(layer, x, padding, "on")
    for row in range(len(x)):
        alone = transcribed_memory(layer, list(x[row][~padding[row]]), 3)
        close([root[row], states[row][~padding[row]], p[row][~padding[row]]], list(alone[:3]))
    assert words


def test_float32_agrees_with_float64() -> None:
    layer = memory().float()
    x, padding = sentences(5)
    found = results(layer, x.float().detach().requires_grad_(), padding, "on")
    close([part.double() for part in found], results(layer.double(), x, padding, "off"), 1e-3)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_without_gradients_there_is_room_for_two_words_and_the_states_are_the_same(dropout: float) -> None:
    layer = memory(cell_dropout=dropout, attention_dropout=dropout)
    x, padding = sentences(4)
    expected = results(layer, x, padding, "on")
    torch.manual_seed(0)
    with torch.no_grad(), kernels("on"):
        steps = layer(x, padding)
    close([steps.root, steps.states, steps.p], expected[:3], 1e-13)


def test_backward_of_ordered_memory_can_be_repeated_and_weights_may_be_views() -> None:
    layer = memory()
    layer.cell.second.weight = nn.Parameter(layer.cell.second.weight.detach().t().contiguous().t())
    x, padding = sentences(4)
    with kernels("on"):
        steps = layer(x, padding)
    loss = steps.states.sin().sum()
    first, second = (torch.autograd.grad(loss, [x, *layer.cell.parameters()], retain_graph=again) for again in (1, 0))
    assert all(map(torch.equal, first, second))
    with kernels("off"):
        expected = torch.autograd.grad(layer(x, padding).states.sin().sum(), [x, *layer.cell.parameters()])
    close(list(first), list(expected))


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_gradients_of_ordered_memory_have_gradients(dropout: float) -> None:
    layer, found = memory(cell_dropout=dropout, attention_dropout=dropout), []
    x, padding = sentences(4)
    for mode in ("off", "on"):
        torch.manual_seed(4)
        with kernels(mode):
            root = layer(x, padding).root
        (of_x,) = torch.autograd.grad(root.square().sum(), x, create_graph=True)
        found.append([of_x, *torch.autograd.grad(of_x.square().sum(), [x, *layer.cell.parameters()])])
    close(found[1], found[0], 1e-9)


def hook(layer: OrderedMemory) -> None:
    layer.attention.key.register_forward_hook(lambda module, given, result: result.sin())


def replace(layer: OrderedMemory) -> None:
    layer.cell.horizontal.forward = lambda h: layer.cell.vertical(h)  # type: ignore[method-assign]


def without_bias(layer: OrderedMemory) -> None:
    layer.attention.key.bias = None


class Halved(OrderedMemory):
    def _attend(self, *given: object) -> Tensor:
        return super()._attend(*given) / 2  # type: ignore[arg-type]


def derive(layer: OrderedMemory) -> None:
    layer.__class__ = Halved


@pytest.mark.parametrize("change", [hook, replace, without_bias, derive])
def test_a_changed_memory_runs_on_torchs_operations(change: Callable[[OrderedMemory], None], words: list[str]) -> None:
    layer = memory()
    x, padding = sentences(4)
    before = layer(x, padding).states
    words.clear()
    change(layer)
    with kernels("on"):
        found = layer(x, padding).states
    with kernels("off"):
        assert torch.equal(found, layer(x, padding).states)
    assert not torch.allclose(found, before)
    assert not words


def test_a_trace_a_network_without_a_kernel_and_half_precision_run_on_torchs_operations(words: list[str]) -> None:
    x, padding = sentences(3, torch.float32)
    layer = memory(dtype=torch.float32)
    with kernels("on"):
        assert layer(x, padding, trace=True).slots.isfinite().all()
        assert memory(operator="tree_rnn", dtype=torch.float32)(x, padding).states.isfinite().all()
        torch.func.grad(lambda given: layer(given, padding).root.sum())(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            layer(x, padding)
        assert layer.bfloat16()(x.bfloat16(), padding).states.isfinite().all()
    assert not words


@pytest.mark.filterwarnings("ignore:(invalid value|All-NaN|divide by zero|overflow):RuntimeWarning")
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_passes_ordered_memory_as_in_torch(value: float) -> None:
    layer, states = memory(), []
    x, _ = sentences(3)
    with torch.no_grad():
        x[0, 1, 0] = value
        for mode in ("on", "off"):
            with kernels(mode):
                states.append(layer(x).states)
    torch.testing.assert_close(*states, equal_nan=True)
    assert states[0][0, 1].isnan().all()
    assert states[0][1:].isfinite().all()


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


@pytest.mark.parametrize("make", [lambda: ONLSTM(3, [4], chunk_size=2).double(), memory])
def test_without_triton_torchs_operations_compute_and_it_is_reported_once(
    make: Callable[[], nn.Module], words: list[str]
) -> None:
    layer = make()
    x, padding = sentences(3)
    expected = results(layer, x, padding, "off")
    missing = ModuleNotFoundError("No module named 'triton'", name="triton")
    with mock.patch.object(TRITON, "load", side_effect=missing):
        with pytest.warns(RuntimeWarning, match=r"Triton is not installed \(pip install triton\)"):
            first = results(layer, x, padding, "on")
        assert not words
        for found in (first, results(layer, x, padding, "on")):
            assert all(map(torch.equal, found, expected))
