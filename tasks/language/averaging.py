"""When averaged SGD begins, and the averages of a training."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


def has_stopped_falling(losses: list[float], patience: int) -> bool:
    """Whether the last loss of validation is above the least of all before it but the ``patience`` ones just before.

    That is the non-monotone trigger of Merity et al. 2017 (arXiv 1708.02182) as the published programs count it.
    """
    *earlier, last = losses
    old = earlier[: len(earlier) - patience] if len(earlier) > patience else []
    return bool(old) and last > min(old)


@contextmanager
def use_averages(module: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """A block in which the weights are those that averaged SGD made; without averages, those that they are."""
    found = {p: optimizer.state[p]["ax"] for p in module.parameters() if "ax" in optimizer.state.get(p, {})}
    raw = {p: p.detach().clone() for p in found}
    try:
        _set(found)
        yield
    finally:
        _set(raw)


def averaged_weights(checkpoint: dict[str, Any], names: list[str]) -> dict[str, Tensor]:
    """The state_dict of a checkpoint, with the averages in place of the weights that have them.

    Args:
        checkpoint: of Lightning.
        names: of the parameters, in the order in which the optimizer has them.
    """
    [optimizer] = checkpoint["optimizer_states"]
    averages = {names[i]: state["ax"] for i, state in optimizer["state"].items() if "ax" in state}
    return {**checkpoint["state_dict"], **averages}


@torch.no_grad()
def _set(weights: dict[nn.Parameter, Tensor]) -> None:
    for parameter, weight in weights.items():
        parameter.copy_(weight)
