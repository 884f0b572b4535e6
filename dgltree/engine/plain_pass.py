"""A pass by operations that autograd knows, from which gradients of gradients are computed."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from dgltree.cells import Cell
from dgltree.cells.base import CellBase
from dgltree.cells.step import State
from dgltree.engine.accumulate import accumulating
from dgltree.engine.schedule import Schedule
from dgltree.engine.step import LevelRows


def plain_states(
    cell: CellBase,
    schedule: Schedule,
    leaf: Sequence[Tensor],
    x_pre: Sequence[Tensor | None],
    own: State,
    weights: State,
) -> list[Tensor]:
    """The states of all rows, (R, *shape) for each part, which autograd can differentiate as often as one likes.

    The states so far are joined again for each step, so time grows with steps times rows. Passes whose backward pass is
    made by hand are linear, and leave derivatives of derivatives to this.

    Args:
        cell: the cell.
        schedule: of the pass.
        leaf: states of its leaves, (leaves, *shape) for each part.
        x_pre: for each step, what x adds to the gates.
        own: by name, the parameters that steps use in addition to the maps.
        weights: the maps' tensors.
    """
    states = dict(zip(cell.state, leaf, strict=True))
    anchor = leaf[0].new_zeros(())
    for step, x in zip(schedule.steps, x_pre, strict=True):

        def linear_for(segments: Any, arity: int | None = step.arity) -> Any:
            return accumulating(cell, arity, segments, weights, anchor, None)

        if step.edges.stop == step.edges.start:
            assert isinstance(cell, Cell)
            new = cell.leaf_gates(step.stop - step.start, x, linear_for(step.segments))
        else:
            rows = LevelRows(states, schedule.edges(step), step, x, linear_for, record=False)
            new, _ = with_parameters(cell, own, lambda cell, rows: cell.step(rows), rows)
        states = {part: torch.cat([before, new[part]]) for part, before in states.items()}
    return list(states.values())


class Call(nn.Module):
    """A function of a cell as the call of a module, as ``torch.func.functional_call`` wants one."""

    def __init__(self, cell: CellBase) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, function: Callable[..., Any], *given: Any) -> Any:
        return function(self.cell, *given)


def with_parameters(cell: CellBase, own: State, function: Callable[..., Any], *given: Any) -> Any:
    """``function(cell, *given)`` while the cell has these parameters, by name, in the place of its own."""
    return functional_call(Call(cell), {f"cell.{name}": tensor for name, tensor in own.items()}, (function, *given))
