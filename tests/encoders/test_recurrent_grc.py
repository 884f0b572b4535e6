"""RecurrentGRC: its states and gradients are those of the equations, one sentence and word at a time."""

from typing import Any

import pytest
import torch
from recurrent_grc_oracle import literal

from dgltree.encoders import SequenceRecurrentGRC

LENGTHS = [1, 5, 3, 2]
IDS = torch.randint(3, 8, (4, 5), generator=torch.Generator().manual_seed(1))


def make(**options: Any) -> SequenceRecurrentGRC:
    torch.manual_seed(5)
    core = SequenceRecurrentGRC(8, 6, **options).double()
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.mul_(1.5)
    return core


@pytest.mark.parametrize("padded_mean", [False, True])
def test_vectors_and_gradients_are_those_of_the_literal_form(padded_mean: bool) -> None:
    core = make(padded_mean=padded_mean)
    found = core(IDS, torch.tensor(LENGTHS))
    rows = [row[:length] for row, length in zip(IDS.tolist(), LENGTHS, strict=True)]
    told = torch.stack([literal(core, row, 5) for row in rows])
    torch.testing.assert_close(found, told, rtol=0, atol=1e-10)
    direction = torch.arange(24, dtype=torch.float64).view(4, 6).cos()
    expected, gradient = (torch.autograd.grad((of * direction).sum(), list(core.parameters())) for of in (told, found))
    for one, other in zip(gradient, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_the_published_mean_depends_on_the_padding_and_ours_does_not() -> None:
    ids, lengths = torch.nn.functional.pad(IDS, (0, 2)), torch.tensor(LENGTHS)
    ours, published = make(), make(padded_mean=True)
    torch.testing.assert_close(ours(ids, lengths), ours(IDS, lengths), rtol=0, atol=1e-12)
    assert (published(ids, lengths) - published(IDS, lengths)).abs().max() > 1e-3


def test_an_odd_width_is_refused() -> None:
    with pytest.raises(ValueError, match="hidden_size is 5; it must be even, half of it for each direction"):
        SequenceRecurrentGRC(8, 5)
