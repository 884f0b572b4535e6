"""DGL's built-in message and reduce functions, without DGL: ``from dgltree.engine import function as fn``.

``fn.copy_u("h", "m")``, ``copy_v`` and ``copy_e`` send a field of the sources, targets or edges; ``fn.u_mul_e("h", "w",
"m")`` and the like send ``add``, ``sub``, ``mul``, ``div`` or ``dot`` of two; ``fn.sum("m", "h")``, ``mean``, ``max``
and ``min`` reduce a message. Those of ``dgl.function`` are taken as well: both are known by their names.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor


class CopyFunction(NamedTuple):
    """Sends a field as it is."""

    name: str
    in_field: str
    out_field: str


class BinaryFunction(NamedTuple):
    """Sends what an operation makes of two fields."""

    name: str
    lhs_field: str
    rhs_field: str
    out_field: str


class ReduceFunction(NamedTuple):
    """Makes a field of the messages of each node."""

    name: str
    msg_field: str
    out_field: str


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


COPIES = re.compile("copy_([uve])")
PAIRS = re.compile(f"([uve])_({'|'.join(OPERATIONS)})_([uve])")


def __getattr__(name: str) -> Any:
    """A built-in function by its name; it is given the names of fields, as DGL calls them."""
    if COPIES.fullmatch(name):
        return lambda field, out: CopyFunction(name, field, out)
    if PAIRS.fullmatch(name):
        return lambda lhs_field, rhs_field, out: BinaryFunction(name, lhs_field, rhs_field, out)
    if name in REDUCED:
        return lambda msg, out: ReduceFunction(name, msg, out)
    raise AttributeError(
        f"there is no built-in function {name!r}; use copy_u, copy_v, copy_e, u_mul_e and the like with "
        f"{', '.join(OPERATIONS)}, or {', '.join(REDUCED)}"
    )


def message_function(given: Any) -> Callable[[Any], Mapping[str, Tensor]]:
    """A message function as it is, or the one that a built-in stands for. ``TypeError`` for anything else."""
    if callable(given):
        return given
    name = str(getattr(given, "name", ""))
    if copied := COPIES.fullmatch(name):
        return lambda edges: {given.out_field: _end(edges, copied[1])[given.in_field]}
    if two := PAIRS.fullmatch(name):
        left, operation, right = two.groups()

        def message(edges: Any) -> dict[str, Tensor]:
            a = _end(edges, left)[given.lhs_field]
            b = _end(edges, right)[given.rhs_field]
            dims = max(a.dim(), b.dim())
            return {given.out_field: OPERATIONS[operation](_with_dims(a, dims), _with_dims(b, dims))}

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


def _with_dims(rows: Tensor, dims: int) -> Tensor:
    """Rows with axes of size 1 behind the first: DGL broadcasts the axes of a row from the right."""
    return rows.view(len(rows), *(1,) * (dims - rows.dim()), *rows.shape[1:])


def _end(edges: Any, letter: str) -> Any:
    return {"u": edges.src, "v": edges.dst, "e": edges.data}[letter]
