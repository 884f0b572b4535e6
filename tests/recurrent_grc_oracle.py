"""RecurrentGRC one sentence at a time, from the equations."""

from typing import Any

import torch
from latent_equations import affine, gelu, norm
from torch import Tensor

from dgltree.encoders import SequenceRecurrentGRC


def grc(core: SequenceRecurrentGRC, side: int, h: Tensor, word: Tensor) -> Tensor:
    cell: Any = core.cells[side]
    z = torch.cat([cell.vertical.weight, cell.horizontal.weight], 1) @ torch.cat([h, word]) + cell.horizontal.bias
    a_l, a_r, a_i, u = affine(cell.second, gelu(z)).split(len(h))
    return norm(core.norms[side], torch.sigmoid(a_l) * h + torch.sigmoid(a_r) * word + torch.sigmoid(a_i) * u)


def literal(core: SequenceRecurrentGRC, ids: list[int], width: int) -> Tensor:
    """Of a sentence in a batch of a width; every place has an output, padding too."""
    x = [norm(core.norm, affine(core.leaf, core.embedding.weight[i])) for i in ids]
    half, sides = len(x[0]) // 2, list[list[Tensor]]()
    for side, words in enumerate(([v[:half] for v in x], [v[half:] for v in x[::-1]])):
        h, states = torch.zeros_like(words[0]), []
        for word in words:
            h = grc(core, side, h, word)
            states.append(h)
        sides.append(states)
    f, b = sides[0], sides[1][::-1]
    padded = width - len(ids) if core.padded_mean else 0
    places = [*zip(f, b, strict=True), *[(f[-1], torch.zeros_like(f[-1]))] * padded]
    return torch.stack([affine(core.out, torch.cat(both)) for both in places]).mean(0)
