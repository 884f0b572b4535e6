"""ON-LSTM: its numbers are those of its equations."""

import math

import pytest
import torch
from on_lstm_oracle import transcribed
from torch import Tensor

from dgltree.encoders import LSTM, ONLSTM, SequenceONLSTM
from dgltree.encoders.latent import on_lstm
from dgltree.encoders.latent.on_lstm import ONLSTMLayer, cumulate, step
from dgltree.encoders.sequence.recurrent import drop_weights
from dgltree.engine.kernels.dispatch import kernels
from dgltree.engine.kernels.kernel import LayerRows
from dgltree.engine.kernels.numba_on_lstm import ONLSTMKernel

LENGTHS = [1, 4, 9, 6]


def make(dtype: torch.dtype = torch.float64) -> ONLSTM:
    """Two layers of 12 and 8 units in chunks of 2, over vectors of width 5; wide weights open and close gates."""
    torch.manual_seed(0)
    lstm = ONLSTM(5, [12, 8], chunk_size=2)
    with torch.no_grad():
        for p in lstm.parameters():
            p.mul_(3)
    return lstm.to(dtype)


def sentences(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    x = torch.randn(4, 9, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return x.to(dtype), torch.arange(9) >= torch.tensor(LENGTHS).unsqueeze(1)


def states_and_gradients(lstm: ONLSTM, root: Tensor, states: Tensor, d: Tensor, x: Tensor) -> list[Tensor]:
    lstm.zero_grad()
    weights = torch.arange(1, root.numel() + 1, dtype=root.dtype).view_as(root)
    ((root * weights).sum() + states.square().sum() + d.sin().sum()).backward()
    assert x.grad is not None
    gradients = [p.grad.clone() for p in lstm.parameters() if p.grad is not None]
    found = [root.detach(), states.detach(), d.detach(), x.grad, *gradients]
    x.grad = None
    return found


def close(found: list[Tensor], expected: list[Tensor], tolerance: float) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a - b).abs().max() <= tolerance * b.abs().max().clamp(min=1)


def test_states_distances_and_gradients_are_those_of_the_equations() -> None:
    lstm, (x, padding) = make(), sentences()
    x.requires_grad_()
    roots, states, distances = [], [], []
    for row, n in zip(x, LENGTHS, strict=True):
        words, columns = list(row[:n]), []
        for layer in lstm.layers:
            words, d, _ = transcribed(layer, words)
            columns.append(torch.stack(d))
        roots.append(words[-1])
        states.extend(words)
        distances.append(torch.stack(columns, 1))
    slow = states_and_gradients(lstm, torch.stack(roots), torch.stack(states), torch.cat(distances), x)
    steps = lstm(x, padding)
    assert steps.d.shape == (4, 9, 2)
    close(states_and_gradients(lstm, steps.root, steps.states[~padding], steps.d[~padding], x), slow, 1e-10)


@pytest.mark.parametrize("mode", ["on", "off"])
def test_traced_master_gates_are_those_of_the_equations(mode: str) -> None:
    lstm, (x, padding) = ONLSTM(5, [8, 8], chunk_size=2).double(), sentences()
    x.requires_grad_()
    with kernels(mode):
        steps = lstm(x, padding, trace=True)
    found, expected = steps.master_gates[~padding], []
    for row, n in zip(x, LENGTHS, strict=True):
        words, gates = list(row[:n]), []
        for layer in lstm.layers:
            words, _, masters = transcribed(layer, words)
            gates.append(torch.stack(masters))
        expected.append(torch.stack(gates, 1))
    assert steps.master_gates.shape == (4, 9, 2, 2, 4)
    assert not steps.master_gates[padding].any()
    weights = torch.rand(found.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    of_x = [torch.autograd.grad((gates * weights).sum(), x)[0] for gates in (found, torch.cat(expected))]
    close([found, of_x[0]], [torch.cat(expected), of_x[1]], 1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("places", [range(3, 9), range(6), range(2, 8), [0, 2, 3, 6, 7, 9]])
def test_padding_anywhere_changes_neither_states_nor_gradients(
    places: list[int], dtype: torch.dtype, tolerance: float
) -> None:
    lstm, (x, _) = make(dtype), sentences(dtype)
    alone, absent = x[:1, :6].clone().requires_grad_(), torch.ones(1, 10, dtype=torch.bool)
    wide = x.new_full((1, 10, 5), math.nan)
    wide[0, list(places)], absent[0, list(places)] = x[0, :6], False
    wide.requires_grad_()
    steps, padded = lstm(alone, absent.new_zeros(1, 6)), lstm(wide, absent)
    assert not padded.states[absent].any()
    assert not padded.d[absent].any()
    expected = states_and_gradients(lstm, steps.root, steps.states, steps.d, alone)
    found = states_and_gradients(lstm, padded.root, padded.states[~absent][None], padded.d[~absent][None], wide)
    assert not found[3][absent].any()
    found[3] = found[3][~absent][None]
    close(found, expected, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
def test_the_kernel_gives_what_torch_gives(
    dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba", reason="the fast extra is not installed")
    lstm, (x, padding) = make(dtype), sentences(dtype)
    x.requires_grad_()
    given = [(torch.randn(4, n).to(dtype), torch.randn(4, n).to(dtype).requires_grad_()) for n in (12, 8)]
    found, used = [], []
    kernel_step = ONLSTMKernel.forward
    monkeypatch.setattr(ONLSTMKernel, "forward", lambda *args: used.append(mode) or kernel_step(*args))
    for mode in ("on", "off"):
        with kernels(mode):
            steps = lstm(x, padding, tuple(given))
            found.append(states_and_gradients(lstm, steps.root, steps.states, steps.d, x))
        found[-1] += [c.grad.clone() for _, c in given]
        given[0][1].grad = given[1][1].grad = None
    assert set(used) == {"on"}
    close(*found, tolerance)


def test_what_is_not_finite_passes_the_kernel_as_in_torch() -> None:
    lstm, (x, _) = make(), sentences()
    x[0, 3, 1], x[1, 2, 0] = math.nan, math.inf
    results = []
    for mode in ("on", "off"):
        with kernels(mode):
            results.append(lstm(x).states)
    torch.testing.assert_close(*results, rtol=0, atol=1e-12, equal_nan=True)
    assert results[0][0, 3:].isnan().all()


def one_step(kernel: type[ONLSTMKernel], pre: Tensor, c: Tensor, chunks: int) -> tuple[Tensor, Tensor, Tensor]:
    """h, c and f~ of one step of sequences that have a word, by a kernel."""
    batch, n = c.shape
    states, cells = torch.zeros(2 * batch, n, dtype=c.dtype), torch.cat([c, torch.zeros_like(c)])
    present, bounds = torch.ones(batch, dtype=torch.bool), [(0, batch, batch, 0)]
    rows = LayerRows(pre, states, cells, pre.new_zeros(batch, chunks), present, bounds, [True])
    kernel(rows).forward(0)
    return states[batch:], cells[batch:], rows.masters


def test_what_is_not_finite_in_one_gate_passes_the_kernel_as_in_torch() -> None:
    """In each of two chunks of the master gates, and in each unit of the others: NaN is where torch has it."""
    pytest.importorskip("numba", reason="the fast extra is not installed")
    whole = torch.randn(20, 20, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    pre = torch.where(torch.eye(20, dtype=torch.bool), math.nan, whole)  # f~, i~ of 2 chunks; f, i, o, c^ of 4 units
    c = torch.randn(20, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    expected = step(pre.clone(), c, 2)[:3]
    for found, right in zip(one_step(ONLSTMKernel, pre.clone(), c, 2), expected, strict=True):
        torch.testing.assert_close(found, right, rtol=0, atol=1e-12, equal_nan=True)
    assert expected[0].isnan().any(1).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("mode", ["on", "off"])
def test_the_units_of_the_last_chunk_stay_0(dtype: torch.dtype, mode: str) -> None:
    torch.manual_seed(0)
    lstm = ONLSTM(5, [64], chunk_size=2).to(dtype)
    x, padding = sentences(dtype)
    with kernels(mode):
        states = lstm(3 * x, padding).states
    assert not states[..., -2:].any()
    assert (states[~padding][:, :-2] != 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_master_gates_rise_from_0_to_1(dtype: torch.dtype) -> None:
    z = 30 * torch.randn(200, 17, generator=torch.Generator().manual_seed(0), dtype=dtype)
    gate = cumulate(z.softmax(1))
    assert (gate.diff(dim=1) >= 0).all()
    assert (gate >= 0).all()
    assert (gate[:, -1] == 1).all()
    torch.testing.assert_close(gate, z.softmax(1).cumsum(1))
    x, padding = sentences(dtype)
    d = make(dtype)(x, padding).d
    assert (d >= 0).all()
    assert (d[..., 0] <= 6).all()
    assert (d[..., 1] <= 4).all()


def test_words_of_one_sequence_do_not_depend_on_another_of_5000() -> None:
    lstm, generator = make(), torch.Generator().manual_seed(3)
    x = torch.randn(2, 5000, 5, generator=generator, dtype=torch.float64).requires_grad_()
    padding = torch.arange(5000) >= torch.tensor([[1], [5000]])
    steps, alone = lstm(x, padding), lstm(x[:1, :1], padding[:1, :1])
    torch.testing.assert_close(steps.root[:1], alone.root, rtol=0, atol=1e-12)
    (gradient,) = torch.autograd.grad(steps.root[0].sum(), x)
    assert gradient[0, 0].any()
    assert not gradient[0, 1:].any()
    assert not gradient[1].any()


def core(**options: float) -> SequenceONLSTM:
    torch.manual_seed(0)
    return SequenceONLSTM(20, 12, num_layers=2, chunk_size=3, **options).double()


IDS = torch.tensor([[3, 4, 5, 6, 7, 8, 9], [5, 4, 0, 0, 0, 0, 0], [7, 3, 4, 9, 2, 0, 0]])
ENDS = torch.tensor([7, 2, 5])


def test_steps_end_in_the_state_of_a_call() -> None:
    lstm = core(embedding_size=5)
    steps = lstm.steps(IDS, ENDS)
    torch.testing.assert_close(steps.root, lstm(IDS, ENDS), rtol=0, atol=1e-12)
    torch.testing.assert_close(steps.states[range(3), ENDS - 1], steps.root, rtol=0, atol=0)
    assert steps.d.shape == (3, 7, 2)


def test_weight_dropout_leaves_weights_out_and_does_not_rescale() -> None:
    layer = ONLSTMLayer(4, 40, 2, weight_dropout=0.25)
    torch.manual_seed(0)
    first, second = (drop_weights(layer.hidden.weight, 0.25, training=True) for _ in range(2))
    dropped = first == 0
    assert not torch.equal(first, second)
    assert torch.equal(first[~dropped], layer.hidden.weight[~dropped])
    assert abs(float(dropped.double().mean()) - 0.25) < 0.02
    assert dropped[:40].any(), "the master gates' weights too"
    first.sum().backward()
    assert layer.hidden.weight.grad is not None
    assert torch.equal(layer.hidden.weight.grad, (~dropped).float())
    assert torch.equal(drop_weights(layer.hidden.weight, 0.25, training=False), layer.hidden.weight * 0.75)


def test_one_mask_of_the_weights_serves_sequences_of_all_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    lstm, drawn = core(weight_dropout=0.5), []

    def counted(weight: Tensor, p: float, training: bool) -> Tensor:
        drawn.append(drop_weights(weight, p, training))
        return drawn[-1]

    monkeypatch.setattr(on_lstm, "drop_weights", counted)
    together = lstm(IDS, ENDS)
    assert len(drawn) == 2, "one a layer"
    assert not torch.allclose(lstm(IDS, ENDS), together)
    masks = {id(layer.hidden.weight): weight for layer, weight in zip(lstm.lstm.layers, drawn[:2], strict=True)}
    monkeypatch.setattr(on_lstm, "drop_weights", lambda weight, *_: masks[id(weight)])
    for row, n in enumerate(ENDS.tolist()):
        alone = lstm(IDS[row : row + 1, :n], torch.tensor([n]))
        torch.testing.assert_close(together[row : row + 1], alone, rtol=0, atol=1e-12)


def test_weights_out_of_dropout_are_used_and_the_bias_is_kept() -> None:
    lstm, plain = core(weight_dropout=0.5).eval(), core()
    with torch.no_grad():
        for layer in plain.lstm.layers:
            layer.hidden.weight.mul_(0.5)
    torch.testing.assert_close(lstm(IDS, ENDS), plain(IDS, ENDS), rtol=0, atol=1e-12)


def test_dropout_between_layers_has_one_mask_for_all_steps_and_none_on_the_input() -> None:
    torch.manual_seed(0)
    lstm, (x, padding) = ONLSTM(5, [12, 8], chunk_size=2, dropout=0.5).double(), sentences()
    seen: list[Tensor] = []
    for layer in lstm.layers:
        layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    lstm(x, padding)
    assert torch.equal(seen[0], x * ~padding.unsqueeze(2))
    dropped = seen[1][2, :, :10] == 0
    assert torch.equal(dropped, dropped[:1].expand_as(dropped))
    assert dropped.any()
    assert not dropped.all()


def test_the_language_model_of_the_paper_has_25_232_180_parameters() -> None:
    with torch.device("meta"):
        lstm = ONLSTM(400, [1150, 1150, 400], chunk_size=10)
    embedding, decoder_bias = 10_000 * 400, 10_000  # the decoder's weights are the embedding
    assert sum(p.numel() for p in lstm.parameters()) + embedding + decoder_bias == 25_232_180


@pytest.mark.parametrize(
    ("sizes", "chunk_size", "error"),
    [
        ([], 2, "the number of layers is 0"),
        ([12, 7], 2, "hidden_size is 7 and chunk_size is 2; the chunk size must divide the hidden size"),
        ([12, 4], 4, "chunk_size is 4, all units"),
        ([12], 0, "chunk_size is 0"),
        ([0], 2, "hidden_size is 0"),
    ],
)
def test_impossible_sizes_are_refused(sizes: list[int], chunk_size: int, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        ONLSTM(5, sizes, chunk_size=chunk_size)


def test_bad_input_is_refused() -> None:
    padding = torch.zeros(2, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"x is \(2, 3, 4\); it must be \(B, T, 5\)"):
        ONLSTM(5, [4])(torch.zeros(2, 3, 4), padding)
    with pytest.raises(ValueError, match=r"padding is \(2, 2\) torch.bool; it must be \(2, 3\) bool"):
        ONLSTM(5, [4])(torch.zeros(2, 3, 5), padding[:, :2])
    padding[1] = True
    with pytest.raises(ValueError, match="sequence 1 is empty"):
        ONLSTM(5, [4])(torch.zeros(2, 3, 5), padding)
    for read in (core(max_length=6), core(max_length=6).steps):
        with pytest.raises(ValueError, match="sequence 0 has length 7; this encoder takes max_length=6"):
            read(IDS, ENDS)
        with pytest.raises(ValueError, match="lengths go from 0 to 5"):
            read(IDS, torch.tensor([5, 0, 5]))


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("power", [1, 2])
def test_a_gradient_of_a_gradient_is_refused(mode: str, power: int) -> None:
    """A power of 1: the incoming gradients are constants, and the part through the recurrence would be left out."""
    layer = ONLSTMLayer(5, 6, 2, 0.0).double()
    x = sentences()[0].requires_grad_()
    with kernels(mode):
        (found,) = torch.autograd.grad(layer(x).states.pow(power).sum(), x, create_graph=True)
        assert found.isfinite().all(), "it can be read, though not differentiated"
        for other in ([], [x], list(layer.parameters())):  # of all leaves, or of given ones alone
            with pytest.raises(RuntimeError, match="a second derivative"):
                torch.autograd.backward(found.square().sum(), inputs=other or None, retain_graph=True)


def test_a_size_alone_and_a_bad_dropout_are_refused_by_name() -> None:
    for layers in (ONLSTM, LSTM):
        with pytest.raises(TypeError, match=r"sizes is 8; give the size of each layer in a list: \[8\]"):
            layers(5, 8)
        with pytest.raises(ValueError, match="weight_dropout is 1"):
            layers(5, [8], weight_dropout=1)


def test_gradients_in_32_bits_are_as_near_to_64_as_torchs_with_many_chunks() -> None:
    def gradients(dtype: torch.dtype, mode: str, seed: int) -> Tensor:
        torch.manual_seed(seed)
        network = ONLSTM(8, [257], chunk_size=1).double()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(8)
        x = torch.randn(4, 12, 8, dtype=torch.float64).to(dtype).requires_grad_()
        network = network.to(dtype)
        with kernels(mode):
            network(x, torch.zeros(4, 12, dtype=torch.bool)).root.sum().backward()
        found = [x.grad, *(parameter.grad for parameter in network.parameters())]
        return torch.cat([(each / each.abs().max()).flatten().double() for each in found if each is not None])

    error = {"on": 0.0, "off": 0.0}
    for seed in range(3):
        exact = gradients(torch.float64, "off", seed)
        for mode in error:
            error[mode] = max(error[mode], float((gradients(torch.float32, mode, seed) - exact).abs().max()))
    assert error["on"] <= 1.75 * error["off"]  # twice with sums over chunks in 32 bits
