"""The Neural Data Router in NumPy, written from its equations alone: the network has the same states and gradients.

Attention has two forms: sums of logarithms, and a product over the keys in the order of the scan.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import pytest
import torch

from dgltree.encoders.sequence.neural_data_router import SequenceNeuralDataRouter

SIZE, WIDTH, HEADS, LAYERS = 7, 12, 3, 3
Array = np.ndarray[Any, np.dtype[Any]]
Weights = dict[str, Array]
ReadAt = Literal["last", "first"]
Form = Callable[[Array, Array], Array]


def log_form(logits: Array, real: Array) -> Array:
    """Attention (n, n) by cumulative sums from ``logits`` (n, n) and ``real`` (n,), False at padding."""
    i, j = np.indices(logits.shape)
    D, right = abs(i - j), j > i
    masked = np.where(real & (i != j), logits, -np.inf)
    rest = np.log1p(np.exp(-abs(masked)))
    a, c = np.minimum(masked, 0) - rest, (-np.maximum(masked, 0) - rest).cumsum(1)
    before = np.where(i >= D, c[i, i - D], 0)  # an index i - D < 0 would count from the end
    return np.exp(a + c[i, np.minimum(len(real) - 1, i + D - right)] - before)


def scan(logits: Array, real: Array) -> Array:
    """Attention (n, n) by visits to i + 1, i - 1, i + 2, ...: each key takes its part of what those before it left."""
    n, attention = len(real), np.zeros_like(logits)
    for i in range(n):
        remaining = 1.0
        for j in (i + side * distance for distance in range(1, n) for side in (1, -1)):
            if 0 <= j < n and real[j]:
                part = 1 / (1 + np.exp(-logits[i, j]))
                attention[i, j], remaining = remaining * part, remaining * (1 - part)
    return attention


def attend(w: Weights, x: Array, real: Array, form: Form) -> Array:
    alpha, beta, gamma = w["attention.scale"]
    i, j = np.indices((len(x), len(x)))
    heads = []
    for h in range(HEADS):
        q, k, v = (x @ np.split(w[f"attention.{name}.weight"], HEADS)[h].T for name in ("query", "key", "value"))
        left, right = (x @ w["attention.side.weight"].T + w["attention.side.bias"])[:, 2 * h : 2 * h + 2].T
        side = np.where(j > i, right[i], left[i])
        logits = alpha * (q + w["attention.query_bias"][h]) @ k.T + beta * side + gamma
        heads.append(form(logits, real) @ v)
    return np.concatenate(heads, 1) @ w["attention.output.weight"].T


def norm(w: Weights, name: str, x: Array) -> Array:
    x = x - x.mean(1, keepdims=True)
    return x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def feed_forward(w: Weights, name: str, x: Array) -> Array:
    hidden = np.maximum(x @ w[f"{name}.0.weight"].T + w[f"{name}.0.bias"], 0)
    return hidden @ w[f"{name}.3.weight"].T + w[f"{name}.3.bias"]


def state(weights: Weights, ids: Array, length: int, read_at: ReadAt, form: Form) -> Array:
    """State (d,) of a row of ids (T,) that is padded from ``length`` on."""
    w = {name.removeprefix("layer."): value for name, value in weights.items()}
    x = w["embedding.weight"][[SIZE + 1, *ids[:length], SIZE, *ids[length:]]]
    real = np.arange(len(x)) < length + 2
    for _ in range(LAYERS):
        u = norm(w, "attended", x + attend(w, x, real, form))
        f = norm(w, "written", feed_forward(w, "update", u))
        g = 1 / (1 + np.exp(-feed_forward(w, "gate", u)))
        x = (1 - g) * x + g * f
    return x[length + 1 if read_at == "last" else 0]


def states(weights: Weights, ids: Iterable[Array], lengths: list[int], read_at: ReadAt, form: Form) -> Array:
    return np.stack([state(weights, *row, read_at, form) for row in zip(ids, lengths, strict=True)])


def draw(read_at: ReadAt, lengths: list[int]) -> tuple[SequenceNeuralDataRouter, Weights, Array]:
    """A network with every parameter drawn, those same parameters in NumPy, and ids with one column of padding more."""
    torch.manual_seed(0)
    net = SequenceNeuralDataRouter(SIZE, WIDTH, num_layers=LAYERS, num_heads=HEADS, read_at=read_at).double()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    ids = torch.randint(SIZE, (len(lengths), max(lengths) + 1)).numpy()
    return net.eval(), {name: value.detach().numpy() for name, value in net.state_dict().items()}, ids


@pytest.mark.parametrize("form", [log_form, scan])
@pytest.mark.parametrize("read_at", ["last", "first"])
@pytest.mark.parametrize("lengths", [[5, 1, 3], [9], [2, 2], np.random.default_rng(0).integers(1, 13, 6).tolist()])
def test_states_are_those_of_the_equations(lengths: list[int], read_at: ReadAt, form: Form) -> None:
    net, weights, ids = draw(read_at, lengths)
    with torch.no_grad():
        computed = net(torch.from_numpy(ids), torch.tensor(lengths)).numpy()
    trimmed = [row[:length] for row, length in zip(ids, lengths, strict=True)]
    for rows in (ids, trimmed):  # padding takes nothing and blocks nothing
        np.testing.assert_allclose(computed, states(weights, rows, lengths, read_at, form), rtol=0, atol=1e-12)


@pytest.mark.parametrize("read_at", ["last", "first"])
def test_gradients_are_central_differences_of_the_equations(read_at: ReadAt) -> None:
    lengths, rng, step = [5, 1, 3], np.random.default_rng(0), 1e-5  # at 1e-6, rounding is near the tolerance
    net, weights, ids = draw(read_at, lengths)
    cotangent = rng.standard_normal((len(lengths), WIDTH))
    (net(torch.from_numpy(ids), torch.tensor(lengths)) * torch.from_numpy(cotangent)).sum().backward()
    for name, parameter in 2 * list(net.named_parameters()):  # two numbers of each
        index = tuple(int(rng.integers(n)) for n in weights[name].shape)
        sums = []
        for sign in (1, -1):
            moved = weights | {name: weights[name].copy()}
            moved[name][index] += sign * step
            sums.append((states(moved, ids, lengths, read_at, log_form) * cotangent).sum())
        assert parameter.grad is not None
        difference = (sums[0] - sums[1]) / (2 * step)
        assert difference == pytest.approx(parameter.grad[index].item(), rel=1e-6, abs=1e-9), (name, index)
