"""Equations that the literal forms of latent-tree networks share: leaves, compositions, scores, and the choice among
equal scores.

Slow and obvious. They share with the library the parameters alone.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from s4d_oracle import front
from torch import Tensor


class Told(NamedTuple):
    """What the equations give of a sentence."""

    root: Tensor
    """The whole state; :func:`read` leaves h."""
    order: list[int]
    """Gaps as they are closed; of beams those of the best."""
    penalty: Any = 0.0


Noise = Iterator[Tensor] | None


def affine(linear: torch.nn.Linear, v: Tensor) -> Tensor:
    return linear.weight @ v + linear.bias


def gelu(v: Tensor, form: str = "erf") -> Tensor:
    if form == "tanh":
        return v * (1 + torch.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) / 2
    return v * (1 + torch.erf(v / math.sqrt(2))) / 2


def norm(module: torch.nn.Module, v: Tensor) -> Tensor:
    centred = v - v.mean()
    return centred / torch.sqrt(centred.square().mean() + 1e-5) * module.weight + module.bias


def leaf(core: Any, x: Tensor) -> Tensor:
    h = affine(core.leaf, x)
    return norm(core.leaf_norm or core.norm, h) if core.cell.normed else h


def words(core: Any, ids: list[int]) -> list[Tensor]:
    if core.config.get("leaf", "linear") != "linear":
        return lstm_words(core, [core.embedding.weight[i] for i in ids])
    x = [core.embedding.weight[i] for i in ids]
    return [leaf(core, v) for v in (front(core.front, x) if core.config.get("front") else x)]


def lstm_words(core: Any, x: list[Tensor]) -> list[Tensor]:
    """[h; c] at each word; those of a second LSTM, from right to left, after the first one's h and c."""
    parts: list[list[list[Tensor]]] = []
    for cell, step in zip(core.leaf.cells, (1, -1), strict=False):
        h, c = x[0].new_zeros(2, cell.hidden_size)
        found = []
        for v in x[::step]:
            z = cell.weight_ih @ v + cell.bias_ih + cell.weight_hh @ h + cell.bias_hh
            i, f, g, o = z.split(cell.hidden_size)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            found.append([h, c])
        parts.append(found[::step])
    return [torch.cat([each[k] for k in (0, 1) for each in at]) for at in zip(*parts, strict=True)]


def composed(core: Any, l: Tensor, r: Tensor) -> Tensor:  # noqa: E741 (the l of the equations)
    cell, n = core.cell, core.cell.hidden_size
    W = torch.cat([cell.vertical.weight, cell.horizontal.weight], 1)
    z = W @ torch.cat([l[:n], r[:n]]) + cell.horizontal.bias
    name = core.config["cell"]
    if name == "tree_rnn":
        return torch.tanh(z)
    if name == "tree_lstm":
        i, o, f_l, f_r, u = z.split(n)
        raised = cell.forget_bias
        c = l[n:] * torch.sigmoid(f_l + raised) + r[n:] * torch.sigmoid(f_r + raised) + torch.tanh(u) * torch.sigmoid(i)
        return torch.cat([torch.sigmoid(o) * torch.tanh(c), c])
    z = gelu(z, core.config.get("gelu", "erf")) if name == "grc" else torch.relu(z)
    a_l, a_r, a_i, u = affine(cell.second, z).split(n)
    return norm(core.norm, torch.sigmoid(a_l) * l + torch.sigmoid(a_r) * r + torch.sigmoid(a_i) * u)


def score(core: Any, l: Tensor, r: Tensor) -> Tensor:  # noqa: E741
    n, how = core.cell.hidden_size, core.score
    if type(how).__name__ == "ChildrenScore":
        k = how.slice_size
        return affine(how.second, gelu(affine(how.first, torch.cat([l[:k], r[:k]]))))[0]
    c = composed(core, l, r)[:n]
    if type(how).__name__ == "LinearScore":
        return affine(how.linear, c)[0]
    root = math.sqrt(n / 2 if core.config["leaf"] == "both" else n)
    return how.query @ c / (root if core.config["scaled"] else 1)


def best(scores: list[float], count: int) -> list[int]:
    """The places of the best, of scores within 1e-9 of each other the leftmost."""
    near, left, found = 1e-9 * max(map(abs, scores), default=0), dict(enumerate(scores)), []
    while left and len(found) < count:
        top = max(left.values())
        found.append(min(i for i, s in left.items() if s >= top - near))
        del left[found[-1]]
    return found
