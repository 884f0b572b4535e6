"""The baseline that sees nothing."""

import torch
from torch import Tensor

from dgltree import TreeBatch, Vocabulary
from dgltree.encoders import Encoder


class Majority(Encoder):
    """States of zeros: the readout's bias alone learns which label is more frequent, or the mean of the numbers."""

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, numbers: bool = False) -> None:
        super().__init__()
        self.hidden_size = hidden_size

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n) zeros."""
        return torch.zeros(len(batch), self.hidden_size, device=batch.device)
