"""Vectors that were learnt without labels: the folder that ``dgltree embed`` leaves."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary, with_signatures
from dgltree.cells import SWEEPS, DownwardCell
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import SequenceEasyFirst, SequenceEncoder, TreeEncoder
from dgltree.encoders.latent.easy_first import easy_first
from dgltree.encoders.sequence.linearization import NO_WORD, ROOT, nodes_of
from dgltree.engine.propagate import propagate
from dgltree.models.checkpoint import reading, write
from dgltree.models.tree_model import evaluating
from dgltree.training.model_files import CONTEXT, write_reading
from dgltree.training.trained_model import TrainedModel

OF_TREES = "tree_lstm"
"""The cells of two sweeps over given trees, whose name older folders lack."""


def finds_trees(folder: str | Path) -> bool:
    """Whether it is the folder of a model that learnt from sentences, whose trees it finds."""
    path = Path(folder) / CONTEXT
    if not path.exists():
        return False
    with reading(path) as (header, _):
        return header.get("cells", OF_TREES) != OF_TREES


class UnlabelledModel(NamedTuple):
    """A model that gives vectors, of which no label was learnt, and the cell of the way down."""

    model: TrainedModel
    """The model, whose readout was not trained: it answers nothing."""
    down: DownwardCell

    def node_vectors(self, dataset: TreeDataset) -> Tensor:
        """(N, 2 n), of each node what it is from its parts, and from its context: of sentences of each word and root.

        Raises ``ValueError`` for trees that are to be read as sentences and have inner nodes but their root.
        """
        with evaluating(self.model.model), torch.no_grad():
            parts = self.model.batches(self.model.known(dataset), baseline=False)
            return torch.cat([self._vectors(part.inputs).cpu() for part in parts])

    def _vectors(self, trees: Any) -> Tensor:
        encoder = self.model.model.encoder
        if isinstance(encoder, SequenceEncoder):
            return self._of_sentences(encoder, trees)
        assert isinstance(encoder, TreeEncoder)
        up = propagate(trees, encoder.cell)
        down = propagate(trees, self.down, direction="down", up=up)
        return torch.cat([up["h"], down["h"]], 1)

    def _of_sentences(self, encoder: SequenceEncoder, trees: TreeBatch) -> Tensor:
        """Nothing is entangled, so that no sentence changes another's words."""
        assert isinstance(encoder.core, SequenceEasyFirst)
        sentence, place = nodes_of(trees).unbind(1)
        if bool((place == NO_WORD).any()):
            raise ValueError(
                "a tree has inner nodes below its root, but only words of plain sentences have contextual vectors"
            )
        sequences = encoder.plan(trees, share=False)
        found = easy_first(encoder.core.cell, sequences.ids, sequences.lengths)
        down = propagate(found.batch, self.down, direction="down", up=found.up)
        words = found.words[sentence, place.clamp(min=0)]
        roots = found.roots[sentence]
        return torch.cat([found.up["h"], down["h"]], 1)[roots.where(place == ROOT, words)]

    def save(self, folder: str | Path) -> None:
        """Write what :meth:`load` reads."""
        self.model.save(folder)
        cells = next(name for name, (_, down) in SWEEPS.items() if down is type(self.down))
        header = {"part": "context", "cells": cells, "options": self.down.config}
        header["vocabulary"] = self.down.vocabulary.to_json()
        write(Path(folder) / CONTEXT, self.down, header)
        write_reading(Path(folder), self.model.reading.to_json())

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu") -> "UnlabelledModel":
        """Read what :func:`embed` wrote. Raises ``FileNotFoundError`` and ``ValueError`` as ``TrainedModel.load``."""
        path = Path(folder) / CONTEXT
        if not path.exists():
            raise FileNotFoundError(
                f"{folder}: there is no {CONTEXT} in this folder; give the folder that 'dgltree embed --out' wrote"
            )
        with reading(path) as (header, tensors):
            kind = SWEEPS[header.get("cells", OF_TREES)][1]
            down = kind(Vocabulary.from_json(header["vocabulary"]), **header["options"])
            down.load_state_dict(with_signatures(down, tensors))
        return cls(TrainedModel.load(folder, device), down.eval().to(device))
