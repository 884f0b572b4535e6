"""Vectors of trees and of their parts are learnt without labels: what ``dgltree embed`` does."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from dgltree.cells import SWEEPS, Cell, DownwardTreeLSTM
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import Encoder, SequenceEasyFirst, SequenceEncoder, TreeEncoder
from dgltree.models.autoencoder import Autoencoder, Loss, Swept
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel, kept_generators
from dgltree.support.files import claim, lock_folder
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.folder import EPOCHS, digest_of, read_interrupted_state
from dgltree.training.model_files import CONTEXT, READING, SETTINGS_FILE, UNLABELLED, WEIGHTS
from dgltree.training.options import FitOptions
from dgltree.training.processes import say
from dgltree.training.stepping.callbacks import DivergenceError
from dgltree.training.stepping.module import find_unseen_functions, take_means
from dgltree.training.stepping.trainer import CLIP
from dgltree.training.trained_model import TrainedModel
from dgltree.training.unlabelled import learn
from dgltree.training.unlabelled_model import UnlabelledModel

SENTENCES = ("banyan", "self_strae")
"""The networks that find the trees of sentences, the default first."""
CELLS_OF = {"banyan": "banyan", "self_strae": "strae"}
DROPOUT = 0.1
"""The published dropout of both networks."""
LEAF_DROPOUT = {"banyan": 0.1, "self_strae": 0.2}
"""The published dropout of leaves."""
MOST_HELD = 500
"""Trees that are kept aside to choose the epoch by."""


def embed(
    data: TreeDataset,
    *,
    out: str | Path | None = None,
    encoder: str | None = None,
    hidden_size: int | None = None,
    loss: Loss | None = None,
    epochs: int = 15,
    lr: float = 2e-3,
    batch_nodes: int = 1500,
    min_count: int = 2,
    seed: int = 0,
) -> UnlabelledModel:
    """Learn vectors of trees and of their parts without labels.

    A cell goes up, a Tree-LSTM down (:class:`dgltree.models.Autoencoder`), over the graph of the distinct subtrees of
    a batch. Over plain sentences (the notation ``words``) Banyan or Self-StrAE finds the trees of both sweeps. The
    epoch with the least loss on trees that are kept aside is kept. A line is printed after each epoch, and a training
    that was interrupted continues.

    Args:
        data: the trees; labels are not looked at.
        out: the folder to leave the model in, which ``encode`` and ``similar`` take, and ``fit --from``; None: nowhere.
        encoder: a cell of ``dgltree.cells.CELLS``, or for sentences "banyan" or "self_strae"; None: "banyan" for the
            notation ``words``, else as :func:`dgltree.fit` chooses.
        hidden_size: n; None: as :func:`dgltree.fit` chooses.
        loss: as of :class:`dgltree.models.Autoencoder`; "cross_entropy" and "both" read tokens off leaves. None:
            "both", of Banyan "cross_entropy", as published.
        epochs, lr: of Adam.
        batch_nodes: about this many nodes in a batch, before equal subtrees are one.
        min_count: tokens and functions that occur fewer times are read as ``<unk>``.
        seed: of first weights, order and the trees kept aside.

    Raises ``ValueError`` for the folder of another training, and one that another run writes to now, pairs of trees,
    fewer than two trees, trees whose tokens are all unknown, an encoder without vectors of parts, settings as
    :func:`dgltree.fit`, and if the loss is not finite.
    """
    settings = {name: value for name, value in locals().items() if name not in ("data", "out", "epochs")}
    if data.each != 1:
        raise ValueError("the file has pairs of trees, but vectors are learned for single trees")
    if len(data) < 2:
        raise ValueError(
            "the file has only one tree; vectors are learned from differences between trees: give two or more trees"
        )
    if encoder is None and data.reading.notation == "words":
        encoder = SENTENCES[0]
    with kept_generators(), TemporaryDirectory() as nowhere:
        made = autoencoding(data, encoder, hidden_size, loss, min_count, seed)
        known = made.data
        network = made.network
        _check_known(known)
        order = torch.randperm(len(known), generator=torch.Generator().manual_seed(seed)).tolist()
        held = min(MOST_HELD, len(known) // 10)
        size = max(2, batch_nodes * len(known) // known.num_nodes)
        folder = Path(nowhere if out is None else out)
        if (folder / SETTINGS_FILE).exists():
            raise ValueError(f"{folder} holds a training run of 'dgltree fit'; give another --out")
        with lock_folder(folder):
            claim(folder / UNLABELLED, {"options": settings, "data": digest_of({"train": data})})
            with _leaving(folder):
                learn(
                    network,
                    made.sweep,
                    order[held:],
                    order[:held] or order,
                    folder,
                    epochs=epochs,
                    batch_size=size,
                    learning_rate=lr,
                    clip=CLIP,
                    seed=seed,
                    leave=lambda best: made.model(best).save(folder),
                )
            found = made.model(network)
            found.save(folder)
    return found


@contextmanager
def _leaving(folder: Path) -> Iterator[None]:
    """A block whose interruption says what it has left; if its loss is not finite, the folder is free again."""
    try:
        yield
    except DivergenceError:
        own = (EPOCHS, WEIGHTS, READING, CONTEXT, UNLABELLED)
        for left in (*folder.glob("*.ckpt"), *(folder / name for name in own)):
            left.unlink(missing_ok=True)
        raise
    except BaseException:
        say(read_interrupted_state(folder))
        raise


def _check_known(data: TreeDataset) -> None:
    """``ValueError`` for no readable tree, and for trees of whose words the vocabulary has none."""
    if not len(data):
        raise ValueError(f"no tree can be read: {data.bad[0].message if data.bad else 'the file is empty'}")
    vocabulary = data.own_vocabulary
    tokens = [block.trees.token for block in data.blocks()]
    there = torch.cat([token[token >= 0] for token in tokens])
    if vocabulary.unk and len(there) and bool((there == vocabulary.token_id("<unk>")).all()):
        raise ValueError("all tokens are rare and read as <unk>, so that nothing tells leaves apart: use min_count=1")


class Autoencoding(ABC):
    """A network that learns from a data set, and how its sweeps are made.

    Args:
        data: as the network reads it.
        network: that learns.
    """

    def __init__(self, data: TreeDataset, network: Autoencoder) -> None:
        self.data = data
        self.network = network

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
            f"the encoder is {choice.name!r}, which computes no vectors for parts of a tree; name a cell such as "
            f"tree_lstm, or {' or '.join(SENTENCES)} for sentences"
        )
    known = choice.read(data).within(made.vocabulary)
    down = DownwardTreeLSTM.matching(made.cell, reads_up=False)
    return OfTrees(known, Autoencoder(made.cell, down, loss=loss or "both", entangled=True))


def _of_sentences(data: TreeDataset, options: FitOptions, loss: Loss | None) -> OfSentences:
    assert options.encoder is not None
    banyan = options.encoder == "banyan"
    cells = CELLS_OF[options.encoder]
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
