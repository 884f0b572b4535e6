"""Tensors that a step uses and that are none of the cell's: their gradients would be lost, so they are refused."""

from collections.abc import Iterable, Iterator

from torch import Tensor

from dgltree.cells.base import CellBase
from dgltree.engine.step import Local


def check_known(cell: CellBase, local: Local, own: Iterable[Tensor]) -> None:
    """``ValueError`` if functions or hooks of a patched cell read a tensor that wants gradients and is not its own.

    The gradients of a pass are those of the tensors that it names. Only cells that were patched are looked at
    (``Cell.patches``): what a hook or a function closes over, no class declares.
    """
    if not cell.patches():
        return
    known = [*local.inputs, *own]
    leaves = {id(tensor) for tensor in known}
    for tensor in _leaves(local.end, {tensor.grad_fn for tensor in known if tensor.grad_fn is not None}):
        if id(tensor) not in leaves:
            raise ValueError(
                f"a hook or function that was put on this {type(cell).__name__} uses a tensor of shape "
                f"{tuple(tensor.shape)} that requires gradients and is not a parameter of the cell: its gradient would "
                "be lost; make it one, by cell.register_parameter or as part of a module of the cell"
            )


def _leaves(end: Tensor, known: set[object]) -> Iterator[Tensor]:
    """The leaves that a graph begins with, looking no further than the nodes that are known."""
    open_, seen = [end.grad_fn], set(known)
    while open_:
        node = open_.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        open_ += [function for function, _ in node.next_functions]
