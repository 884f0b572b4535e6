"""A trained model of own trees: a folder with its weights and with how its trees are read."""

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.datasets.batches import Collate, NodeBatches
from dgltree.datasets.formats.records import ROOT, reader_of
from dgltree.datasets.labelled import Labelled
from dgltree.datasets.settings.reading import Reading
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import TreeEncoder
from dgltree.files import replacing
from dgltree.models.checkpoint import load, save
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import PairModel, TreeModel, evaluating
from dgltree.training.folder import CARD, EPOCHS, READING, SETTINGS_FILE, WEIGHTS
from dgltree.training.own_cells import register
from dgltree.trees.tree import Tree

Examples = Sequence[Tree | str | tuple[Tree, Tree] | tuple[str, str]] | TreeDataset
"""What a model answers."""
MOST_NODES = 8192
"""Of a batch in prediction."""


class TrainedModel:
    """What :func:`dgltree.fit` gives and ``dgltree predict``, ``encode`` and ``evaluate`` use.

    Args:
        model: an encoder and a readout, in evaluation mode.
        reading: how its trees were read.
    """

    def __init__(self, model: TreeModel, reading: Reading) -> None:
        self.model, self.reading = model.eval(), reading

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu", cell: type[Cell] | str | None = None) -> "TrainedModel":
        """Read the folder that a training wrote; of one that is not finished what there is so far, with a warning.

        Args:
            folder: the ``out`` of :func:`dgltree.fit`.
            device: where to compute.
            cell: the class, or ``FILE.py:CLASS``, of a model with a cell of your own.

        Raises ``FileNotFoundError`` for a folder without a model, and ``ValueError`` for damaged files.
        """
        folder = Path(folder)
        if cell is not None:
            register(cell)
        begun = (folder / SETTINGS_FILE).exists()
        for name in (WEIGHTS, READING):
            if begun and not (folder / name).exists():
                raise FileNotFoundError(
                    f"{folder}: no model in it yet; its training was stopped early, and the same 'dgltree fit' command "
                    "continues it"
                )
            if not (folder / name).exists():
                raise FileNotFoundError(f"{folder}: no {name} in it; give the folder that 'dgltree fit --out' wrote")
        try:
            reading = Reading(**json.loads((folder / READING).read_text(encoding="utf-8")))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{folder / READING}: {error}") from None
        if begun and not (folder / CARD).exists():
            which = "best epoch so far" if (folder / EPOCHS).exists() else "model of a part of the first epoch"
            warnings.warn(f"{folder}: its training is not finished; this is the {which}", stacklevel=2)
        try:
            model = load(folder / WEIGHTS)
        except ValueError as error:
            if "cell with a" in str(error) and cell is None:
                raise ValueError(f"{error}; a cell of your own is given as FILE.py:CLASS (cell=, --cell)") from None
            raise
        if not isinstance(model.readout, NumberReadout) and not model.classes:
            raise ValueError(
                f"{folder / WEIGHTS}: it names no classes and gives no numbers; a model of 'dgltree fit' does"
            )
        return cls(model.to(device), reading)

    def save(self, folder: str | Path) -> None:
        """Write the folder that :meth:`load` reads."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / READING) as beside:
            beside.write_text(json.dumps(self.reading.to_json(), indent=1) + "\n", encoding="utf-8")
        save(self.model, folder / WEIGHTS)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; none where the model gives numbers."""
        return self.model.classes

    @property
    def each(self) -> int:
        """Trees of an example: 2 where the model reads pairs."""
        return 2 if isinstance(self.model, PairModel) else 1

    @property
    def gives_numbers(self) -> bool:
        return isinstance(self.model.readout, NumberReadout)

    def dataset(self, trees: Examples) -> TreeDataset:
        """Trees in the model's vocabulary; those that it does not know are left out and kept in ``bad``.

        Raises ``ValueError`` for pairs where the model reads trees, and the other way round.
        """
        given = trees if isinstance(trees, TreeDataset) else TreeDataset(self._read(trees), reading=self.reading)
        self.check_kind(given)
        if self.reading.numbers and given.reading.numbers is None:
            given = given.with_numbers()
        vocabulary = self.model.encoder.vocabulary
        return given if given.own_vocabulary == vocabulary else given.within(vocabulary)

    def _read(self, examples: Sequence[Any]) -> list[Tree | tuple[Tree, Tree]]:
        """Texts as trees."""
        if isinstance(examples, str | Tree):
            raise ValueError("one tree alone: give a list of trees or of texts")
        read: Any = None
        found: list[Any] = []
        for i, example in enumerate(examples):
            parts = [example] if isinstance(example, str | Tree) else list(example)
            for k, part in enumerate(parts):
                if isinstance(part, str):
                    read = read or reader_of(self.reading)
                    try:
                        parts[k] = self._bare(read(part))
                    except ValueError as error:
                        raise ValueError(f"tree {i + 1}: not a valid {self.reading.notation} tree: {error}") from None
            found.append(parts[0] if len(parts) == 1 else tuple(parts))
        return found

    def _bare(self, tree: Tree) -> Tree:
        """A treebank's tree as those were read whose label stood at the root."""
        known = {name for name, _ in self.model.encoder.vocabulary.functions}
        takes = self.reading.notation == "treebank" and ROOT in known and not self.reading.label_from
        return tree.replace(function=ROOT) if takes else tree

    def check_kind(self, dataset: TreeDataset) -> None:
        """``ValueError`` for pairs where the model reads trees, and the other way round."""
        if dataset.each != self.each:
            kinds = {1: "single trees", 2: "pairs of trees"}
            raise ValueError(f"the model reads {kinds[self.each]}; these are {kinds[dataset.each]}")

    def predict(self, trees: Examples) -> Tensor:
        """Probabilities (E, classes) in the order of ``classes``, or numbers (E,), of all examples.

        Examples are trees, texts in the notation of the training file such as ``"(add x y)"``, pairs of either, or a
        data set. Raises ``ValueError`` naming the first example that cannot be read or that the model does not know.
        """
        return torch.cat([self.answers(part) for part in self.batches(self._known(trees))]).cpu()

    def encode(self, trees: Examples) -> Tensor:
        """(B, n), the vectors of all trees; of pairs one after the other. Errors as in :meth:`predict`."""
        return torch.cat([self.roots(part) for part in self.batches(self._known(trees))]).cpu()

    def node_vectors(self, dataset: TreeDataset) -> Tensor:
        """(N, n), the vectors of all nodes. Raises ``ValueError`` for an encoder that has none."""
        self.check_nodes()
        return torch.cat([self.nodes(part) for part in self.batches(self._known(dataset))]).cpu()

    def check_nodes(self) -> TreeEncoder:
        """The encoder, whose nodes have vectors; ``ValueError`` for another one."""
        encoder = self.model.encoder
        if not isinstance(encoder, TreeEncoder):
            raise ValueError(f"a {type(encoder).__name__} reads sequences; nodes have vectors in a tree encoder alone")
        return encoder

    def _known(self, trees: Examples) -> TreeDataset:
        dataset = self.dataset(trees)
        if dataset.bad and not isinstance(trees, TreeDataset):
            raise ValueError(f"tree {dataset.bad[0].line}: {dataset.bad[0].message}")
        return dataset

    def batches(self, dataset: TreeDataset) -> Iterator[Labelled]:
        """What the methods below take: the examples, in the model's vocabulary, of some nodes at a time, on its device.

        ``part.plan(model.model.encoder, share=True)`` does before what they would do first, in another process perhaps.
        """
        collate = Collate(self.classes or None)
        device = next(self.model.parameters()).device
        for rows in NodeBatches(dataset.sizes, MOST_NODES):
            yield collate(dataset.select(rows)).to(device)

    def answers(self, part: Labelled) -> Tensor:
        """Probabilities (E, classes), or numbers (E,)."""
        with evaluating(self.model):
            found = self.model(part.inputs, share=True)
        return found if self.gives_numbers else found.softmax(-1)

    def roots(self, part: Labelled) -> Tensor:
        """(B, n), one row a tree."""
        with evaluating(self.model):
            return self.model.encoder(part.inputs, share=True)

    def nodes(self, part: Labelled) -> Tensor:
        """(N, n), one row a node."""
        with evaluating(self.model):
            return self.check_nodes().node_states(part.inputs, share=True)
