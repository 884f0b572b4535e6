"""Where Ordered Memory writes: the attention over its slots."""

import math

import torch
from torch import Tensor, nn

LEAST_MASK = 1e-5  # the published program sets mask entries below it to 0


class PublishedAttention(nn.Module):
    r"""Scores of the slots as the published program of Ordered Memory computes them.

    .. math::
        \alpha_i = w \cdot drop(relu(LN_q(W_q \, drop(\tilde x) + b_q) + LN_k(W_k \, drop(\hat M^i) + b_k))) / \sqrt D

    Args:
        hidden_size: D.
        dropout: probability, in training only.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.query_norm, self.key_norm = nn.LayerNorm(hidden_size), nn.LayerNorm(hidden_size)
        self.w = nn.Linear(hidden_size, 1, bias=False)
        self.drop = nn.Dropout(dropout)

    def queries(self, x: Tensor) -> Tensor:
        """(..., D) of x~ (..., D): what does not depend on the memory, for all steps at once."""
        return self.query_norm(self.query(self.drop(x)))

    def forward(self, query: Tensor, M_hat: Tensor, num_slots: int) -> Tensor:
        """Scores alpha (B, k) from ``queries`` of one step (B, D) and k of the N = ``num_slots`` slots, (B, k, D)."""
        key = self.key_norm(self.key(self.drop(M_hat.contiguous())))  # masks are drawn in the order of memory
        alpha = self.w(self.drop(torch.relu(query.unsqueeze(1) + key))).squeeze(-1)
        return alpha / math.sqrt(M_hat.shape[2])


class PaperAttention(nn.Module):
    r"""Scores of the slots as the paper writes them (Shen et al. 2019, arXiv 1910.13466).

    .. math:: \alpha_i = w \cdot drop(\tanh(W [drop(\hat M^i); drop(\tilde x)])) / \sqrt N

    W is ``key`` and ``query`` side by side. N is the number of slots, so more slots give a flatter attention.

    Args:
        hidden_size: D.
        dropout: probability, in training only.

    Initialisation: that of one ``Linear`` of 2 D to D.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.query = nn.Linear(hidden_size, hidden_size, bias=False)
        self.key = nn.Linear(hidden_size, hidden_size, bias=False)
        self.w = nn.Linear(hidden_size, 1, bias=False)
        self.drop = nn.Dropout(dropout)
        for half in (self.query, self.key):
            nn.init.uniform_(half.weight, -((2 * hidden_size) ** -0.5), (2 * hidden_size) ** -0.5)

    def queries(self, x: Tensor) -> Tensor:
        """(..., D) of x~ (..., D): what does not depend on the memory, for all steps at once."""
        return self.query(self.drop(x))

    def forward(self, query: Tensor, M_hat: Tensor, num_slots: int) -> Tensor:
        """Scores alpha (B, k) from ``queries`` of one step (B, D) and k of the N = ``num_slots`` slots, (B, k, D)."""
        z = torch.tanh(query.unsqueeze(1) + self.key(self.drop(M_hat.contiguous())))
        return self.w(self.drop(z)).squeeze(-1) / math.sqrt(num_slots)


ATTENTIONS: dict[str, type[PublishedAttention] | type[PaperAttention]] = {
    "published": PublishedAttention,
    "paper": PaperAttention,
}


def allocate(alpha: Tensor, pi: Tensor, allowed_maximum: bool) -> Tensor:
    r"""The attention p (B, k) to the last k of N slots, from their scores and the last :math:`\overrightarrow\pi`.

    .. math::
        \beta_i = \exp(\alpha_i - \max \alpha), \quad \hat\beta_i = \beta_i \overrightarrow\pi^{i+1}, \quad
        \overrightarrow\pi^{N+1} = 1, \quad p = \hat\beta / \max(\sum \hat\beta, 10^{-12})

    Args:
        alpha: scores (B, k).
        pi: (B, k). As a mask, entries below 1e-5 are 0, without gradient.
        allowed_maximum: whether the maximum is over the slots whose mask is not 0, and not over all of them. If
            attention is sharp, exp then cannot be 0 at every slot that is allowed.
    """
    mask = nn.functional.pad(pi[:, 1:], (0, 1), value=1.0)
    closed = mask < LEAST_MASK
    mask = mask.masked_fill(closed, 0)
    if allowed_maximum:
        alpha = alpha.masked_fill(closed, -math.inf)
    beta = (alpha - alpha.amax(-1, keepdim=True)).exp() * mask
    return beta / beta.sum(-1, keepdim=True).clamp(min=1e-12)
