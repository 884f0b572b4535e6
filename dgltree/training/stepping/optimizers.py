"""Optimizers of torch by their names in small letters."""

from inspect import signature
from typing import Any

import torch
from torch import nn

from dgltree.training.options import FitOptions, OptimizerName

EVERY, TAKEN = 5, 0.8
"""Steps between two looks back, and the share of the new weights then."""


class RAdamLookahead(torch.optim.RAdam):
    """RAdam with Lookahead, Ranger (Liu et al. 2020, arXiv 1908.03265; Zhang et al. 2019, arXiv 1907.08610).

    After every five steps the weights become 0.8 of themselves and 0.2 of those kept at the last such step, as in the
    papers on latent trees, and these are kept.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        weights = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        first = {p: p.clone() for p in weights if not self.state[p]}
        loss = super().step(closure)
        for p in weights:
            state = self.state[p]
            state.setdefault("kept", first.get(p))
            if int(state["step"]) % EVERY == 0:
                p.copy_(state["kept"].lerp_(p, TAKEN))
        return loss


OPTIMIZERS: dict[OptimizerName, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "radam": torch.optim.RAdam,
    "radam_lookahead": RAdamLookahead,
    "nadam": torch.optim.NAdam,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}

DECOUPLED = ("radam", "radam_lookahead", "nadam")
"""Those of torch that have both kinds of weight decay."""


def optimizer_of(module: nn.Module, options: FitOptions, lr: float, fused: bool) -> torch.optim.Optimizer:
    """The optimizer that is named, over all weights of a module.

    Weight decay spares vectors, such as biases, and is decoupled from the gradient if torch has that, except for
    "adam". The decay of the mean of gradients is the momentum of "sgd".

    Args:
        module: with the weights.
        options: of the training.
        lr: the rate to begin with.
        fused: whether one kernel may do a step, if torch has one for the optimizer.
    """
    kind = OPTIMIZERS[options.optimizer]
    given: dict[str, Any] = {"lr": lr, "betas": (options.beta1, 0.999), "eps": options.eps, "fused": fused}
    given |= {"momentum": options.beta1} if options.optimizer == "sgd" else {}
    given |= {"decoupled_weight_decay": True} if options.optimizer in DECOUPLED else {}
    how = {name: value for name, value in given.items() if name in signature(kind).parameters}
    decay = options.weight_decay or 0.0
    if options.optimizer == "adam":
        return kind(module.parameters(), weight_decay=decay, **how)  # type: ignore[call-arg]
    decayed = [weights for weights in module.parameters() if weights.ndim > 1]
    others = [weights for weights in module.parameters() if weights.ndim <= 1]
    groups = [(decayed, decay), (others, 0.0)]
    return kind([{"params": weights, "weight_decay": decay} for weights, decay in groups if weights], **how)
