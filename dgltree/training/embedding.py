"""Vectors of trees and of their parts, learnt without labels: what ``dgltree embed`` does."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import DownwardTreeLSTM
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import TreeEncoder
from dgltree.engine.propagate import propagate
from dgltree.files import replacing
from dgltree.models.autoencoder import Autoencoder, Loss, Swept
from dgltree.models.checkpoint import reading, write
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel, evaluating
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.folder import SETTINGS_FILE, UNLABELLED
from dgltree.training.options import FitOptions
from dgltree.training.trained_model import TrainedModel
from dgltree.training.unlabelled import UnlabelledEpoch, learn
from dgltree.training.untaught import take_means, untaught

CONTEXT = "context.safetensors"
"""The weights of the way down, next to the files of a model."""
MOST_HELD = 500
"""Trees that are kept aside to choose the epoch by."""


def check_answers(folder: str | Path) -> None:
    """``ValueError`` for the folder of a model that learnt no labels."""
    if (Path(folder) / UNLABELLED).exists():
        raise ValueError(f"{folder}: 'dgltree embed' made it without labels; use encode or similar, or fit a model")


class UnlabelledModel(NamedTuple):
    """A model that gives vectors, of which no label was learnt, and the cell of the way down."""

    model: TrainedModel
    """Its readout was not trained: it answers nothing."""
    down: DownwardTreeLSTM

    def node_vectors(self, dataset: TreeDataset) -> Tensor:
        """(N, 2 n), of each node what it is from its parts, and from its context."""
        found = []
        for part in self.model.batches(self.model.known(dataset), baseline=False):
            encoder = self.model.check_nodes()
            assert isinstance(encoder, TreeEncoder)  # embed makes no other
            with evaluating(self.model.model), torch.no_grad():
                up = propagate(part.inputs, encoder.cell)
                down = propagate(part.inputs, self.down, direction="down", up=up)
            found.append(torch.cat([up["h"], down["h"]], 1).cpu())
        return torch.cat(found)

    def save(self, folder: str | Path, epochs: Sequence[UnlabelledEpoch] = ()) -> None:
        """Write the folder that :meth:`load` reads."""
        self.model.save(folder)
        header = {"part": "context", "options": self.down.config, "vocabulary": self.down.vocabulary.to_json()}
        write(Path(folder) / CONTEXT, self.down, header)
        with replacing(Path(folder) / UNLABELLED) as beside:
            beside.write_text(json.dumps([vars(epoch) for epoch in epochs], indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu") -> "UnlabelledModel":
        """Read what :func:`embed` wrote. Raises ``FileNotFoundError`` and ``ValueError`` as ``TrainedModel.load``."""
        path = Path(folder) / CONTEXT
        if not path.exists():
            raise FileNotFoundError(f"{folder}: no {CONTEXT} in it; give the folder that 'dgltree embed --out' wrote")
        with reading(path) as (header, tensors):
            down = DownwardTreeLSTM(Vocabulary.from_json(header["vocabulary"]), **header["options"])
            down.load_state_dict(tensors)
        return cls(TrainedModel.load(folder, device), down.eval().to(device))


def embed(
    data: TreeDataset,
    *,
    out: str | Path | None = None,
    encoder: str | None = None,
    hidden_size: int | None = None,
    loss: Loss = "both",
    epochs: int = 15,
    lr: float = 2e-3,
    batch_nodes: int = 1500,
    min_count: int = 2,
    seed: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> UnlabelledModel:
    """Learn vectors of trees and of their parts without labels.

    A cell goes up, a Tree-LSTM down (:class:`dgltree.models.Autoencoder`), over the graph of the distinct subtrees of
    a batch. The epoch with the least loss on trees that are kept aside is kept.

    Args:
        data: the trees; labels are not looked at.
        out: the folder to leave the model in, which ``encode`` and ``similar`` take, and ``fit --from``; None: nowhere.
        encoder: a cell of ``dgltree.cells.CELLS``; None: as :func:`dgltree.fit` chooses.
        hidden_size: n; None: as :func:`dgltree.fit` chooses.
        loss: as of :class:`dgltree.models.Autoencoder`; "cross_entropy" and "both" read tokens off leaves.
        epochs, lr: of Adam.
        batch_nodes: about this many nodes in a batch, before equal subtrees are one.
        min_count: tokens and functions that occur fewer times are read as ``<unk>``.
        seed: of first weights, order and the trees kept aside.
        say: called with a line after each epoch.

    Raises ``ValueError`` for the folder of a training with labels, pairs of trees, fewer than two trees, trees whose
    tokens are all unknown, an encoder without vectors of parts, and settings as :func:`dgltree.fit`.
    """
    if out is not None and (Path(out) / SETTINGS_FILE).exists():
        raise ValueError(f"{out} holds a training of 'dgltree fit'; give another --out")
    if data.each != 1:
        raise ValueError("the file has pairs of trees; vectors are learnt of single trees")
    if len(data) < 2:
        raise ValueError("the file has one tree; vectors are learnt from how trees differ: give two or more")
    options = FitOptions(encoder=encoder, hidden_size=hidden_size, min_count=min_count, seed=seed)
    choice = choose_encoder(data, options)
    torch.manual_seed(seed)
    made = choice.made()
    if not isinstance(made, TreeEncoder):
        raise ValueError(
            f"the encoder is {choice.name!r}, which has no vectors of parts; name a cell such as tree_lstm"
        )
    known = (data.with_numbers() if choice.numbers else data).within(made.vocabulary)
    _check_known(known)
    down = DownwardTreeLSTM.matching(made.cell, reads_up=False)
    network = Autoencoder(made.cell, down, loss=loss, entangled=True)

    def sweep(numbers: Sequence[int]) -> Swept:
        return network.trees(known.select(numbers).trees)

    def told(epoch: UnlabelledEpoch) -> None:
        say(f"epoch {epoch.epoch}: loss {epoch.training:.4f}, validation {epoch.validation:.4f}, {epoch.seconds:.0f} s")

    order = torch.randperm(len(known), generator=torch.Generator().manual_seed(seed)).tolist()
    held = min(MOST_HELD, len(known) // 10)
    size = max(2, batch_nodes * len(known) // known.num_nodes)
    settings: dict[str, Any] = {"batch_size": size, "epochs": epochs, "learning_rate": lr, "clip": 5.0, "seed": seed}
    report = learn(network, sweep, order[held:], order[:held], say=told, **settings)
    functions, _ = stands_at((block.trees for block in known.blocks()), made.vocabulary)
    take_means(untaught(made.cell, functions))
    found = UnlabelledModel(TrainedModel(TreeModel(made, NumberReadout(made.cell.hidden_size)), known.reading), down)
    if out is not None:
        found.save(out, report)
    return found


def _check_known(data: TreeDataset) -> None:
    """``ValueError`` for no readable tree, and for trees of whose words the vocabulary has none."""
    if not len(data):
        raise ValueError(f"no tree can be read: {data.bad[0].message if data.bad else 'the file is empty'}")
    vocabulary = data.own_vocabulary
    tokens = [block.trees.token for block in data.blocks()]
    there = torch.cat([token[token >= 0] for token in tokens])
    if vocabulary.unk and len(there) and bool((there == vocabulary.token_id("<unk>")).all()):
        raise ValueError("all tokens are rare and read as <unk>, so that nothing tells leaves apart: use min_count=1")
