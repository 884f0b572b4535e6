"""The order of the examples in an epoch: an interrupted training goes on in the order that a whole one has."""

import torch


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """What the order of an epoch, counted from 0, is drawn by: it depends on (seed, epoch) alone."""
    return torch.Generator().manual_seed(seed * 10_000 + epoch)
