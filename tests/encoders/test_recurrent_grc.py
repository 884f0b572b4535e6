"""RecurrentGRC: its states and gradients are those of the equations, one sentence and word at a time."""

from typing import Any

import pytest
import torch
from latent_oracle import affine, gelu, norm
from torch import Tensor

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


def grc(core: SequenceRecurrentGRC, side: int, h: Tensor, word: Tensor) -> Tensor:
    cell: Any = core.cells[side]
    z = torch.cat([cell.vertical.weight, cell.horizontal.weight], 1) @ torch.cat([h, word]) + cell.horizontal.bias
    a_l, a_r, a_i, u = affine(cell.second, gelu(z)).split(len(h))
    return norm(core.norms[side], torch.sigmoid(a_l) * h + torch.sigmoid(a_r) * word + torch.sigmoid(a_i) * u)


def literal(core: SequenceRecurrentGRC, ids: list[int], width: int) -> Tensor:
    """Of a sentence in a batch of a width; every place has an output, padding too."""
    x = [norm(core.norm, affine(core.leaf, core.embedding.weight[i])) for i in ids]
    sides: list[list[Tensor]] = []
    for side, words in enumerate(([v[:3] for v in x], [v[3:] for v in x[::-1]])):
        h, states = torch.zeros(3, dtype=torch.float64), []
        for word in words:
            h = grc(core, side, h, word)
            states.append(h)
        sides.append(states)
    f, b = sides[0], sides[1][::-1]
    padded = width - len(ids) if core.padded_mean else 0
    places = [*zip(f, b, strict=True), *[(f[-1], torch.zeros_like(f[-1]))] * padded]
    return torch.stack([affine(core.out, torch.cat(both)) for both in places]).mean(0)


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
