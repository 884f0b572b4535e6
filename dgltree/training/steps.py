"""What a training does before a step."""

import lightning
import numpy as np
import torch


def seed_step(module: lightning.LightningModule, seed: int, index: int) -> None:
    """Masks of dropout are those of this step, whether or not the run was interrupted before it."""
    place = (seed, module.current_epoch, index, module.global_rank)
    number = int(np.random.SeedSequence(place).generate_state(1)[0])
    if module.device.type == "cpu":  # for the other devices torch notes where it was called from, which takes 2 ms
        torch.default_generator.manual_seed(number)
    else:
        torch.manual_seed(number)
