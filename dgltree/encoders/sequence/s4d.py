"""S4D: a diagonal state space layer, and both directions of it in front of the words of another network."""

import math

import torch
from torch import Tensor, nn

from dgltree.encoders.sequence.padding import reverse_places
from dgltree.support.torch_internals import without_autocast

PAIRS = 32
"""Complex states of a channel; with their conjugates there are twice as many."""
SLOWEST, FASTEST = 0.001, 0.1
"""Of the steps that channels begin with."""


class S4D(nn.Module):
    r"""Each channel by itself through a diagonal linear recurrence of 64 states (Gu et al. 2022, arXiv 2206.11893), as
    the program of recursion in recursion runs it.

    With the complex states n = 0 to 31 of a channel, and their step :math:`\Delta = e^\delta`,

    .. math::
        A_n &= -e^{a_n} - i b_n, \quad \bar A_n = \frac{1 + \Delta A_n / 2}{1 - \Delta A_n / 2}, \quad
        \bar B_n = \frac{\Delta B_n}{1 - \Delta A_n / 2} \\
        s_t &= \bar A s_{t-1} + \bar B u_t, \quad y_t = 2 \, \Re \sum_n C_n s_{t,n} + d \, u_t, \quad
        out_t = drop(GELU(drop(y_t)))

    computed as one convolution of u with :math:`K_l = 2 \Re \sum_n C_n \bar B_n \bar A_n^l`.

    Args:
        channels: H.
        dropout: probability, in training only; both masks are one for all places.

    Initialisation: :math:`a_n = \ln \frac 1 2, b_n = \frac{64}{\pi}(\frac{64}{1 + 2n} - 1)`, B 1, both parts of C
    N(0, 1/2) in variance, d N(0, 1), :math:`\delta` uniform from ln 0.001 to ln 0.1.
    """

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        n = torch.arange(PAIRS, dtype=torch.get_default_dtype())
        count = 2 * PAIRS
        self.a = nn.Parameter(torch.full((channels, PAIRS), math.log(0.5)))
        self.b = nn.Parameter((count / math.pi * (count / (1 + 2 * n) - 1)).repeat(channels, 1))
        self.B = nn.Parameter(torch.stack([torch.ones(channels, PAIRS), torch.zeros(channels, PAIRS)], 2))
        self.C = nn.Parameter(torch.empty(channels, PAIRS, 2).normal_(std=math.sqrt(0.5)))
        self.delta = nn.Parameter(torch.empty(channels).uniform_(math.log(SLOWEST), math.log(FASTEST)))
        self.d = nn.Parameter(torch.empty(channels).normal_())
        self.drop = nn.Dropout(dropout)

    def forward(self, u: Tensor) -> Tensor:
        """(B, T, H) of u (B, T, H), in its dtype; a place reads those before it and itself."""
        with without_autocast(u.device):
            u_ = u.to(self.d.dtype)
            T, mask = u.shape[1], self.drop(torch.ones_like(u_[:, :1]))
            wide = 2 * T
            product = torch.fft.rfft(u_, wide, dim=1) * torch.fft.rfft(self.kernel(T).t(), wide, dim=0)
            y = torch.fft.irfft(product, wide, dim=1)[:, :T] + self.d * u_
            return (self.drop(torch.ones_like(mask)) * nn.functional.gelu(mask * y)).to(u.dtype)

    def kernel(self, length: int) -> Tensor:
        """(H, length), K."""
        step = self.delta.exp().unsqueeze(1)
        A = torch.complex(-self.a.exp(), -self.b)
        inverse = 1 / (1 - step * A / 2)
        weight = torch.view_as_complex(self.C) * torch.view_as_complex(self.B) * step * inverse
        rotation = ((1 + step * A / 2) * inverse).log().unsqueeze(2)
        powers = (rotation * torch.arange(length, device=A.device)).exp()  # (H, 32, length)
        return 2 * torch.einsum("hn,hnl->hl", weight, powers).real


class S4DFront(nn.Module):
    r"""Both directions of words x, of which :math:`\overleftarrow{x}` is x from the last word to the first.

    .. math::
        [\overrightarrow{z}; \overleftarrow{z}] = S4D([x; \overleftarrow{x}]), \quad
        y = GLU(W [\overrightarrow{z}; z] + w) + x

    where z is the second half, turned back.

    Args:
        size: of x.
        dropout: of :class:`S4D`.
    """

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.both, self.linear = S4D(2 * size, dropout), nn.Linear(2 * size, 2 * size)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, size) of x (B, T, size) and lengths (B,); of no meaning after a length."""
        order = reverse_places(lengths, x.shape[1]).unsqueeze(2).expand_as(x)
        inside = torch.arange(x.shape[1], device=x.device) < lengths.unsqueeze(1)
        z = self.both(torch.cat([x, x.gather(1, order)], 2) * inside.unsqueeze(2))
        forward, backward = z.chunk(2, 2)
        return nn.functional.glu(self.linear(torch.cat([forward, backward.gather(1, order)], 2)), 2) + x
