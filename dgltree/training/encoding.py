"""Base of all models that encode trees, for training."""

from typing import Any

import lightning
import numpy as np
import torch

from dgltree.batching.batch import TreeBatch
from dgltree.encoders import Encoder, TreeEncoder
from dgltree.encoders.encoder import Planned


class EncoderModule(lightning.LightningModule):
    """A model with an encoder; ``seed`` is that of its dropout, which depends on (seed, epoch, step, rank) alone."""

    encoder: Encoder
    seed: int

    @property
    def shares(self) -> bool:
        """Whether equal subtrees are computed once now."""
        return self.shares_in(self.training)

    def shares_in(self, training: bool) -> bool:
        """The same in training or out of it: by a cell, unless dropout would tie them."""
        encoder = self.encoder
        return isinstance(encoder, TreeEncoder) and not (training and encoder.cell.dropout)

    def plan(self, trees: TreeBatch) -> Planned:
        """The preparation that the data loader's worker does for the encoder."""
        return self.encoder.plan(trees, self.shares)

    def on_train_batch_start(self, batch: Any, index: int) -> None:
        seed_step(self, self.seed, index)


def seed_step(module: lightning.LightningModule, seed: int, index: int) -> None:
    """Masks of dropout are those of this step, whether or not the run was interrupted before it."""
    place = (seed, module.current_epoch, index, module.global_rank)
    number = int(np.random.SeedSequence(place).generate_state(1)[0])
    if module.device.type == "cpu":  # for the other devices torch notes where it was called from, which takes 2 ms
        torch.default_generator.manual_seed(number)
    else:
        torch.manual_seed(number)
