"""The top-down Tree-LSTM: every node in its context."""

from typing import Any

import torch
from torch import Tensor

from dgltree.batching.vocabulary import ANY_ARITY, Vocabulary
from dgltree.cells.cell import Cell
from dgltree.cells.downward.cell import DownwardCell
from dgltree.cells.step import State
from dgltree.cells.tree_lstm import lstm_state
from dgltree.cells.typed_linear import Linear


class DownwardTreeLSTM(DownwardCell):
    r"""A Tree-LSTM from the roots to the leaves, which reads each node's own upward state.

    What child j with the upward state :math:`u_j` gets at place k of its parent, which has the state (h, c):

    .. math::
        in, o, f &= \sigma(W_k h + V u_j + b_k), \quad u = \tanh(W_k h + V u_j + b_k) \\
        c_j &= in \odot drop(u) + f \odot c, \qquad h_j = o \odot \tanh(c_j)

    each gate with its own rows of W, V and b; W and b are those of the parent's function and the place, V that of the
    child's function. A node without parents starts with its upward h, and c if there is one of that width.

    State: ``h`` (n,), ``c`` (n,).

    Args:
        reads_up: whether there is the term with :math:`u_j`.
        vocabulary, hidden_size, options: see :class:`DownwardCell`.
    """

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, reads_up: bool = True, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.reads_up = reads_up
        self.build()

    @classmethod
    def matching(cls, up: Cell, **options: Any) -> "DownwardTreeLSTM":
        """One that goes with an upward cell: of its width, and whose functions share weights if its functions do."""
        functions = up.vocabulary.functions
        positions = any(arity is ANY_ARITY for _, arity in functions)
        typed = up.typed and not up.rank and not positions
        return cls(up.vocabulary, up.hidden_size, typed=typed, positions=positions, **options)

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,), "c": (self.hidden_size,)}

    def gates(self) -> dict[str, int]:
        return {"u": self.hidden_size, "in_o_f": 3 * self.hidden_size}

    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        in_, o, f = torch.sigmoid(pre["in_o_f"]).split(self.hidden_size, -1)
        made = lstm_state(in_, o, [f], torch.tanh(pre["u"]), [parent["c"]], self.drop)
        return {**made, "f": f}
