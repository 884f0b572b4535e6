"""Internals of torch without a public call, and calls with exceptions, in one place, for the day when torch changes."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor, nn

set_grad_enabled = torch._C._set_grad_enabled
"""The call of ``torch.no_grad`` and its like, as a function mode sees it."""
P = ParamSpec("P")
R = TypeVar("R")


def exclude_from_compile(function: Callable[P, R]) -> Callable[P, R]:
    """A function that ``torch.compile`` leaves as it is: the graph of a pass follows the shapes of its trees.

    ``torch.compiler.disable`` would import the compiler, which takes a second, before anybody has asked for it.
    """

    disabled: list[Callable[P, R]] = []

    @wraps(function)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        if not disabled:
            compiler = sys.modules.get("torch._dynamo")
            if compiler is None:
                return function(*arguments, **options)
            disabled.append(compiler.disable(function))
        return disabled[0](*arguments, **options)

    return run


def version_of(tensor: Tensor) -> int:
    """How often a tensor was changed in place; -1 for an inference tensor, for which torch does not count."""
    return -1 if tensor.is_inference() else tensor._version


def without_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Within it operations keep the dtypes that they are given; torch refuses this for devices without autocast."""
    there = torch.amp.is_autocast_available(device.type)
    return torch.autocast(device.type, enabled=False) if there else nullcontext()


def library() -> str:
    """The file of torch's own code, which is linked with its BLAS."""
    return str(torch._C.__file__)


def hooks_of(module: nn.Module) -> tuple[object, ...]:
    """The hooks that run when a module is called, forward or backward."""
    kinds = (module._forward_pre_hooks, module._forward_hooks, module._backward_pre_hooks, module._backward_hooks)
    return tuple(hook for kind in kinds for hook in kind.values()) if any(kinds) else ()


def graph_is_kept() -> bool:
    """Within a backward pass: whether it may run again (``retain_graph``)."""
    return bool(torch._C._autograd._get_current_graph_task_keep_graph())


def number_of_backward_pass() -> int:
    """Within a backward pass: its number, which no other one of this process has; -1 outside."""
    return int(torch._C._current_graph_task_id())


def outside_transforms() -> AbstractContextManager[Any]:
    """Within it torch computes as if no transform of torch.func were under way; for what does not depend on it."""
    return torch._C._DisableFuncTorch()


def inside_transform() -> bool:
    """Whether one of torch.func's transforms (vmap, grad, jvp, ...) is under way."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def inside_dual_level() -> bool:
    """Whether derivatives go forward (``torch.autograd.forward_ad``)."""
    return int(torch.autograd.forward_ad._current_level) >= 0


def inside_mode() -> bool:
    """Whether something sees each operation, as what counts or fakes them does."""
    return int(torch._C._len_torch_dispatch_stack()) > 0


def failing_backward(
    message: str, tensors: Sequence[Tensor | None], origins: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """Return the tensors, through which a backward pass raises ``RuntimeError`` with this message.

    The error lies on the way to ``origins``: a gradient that is asked for of some inputs alone visits no other node.
    """
    fail: Any = torch._C._functions.DelayedError(message.encode(), len(tensors) + len(origins))
    detached = (None if tensor is None else tensor.detach().requires_grad_() for tensor in tensors)
    failing: tuple[Tensor | None, ...] = fail(*detached, *origins)
    return failing[: len(tensors)]
