"""The stack-augmented Tree-RNN."""

from typing import Any, Literal

import torch

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.stack_cell import StackCell
from dgltree.cells.tree_rnn import activation_named
from dgltree.engine.contract import Children, Computed, State, Widths
from dgltree.engine.typed_linear import Affine, Linear, concatenate


class StackTreeRNN(StackCell):
    r"""The Tree-RNN with a stack and scalar actions (Arabshahi et al. 2019, arXiv 1911.01545v1).

    .. math::
        u &= act(D_f i + b), \quad a = softmax(A_f i + b), \quad g_k = \sigma(W_f^{g,k} i + b) \\
        Sc &= \sum_k g_k \odot S_{c_k}, \qquad S[r] = a_{push} Sc[r-1] + a_{pop} Sc[r+1] + a_{noop} Sc[r]
            \quad (Sc[-1] := u) \\
        h &= drop(act(W_f i + M_f \, vec(S[0:k]) + b)) \quad \text{(read = "self")} \\
        h &= drop(act(W_f i + M_f [S_{c_1}[0]; ...; S_{c_N}[0]] + b)) \quad \text{(read = "children")}

    State: ``h`` (n,), ``S`` (p, n).

    Args:
        read: "self", the paper's form, or "children", that of the published program, where h does not depend on the
            node's own stack.
        typed_stack: whether each function has its own stack weights (D, A, W^g); by default as in both forms' sources:
            with "self" they do, with "children" one set for each arity serves all functions.
        activation: act, "sigmoid" (published), "tanh" or "relu".
        vocabulary, hidden_size, options: see :class:`StackCell`, and :class:`Cell`, which also documents the
            initialisation.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        read: Literal["self", "children"] = "self",
        typed_stack: bool | None = None,
        activation: str = "sigmoid",
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        if read not in ("self", "children"):
            raise ValueError(f"read is {read!r}; it must be 'self' or 'children'")
        if read == "children" and self.top_k > 1:
            raise ValueError(f"read='children' reads only row 0 of each child, but top_k is {self.top_k}; set top_k=1")
        self.read = read
        self.typed_stack = read == "self" if typed_stack is None else typed_stack
        self.activation = activation
        self.act = activation_named(activation)
        self.build()

    def _stack_gates(self, arity: int) -> Widths:
        n = self.hidden_size
        return {"u": n, "a": len(self.actions), "g": arity * n}

    def gates(self, arity: int) -> Widths:
        widths = {"z": self.hidden_size}
        return widths | self._stack_gates(arity) if self.typed_stack else widths

    def shared_gates(self, arity: int) -> Widths:
        return {} if self.typed_stack else self._stack_gates(arity)

    def products(self, arity: int) -> dict[str, Affine]:
        rows = self.top_k if self.read == "self" else arity
        if not rows:
            return {}
        return {"read": Affine(rows * self.hidden_size, self.hidden_size, bias=False)}

    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        stacks = children["S"]
        u = self.act(pre["u"])
        a = torch.softmax(pre["a"], -1)
        g = torch.sigmoid(pre["g"]).split(self.hidden_size, -1) if stacks else ()
        actions = dict(zip(self.actions, a.split(1, -1), strict=True))
        S, top = self.update(g, stacks, u, actions)
        z = pre["z"]
        if self.read == "self":
            z = z + linear("read", top.flatten(-2))
        elif stacks:
            tops = [S_k[..., 0, :] for S_k in stacks]
            z = z + linear("read", concatenate(tops))
        return {"h": self.drop(self.act(z)), "S": S, "u": u, "g": g, **actions}
