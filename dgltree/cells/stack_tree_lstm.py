"""The stack-augmented Tree-LSTM."""

from typing import Any

import torch

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.stack_cell import StackCell
from dgltree.engine.contract import Children, Computed, Fused, State
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
            raise ValueError("gated_top_k weighs several rows: give top_k > 1")
        self.gated_top_k = gated_top_k
        self.normalize = normalize
        self.data_gate = data_gate
        self.build()

    def gates(self, arity: int) -> dict[str, int]:
        """All vectors under a sigmoid lie together: o, the actions, g_1 ... g_N, then data gate and gated q, if any."""
        n, k = self.hidden_size, self.top_k
        vectors = 1 + len(self.actions) + arity + int(self.data_gate) + (k if self.gated_top_k else 0)
        return {"u": n, "sigmoids": vectors * n, "q": k if k > 1 and not self.gated_top_k else 0}

    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        n, k, arity = self.hidden_size, self.top_k, len(children["S"])
        o, *gates = torch.sigmoid(pre["sigmoids"]).split(n, -1)
        actions, gates = gates[: len(self.actions)], gates[len(self.actions) :]
        u = self.drop(torch.tanh(pre["u"].contiguous()))  # on a CPU twice as fast as on a strided view
        if self.data_gate:
            u = gates[arity] * u
        if self.normalize:
            actions = torch.stack(actions).softmax(0).unbind(0)
        g = gates[:arity]
        named = dict(zip(self.actions, actions, strict=True))
        S, top = self.update(g, children["S"], u, named)
        computed: dict[str, Any] = {"o": o, "u": u, "g": g, "S": S, **named}
        if k == 1:
            read = top.squeeze(-2)
        else:
            q = torch.stack(gates[-k:], -2) if self.gated_top_k else torch.sigmoid(pre["q"]).unsqueeze(-1)
            read = (q * top).sum(-2)
            computed["q"] = q
        return {**computed, "h": o * torch.tanh(read)}

    def fused(self) -> Fused:
        """Of all options; the kernel gets pop, no_op, normalize, data_gate, top_k and gated_top_k."""
        pop, no_op = "pop" in self.actions, "noop" in self.actions
        flags = (pop, no_op, self.normalize, self.data_gate, self.top_k, self.gated_top_k)
        return Fused("stack", tuple(map(int, flags)))
