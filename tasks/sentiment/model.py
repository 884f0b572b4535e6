"""Sentiment at the nodes of a tree: a cell, a readout, and cross-entropy."""

from dataclasses import replace
from typing import Any

import lightning
import torch
from torch import Tensor, nn
from torchmetrics.classification import MulticlassAccuracy

from dgltree import TreeBatch, Vocabulary
from dgltree.batching.labels import Supervision, supervised
from dgltree.cells import CELLS
from dgltree.cells.inputs import Embedding
from dgltree.encoders import TreeEncoder
from dgltree.models import ClassifierReadout
from dgltree.read.glove import WordVectors
from dgltree.training.processes import shared_loss
from dgltree.training.steps import seed_step
from tasks.sentiment.data import CLASSES


class SentimentClassifier(lightning.LightningModule):
    """A typed cell over the words' vectors and a classifier of its states (Tai et al. 2015, arXiv 1503.00075).

    Args:
        vocabulary: that of the data.
        encoder: one of dgltree.cells.CELLS; what reads sequences has no states of nodes.
        hidden_size: width of a node's state.
        input_size: width of a word's vector.
        options: further options of the encoder, such as its dropout.
        supervision: which nodes are learnt from, all ("nodes") or the trees' own labels alone ("roots").
        readout_size: width of the readout's hidden layer; without it the readout is linear.
        input_dropout: of the words' vectors.
        dropout: of the states before the readout.
        embedding_std: words' vectors begin as N(0, embedding_std^2).
        lr: learning rate of Adam.
        weight_decay: L2, not decoupled.
        seed: of the dropout, which depends on (seed, epoch, step, rank) alone.

    Raises ``ValueError`` for an encoder that is not there, and what the encoder and the readout raise.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        encoder: str = "tree_lstm",
        hidden_size: int = 150,
        input_size: int = 150,
        options: dict[str, Any] | None = None,
        supervision: Supervision = "nodes",
        readout_size: int | None = None,
        input_dropout: float = 0.5,
        dropout: float = 0.5,
        embedding_std: float = 0.1,
        lr: float = 1e-3,
        weight_decay: float = 1e-5,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if encoder not in CELLS:
            raise ValueError(f"the encoder is {encoder!r}; it must be one of {', '.join(CELLS)}")
        self.vocabulary, self.supervision = vocabulary, supervision
        self.input_dropout, self.lr, self.weight_decay, self.seed = input_dropout, lr, weight_decay, seed
        further = options or {}
        self.encoder = TreeEncoder(
            CELLS[encoder](vocabulary, hidden_size, input_size=input_size, leaf="gates", **further)
        )
        nn.init.normal_(self.words.weight, std=embedding_std)
        self.readout = ClassifierReadout(hidden_size, CLASSES, readout_size, dropout)
        self.accuracy, self.node_accuracy = (MulticlassAccuracy(CLASSES, average="micro") for _ in range(2))

    @property
    def words(self) -> Embedding:
        """The words' vectors, a row a token id."""
        return self.encoder.cell.input_embedding

    def begin_with(self, found: WordVectors) -> None:
        """Let the words found in a file of word vectors, by token id, begin with its vectors."""
        with torch.no_grad():
            self.words.weight[found.index] = found.vectors

    def forward(self, trees: TreeBatch, share: bool = False) -> Tensor:
        """(N, 5), the logits of all nodes."""
        return self.readout(self.encoder.node_states(trees, share))

    def with_dropped_inputs(self, trees: TreeBatch) -> TreeBatch:
        """The trees with the words' vectors as inputs, each occurrence under a mask of its own."""
        return replace(trees, x=nn.functional.dropout(self.words(trees.token, None), self.input_dropout))

    def training_step(self, trees: TreeBatch, index: int) -> Tensor:
        return shared_loss(self, *self.loss(trees), index)

    def validation_step(self, trees: TreeBatch, _: int) -> None:
        self._evaluate(trees, "")

    def test_step(self, trees: TreeBatch, _: int) -> None:
        self._evaluate(trees, "test_")

    def on_train_batch_start(self, trees: TreeBatch, index: int) -> None:
        seed_step(self, self.seed, index)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["vocabulary"] = self.vocabulary.to_json()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if Vocabulary.from_json(checkpoint["vocabulary"]) != self.vocabulary:
            raise ValueError("the checkpoint has another vocabulary: give the train.txt and min_count of its training")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), self.lr, weight_decay=self.weight_decay, fused=True)

    def loss(self, trees: TreeBatch) -> tuple[Tensor, int]:
        """(), the mean over the nodes that are learnt from, and how many they are."""
        nodes = supervised(trees, self.supervision, CLASSES)
        logits = self(self.with_dropped_inputs(trees))[nodes]
        return nn.functional.cross_entropy(logits, trees.label[nodes]), len(logits)

    def _evaluate(self, trees: TreeBatch, prefix: str) -> None:
        logits, size = self(trees, share=True), len(trees)
        accuracies = {"accuracy": (self.accuracy, supervised(trees, "roots", CLASSES))}
        if self.supervision == "nodes":
            accuracies["node_accuracy"] = (self.node_accuracy, supervised(trees, "nodes", CLASSES))
        for name, (accuracy, nodes) in accuracies.items():
            accuracy.update(logits[nodes], trees.label[nodes])
            self.log(prefix + name, accuracy, prog_bar=not prefix, batch_size=size)
