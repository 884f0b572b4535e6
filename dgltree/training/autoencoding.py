"""The autoencoder of a training without labels: what learns from these trees or sentences, and what it leaves."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch

from dgltree.cells import SWEEPS, Cell, DownwardTreeLSTM
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import Encoder, SequenceEasyFirst, SequenceEncoder, TreeEncoder
from dgltree.models.autoencoder import Autoencoder, Loss, Swept
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.options import FitOptions
from dgltree.training.trained_model import TrainedModel
from dgltree.training.unlabelled_model import UnlabelledModel
from dgltree.training.unseen_functions import find_unseen_functions, take_means

SENTENCES = ("banyan", "self_strae")
"""The networks that find the trees of sentences, the default first."""
CELLS_OF = {"banyan": "banyan", "self_strae": "strae"}
DROPOUT, LEAF_DROPOUT = 0.1, {"banyan": 0.1, "self_strae": 0.2}
"""As published."""


class Autoencoding(ABC):
    """A network that learns from a data set, and how its sweeps are made.

    Args:
        data: as the network reads it.
        network: that learns.
    """

    def __init__(self, data: TreeDataset, network: Autoencoder) -> None:
        self.data, self.network = data, network

    @abstractmethod
    def sweep(self, numbers: Sequence[int]) -> Swept:
        """Both sweeps over examples, by their numbers."""

    @abstractmethod
    def encoder(self, network: Autoencoder) -> Encoder:
        """The encoder with the way up of a network, which may be changed if these data have taught it nothing."""

    def model(self, network: Autoencoder) -> UnlabelledModel:
        """The model that a network, or a copy of it, leaves."""
        encoder = self.encoder(network)
        model = TreeModel(encoder, NumberReadout(network.up.hidden_size))
        return UnlabelledModel(TrainedModel(model, self.data.reading), network.down)


class OfTrees(Autoencoding):
    """A cell up and a Tree-LSTM down over given trees."""

    def sweep(self, numbers: Sequence[int]) -> Swept:
        return self.network.trees(self.data.select(numbers).trees)

    def encoder(self, network: Autoencoder) -> TreeEncoder:
        assert isinstance(network.up, Cell)
        functions, _ = stands_at((block.trees for block in self.data.blocks()), network.vocabulary)
        take_means(find_unseen_functions(network.up, functions))
        return TreeEncoder(network.up)


class OfSentences(Autoencoding):
    """Banyan or Self-StrAE over the words of trees.

    Args:
        data, network: as of :class:`Autoencoding`.
        reads: an encoder with the way up of the network.
    """

    def __init__(self, data: TreeDataset, network: Autoencoder, reads: SequenceEncoder) -> None:
        super().__init__(data, network)
        self.reads = reads

    def sweep(self, numbers: Sequence[int]) -> Swept:
        sequences = self.reads.plan(self.data.select(numbers).trees, share=False)
        return self.network.sentences(sequences.ids, sequences.lengths)

    def encoder(self, network: Autoencoder) -> SequenceEncoder:
        made = deepcopy(self.reads)
        assert isinstance(made.core, SequenceEasyFirst)
        made.core.cell.load_state_dict(network.up.state_dict())
        return made


def autoencoding(
    data: TreeDataset, encoder: str | None, hidden_size: int | None, loss: Loss | None, min_count: int, seed: int
) -> Autoencoding:
    """The autoencoder of these settings, as :func:`dgltree.training.embedding.embed` describes them.

    Raises ``ValueError`` for an encoder without vectors of parts, and settings as :func:`dgltree.fit`.
    """
    options = FitOptions(encoder=encoder, hidden_size=hidden_size, min_count=min_count, seed=seed)
    if encoder in SENTENCES:
        return _of_sentences(data, options, loss)
    choice = choose_encoder(data, options)
    torch.manual_seed(seed)
    made = choice.made()
    if not isinstance(made, TreeEncoder):
        raise ValueError(
            f"the encoder is {choice.name!r}, which has no vectors for parts; name a cell such as tree_lstm, or for "
            f"sentences {' or '.join(SENTENCES)}"
        )
    known = choice.read(data).within(made.vocabulary)
    down = DownwardTreeLSTM.matching(made.cell, reads_up=False)
    return OfTrees(known, Autoencoder(made.cell, down, loss=loss or "both", entangled=True))


def _of_sentences(data: TreeDataset, options: FitOptions, loss: Loss | None) -> OfSentences:
    assert options.encoder is not None
    banyan, cells = options.encoder == "banyan", CELLS_OF[options.encoder]
    own = {"everywhere": banyan, "dropout": LEAF_DROPOUT[options.encoder], "cell_dropout": DROPOUT}
    read = {"order": "leaves", "cell": cells, **own}
    choice = choose_encoder(data, replace(options, encoder="easy_first", options=read))
    torch.manual_seed(options.seed)
    reads = choice.made()
    assert isinstance(reads, SequenceEncoder) and isinstance(reads.core, SequenceEasyFirst)
    up = reads.core.cell
    downward: Any = SWEEPS[cells][1]
    down = downward(up.vocabulary, up.hidden_size, channels=up.config["channels"], dropout=DROPOUT)
    network = Autoencoder(
        up, down, loss=loss or ("cross_entropy" if banyan else "both"), entangled=banyan, everywhere=banyan
    )
    return OfSentences(data.within(reads.vocabulary), network, reads)
