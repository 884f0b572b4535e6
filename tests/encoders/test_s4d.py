"""The state space front: its convolution is the recurrence, in both directions, and padding does not matter."""

from typing import Any

import pytest
import torch
from s4d_oracle import front, s4d
from torch import Tensor

from dgltree.encoders import SEQUENCE_ENCODERS
from dgltree.encoders.sequence.s4d import S4D, S4DFront

X = torch.randn(3, 7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LENGTHS = torch.tensor([7, 1, 4])


def made(kind: Any, dropout: float = 0.0) -> Any:
    torch.manual_seed(1)
    return kind(4, dropout).double()


def gradient(module: Any, value: Tensor) -> Tensor:
    module.zero_grad()
    (value * torch.arange(1, value.numel() + 1, dtype=value.dtype).view_as(value).cos()).sum().backward()
    return torch.cat([p.grad.flatten() for p in module.parameters()])


def test_the_convolution_is_the_recurrence() -> None:
    layer = made(S4D)
    found, expected = layer(X), torch.stack([torch.stack(s4d(layer, list(row))) for row in X])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)
    torch.testing.assert_close(gradient(layer, found), gradient(layer, expected), rtol=1e-9, atol=1e-9)


def test_a_place_reads_itself_and_those_before() -> None:
    layer, other = made(S4D), X.clone()
    other[:, 4] += 1
    difference = (layer(other) - layer(X)).abs().amax((0, 2))
    assert difference[:4].max() < 1e-12 < difference[4:].min()


def test_both_directions_stay_within_a_sentence() -> None:
    module = made(S4DFront)
    found = module(X, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(
            found[row, :length], torch.stack(front(module, list(X[row, :length]))), atol=1e-11, rtol=0
        )


def test_dropout_has_one_mask_for_all_places_of_a_sentence() -> None:
    layer = made(S4D, dropout=0.5).train()
    kept = layer(torch.ones(8, 5, 4, dtype=torch.float64)) != 0
    assert (kept == kept[:, :1]).all()
    assert 4 < kept[:, 0].sum() < 28
    assert (layer.eval()(X) != 0).all()


def test_channels_begin_as_published() -> None:
    layer = S4D(500, 0.0)
    assert layer.b[0, 0].item() == pytest.approx(64 / torch.pi * 63, rel=1e-5)
    assert layer.b[3, 31].item() == pytest.approx(64 / torch.pi / 63, rel=1e-5)
    assert torch.allclose(layer.a.exp(), torch.tensor(0.5))
    assert 0.001 <= layer.delta.exp().min() < 0.002 and 0.08 < layer.delta.exp().max() <= 0.1
    assert layer.C.std().item() == pytest.approx(0.5**0.5, rel=0.02)


def test_another_front_is_refused() -> None:
    with pytest.raises(ValueError, match="front is 'lstm'; it must be 's4d' or None"):
        SEQUENCE_ENCODERS["efficient_beam_tree"](8, 4, front="lstm")
