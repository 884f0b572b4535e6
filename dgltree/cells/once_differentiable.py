"""Backward passes by hand that can be run but not differentiated."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from dgltree.torch_internals import failing_backward

Backward = Callable[..., tuple[Tensor | None, ...]]


def once_differentiable(backward: Backward) -> Backward:
    """As torch's decorator of this name, for every gradient that is asked for with ``create_graph=True``.

    Torch's own lets gradients pass as constants if the incoming ones are constants, those of a sum for example: a
    gradient penalty would then silently be without effect.
    """

    @wraps(backward)
    def run(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            found = backward(ctx, *grad_outputs)
        if not torch.is_grad_enabled():
            return found
        return failing_backward(
            "a gradient of a gradient was asked for; this backward pass is made by hand, and once differentiable", found
        )

    return run
