"""Root states to logits."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from dgltree.batch import TreeBatch
from dgltree.encoders import TreeEncoder


class EquationReadout(nn.Module):
    r"""Whether two sides are equal (Arabshahi et al. 2019 and 2021, arXiv 1911.01545).

    .. math:: logit = h_{lhs} \cdot h_{rhs} + b, \qquad P(correct) = \sigma(logit)

    The bias starts at 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Logits of sides (..., n) and (..., n), which broadcast: (...)."""
        return (left * right).sum(-1) + self.bias


class EquationModel(nn.Module):
    """An encoder of the two sides and a readout of their states."""

    def __init__(self, encoder: TreeEncoder, readout: EquationReadout) -> None:
        super().__init__()
        self.encoder = encoder
        self.readout = readout

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(E,), the logits of a batch of E equations (roots 2i and 2i + 1)."""
        roots = self.encoder(batch, share)
        return self.readout(roots[::2], roots[1::2])


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode and without gradients; it leaves in the mode it was in."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)
