"""S4D: a diagonal state space layer, and both directions of it in front of the words of another network."""

import math

import torch
from torch import Tensor, nn

from dgltree.encoders.sequence.padding import reverse_places
from dgltree.support.torch_internals import without_autocast

PAIRS = 32
"""Complex states of a channel; with their conjugates there are twice as many."""
SLOWEST = 0.001
"""The smallest step that a channel begins with."""
FASTEST = 0.1
"""The largest one."""


class S4D(nn.Module):
    r"""Each channel by itself through a diagonal linear recurrence of 64 states (Gu et al. 2022, arXiv 2206.11893), as
    the program of recursion in recursion runs it.

    With the complex states n = 0 to 31 of a channel, and their step :math:`\Delta = e^\delta`,

    .. math::
        A_n &= -e^{a_n} - i b_n\quad(1) \\
        \bar A_n &= \frac{1 + \Delta A_n / 2}{1 - \Delta A_n / 2}\quad(2) \\
        \bar B_n &= \frac{\Delta B_n}{1 - \Delta A_n / 2}\quad(3) \\
        s_t &= \bar A s_{t-1} + \bar B u_t, \quad y_t = 2 \, \Re \sum_n C_n s_{t,n} + d \, u_t\quad(4) \\
        out_t &= drop(GELU(drop(y_t)))\quad(5)

    computed as one convolution of u with :math:`K_l = 2 \Re \sum_n C_n \bar B_n \bar A_n^l` (6).

    Args:
        channels: H.
        dropout: probability, in training only; both masks are one for all places.

    Initialisation: :math:`a_n = \ln \frac 1 2, b_n = \frac{64}{\pi}(\frac{64}{1 + 2n} - 1)`, B 1, both parts of C
    N(0, 1/2) in variance, d N(0, 1), :math:`\delta` uniform from ln 0.001 to ln 0.1.
    """

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        shape = (channels, PAIRS)
        states = 2 * PAIRS
        n = torch.arange(PAIRS, dtype=torch.get_default_dtype())
        b = states / math.pi * (states / (1 + 2 * n) - 1)
        one = torch.stack([torch.ones(shape), torch.zeros(shape)], 2)  # real and imaginary part
        self.a = nn.Parameter(torch.full(shape, math.log(0.5)))
        self.b = nn.Parameter(b.repeat(channels, 1))
        self.B = nn.Parameter(one)
        self.C = nn.Parameter(torch.empty(*shape, 2).normal_(std=math.sqrt(0.5)))
        self.delta = nn.Parameter(torch.empty(channels).uniform_(math.log(SLOWEST), math.log(FASTEST)))
        self.d = nn.Parameter(torch.empty(channels).normal_())
        self.drop = nn.Dropout(dropout)

    def forward(self, u: Tensor) -> Tensor:
        """(B, T, H) of u (B, T, H), in its dtype; a place reads those before it and itself."""
        with without_autocast(u.device):
            x = u.to(self.d.dtype)
            ones = torch.ones_like(x[:, :1])
            T = x.shape[1]
            width = 2 * T  # so that the circular convolution does not come around
            x_frequencies = torch.fft.rfft(x, width, dim=1)
            inner_mask = self.drop(ones)
            K_frequencies = torch.fft.rfft(self.kernel(T).t(), width, dim=0)
            convolved = torch.fft.irfft(x_frequencies * K_frequencies, width, dim=1)
            y = convolved[:, :T] + self.d * x  # (4)
            out = self.drop(ones) * nn.functional.gelu(inner_mask * y)  # (5)
            return out.to(u.dtype)

    def kernel(self, length: int) -> Tensor:
        """K (6), (H, length)."""
        step = self.delta.exp().unsqueeze(1)
        A = torch.complex(-self.a.exp(), -self.b)  # (1)
        inverse = 1 / (1 - step * A / 2)
        A_bar = (1 + step * A / 2) * inverse  # (2)
        B = torch.view_as_complex(self.B)
        C = torch.view_as_complex(self.C)
        weight = C * B * step * inverse  # C times (3)
        exponent = torch.arange(length, device=A.device)
        powers = (A_bar.log().unsqueeze(2) * exponent).exp()  # (H, 32, length)
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
        self.both = S4D(2 * size, dropout)
        self.linear = nn.Linear(2 * size, 2 * size)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, size) of x (B, T, size) and lengths (B,); of no meaning after a length."""
        T = x.shape[1]
        order = reverse_places(lengths, T).unsqueeze(2).expand_as(x)
        is_word = torch.arange(T, device=x.device) < lengths.unsqueeze(1)
        both = torch.cat([x, x.gather(1, order)], 2)
        z = self.both(both * is_word.unsqueeze(2))
        forward, backward = z.chunk(2, 2)
        z = torch.cat([forward, backward.gather(1, order)], 2)
        return nn.functional.glu(self.linear(z), 2) + x
