"""The baseline that sees nothing."""

import torch
from torch import Tensor

from dgltree import TreeBatch
from dgltree.encoders import Encoder


class Majority(Encoder):
    """States of zeros: the readout's bias alone learns which label is more frequent."""

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, 1) zeros."""
        return torch.zeros(len(batch), 1, device=batch.device)
