"""Weights by evidence: how many a training has follows from the nodes that it learns from."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TypeVar

import torch
from torch import nn

from dgltree.models.checkpoint import WithoutInitialization
from dgltree.models.tree_model import TreeModel

WEIGHTS = 50
"""For each node of the training set: as many a training has at most, unless widths were asked for."""
WIDTHS = (100, 80, 64, 48, 32, 24, 16, 8)
"""Of states, from the usual one down."""
OWN = 32
"""Width from which on functions have weights of their own, if there are nodes enough for these."""

Made = TypeVar("Made")


def widest(made: Callable[[int], tuple[Made, int]], room: int) -> tuple[Made, int, bool]:
    """The first of the widths at which what is made has no more than ``room`` weights, or the last one.

    Args:
        made: of a width, what is made and its weights. It raises ``ValueError`` for a width that it cannot have.
        room: weights at most.

    Returns what was made, its width, and whether its weights have room. Raises what ``made`` raises for every width.
    """
    found, problem = None, None
    for width in WIDTHS:
        try:
            one, weights = made(width)
        except ValueError as error:
            problem = problem or error
            continue
        found = (one, width, weights <= room)
        if weights <= room:
            break
    if found is None:
        assert problem is not None
        raise problem
    return found


def weights_of(make: Callable[[], nn.Module]) -> int:
    """How many weights a module would have, which is made without memory for them if it can be."""
    try:
        with torch.device("meta"), WithoutInitialization():
            return sum(weights.numel() for weights in make().parameters())
    except (NotImplementedError, RuntimeError):  # a user's cell may look at its numbers
        return sum(weights.numel() for weights in make().parameters())


def count_weights(model: TreeModel) -> str:
    """The weights of a model, and what takes them, largest first."""
    counts = {what: sum(count for _, count in of) for what, of in groupby(sorted(_parts(model)), lambda part: part[0])}
    largest = sorted(counts.items(), key=lambda part: -part[1])
    listed = ", ".join(f"{what} {count:,}" for what, count in largest if count)
    return f"{sum(counts.values()):,} weights ({listed})"


def _parts(model: TreeModel) -> Iterator[tuple[str, int]]:
    vocabulary = model.encoder.vocabulary
    tokens, functions = f"vectors of {len(vocabulary.tokens):,} tokens", len({name for name, _ in vocabulary.functions})
    for name, weights in model.named_parameters():
        if "function_embedding." in name:
            yield f"vectors of {functions:,} functions", weights.numel()
        elif "embedding." in name and ".number." not in name:
            yield tokens, weights.numel()
        elif ".maps." in name and weights.shape[0] > 1:
            yield f"gates of {functions:,} functions", weights.numel()
        else:
            yield "readout" if name.startswith("readout.") else "gates shared by all functions", weights.numel()
