"""The stack-augmented Tree-LSTM."""

from typing import Any

import torch

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.stack_cell import StackCell
from dgltree.engine.contract import Children, Computed, Fused, State, Widths
from dgltree.engine.typed_linear import Linear


class StackTreeLSTM(StackCell):
    r"""The Tree-LSTM whose memory cell is a differentiable stack (Arabshahi et al. 2019, arXiv 1911.01545v1).

    .. math::
        u &= drop(\tanh(U_f i + b)), \quad a_\cdot = \sigma(A_f^\cdot i + b), \quad g_k = \sigma(W_f^{g,k} i + b),
            \quad o = \sigma(O_f i + b) \\
        Sc &= \sum_k g_k \odot S_{c_k}, \qquad S[r] = a_{push} \odot Sc[r-1] + a_{pop} \odot Sc[r+1]
            + a_{noop} \odot Sc[r] \quad (Sc[-1] := u) \\
        h &= o \odot \tanh(S[0])

    State: ``h`` (n,), ``S`` (p, n), all 0 at leaves.

    Args:
        top_k: k, rows that h reads; for k > 1 :math:`h = o \odot \tanh(\sum_{r<k} q_r S[r])` with
            :math:`q = \sigma(Q_f i + b)`, one number per row, or with ``gated_top_k`` one vector per row.
        normalize: the gate vectors go through a softmax over the actions, element by element: a softmax of the
            sigmoids, which is what the published weights were trained with.
        data_gate: :math:`u = \sigma(D_f i + b) \odot drop(\tanh(U_f i + b))`.
        vocabulary, hidden_size, options: see :class:`StackCell`, and :class:`Cell`, which also documents the
            initialisation.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        gated_top_k: bool = False,
        normalize: bool = False,
        data_gate: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        if gated_top_k and self.top_k == 1:
            raise ValueError("gated_top_k weights several rows: give top_k > 1")
        self.gated_top_k = gated_top_k
        self.normalize = normalize
        self.data_gate = data_gate
        self.build()

    def gates(self, arity: int) -> Widths:
        # One sigmoid for all: o, the actions, g_1 ... g_N, then the data gate and gated q, if any.
        vectors = 1 + len(self.actions) + arity
        if self.data_gate:
            vectors += 1
        if self.gated_top_k:
            vectors += self.top_k
        numbers = 0 if self.top_k == 1 or self.gated_top_k else self.top_k
        return {"u": self.hidden_size, "sigmoids": vectors * self.hidden_size, "q": numbers}

    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        arity = len(children["S"])
        o, *gates = torch.sigmoid(pre["sigmoids"]).split(self.hidden_size, -1)
        actions = gates[: len(self.actions)]
        gates = gates[len(self.actions) :]
        u = self.drop(torch.tanh(pre["u"].contiguous()))  # on a CPU twice as fast as on a strided view
        if self.data_gate:
            u = gates[arity] * u
        if self.normalize:
            actions = torch.stack(actions).softmax(0).unbind(0)
        g = gates[:arity]
        a = dict(zip(self.actions, actions, strict=True))
        S, top = self.update(g, children["S"], u, a)
        computed: dict[str, Any] = {"S": S, "o": o, "u": u, "g": g, **a}
        if self.top_k == 1:
            return {"h": o * torch.tanh(top.squeeze(-2)), **computed}
        q = torch.stack(gates[-self.top_k :], -2) if self.gated_top_k else torch.sigmoid(pre["q"]).unsqueeze(-1)
        read = (q * top).sum(-2)
        return {"h": o * torch.tanh(read), "q": q, **computed}

    def fused(self) -> Fused:
        options = (self.pop, self.no_op, self.normalize, self.data_gate, self.top_k, self.gated_top_k)
        return Fused("stack", tuple(int(option) for option in options))
