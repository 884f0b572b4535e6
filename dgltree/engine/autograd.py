"""Backward passes by hand, and gradients of their gradients: refused, or those of torch's operations."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from dgltree.engine.contract import CellBase
from dgltree.support.torch_internals import failing_backward

Backward = Callable[..., tuple[Tensor | None, ...]]


def once_differentiable(backward: Backward) -> Backward:
    """torch's decorator of this name, made to hold for every gradient that is asked for with ``create_graph=True``.

    Torch's own lets gradients pass as constants if the incoming ones are constants, those of a sum for example, or if a
    later gradient is asked for of given inputs alone: a gradient penalty would then silently be without effect. Here
    the error lies on the way to all that the function saved with ``ctx.save_for_backward``: inputs, or an ``origin``.
    """

    @wraps(backward)
    def run(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            gradients = backward(ctx, *grad_outputs)
        if not torch.is_grad_enabled():
            return gradients
        return failing_backward(
            "a second derivative was requested, but this backward pass is written by hand and can be differentiated "
            "only once",
            gradients,
            [tensor for tensor in ctx.saved_tensors if tensor is not None and tensor.requires_grad],
        )

    return run


def origin(*tensors: Tensor) -> Tensor | None:
    """A scalar that depends on these tensors and holds none of them, for a function that saves too few of its inputs.

    None if none of them requires gradients.
    """
    wanted = [tensor[:0].sum() for tensor in tensors if tensor.requires_grad]
    return sum(wanted[1:], wanted[0]) if wanted and torch.is_grad_enabled() else None


def differentiable_gradients(
    compute: Callable[..., Sequence[Tensor]],
    inputs: Sequence[Tensor | None],
    grad_outputs: Sequence[Tensor | None],
    create_graph: bool = True,
) -> list[Tensor | None]:
    """Gradients of ``compute(*inputs)`` that can be differentiated in turn; None for inputs that require none.

    ``compute`` runs once more, by operations that autograd knows. It reads views of the inputs, so that what one input
    depends on is not counted as its own part if that is an input, too.
    """
    views = [None if tensor is None else tensor.view_as(tensor) for tensor in inputs]
    outputs = compute(*views)
    pairs = [(out, d) for out, d in zip(outputs, grad_outputs, strict=True) if d is not None and out.requires_grad]
    wanted = {k: view for k, view in enumerate(views) if view is not None and view.requires_grad}
    if not pairs or not wanted:
        return [None] * len(inputs)
    outs, given = zip(*pairs, strict=True)
    gradients = torch.autograd.grad(outs, list(wanted.values()), given, create_graph=create_graph, allow_unused=True)
    by_place = dict(zip(wanted, gradients, strict=True))
    return [by_place.get(k) for k in range(len(inputs))]


# ---------------------------------------------------------------------------------------------------------------------
# The generator of random numbers as a step of a pass found it, for drawing the same masks of dropout once more.


def generator_state(cell: CellBase) -> Tensor | None:
    """What the generator of random numbers is, if a step draws from it."""
    return device_generator_state(cell.first_weight.device) if cell.training and cell.dropout else None


def device_generator_state(device: torch.device) -> Tensor:
    """What the generator of random numbers of a device is."""
    return torch.get_rng_state() if device.type == "cpu" else torch.cuda.get_rng_state(device)


@contextmanager
def generator_at(state: Tensor | None, device: torch.device) -> Iterator[None]:
    """The generator as it was; afterwards it continues as if nothing had been drawn."""
    if state is None:
        yield
        return
    with torch.random.fork_rng([] if device.type == "cpu" else [device]):
        restore_generator(state, device)
        yield


def restore_generator(state: Tensor | None, device: torch.device) -> None:
    """The generator as it was."""
    if state is None:
        return
    if device.type == "cpu":
        torch.set_rng_state(state)
    else:
        torch.cuda.set_rng_state(state, device)
