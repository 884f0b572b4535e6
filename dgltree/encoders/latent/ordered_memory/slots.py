"""Memory that Ordered Memory hands from one word to the next."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from dgltree.encoders.latent.ragged import front


class Slots(NamedTuple):
    """The state of b sequences before a step: of the k slots that can have been reached, the last."""

    M: Tensor
    """(b, k, D)"""
    M_hat: Tensor
    """(b, k, D)"""
    pi: Tensor
    r"""(b, k), :math:`\overrightarrow\pi`."""
    x: Tensor
    """(b, D), x~ of the last word, which M_hat equals before the k slots."""

    @property
    def state(self) -> Tensor:
        """(b, D), the last slot of M_hat."""
        return self.M_hat[:, -1] if self.M_hat.shape[1] else self.x

    def all_slots(self, count: int) -> Tensor:
        """(b, count, D), M_hat of those that cannot have been reached, too."""
        return torch.cat([self.x.unsqueeze(1).expand(-1, count - self.M_hat.shape[1], -1), self.M_hat], 1)

    def first(self, count: int) -> "Slots":
        """Of the first sequences; the others have ended."""
        return Slots(*(front(part, count) for part in self))

    def where(self, here: Tensor, other: "Slots") -> "Slots":
        """Where ``here`` (b,) is true; ``other`` elsewhere."""
        return Slots(
            *(part.where(here.view(-1, *[1] * (part.dim() - 1)), old) for part, old in zip(self, other, strict=True))
        )

    def opened(self, slots: int) -> "Slots":
        """With so many slots, one more at most. Its M does not matter: the attention to it and all later ones is 1."""
        if slots == self.M.shape[1]:
            return self
        M, pi = pad(self.M, (0, 0, 1, 0)), pad(self.pi, (1, 0))
        return Slots(M, torch.cat([self.x.unsqueeze(1), self.M_hat], 1), pi, self.x)
