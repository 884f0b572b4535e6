"""Classes of what an encoder read: the training that logic and ListOps share."""

from collections.abc import Mapping
from typing import ClassVar, cast

import torch
from lightning import Callback
from torch import Tensor, nn
from torchmetrics.classification import MulticlassAccuracy

from dgltree import TreeBatch, unbatch
from dgltree.datasets.labelled import Labelled
from dgltree.encoders import Encoder, Parse, Planned, SequenceEncoder
from dgltree.induction.binary_trees import without_tokens
from dgltree.induction.evalb import Corpus, Parameters, SentenceScore, score
from dgltree.training.encoding import EncoderModule
from dgltree.training.plateau import HalvedRate
from dgltree.training.processes import shared_loss
from tasks.grouped import Grouped


class EncoderClassifier(EncoderModule):
    """Cross-entropy by Adam, whose rate is halved when the accuracy in validation has not risen for two epochs.

    That is the training of Ordered Memory (Shen et al. 2019, arXiv 1910.13466); the published program has beta1 = 0.

    Args:
        encoder: of the trees.
        readout: of its states.
        classes: how many there are.
        lr: learning rate at first.
        beta1: decay of Adam's mean of the gradients.
        weight_decay: L2, not decoupled.
        seed: of the dropout, which depends on (seed, epoch, step, rank) alone.
    """

    group: ClassVar[str]
    """The meaning of the groups of the data."""

    def __init__(
        self,
        encoder: Encoder,
        readout: nn.Module,
        classes: int,
        lr: float = 1e-3,
        beta1: float = 0.9,
        weight_decay: float = 1.2e-6,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.encoder, self.readout, self.classes = encoder, readout, classes
        self.lr, self.beta1, self.weight_decay, self.seed = lr, beta1, weight_decay, seed
        self.accuracy = self._accuracy()

    def forward(self, trees: TreeBatch | Planned) -> Tensor:
        """(E, classes), the logits of E examples."""
        return self.read_out(self.encoder(trees, share=self.shares))

    def read_out(self, states: Tensor) -> Tensor:
        """The same of the states of the trees."""
        return self.readout(states)

    def parts(self, trees: TreeBatch) -> Mapping[str, Tensor]:
        """Name to (E,) bool: parts of the test set whose accuracy is reported, too; there may be none."""
        return {}

    def training_step(self, labelled: Labelled, index: int) -> Tensor:
        found = self.encoder.encoded(labelled.inputs, self.shares)
        mean = nn.functional.cross_entropy(self.read_out(found.root), labelled.labels) + found.loss
        return shared_loss(self, mean, len(labelled.labels), index)

    def validation_step(self, labelled: Labelled, _: int) -> None:
        self.accuracy.update(self(labelled.inputs), labelled.labels)
        self.log("accuracy", self.accuracy, prog_bar=True, batch_size=len(labelled.labels))

    def on_test_epoch_start(self) -> None:
        self._tested = Grouped({"accuracy": self._accuracy().to(self.device)}, self.group)
        self._brackets = InducedBrackets()
        self._sets = [self._accuracy().to(self.device) for _ in self._set_names()]
        self._parts: dict[str, MulticlassAccuracy] = {}

    def test_step(self, labelled: Labelled, _: int, dataloader_idx: int = 0) -> None:
        found = self.encoder.encoded(labelled.inputs, self.shares)
        logits, labels = self.read_out(found.root), labelled.labels
        if dataloader_idx:  # a further set, which counts by itself
            self._sets[dataloader_idx - 1].update(logits, labels)
            return
        self._tested.update(logits, labels, labelled.groups)
        for name, rows in self.parts(labelled.trees).items():
            if rows.any():
                self._parts.setdefault(name, self._accuracy().to(self.device)).update(logits[rows], labels[rows])
        if found.parse is not None:
            self._brackets.update(self.encoder, labelled.trees, found.parse)

    def on_test_epoch_end(self) -> None:
        for name, accuracy in zip(self._set_names(), self._sets, strict=True):
            self.log(f"test_{name}_set", accuracy.compute(), sync_dist=True)
        for name, accuracy in self._parts.items():
            self.log(f"test_{name}", accuracy.compute(), sync_dist=True)
        for name, figure in self._tested.compute().items():
            self.log(f"test_{name}", figure, sync_dist=True)
        if self.encoder.induces_trees:
            self.log("test_f1", self._brackets.f1, sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(
            self.parameters(), self.lr, (self.beta1, 0.999), eps=1e-9, weight_decay=self.weight_decay, fused=True
        )

    def configure_callbacks(self) -> list[Callback]:
        return [HalvedRate("accuracy")]

    def _set_names(self) -> tuple[str, ...]:
        """Of the sets that the data tests in addition to its test set."""
        return getattr(self.trainer.datamodule, "sets", ())  # type: ignore[attr-defined]

    def _accuracy(self) -> MulticlassAccuracy:
        return MulticlassAccuracy(self.classes, average="micro")


PARAMETERS = Parameters(labelled=False)


class InducedBrackets:
    """Unlabelled brackets of the trees that an encoder induced, against those of the trees it read as sequences."""

    def __init__(self) -> None:
        self._sentences: list[SentenceScore] = []

    def update(self, encoder: Encoder, trees: TreeBatch, parse: Parse) -> None:
        """Add a batch and what a pass found in it. Brackets among the words are taken out first, as in the papers.

        Where leaves alone are read, a bracket is a word of its sentence.
        """
        read = () if encoder.config["order"] == "leaves" else ("(", ")")
        induced = [without_tokens(tree, read) for tree in parse.trees(cast(SequenceEncoder, encoder).words(trees))]
        self._sentences += score(unbatch(trees.to("cpu")), induced, PARAMETERS).sentences

    @property
    def f1(self) -> float:
        """Of all brackets together, 0 to 1."""
        return Corpus(tuple(self._sentences), PARAMETERS).f1 / 100
