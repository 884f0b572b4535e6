"""The relation between two formulas: an encoder, the pair readout, and cross-entropy."""

from typing import Any

from torch import Tensor

from dgltree import Vocabulary
from dgltree.encoders import make_encoder
from dgltree.models import ClassifierReadout, PairReadout
from tasks.classifier import EncoderClassifier
from tasks.logic.data import CLASSES


class LogicClassifier(EncoderClassifier):
    """Which of seven relations holds between two formulas (Bowman et al. 2015; Shen et al. 2019, arXiv 1910.13466).

    Args:
        vocabulary: that of the data.
        encoder: a name that dgltree.encoders.make_encoder knows.
        joint: whether both formulas are read as one sequence, of which a classifier reads the state; for encoders of
            sequences only. Else both are encoded alike, and the pair readout reads the two states.
        hidden_size: n, the width of a formula's state.
        options: further options of the encoder, such as ``num_slots`` or ``dropout``.
        dropout: of the states before the readout, and within it.
        training: lr, beta1, weight_decay and seed, as in :class:`tasks.classifier.EncoderClassifier`.

    Raises ``ValueError`` for an encoder or option that is not there, and what the encoder raises.
    """

    group = "operators"

    def __init__(
        self,
        vocabulary: Vocabulary,
        encoder: str = "ordered_memory",
        joint: bool = False,
        hidden_size: int = 64,
        options: dict[str, Any] | None = None,
        dropout: float = 0.0,
        **training: Any,
    ) -> None:
        given = options or {}
        if joint:
            readout = ClassifierReadout(hidden_size, CLASSES, hidden_size, dropout)
            super().__init__(
                make_encoder(encoder, vocabulary, hidden_size, joint=True, **given), readout, CLASSES, **training
            )
        else:
            pairs = PairReadout(hidden_size, CLASSES, dropout=dropout)
            super().__init__(make_encoder(encoder, vocabulary, hidden_size, **given), pairs, CLASSES, **training)
        self.joint = joint

    def read_out(self, states: Tensor) -> Tensor:
        """(E, 7), the logits of E pairs."""
        return self.readout(states) if self.joint else self.readout(states[::2], states[1::2])
