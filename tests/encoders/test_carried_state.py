"""A carried state: parts of a text are read as the whole of it is, and streams in columns as each alone."""

import pytest
import torch
from torch import Tensor

from dgltree.encoders import LSTM, ONLSTM, RecurrentLayers, RecurrentSteps, SequenceLSTM, SequenceONLSTM

KINDS = ["on_lstm", "lstm"]
CORES = [SequenceONLSTM, SequenceLSTM]


def make(kind: str, **options: float) -> RecurrentLayers:
    torch.manual_seed(0)
    if kind == "on_lstm":
        return ONLSTM(5, [12, 8, 4], chunk_size=2, **options).double()
    return LSTM(5, [12, 8, 4], **options).double()


def streams() -> Tensor:
    return torch.randn(4, 11, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def in_parts(layers: RecurrentLayers, x: Tensor, lengths: list[int]) -> RecurrentSteps:
    states, distances, state = [], [], None
    for part in x.split(lengths, 1):
        steps = layers(part, None, state)
        state = steps.state
        states.append(steps.states)
        distances.append(steps.d)
    return RecurrentSteps(steps.root, torch.cat(states, 1), torch.cat(distances, 1), steps.state)


def same(found: RecurrentSteps, expected: RecurrentSteps, tolerance: float) -> None:
    for a, b in zip(found[:3], expected[:3], strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance)
    for ours, theirs in zip(found.state, expected.state, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_with_a_carried_state_are_one_long_pass(kind: str) -> None:
    layers, x = make(kind), streams()
    same(in_parts(layers, x, [3, 1, 5, 2]), layers(x), 1e-13)
    assert not torch.allclose(layers(x[:, 3:]).states, layers(x).states[:, 3:])


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_the_words_of_an_earlier_part(kind: str) -> None:
    layers, gradients = make(kind), []
    for lengths in ([11], [3, 1, 5, 2]):
        x = streams().requires_grad_()
        in_parts(layers, x, lengths).root.sum().backward()
        assert x.grad is not None
        gradients.append(x.grad)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=0, atol=1e-13)
    assert gradients[1][:, 0].any()


@pytest.mark.parametrize("kind", KINDS)
def test_streams_in_columns_are_single_streams(kind: str) -> None:
    layers, x = make(kind), streams()
    together = in_parts(layers, x, [4, 7])
    for row in range(4):
        alone = in_parts(layers, x[row : row + 1], [4, 7])
        torch.testing.assert_close(together.states[row : row + 1], alone.states, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_that_ends_early_carries_the_state_of_its_last_word(kind: str) -> None:
    layers, x, lengths = make(kind), streams(), torch.tensor([2, 11, 5, 5])
    padding = torch.arange(11) >= lengths.unsqueeze(1)
    given = layers(x[:, :3]).state
    padded = layers(x, padding, given)
    assert not padded.states[padding].any()
    for row, length in enumerate(lengths.tolist()):
        own = tuple((h[row : row + 1], c[row : row + 1]) for h, c in given)
        alone = layers(x[row : row + 1, :length], None, own)
        found = tuple((h[row : row + 1], c[row : row + 1]) for h, c in padded.state)
        parts = padded.states[row : row + 1, :length], padded.d[row : row + 1, :length]
        same(RecurrentSteps(padded.root[row : row + 1], *parts, found), alone, 1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_no_padding_and_a_mask_without_padding_are_the_same(kind: str) -> None:
    layers, x = make(kind), streams()
    same(layers(x), layers(x, torch.zeros(4, 11, dtype=torch.bool)), 1e-13)


@pytest.mark.parametrize("make_core", CORES)
def test_cores_carry_their_state_too(make_core: type) -> None:
    torch.manual_seed(0)
    core = make_core(20, 12, num_layers=2, **({"chunk_size": 3} if make_core is SequenceONLSTM else {})).double()
    ids, lengths = torch.randint(1, 20, (3, 9)), torch.tensor([9, 9, 9])
    first = core.steps(ids[:, :4], lengths - 5)
    second = core.steps(ids[:, 4:], lengths - 4, first.state)
    torch.testing.assert_close(second.root, core(ids, lengths), rtol=0, atol=1e-13)
    with pytest.raises(
        ValueError, match=r"the state has .*\(2, 12\).*; give h and c of each layer, each of the shapes \[\(3, 12\)"
    ):
        core.steps(ids, lengths, tuple((h[:2], c[:2]) for h, c in first.state))


def test_the_layers_of_an_lstm_are_those_of_torch() -> None:
    layers, x = make("lstm"), streams()
    states = x
    for layer in layers.layers:
        plain = torch.nn.LSTM(layer.input_size, layer.hidden_size, batch_first=True).double()
        plain.load_state_dict(layer.state_dict())
        states, (_, c) = plain(states)
    found = layers(x)
    assert torch.equal(found.states, states)
    assert torch.equal(found.state[-1][1], c[0])
    assert found.d.shape == (4, 11, 0)


def test_weight_dropout_of_an_lstm_leaves_out_recurrent_weights_alone() -> None:
    dropped, plain, x = make("lstm", weight_dropout=0.5).eval(), make("lstm"), streams()
    with torch.no_grad():
        for layer in plain.layers:
            layer.weight_hh_l0.mul_(0.5)
    same(dropped(x), plain(x), 1e-13)
    dropped.train()
    torch.manual_seed(0)
    first = dropped(x).states
    assert not torch.allclose(first, dropped(x).states)
    assert torch.allclose(first[:, 0], make("lstm")(x).states[:, 0]), "the first word has no state before it"


def test_an_lstm_refuses_padding_before_a_word() -> None:
    padding = torch.zeros(4, 11, dtype=torch.bool)
    padding[1, 3] = True
    with pytest.raises(ValueError, match="padding comes before a word"):
        make("lstm")(streams(), padding)
