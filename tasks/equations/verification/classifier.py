"""Equation verification: an encoder, the equation readout, and binary cross-entropy."""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torchmetrics.classification import BinaryAccuracy

from dgltree import TreeBatch, Vocabulary
from dgltree.datasets.batches import Labelled
from dgltree.encoders import Encoder, TreeEncoder, make_encoder
from dgltree.encoders.encoder import Planned
from dgltree.models import ClassifierReadout, EquationModel, EquationReadout, TreeModel
from dgltree.training.stepping.module import EncoderModule, shared_loss
from tasks.equations.verification.counts import FIGURES, Counts, count_by_group, together
from tasks.equations.verification.node_values import TARGETS, WithValues
from tasks.equations.verification.whole import WholeEquations


class Majority(Encoder):
    """States of zeros: the readout's bias alone learns which label is more frequent."""

    def __init__(self, vocabulary: Vocabulary, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n) zeros."""
        return torch.zeros(len(batch), self.hidden_size, device=batch.device)


class EquationClassifier(EncoderModule):
    """Whether equations are correct (Arabshahi et al. 2019 and 2021, arXiv 1911.01545).

    Args:
        vocabulary: that of the data.
        encoder: a name that dgltree.encoders.make_encoder knows, or "majority".
        hidden_size: n, the width of a side's state.
        options: further options of the encoder, such as ``no_op`` or ``dropout``.
        lr: learning rate of Adam.
        weight_decay: L2, not decoupled.
        seed: of the dropout, which depends on (seed, epoch, step, rank) alone.
        value_weight: weight of a second loss in training: the squared error of what a linear map of each node's hidden
            state says that the subexpression is worth (see :mod:`tasks.equations.verification.node_values`).
        whole: whether the encoder reads both sides as one tree or sequence and a linear map of its vector is the logit,
            as of the papers' sequence models; else each side is read by itself and both vectors' product is.

    Raises ``ValueError`` for an encoder or option that is not there, for values without nodes that have a state, and
    what the encoder raises.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        encoder: str = "tree_smu",
        hidden_size: int = 50,
        options: dict[str, Any] | None = None,
        lr: float = 1e-3,
        weight_decay: float = 1e-5,
        seed: int = 0,
        value_weight: float = 0.0,
        whole: bool = False,
    ) -> None:
        super().__init__()
        given = options or {}
        if whole:
            self.model: TreeModel = TreeModel(
                WholeEquations(encoder, vocabulary, hidden_size, **given), ClassifierReadout(hidden_size, 1)
            )
        else:
            made = Majority if encoder == "majority" else partial(make_encoder, encoder)
            self.model = EquationModel(made(vocabulary, hidden_size, **given), EquationReadout())
        self.hidden_size = hidden_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.seed = seed
        self.value_weight = value_weight
        if value_weight and not isinstance(self.encoder, TreeEncoder):
            raise ValueError(f"value_weight is {value_weight}; it must be 0 with {encoder}, whose nodes have no state")
        self.value_readout = torch.nn.Linear(hidden_size, TARGETS) if value_weight else None
        self.accuracy = BinaryAccuracy()

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        """The encoder of the sides."""
        return self.model.encoder

    def forward(self, trees: TreeBatch | Planned) -> Tensor:
        """(E,), the logits of E equations."""
        return self.model(trees, share=self.shares).flatten()

    def losses(self, labelled: Labelled) -> Tensor:
        """(E,), the loss of each equation."""
        if not isinstance(labelled, WithValues):
            found = self.encoder.encoded(labelled.inputs, self.shares)
            return self._cross_entropies(self.model.read_out(found.root).flatten(), labelled) + found.loss
        assert isinstance(self.encoder, TreeEncoder)
        assert self.value_readout is not None
        states = self.encoder.node_states(labelled.inputs, self.shares)
        logits = self.model.read_out(states[labelled.trees.roots]).flatten()
        return self._cross_entropies(logits, labelled) + self.value_weight * labelled.errors(self.value_readout(states))

    @staticmethod
    def _cross_entropies(logits: Tensor, labelled: Labelled) -> Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, labelled.labels, reduction="none")

    def training_step(self, labelled: Labelled, index: int) -> Tensor:
        losses = self.losses(labelled)
        return shared_loss(self, losses.mean(), len(losses), index)

    def validation_step(self, labelled: Labelled, _: int) -> None:
        self.accuracy.update(self(labelled.inputs) > 0, labelled.labels == 1)
        self.log("accuracy", self.accuracy, prog_bar=True, batch_size=len(labelled.labels))

    def on_test_epoch_start(self) -> None:
        self._tested: dict[int, list[Counts]] = defaultdict(list)

    def test_step(self, labelled: Labelled, _: int) -> None:
        called = (self(labelled.inputs) > 0).cpu()
        for depth, counts in count_by_group(called, labelled.labels.cpu() == 1, labelled.groups).items():
            self._tested[depth].append(counts)

    def on_test_epoch_end(self) -> None:
        tested = {depth: together(counts) for depth, counts in sorted(self._tested.items())}
        if not tested:
            return
        for name, figure in figures(tested).items():
            self.log(f"test_{name}", figure, sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), self.lr, weight_decay=self.weight_decay, fused=True)


def figures(tested: Mapping[int, Counts]) -> dict[str, float]:
    """Name to metric: of all equations first, then by depth, as in ``depth_03_recall``."""
    every = {"": together(tested.values()), **{f"depth_{depth:02}_": counts for depth, counts in tested.items()}}
    return {f"{group}{figure}": getattr(counts, figure) for group, counts in every.items() for figure in FIGURES}
