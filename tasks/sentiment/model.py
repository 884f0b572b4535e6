"""Sentiment at the nodes of a tree, or of a sentence: an encoder, a readout, and cross-entropy."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torchmetrics.classification import MulticlassAccuracy

from dgltree import TreeBatch, Vocabulary
from dgltree.batching.labels import Supervision, supervised
from dgltree.batching.vocabulary import NO_LABEL
from dgltree.cells import CELLS
from dgltree.encoders import SEQUENCE_ENCODERS, Encoded, SequenceEncoder, TreeEncoder, make_encoder
from dgltree.models import ClassifierReadout
from dgltree.read.glove import WordVectors
from dgltree.training.encoding import EncoderModule
from dgltree.training.processes import shared_loss
from tasks.classifier import InducedBrackets


class SentimentClassifier(EncoderModule):
    """An encoder over the words' vectors and a classifier of its states.

    A typed cell has a state for every phrase (Tai et al. 2015, arXiv 1503.00075); a sequence encoder, such as Ordered
    Memory (Shen et al. 2019, arXiv 1910.13466), reads the words of a sentence and has one for the whole.

    Args:
        vocabulary: that of the data.
        classes: how many there are.
        encoder: a name that dgltree.encoders.make_encoder knows.
        hidden_size: width of a state.
        input_size: width of a word's vector.
        options: further options of the encoder, such as its dropout.
        supervision: which nodes are learnt from, all ("nodes") or the trees' own labels alone ("roots").
        readout_size: width of the readout's hidden layer; without it the readout is linear.
        input_dropout: of the words' vectors; a sequence encoder's option ``dropout``.
        dropout: of the states before the readout, and within it.
        embedding_std: words' vectors begin as N(0, embedding_std^2).
        frozen: whether the words' vectors stay as they begin.
        lr: learning rate of Adam.
        beta1: decay of Adam's mean of the gradients.
        weight_decay: L2, not decoupled.
        seed: of the dropout, which depends on (seed, epoch, step, rank) alone.

    Raises ``ValueError`` for an encoder or option that is not there, for a sequence encoder that is to learn from all
    nodes, and what the encoder and the readout raise.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        classes: int = 5,
        encoder: str = "tree_lstm",
        hidden_size: int = 150,
        input_size: int = 150,
        options: dict[str, Any] | None = None,
        supervision: Supervision = "nodes",
        readout_size: int | None = None,
        input_dropout: float = 0.5,
        dropout: float = 0.5,
        embedding_std: float = 0.1,
        frozen: bool = False,
        lr: float = 1e-3,
        beta1: float = 0.9,
        weight_decay: float = 1e-5,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if encoder in SEQUENCE_ENCODERS and supervision == "nodes":
            raise ValueError(
                f"supervision is 'nodes', but {encoder!r} reads a sentence as a sequence and has no states of phrases: "
                f"give supervision 'roots', or one of the cells {', '.join(CELLS)}"
            )
        self.vocabulary, self.supervision, self.classes = vocabulary, supervision, classes
        self.input_dropout, self.seed = input_dropout, seed
        self.lr, self.beta1, self.weight_decay = lr, beta1, weight_decay
        given: dict[str, Any] = {"input_size": input_size, "leaf": "gates"}
        if encoder not in CELLS:
            given = {"order": "leaves", "dropout": input_dropout}
            if input_size != hidden_size:  # not all of them have the option
                given["embedding_size"] = input_size
        self.encoder = make_encoder(encoder, vocabulary, hidden_size, **{**given, **(options or {})})
        nn.init.normal_(self.words, std=embedding_std)
        self.word_parameter.requires_grad_(not frozen)
        self.readout = ClassifierReadout(hidden_size, classes, readout_size, dropout)
        self.accuracy, self.node_accuracy = (MulticlassAccuracy(classes, average="micro") for _ in range(2))

    @property
    def word_parameter(self) -> nn.Parameter:
        """(ids, input_size), whose last rows are the words' vectors; before them a sequence encoder has other ids."""
        if isinstance(self.encoder, TreeEncoder):
            return self.encoder.cell.input_embedding.weight
        assert isinstance(self.encoder, SequenceEncoder)
        return self.encoder.core.get_parameter("embedding.weight")

    @property
    def words(self) -> Tensor:
        """(tokens, input_size), the words' vectors, a row a token id."""
        return self.word_parameter[-len(self.vocabulary.tokens) :]

    def begin_with(self, found: WordVectors) -> None:
        """Let the words found in a file of word vectors, by token id, begin with its vectors."""
        with torch.no_grad():
            self.words[found.index] = found.vectors

    def forward(self, trees: TreeBatch, share: bool = False) -> Tensor:
        """The logits, (N, classes) of all nodes, or of a sequence encoder (B, classes) of the roots."""
        return self.read(trees, share)[0]

    def read(self, trees: TreeBatch, share: bool = False) -> tuple[Tensor, Encoded]:
        """The logits, and the pass that they are of."""
        if isinstance(self.encoder, TreeEncoder):
            found = Encoded(self.encoder.node_states(trees, share))
        else:
            found = self.encoder.encoded(trees)
        return self.readout(found.root), found

    def with_dropped_inputs(self, trees: TreeBatch) -> TreeBatch:
        """The trees with the words' vectors as a cell's inputs, each occurrence under a mask of its own."""
        if not isinstance(self.encoder, TreeEncoder):  # which drops them itself
            return trees
        words = self.encoder.cell.input_embedding(trees.token, None)
        return replace(trees, x=nn.functional.dropout(words, self.input_dropout))

    def predicted(self, logits: Tensor, trees: TreeBatch, supervision: Supervision) -> tuple[Tensor, Tensor]:
        """Logits (M, classes) and labels (M,) of the roots, or of all nodes that have a label."""
        if supervision == "roots":
            nodes = supervised(trees, "roots", self.classes)
        else:
            nodes = torch.nonzero(trees.label != NO_LABEL).squeeze(1)
        return logits[nodes] if isinstance(self.encoder, TreeEncoder) else logits, trees.label[nodes]

    def training_step(self, trees: TreeBatch, index: int) -> Tensor:
        return shared_loss(self, *self.loss(trees), index)

    def validation_step(self, trees: TreeBatch, _: int) -> None:
        self._evaluate(trees, "")

    def on_test_epoch_start(self) -> None:
        self._brackets = InducedBrackets()

    def test_step(self, trees: TreeBatch, _: int) -> None:
        parse = self._evaluate(trees, "test_").parse
        if parse is not None:
            self._brackets.update(self.encoder, trees, parse)

    def on_test_epoch_end(self) -> None:
        if self.encoder.induces_trees:
            self.log("test_f1", self._brackets.f1, sync_dist=True)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["vocabulary"] = self.vocabulary.to_json()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if Vocabulary.from_json(checkpoint["vocabulary"]) != self.vocabulary:
            raise ValueError("the checkpoint has another vocabulary: give the train.txt and options of its data")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(
            self.parameters(), self.lr, (self.beta1, 0.999), weight_decay=self.weight_decay, fused=True
        )

    def loss(self, trees: TreeBatch) -> tuple[Tensor, int]:
        """(), the mean over the nodes that are learnt from, and how many they are."""
        found, encoded = self.read(self.with_dropped_inputs(trees))
        logits, labels = self.predicted(found, trees, self.supervision)
        return nn.functional.cross_entropy(logits, labels) + encoded.loss, len(labels)

    def _evaluate(self, trees: TreeBatch, prefix: str) -> Encoded:
        (logits, encoded), size = self.read(trees, share=True), len(trees)
        accuracies: dict[str, tuple[MulticlassAccuracy, Supervision]] = {"accuracy": (self.accuracy, "roots")}
        if self.supervision == "nodes":
            accuracies["node_accuracy"] = (self.node_accuracy, "nodes")
        for name, (accuracy, supervision) in accuracies.items():
            accuracy.update(*self.predicted(logits, trees, supervision))
            self.log(prefix + name, accuracy, prog_bar=not prefix, batch_size=size)
        return encoded
