"""A trained model reads trees as in its training and answers: a folder with its weights and its way of reading."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.datasets.batches import Collate, Labelled, NodeBatches
from dgltree.datasets.feature_columns import FeatureColumns
from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.records import ROOT
from dgltree.datasets.labels import check_known
from dgltree.datasets.loading.flatten import ParsedChunk
from dgltree.datasets.objects import columns_of, is_table, read_objects
from dgltree.datasets.settings import Reading
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.datasets.unseen import find_unseen
from dgltree.encoders import Encoder, TreeEncoder
from dgltree.models.checkpoint import load_model, save
from dgltree.models.readouts import Readout
from dgltree.models.tree_model import TreeModel, evaluating
from dgltree.support.files import replacing
from dgltree.training.explaining import Explanation, explain
from dgltree.training.folder import CARD, EPOCHS, SETTINGS_FILE
from dgltree.training.model_files import (
    BASELINE,
    FEATURES,
    FURTHER,
    LARGEST_CLASS,
    READING,
    THRESHOLD,
    WEIGHTS,
    check_model,
    read_reading,
    write_reading,
)
from dgltree.training.objectives import OBJECTIVES, Classes, Objective
from dgltree.training.objectives.threshold import Threshold
from dgltree.training.own_cells import register
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    from dgltree.training.baseline.average import Average
    from dgltree.training.comparison import Measured
    from dgltree.training.deciding import Decision
    from dgltree.training.objectives.metrics import Evaluation

Examples = Any
"""Examples for a model to answer: a ``TreeDataset``, or what :func:`dgltree.datasets.objects.read_objects` reads."""
MOST_NODES, MOST_CELLS = 8192, 1 << 25
"""Nodes of a batch in prediction, and the probabilities of its answers."""
Repeated = Callable[[Sequence[str | None], Sequence[int], Sequence[str]], dict[int, Bad]]
"""A function that takes ids, lines and files and returns the examples whose id occurred before: ``Ids.repeated``."""


class TrainedModel:
    """The result of :func:`dgltree.fit`, which ``dgltree predict``, ``encode`` and ``evaluate`` use.

    Args:
        model: an encoder and a readout, in evaluation mode.
        reading: how its trees were read.
        average: of its answers with those of a baseline; None: it answers alone.
        features: the columns that it reads next to the trees; None: none.

    Raises ``ValueError`` for a readout that gives neither classes with names nor numbers.
    """

    objective: Objective
    """The kind of its answers."""

    def __init__(
        self,
        model: TreeModel,
        reading: Reading,
        average: "Average | None" = None,
        features: FeatureColumns | None = None,
    ) -> None:
        self.model = model.eval()
        self.reading = reading
        self.average = average
        self.features = features
        gives = model.readout.gives if isinstance(model.readout, Readout) else None
        if gives is None or (gives == "classes" and not model.classes):
            raise ValueError("the model predicts neither classes nor numbers, unlike a model of 'dgltree fit'")
        self.objective = OBJECTIVES[gives].with_classes(model.classes)

    @classmethod
    def of(cls, decision: "Decision", model: TreeModel) -> "TrainedModel":
        """A model with weights of a training, which gives answers from now on."""
        assert isinstance(model.readout, Readout)
        decision.objective.finish(model.readout)
        found = cls(model, decision.splits["train"].reading, features=decision.features)
        if decision.objective.classes:
            found.objective = decision.objective  # with the weights of classes
        return found

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu", cell: type[Cell] | str | None = None) -> "TrainedModel":
        """Read the folder that a training wrote; of one that is not finished what there is so far, with a warning.

        Args:
            folder: the ``out`` of :func:`dgltree.fit`.
            device: where to compute.
            cell: the class, or ``FILE.py:CLASS``, of a model with a cell of your own.

        Raises ``FileNotFoundError`` for a folder without a model, and ``ValueError`` for damaged files and for those of
        several models.
        """
        folder = Path(folder)
        if cell is not None:
            register(cell)
        begun = (folder / SETTINGS_FILE).exists()
        check_model(folder)
        fields = read_reading(folder)
        try:
            reading = Reading(**fields)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{folder / READING}: {error}") from None
        if begun and not (folder / CARD).exists():
            which = "best epoch so far" if (folder / EPOCHS).exists() else "model of an unfinished first epoch"
            warnings.warn(f"{folder}: its training is not finished; this is the {which}", stacklevel=2)
        try:
            model = load_model(folder / WEIGHTS)
        except ValueError as error:
            if "cell with a" in str(error) and cell is None:
                raise ValueError(f"{error}; give your own cell as FILE.py:CLASS (cell=, --cell)") from None
            raise
        try:
            found = cls(model.to(device), reading)
        except ValueError as error:
            raise ValueError(f"{folder / WEIGHTS}: {error}") from None
        found._read_further(folder)
        if (folder / BASELINE).exists():
            from dgltree.training.baseline.average import Average

            found.average = Average.load(folder / BASELINE, found.objective, found.model.encoder.vocabulary.scales)
        return found

    def _read_further(self, folder: Path) -> None:
        """The threshold, the largest class of training and the columns next to the trees, if the folder has them.

        ``ValueError`` for damaged files.
        """
        for name in (THRESHOLD, LARGEST_CLASS, FEATURES):
            if not (folder / name).exists():
                continue
            try:
                data = json.loads((folder / name).read_text(encoding="utf-8"))
                if name == FEATURES:
                    self.features = FeatureColumns.from_json(data)
                elif name == THRESHOLD:
                    self.predict_from(Threshold.from_json(data, self.classes))
                elif isinstance(self.objective, Classes):
                    self.objective = self.objective.with_counts(data)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{folder / name}: {error}") from None

    def save(self, folder: str | Path) -> None:
        """Write the folder that :meth:`load` reads."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in FURTHER:  # that of another network
            (folder / name).unlink(missing_ok=True)
        save(self.model, folder / WEIGHTS)
        if self.average is not None:
            self.average.save(folder / BASELINE)
        if self.features is not None:
            with replacing(folder / FEATURES) as beside:
                beside.write_text(json.dumps(self.features.to_json(), indent=1) + "\n", encoding="utf-8")
        if isinstance(self.objective, Classes):
            threshold = self.objective.threshold
            further = {
                THRESHOLD: None if threshold is None else threshold.to_json(self.classes),
                LARGEST_CLASS: self.objective.counts_to_json(),
            }
            for name, content in further.items():
                if content is not None:
                    with replacing(folder / name) as beside:
                        beside.write_text(json.dumps(content) + "\n", encoding="utf-8")
        write_reading(folder, self.reading.to_json())

    def predict_from(self, threshold: Threshold | None) -> None:
        """Predict a class from this probability on; None: predict the most probable class. ``ValueError`` for numbers.

        Probabilities are what they were.
        """
        if not isinstance(self.objective, Classes):
            raise ValueError("a threshold is for classes, but the model predicts numbers")
        self.objective = self.objective.with_threshold(threshold)

    def __repr__(self) -> str:
        return f"<TrainedModel: {self.summary}>"

    @property
    def summary(self) -> str:
        """The kind of the answers, and what gives them, in a line."""
        encoder = self.model.encoder
        named = encoder.cell if isinstance(encoder, TreeEncoder) else encoder
        name = getattr(named, "name", type(named).__name__)
        gives = f"{len(self.classes)} classes" if self.classes else "numbers"
        of = "trees" if self.each == 1 else "pairs of trees"
        network = f"{name} of {encoder.config['hidden_size']}"
        if "rounds" in encoder.config:
            network += f" in {encoder.config['rounds']} rounds"
        if self.average is None:
            return f"{gives} of {of}, {network}"
        share = self.average.weight
        return f"{gives} of {of}, {share:.0%} {network}, {1 - share:.0%} {self.average.baseline.what}"

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; none if the model gives numbers."""
        return self.model.classes

    @property
    def each(self) -> int:
        """Trees of an example: 2 if the model reads pairs, as two sequences or as one."""
        return 2 if getattr(self.model.encoder, "joint", False) else self.model.each

    def dataset(self, trees: Examples) -> TreeDataset:
        """Trees in the model's vocabulary; those that it does not know are left out and kept in ``bad``.

        Raises ``ValueError`` for pairs if the model reads trees, and the other way round.
        """
        given = trees if isinstance(trees, TreeDataset) else self.read_examples(trees)
        self.check_kind(given)
        if self.reading.numbers and given.reading.numbers is None:
            given = given.with_numbers(self.reading.dates)
        vocabulary = self.model.encoder.vocabulary
        done = given.own_vocabulary == vocabulary and (self.features is None or given.feature_rows is not None)
        return given if done else given.within(vocabulary, self.features)

    def read_examples(self, trees: Any, features: Mapping[str, Sequence[Any]] | None = None) -> TreeDataset:
        """Python's own objects, as :meth:`predict` takes them, with columns next to them; in no vocabulary yet.

        Args:
            trees: examples; of a table of pandas or polars the columns that the model reads are taken, too.
            features: the columns by their names; None: those of a table.

        Raises ``ValueError`` for a table without such a column.
        """
        if features is None and self.features is not None and is_table(trees):
            features = columns_of(trees, self.features.names)
        reading = replace(self.reading, features=None)
        return TreeDataset(read_objects(trees, reading, self._bare), reading=reading, features=features)

    def _bare(self, tree: Tree) -> Tree:
        """A treebank's tree as those were read whose label was at the root."""
        known = {name for name, _ in self.model.encoder.vocabulary.functions}
        takes = self.reading.notation == "treebank" and ROOT in known and not self.reading.label_from
        return tree.replace(function=ROOT) if takes else tree

    def check_kind(self, dataset: TreeDataset) -> None:
        """``ValueError`` for pairs if the model reads trees, and the other way round."""
        if dataset.each != self.each:
            kinds = {1: "single trees", 2: "pairs of trees"}
            raise ValueError(f"the model reads {kinds[self.each]}, but these examples are {kinds[dataset.each]}")

    def predict_proba(self, trees: Examples) -> Tensor:
        """(E, classes) float32 probabilities, in the order of ``classes``. Examples and errors as in :meth:`predict`.

        Raises ``ValueError`` as well for a model of numbers.
        """
        if not self.classes:
            raise ValueError("a model of numbers has no probabilities; predict returns its numbers")
        return self.answers_to(trees)

    def predict(self, trees: Examples) -> list[str] | Tensor:
        """The names of the predicted classes of all examples, by the threshold if the model has one; or numbers (E,).

        Examples are a data set, or a list, an array or a column of pandas or polars. Each is a tree, a text in the
        notation of the training file such as ``"(add x y)"``, a dict, a node of ``ast``, a tree of NLTK, a graph of
        networkx, PyG or DGL, or a pair of these. Raises ``ValueError`` naming the first example that cannot be read or
        that the model does not know.
        """
        answers = self.answers_to(trees)
        return self.labels_of(answers) if self.classes else answers

    def labels_of(self, probabilities: Tensor) -> list[str]:
        """The names of the predicted classes, from probabilities (E, classes), by the threshold if the model has one.

        For a program that needs both: ``labels_of(predict_proba(trees))`` is ``predict(trees)``. Raises ``ValueError``
        for a model of numbers.
        """
        if not self.classes:
            raise ValueError("a model of numbers has no classes; predict returns its numbers")
        return [self.classes[i] for i in self.objective.predicted(probabilities).tolist()]

    def answers_to(self, trees: Examples) -> Tensor:
        """Probabilities (E, classes), or numbers (E,). Examples and errors as in :meth:`predict`."""
        return torch.cat([self.answers(part) for part in self.batches(self.known(trees))]).cpu()

    def evaluate(self, dataset: TreeDataset) -> "Evaluation":
        """The metrics of labelled examples; a label that is none of the model's classes counts as an error.

        Examples without a label, or for numbers with one that is none, are left out. Needs the extra ``train``
        (torchmetrics). Raises ``ValueError`` if there are no others, if no label is a class of the model, and as
        :meth:`predict`.
        """
        known = self.objective.labelled(self.dataset(dataset))
        check_known(known.labels, self.classes)
        return self.measured(known, self.objective.targets(known.labels)).evaluation

    def measured(self, known: TreeDataset, targets: Tensor) -> "Measured":
        """The metrics of examples in the model's vocabulary, and what is predicted; targets (E,) are as of a loss."""
        from dgltree.training.comparison import measure

        return measure(self.objective, (self.answers(part).cpu() for part in self.batches(known)), targets)

    def explain(self, trees: Examples) -> list[Explanation]:
        """For each example the answer of :meth:`answers_to`, and how much each subtree adds to it.

        A subtree's effect is by how much the probability of the predicted class, or the number, falls if the subtree
        is replaced by an unknown leaf (occlusion; Zeiler and Fergus 2014, arXiv 1311.2901, section 4.2). All trees that
        are made of an example are answered together.

        Examples and errors as in :meth:`predict`; ``ValueError`` as well for an example of too many nodes.
        """
        return explain(self.known(trees), self.answers_to, self.objective, self.features)

    def encode(self, trees: Examples) -> Tensor:
        """(B, n), the vectors of all trees; of pairs one after the other. Errors as in :meth:`predict`."""
        return torch.cat([self.roots(part) for part in self.batches(self.known(trees), baseline=False)]).cpu()

    def node_vectors(self, dataset: TreeDataset) -> Tensor:
        """(N, n), the vectors of all nodes. Raises ``ValueError`` for an encoder that has none."""
        self.check_nodes()
        return torch.cat([self.nodes(part) for part in self.batches(self.known(dataset), baseline=False)]).cpu()

    def check_nodes(self) -> Encoder:
        """The encoder, which gives vectors of nodes; ``ValueError`` for another one."""
        encoder = self.model.encoder
        if not encoder.gives_nodes:
            Encoder.node_states(encoder, None)  # says why
        return encoder

    def known(self, trees: Examples) -> TreeDataset:
        """The examples in the model's vocabulary; errors as in :meth:`predict`."""
        dataset = self.dataset(trees)
        if dataset.bad and not isinstance(trees, TreeDataset):
            raise ValueError(f"tree {dataset.bad[0].line}: {dataset.bad[0].message}")
        return dataset

    def batches(self, dataset: TreeDataset, baseline: bool = True) -> Iterator[Labelled]:
        """The input of the methods below: the examples, in the model's vocabulary, some nodes at a time, on its device.

        With ``baseline`` the baseline's answers are in them, which :meth:`answers` needs if the baseline has weight.
        Without, as for vectors, labels are not read.

        ``part.plan(model.model.encoder, share=True)`` does before what they would do first, in another process perhaps.
        """
        if baseline:
            self._check_columns(dataset.feature_rows)
        collate = Collate(self.classes or None, labels=baseline)
        device = next(self.model.parameters()).device
        most = min(MOST_NODES, max(1, MOST_CELLS // max(1, len(self.classes))))  # an example has a node at least
        for rows in NodeBatches(dataset.sizes, most):
            some = dataset.select(rows)
            part = collate(some)
            if baseline and self.average is not None and self.average.weight < 1:
                part.baseline = self.average.baseline.answers(some)
            yield part.to(device)

    def answers(self, part: Labelled) -> Tensor:
        """Probabilities (E, classes), or numbers (E,)."""
        answers = self.objective.answers(self.outputs(part))
        return answers if self.average is None or part.baseline is None else self.average.of(answers, part.baseline)

    def outputs(self, part: Labelled) -> Tensor:
        """(E, classes) logits, or (E,) numbers on the scale of the objective: what the readout of the network gives."""
        self._check_columns(part.features)
        with evaluating(self.model):
            found: Tensor = self.model(part.inputs, share=True, features=part.features)
        wrong = ~found.isfinite().reshape(len(found), -1).all(1)
        if wrong.any():
            k = int(wrong.nonzero()[0])
            raise ValueError(
                f"the network returns {found[k].tolist()} for example {k + 1} of a batch of {len(found)}: its "
                f"weights, or the numbers of the example, are too large for {found.dtype}"
            )
        return found

    def _check_columns(self, rows: Any) -> None:
        """Raises ``ValueError`` if there are no ``rows`` of the columns that the model reads next to the trees."""
        if self.features is not None and rows is None:
            names = ", ".join(map(repr, self.features.names))
            raise ValueError(
                f"the model also reads the columns {names}; give a file or a pandas or polars table with these "
                f"columns, or TreeDataset(trees, features={{...}})"
            )

    def roots(self, part: Labelled) -> Tensor:
        """(B, n), one row per tree."""
        with evaluating(self.model):
            return self.model.encoder(part.inputs, share=True)

    def nodes(self, part: Labelled) -> Tensor:
        """(N, n), one row per node."""
        with evaluating(self.model):
            return self.check_nodes().node_states(part.inputs, share=True)


class RecordBlock(NamedTuple):
    """Some records: the examples that the model can read, in its vocabulary, and what else there is."""

    known: TreeDataset | None
    bad: list[Bad]
    order: list[int]
    """Indices into the known examples followed by the bad ones, in the order of the file."""
    bad_names: list[str]
    """How the bad ones are called: by their ids if the record could be read, else by their lines."""
    unseen: Mapping[str, int]
    """How many documents have what their schema lacks, by :func:`dgltree.datasets.unseen.find_unseen`."""


def block_of(model: TrainedModel, part: ParsedChunk, reading: Reading, repeated: Repeated) -> RecordBlock:
    """Return the records of a part; raise ``ValueError`` for pairs if the model reads trees, and vice versa."""
    readable = [i for i, could in enumerate(part.could) if could]
    unreadable = [i for i, could in enumerate(part.could) if not could]
    if part.trees is None:
        return RecordBlock(None, part.bad, list(range(len(part.bad))), [bad.name for bad in part.bad], {})
    data = TreeDataset.of_part(part, reading)
    unseen = {what: len(examples) for what, examples in find_unseen(data).items()}
    model.check_kind(data)
    known, unknown = data.known(model.model.encoder.vocabulary, model.features)
    wrong = {i: data.bad_at(i, message) for i, message in unknown.items()}
    twice = repeated(data.ids, data.lines, data.files)
    if twice and known is not None:
        rows = [i for i in range(len(data)) if i not in wrong]
        fresh = [place for place, i in enumerate(rows) if i not in twice]
        known = known.select(fresh) if fresh else None
    wrong = dict(sorted((wrong | twice).items()))
    names = [(None if i in twice else data.ids[i]) or bad.name for i, bad in wrong.items()]
    right = [i for i in range(len(data)) if i not in wrong]
    places = [readable[i] for i in (*right, *wrong)] + unreadable
    order = sorted(range(len(places)), key=places.__getitem__)
    return RecordBlock(known, [*wrong.values(), *part.bad], order, names + [bad.name for bad in part.bad], unseen)


def names_of(block: RecordBlock) -> list[str]:
    """How the records are called in a table of answers, in the order of the file: by their ids, else by their lines."""
    names: list[str] = []
    if block.known is not None:
        names += [name or str(line) for name, line in zip(block.known.ids, block.known.lines, strict=True)]
    names += block.bad_names
    return [names[i] for i in block.order]
