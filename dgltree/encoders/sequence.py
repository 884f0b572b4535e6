"""What all encoders of sequences have in common: their input, its padding, and the step from trees to it."""

import torch
from torch import Tensor, nn

from dgltree.batch import TreeBatch
from dgltree.encoders.encoder import Encoder
from dgltree.encoders.linearize import Order, linearize
from dgltree.vocabulary import Vocabulary


class SequenceEncoder(Encoder):
    """A core for sequences, run over the linearised trees.

    Args:
        vocabulary: of the trees.
        core: (ids (B, T), lengths (B,)) to (B, n), with its options in ``config``.
        order: how a tree becomes a sequence, as in :func:`dgltree.encoders.linearize`.

    Raises ``ValueError`` for another order.
    """

    def __init__(self, vocabulary: Vocabulary, core: nn.Module, order: Order) -> None:
        super().__init__()
        if order not in ("leaves", "bracketed"):
            raise ValueError(f"order is {order!r}; it is 'leaves' or 'bracketed'")
        self.vocabulary, self.core, self.order = vocabulary, core, order
        self.config = {**core.config, "order": order}  # type: ignore[dict-item]

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n), one row a root; a sequence shares nothing, whatever ``share`` is."""
        return self.core(*linearize(batch, self.order, self.vocabulary))


def check_sequences(ids: Tensor, lengths: Tensor, size: int, max_length: int | None) -> None:
    """``ValueError`` for what is no batch of sequences of ids below ``size``, or has one longer than ``max_length``."""
    if ids.dim() != 2 or lengths.shape != ids.shape[:1] or ids.is_floating_point() or lengths.is_floating_point():
        raise ValueError(
            f"ids are {tuple(ids.shape)} {ids.dtype} and lengths {tuple(lengths.shape)} {lengths.dtype}; "
            "they are (B, T) and (B,), whole numbers"
        )
    if not len(ids):
        raise ValueError("an empty batch: give at least one sequence")
    shortest, longest, lowest, highest = torch.stack([*lengths.aminmax(), *ids.aminmax()]).tolist()
    if shortest < 1 or longest > ids.shape[1]:
        raise ValueError(f"lengths run from {shortest} to {longest}; ids (B, {ids.shape[1]}) allow 1 to {ids.shape[1]}")
    if max_length is not None and longest > max_length:
        raise ValueError(
            f"sequence {int(lengths.argmax())} has length {longest}; this encoder takes max_length={max_length}"
        )
    if lowest < 0 or highest >= size:
        raise ValueError(f"ids run from {lowest} to {highest}; this encoder knows 0 to {size - 1}")


def padding(ids: Tensor, lengths: Tensor) -> Tensor:
    """(B, T) bool, true behind the end of a sequence."""
    return torch.arange(ids.shape[1], device=ids.device) >= lengths.unsqueeze(1)
