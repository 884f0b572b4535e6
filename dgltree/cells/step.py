"""One step: rows that a cell computes together, and the states of their children.

Every engine runs :meth:`dgltree.cells.Cell.step` on rows of its own kind. The rows say where the children's states lie
and which products they have in common; the cell says whether it reads its children one by one or added up.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from dgltree.cells.aggregation import Aggregation
from dgltree.cells.typed_linear import Linear

State = dict[str, Tensor]
"""Part name to (rows, *shape): ``{"h": (rows, n), "S": (rows, p, n)}``."""
Children = Mapping[str, Sequence[Tensor]]
"""Part name to one tensor a child, (rows, *shape)."""
Computed = Mapping[str, Any]
"""A state, and what else was computed on the way: (rows, *shape), or one such tensor a child."""
Rows = Callable[[Tensor], Tensor]
Send = Callable[[State, Tensor, Tensor | None, Linear], State]
"""Children's states (edges, *shape), their positions among their siblings (edges,), what the parents' x adds to the
gates of messages, and maps: the messages."""


class StepRows(ABC):
    """Rows of one arity, or of any for cells that add up their children, sorted by function.

    Args:
        linear: the typed maps of these rows.
        x_pre: (rows, widths of all gates), what the inputs x add to the gates; None without inputs.
    """

    def __init__(self, linear: Linear, x_pre: Tensor | None) -> None:
        self.linear, self.x_pre = linear, x_pre

    @abstractmethod
    def children(self) -> Children:
        """The children's states one by one; leading sizes may broadcast."""

    @abstractmethod
    def products(self, names: Sequence[str], drop: Rows | None) -> list[Tensor]:
        """The maps of these names of ``i = [h_1; ...; h_N]``, which goes through ``drop`` first."""

    @abstractmethod
    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        """Of each row's children the messages of these names, aggregated, and all that ``send`` gave, by edges."""
