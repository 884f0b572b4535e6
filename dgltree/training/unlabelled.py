"""Training without labels: an autoencoder on trees or on sentences, the weights of its best epoch kept."""

import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch

from dgltree.models.autoencoder import Autoencoder, Swept

Sweep = Callable[[Sequence[int]], Swept]
"""Both sweeps over the examples with these numbers."""


@dataclass(frozen=True)
class UnlabelledEpoch:
    """The report of an epoch."""

    epoch: int
    """From 1."""
    training: float
    """The mean loss of the batches."""
    validation: float
    """The same of the examples kept aside, without dropout; that of training where there are none."""
    seconds: float


def learn(
    model: Autoencoder,
    sweep: Sweep,
    training: Sequence[int],
    validation: Sequence[int] = (),
    *,
    epochs: int = 15,
    batch_size: int = 512,
    learning_rate: float = 1e-3,
    clip: float | None = None,
    seed: int = 0,
    say: Callable[[UnlabelledEpoch], None] = lambda epoch: None,
) -> list[UnlabelledEpoch]:
    """Train with Adam; at the end the model has the weights of the epoch with the least loss in validation.

    Args:
        model: it is changed, and is in evaluation mode at the end.
        sweep: of the model, over examples by their numbers.
        training, validation: numbers of examples.
        epochs, batch_size, learning_rate: as the published networks: 15, 512, 1e-3.
        clip: the largest norm of a gradient; None: any.
        seed: of the order of the examples; dropout draws from torch's generator.
        say: called after each epoch.

    Raises ``ValueError`` for no training examples, and where a loss is not finite, with what would help.
    """
    if not len(training):
        raise ValueError("there is nothing to learn from: training has no examples")
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    order, found, best = np.random.default_rng(seed), list[UnlabelledEpoch](), math.inf
    kept = deepcopy(model.state_dict())
    for epoch in range(1, epochs + 1):
        start, losses = time.monotonic(), []
        model.train()
        for batch in _batches(order.permutation(np.asarray(training)), batch_size):
            loss = model(sweep(batch))
            if not bool(loss.isfinite()):
                raise ValueError(f"the loss of epoch {epoch} is {float(loss.detach())}: use a smaller learning_rate")
            optimizer.zero_grad()
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(float(loss.detach()))
        mean = sum(losses) / len(losses)
        held = validation_loss(model, sweep, validation, batch_size) if len(validation) else mean
        found.append(UnlabelledEpoch(epoch, mean, held, time.monotonic() - start))
        say(found[-1])
        if held < best:
            best, kept = held, deepcopy(model.state_dict())
    model.load_state_dict(kept)
    model.eval()
    return found


def validation_loss(model: Autoencoder, sweep: Sweep, examples: Sequence[int], batch_size: int) -> float:
    """The mean loss of batches, each as often as it has examples, without dropout."""
    model.eval()
    with torch.no_grad():
        parts = [(float(model(sweep(batch))), len(batch)) for batch in _batches(np.asarray(examples), batch_size)]
    return sum(loss * count for loss, count in parts) / len(examples)


def _batches(numbers: np.ndarray, size: int) -> list[list[int]]:
    return [numbers[i : i + size].tolist() for i in range(0, len(numbers), size)]
