"""Optimizers of torch by their names in small letters."""

from inspect import signature
from typing import Any

import torch
from torch import nn

from dgltree.training.options import FitOptions, OptimizerName

OPTIMIZERS: dict[OptimizerName, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "radam": torch.optim.RAdam,
    "nadam": torch.optim.NAdam,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


def optimizer_of(module: nn.Module, options: FitOptions, lr: float, fused: bool) -> torch.optim.Optimizer:
    """The optimizer that is named, over all weights of a module.

    Weight decay spares vectors, such as biases, and is decoupled from the gradient where torch has that, but for
    "adam". The decay of the mean of gradients is the momentum of "sgd".

    Args:
        module: with the weights.
        options: of the training.
        lr: the rate to begin with.
        fused: whether one kernel may do a step, where torch has one for the optimizer.
    """
    kind = OPTIMIZERS[options.optimizer]
    given: dict[str, Any] = {"lr": lr, "betas": (options.beta1, 0.999), "eps": options.eps, "fused": fused}
    given |= {"momentum": options.beta1} if options.optimizer == "sgd" else {}
    given |= {"decoupled_weight_decay": True} if options.optimizer in ("radam", "nadam") else {}
    how = {name: value for name, value in given.items() if name in signature(kind).parameters}
    decay = options.weight_decay or 0.0
    if options.optimizer == "adam":
        return kind(module.parameters(), weight_decay=decay, **how)  # type: ignore[call-arg]
    decayed = [weights for weights in module.parameters() if weights.ndim > 1]
    others = [weights for weights in module.parameters() if weights.ndim <= 1]
    groups = [(decayed, decay), (others, 0.0)]
    return kind([{"params": weights, "weight_decay": decay} for weights, decay in groups if weights], **how)
