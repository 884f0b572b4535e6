"""Common parts of the cells with a stack."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dgltree.arguments import check_size
from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import stack
from dgltree.cells.cell import Cell
from dgltree.cells.step import State


class StackCell(Cell):
    """A cell whose memory is a differentiable stack. State: ``h`` (n,), ``S`` (p, n), all 0 at embedded leaves.

    Args:
        stack_size: p, rows of the stack.
        top_k: k, rows that h reads.
        no_op: whether there is a no-op action.
        pop: whether there is a pop action.
        vocabulary, hidden_size, options: see :class:`Cell`.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        stack_size: int = 5,
        top_k: int = 1,
        no_op: bool = False,
        pop: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        check_size("stack_size", stack_size)
        check_size("top_k", top_k)
        if top_k > stack_size:
            raise ValueError(f"top_k is {top_k}; it must be from 1 to stack_size, {stack_size}")
        self.stack_size = stack_size
        self.top_k = top_k
        self.no_op = no_op
        self.pop = pop
        self.actions = ["push", *(["pop"] if pop else []), *(["noop"] if no_op else [])]

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,), "S": (self.stack_size, self.hidden_size)}

    def update(
        self, g: Sequence[Tensor], stacks: Sequence[Tensor], u: Tensor, actions: Mapping[str, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The node's stack, and the k rows to read: its children's combined by g, then pushed, popped and kept.

        A leaf has one empty stack for its children's.
        """
        if not stacks:
            stacks, g = [u.new_zeros(*u.shape[:-1], self.stack_size, self.hidden_size)], [torch.ones_like(u)]
        return stack.update(g, stacks, u, actions, self.stack_size, self.top_k)

    def reachable(self, state: State, steps: int) -> State:
        """Row r needs at least ``r - k + 1`` pops to be read."""
        return {"h": state["h"], "S": state["S"][..., : self.top_k + steps, :]}
