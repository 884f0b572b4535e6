"""The value of an expression: an encoder, a linear readout, and cross-entropy."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from dgltree import TreeBatch, Vocabulary
from dgltree.encoders import make_encoder
from dgltree.models import ClassifierReadout
from tasks.classifier import EncoderClassifier
from tasks.listops.data import CLASSES
from tasks.listops.operators import by_operator


class ListOpsClassifier(EncoderClassifier):
    """The digit that an expression is worth (Nangia and Bowman 2018; Shen et al. 2019, arXiv 1910.13466).

    Args:
        vocabulary: that of the data.
        encoder: a name that dgltree.encoders.make_encoder knows.
        hidden_size: n, the width of an expression's state.
        options: further options of the encoder, such as ``num_slots`` or ``dropout``.
        dropout: of the state before the readout.
        training: lr, beta1, weight_decay and seed, as in :class:`tasks.classifier.EncoderClassifier`.

    Raises ``ValueError`` for an encoder or option that is not there, and what the encoder raises.
    """

    group = "length"

    def __init__(
        self,
        vocabulary: Vocabulary,
        encoder: str = "ordered_memory",
        hidden_size: int = 64,
        options: dict[str, Any] | None = None,
        dropout: float = 0.0,
        **training: Any,
    ) -> None:
        made = make_encoder(encoder, vocabulary, hidden_size, **(options or {}))
        super().__init__(made, ClassifierReadout(hidden_size, CLASSES, dropout=dropout), CLASSES, **training)

    def parts(self, trees: TreeBatch) -> Mapping[str, Tensor]:
        return by_operator(trees)
