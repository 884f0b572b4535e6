"""DGL's built-in message and reduce functions, known by their names: ``dgl.function.copy_u("h", "m")`` and the like."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "dot": lambda a, b: (a * b).sum(-1, keepdim=True),
}
REDUCED: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda mail: mail.sum(1),
    "mean": lambda mail: mail.sum(1) / mail.shape[1],
    "max": lambda mail: mail.max(1).values,
    "min": lambda mail: mail.min(1).values,
}
"""(rows, degree, *shape) to (rows, *shape)."""


def message_function(given: Any) -> Callable[[Any], Mapping[str, Tensor]]:
    """A message function as it is, or the one that a built-in stands for. ``TypeError`` for anything else."""
    if callable(given):
        return given
    name = str(getattr(given, "name", ""))
    if copied := re.fullmatch("copy_([uve])", name):
        return lambda edges: {given.out_field: _end(edges, copied[1])[given.in_field]}
    if two := re.fullmatch(f"([uve])_({'|'.join(OPERATIONS)})_([uve])", name):
        left, operation, right = two.groups()

        def message(edges: Any) -> dict[str, Tensor]:
            a, b = _end(edges, left)[given.lhs_field], _end(edges, right)[given.rhs_field]
            width = max(a.dim(), b.dim())
            a, b = (each.view(len(each), *(1,) * (width - each.dim()), *each.shape[1:]) for each in (a, b))
            return {given.out_field: OPERATIONS[operation](a, b)}

        return message
    raise TypeError(
        f"message_func is a {type(given).__name__}: give a function of edges, or a built-in one of dgl.function"
    )


def reduce_function(given: Any) -> tuple[Callable[[Any], Mapping[str, Tensor]], bool]:
    """A reduce function, and whether it is a built-in, which gives 0 to nodes without a message."""
    if callable(given):
        return given, False
    operation = REDUCED.get(str(getattr(given, "name", "")))
    if operation is None:
        raise TypeError(
            f"reduce_func is a {type(given).__name__}: give a function of nodes, or a built-in one of dgl.function"
        )

    def reduce(nodes: Any) -> dict[str, Tensor]:
        mail = nodes.mailbox[given.msg_field]
        return {given.out_field: operation(mail) if mail.shape[1] else mail.new_zeros(len(mail), *mail.shape[2:])}

    return reduce, True


def _end(edges: Any, letter: str) -> Any:
    return {"u": edges.src, "v": edges.dst, "e": edges.data}[letter]
