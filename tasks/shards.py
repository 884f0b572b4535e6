"""Training by several processes as by one: every batch is cut up, and its loss is the mean over all of it."""

from collections.abc import Sequence

import lightning
import torch
from torch import Tensor


def shards(order: Sequence[int], batch_size: int, rank: int, ranks: int) -> list[list[int]]:
    """What one process takes of each batch: of the batch ``order[s * batch_size : (s + 1) * batch_size]`` every row
    ``rank + k * ranks``. The processes together take every row once, and the batches are those of one process.

    Raises ``ValueError`` where a batch has fewer rows than there are processes.
    """
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    smallest = min(map(len, batches), default=ranks)
    if smallest < ranks:
        raise ValueError(
            f"a batch of {smallest} cannot be shared by {ranks} processes: {len(order)} examples in batches of "
            f"{batch_size} leave {len(order) % batch_size or batch_size} for the last; give another batch_size"
        )
    return [list(rows[rank::ranks]) for rows in batches]


def shared_mean(module: lightning.LightningModule, losses: Tensor) -> Tensor:
    """(), what a process must return for the gradient of the mean over the losses of all processes.

    The processes' gradients are averaged, whatever number of losses each has; so the sum of one's own, (E,), is divided
    by the mean number. Every parameter takes part, if only with 0: some process may lack the functions that need it,
    and all must agree on which parameters have a gradient.
    """
    if module.trainer.world_size == 1:
        return losses.mean()
    own = torch.tensor(float(len(losses)), device=losses.device)
    mean = module.trainer.strategy.reduce(own, reduce_op="mean")
    nothing = sum(parameter.sum() for parameter in module.parameters()) * 0
    return losses.sum() / mean + nothing
