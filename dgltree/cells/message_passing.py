"""Common parts of the functions that DGL calls: frames of states, their order, and the inputs of nodes."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from dgltree.cells.base import CellBase
from dgltree.cells.contract import CellContract
from dgltree.torch_internals import without_autocast

Frame = dict[str, Tensor]
COMPUTED = "computed"
"""The field of a graph's nodes that says whose states are there."""
C = TypeVar("C", bound="CellBase")
Result = TypeVar("Result")


def outside_autocast(function: Callable[[C, Any], Result]) -> Callable[[C, Any], Result]:
    """A method of a cell that computes in the dtype of the weights, as ``propagate`` does: a frame has one dtype."""

    @wraps(function)
    def run(cell: C, given: Any) -> Result:
        with without_autocast(next(cell.parameters()).device):
            return function(cell, given)

    return run


def get_prepared(cell: CellContract, frame: Frame) -> Frame:
    """The states in a frame. Raises ``ValueError`` if ``prepare`` did not put them there."""
    for part, shape in cell.state.items():
        if part not in frame or tuple(frame[part].shape[1:]) != shape:
            raise ValueError(
                f"the graph has no states {part!r} of this {type(cell).__name__}: "
                "call cell.prepare(graph) before every pass"
            )
    return {part: frame[part] for part in cell.state}


def check_order(nodes: Any) -> None:
    """``ValueError`` if nodes have the states of an earlier pass, or children have none yet."""
    own, children = nodes.data[COMPUTED], nodes.mailbox[COMPUTED]
    stale, early = torch.stack([own.any(), ~children.all()]).tolist()  # at once: a GPU is waited for
    if stale:
        raise ValueError("the graph has the states of an earlier pass: call cell.prepare(graph) before every pass")
    if early:
        raise ValueError(
            "a node is reached before its children: run the cell from the leaves to the roots, without reverse=True"
        )


def now_computed(nodes: Any) -> Tensor:
    """(rows,) bool, that these nodes are."""
    return torch.ones_like(nodes.data[COMPUTED])
