"""The stack-augmented Tree-LSTM."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dgltree.cells import stack
from dgltree.cells.cell import Cell, Linear, State
from dgltree.vocabulary import Vocabulary


class StackTreeLSTM(Cell):
    r"""The Tree-LSTM whose memory cell is a differentiable stack (Arabshahi et al. 2019, arXiv 1911.01545v1).

    .. math::
        u &= drop(\tanh(U_f i + b)), \quad a_\cdot = \sigma(A_f^\cdot i + b), \quad g_k = \sigma(W_f^{g,k} i + b),
            \quad o = \sigma(O_f i + b) \\
        Sc &= \sum_k g_k \odot S_{c_k}, \qquad S[r] = a_{push} \odot Sc[r-1] + a_{pop} \odot Sc[r+1]
            + a_{noop} \odot Sc[r] \quad (Sc[-1] := u) \\
        h &= o \odot \tanh(S[0])

    State: ``h`` (n,), ``S`` (p, n), all 0 at leaves.

    Args:
        stack_size: p, rows of the stack.
        top_k: k, rows that h reads; for k > 1 :math:`h = o \odot \tanh(\sum_{r<k} q_r S[r])` with
            :math:`q = \sigma(Q_f i + b)`, one number a row, or with ``gated_top_k`` one vector a row.
        normalize: the gate vectors go through a softmax over the actions, element by element: a softmax of the
            sigmoids, which is what the published weights were trained with.
        no_op: whether there is a no-op action.
        pop: whether there is a pop action.
        data_gate: :math:`u = \sigma(D_f i + b) \odot drop(\tanh(U_f i + b))`.
        vocabulary, hidden_size, options: see :class:`Cell`, which also documents the initialisation.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        stack_size: int = 5,
        top_k: int = 1,
        gated_top_k: bool = False,
        normalize: bool = False,
        no_op: bool = False,
        pop: bool = True,
        data_gate: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        if not 1 <= top_k <= stack_size:
            raise ValueError(f"top_k is {top_k}; it is from 1 to stack_size, {stack_size}")
        if gated_top_k and top_k == 1:
            raise ValueError("gated_top_k weighs several rows: give top_k > 1")
        self.stack_size = stack_size
        self.top_k = top_k
        self.gated_top_k = gated_top_k
        self.normalize = normalize
        self.data_gate = data_gate
        self.actions = ["push", *(["pop"] if pop else []), *(["noop"] if no_op else [])]
        self.config |= {
            "stack_size": stack_size,
            "top_k": top_k,
            "gated_top_k": gated_top_k,
            "normalize": normalize,
            "no_op": no_op,
            "pop": pop,
            "data_gate": data_gate,
        }
        self.build()

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,), "S": (self.stack_size, self.hidden_size)}

    def gates(self, arity: int) -> dict[str, int]:
        """All vectors under a sigmoid lie together: o, the actions, g_1 ... g_N, then data gate and gated q, if any."""
        n, k = self.hidden_size, self.top_k
        vectors = 1 + len(self.actions) + arity + int(self.data_gate) + (k if self.gated_top_k else 0)
        return {"u": n, "sigmoids": vectors * n, "q": k if k > 1 and not self.gated_top_k else 0}

    def combine(self, pre: State, children: Mapping[str, Sequence[Tensor]], linear: Linear) -> State:
        n, k, arity = self.hidden_size, self.top_k, len(children["S"])
        o, *gates = torch.sigmoid(pre["sigmoids"]).split(n, -1)
        actions, gates = gates[: len(self.actions)], gates[len(self.actions) :]
        u = self.drop(torch.tanh(pre["u"].contiguous()))  # on a CPU twice as fast as on a strided view
        if self.data_gate:
            u = gates[arity] * u
        if self.normalize:
            actions = torch.stack(actions).softmax(0).unbind(0)
        if arity:
            Sc = stack.combine_stacks(gates[:arity], children["S"])
        else:
            Sc = u.new_zeros(*u.shape[:-1], self.stack_size, n)
        S = stack.update(
            Sc, u, self.stack_size, **{f"a_{name}": a for name, a in zip(self.actions, actions, strict=True)}
        )
        if k == 1:
            read = S[..., 0, :].contiguous()
        else:
            q = torch.stack(gates[-k:], -2) if self.gated_top_k else torch.sigmoid(pre["q"]).unsqueeze(-1)
            read = (q * S[..., :k, :]).sum(-2)
        return {"h": o * torch.tanh(read), "S": S}

    def reachable(self, state: State, steps: int) -> State:
        """Row r needs at least ``r - k + 1`` pops to be read."""
        return {"h": state["h"], "S": state["S"][..., : self.top_k + steps, :]}
