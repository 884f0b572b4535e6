"""Vectors that were learnt without labels: the folder that ``dgltree embed`` leaves."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import Cell, DownwardTreeLSTM
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import TreeEncoder
from dgltree.engine.propagate import propagate
from dgltree.models.autoencoder import Autoencoder
from dgltree.models.checkpoint import reading, write
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel, evaluating
from dgltree.training.folder import UNLABELLED
from dgltree.training.trained_model import TrainedModel
from dgltree.training.untaught import take_means, untaught

CONTEXT = "context.safetensors"
"""The weights of the way down, next to the files of a model."""


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

    @classmethod
    def of(cls, network: Autoencoder, known: TreeDataset) -> "UnlabelledModel":
        """That of an autoencoder that learnt from these trees; it is changed where they have taught it nothing."""
        assert isinstance(network.up, Cell) and isinstance(network.down, DownwardTreeLSTM)
        functions, _ = stands_at((block.trees for block in known.blocks()), network.vocabulary)
        take_means(untaught(network.up, functions))
        model = TreeModel(TreeEncoder(network.up), NumberReadout(network.up.hidden_size))
        return cls(TrainedModel(model, known.reading), network.down)

    def save(self, folder: str | Path) -> None:
        """Write what :meth:`load` reads."""
        self.model.save(folder)
        header = {"part": "context", "options": self.down.config, "vocabulary": self.down.vocabulary.to_json()}
        write(Path(folder) / CONTEXT, self.down, header)

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
