"""Leaves of a Tree-LSTM that know their sentence: the states of an LSTM at each word."""

import torch
from torch import Tensor, nn

from dgltree.encoders.sequence.padding import reverse_places

FORGET = 1
"""The gate's place among the four of torch's LSTM."""


class LeafLSTM(nn.Module):
    """[h; c] of an LSTM after each word (Choi et al. 2018, arXiv 1707.02786).

    Args:
        input_size: of x.
        hidden_size: n.
        both: whether a second one reads from right to left, each with n / 2 columns of h and of c.

    Initialisation, as published: input weights Kaiming normal, recurrent weights orthogonal, biases 0,
    those of the forget gates 1.

    Raises ``ValueError`` for an odd n if there are both.
    """

    def __init__(self, input_size: int, hidden_size: int, *, both: bool = False) -> None:
        super().__init__()
        if both and hidden_size % 2:
            raise ValueError(f"hidden_size is {hidden_size}; it must be even, half of it for each direction")
        self.cells = nn.ModuleList(nn.LSTMCell(input_size, hidden_size // (1 + both)) for _ in range(1 + both))
        for name, parameter in self.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
            else:
                (nn.init.orthogonal_ if "_hh" in name else nn.init.kaiming_normal_)(parameter)
            if "bias_ih" in name:
                nn.init.ones_(parameter.detach().chunk(4)[FORGET])

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, 2 n) of x (B, T, input_size) and lengths (B,); of no meaning after a length. In the dtype of x."""
        places = torch.arange(x.shape[1], device=x.device).expand(len(x), -1)
        found = []
        for cell, order in zip(self.cells, (places, reverse_places(lengths, x.shape[1])), strict=False):
            back = order.unsqueeze(2)
            states, state = [], None
            for word in x.gather(1, back.expand_as(x)).unbind(1):
                state = cell(word, state)
                states.append(torch.stack(state))
            both = torch.stack(states, 2)  # h and c
            found.append(both.gather(2, back.expand(2, *both.shape[1:])))
        return torch.cat(list(torch.cat(found, 3)), 2).to(x.dtype)
