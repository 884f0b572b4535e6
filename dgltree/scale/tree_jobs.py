"""A trained model on tables of trees: vectors, predictions, and predictions next to labels."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.datasets.batches import Labelled
from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.parquet import ROWS, Parquet
from dgltree.datasets.formats.records import PlacedRecord, check_columns, check_features
from dgltree.datasets.formats.source import Chunk, Source
from dgltree.datasets.labels import select_labelled
from dgltree.datasets.loading.flatten import ParsedChunk, parse
from dgltree.datasets.vectors import VECTOR, vectors_column, whose
from dgltree.scale.job import Answers, PreparedRows, Sample, TableJob, digest_of
from dgltree.scale.tables import Rows
from dgltree.training.model_files import READING
from dgltree.training.trained_model import RecordBlock, TrainedModel, block_of, names_of

if TYPE_CHECKING:
    import pyarrow

BESIDE = ("line", "id", "label", "prediction")
"""Columns of answers, next to one for each class."""


@dataclass(kw_only=True)
class ParquetRows(Parquet):
    """A Parquet file whose rows somebody else reads."""

    file: str = ""
    """Path of the file below a folder."""
    first: list[Any]
    """First rows of the file, from which the notation is detected."""

    def sample(self) -> list[Any]:
        return self.first

    def items(self, chunk: Chunk) -> Iterator[PlacedRecord]:
        return (PlacedRecord(line, raw, self.file) for line, raw in enumerate(chunk.raw, chunk.first))


class TreeJob(TableJob):
    """A trained model on rows of trees, or of pairs of trees."""

    def __init__(
        self, model: str | Path, device: str = "cpu", cell: type[Cell] | str | None = None, **reading: Any
    ) -> None:
        self.model = TrainedModel.load(model, device, cell)
        self.digest = digest_of(Path(model) / READING)  # which has those of the other files
        self.reading = self.model.reading.but(**reading)
        self.max_line = self.reading.max_line
        self.repeated: dict[tuple[str, int], Bad] = {}
        """The records whose id occurred before, by file and line."""
        self._table: ParquetRows | None = None

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "model": self.digest, "way of reading": self.reading.to_json()}

    def opened(self, path: str, columns: Sequence[str], sample: Sample) -> None:
        check_columns(path, tuple(columns), self.reading)
        check_features(path, tuple(columns), self.reading)
        pairs = self.reading.tree not in columns
        source = Source(path, self.reading.max_line)
        table = ParquetRows(source, self.reading, pairs=pairs, columns=tuple(columns), first=[])
        self._table = replace(replace(table, first=sample(table.columns_read)).with_notation(), first=[])

    @property
    def table(self) -> ParquetRows:
        """How the rows are read, once it is opened."""
        assert self._table is not None
        return self._table

    @property
    def columns(self) -> list[str]:
        return self.table.columns_read

    def plan(self, rows: Rows) -> PreparedRows:
        import pyarrow

        beside = []
        places: list[int | None] = []
        inputs: list[Labelled] = []
        bad: list[Bad] = []
        answered = 0
        for start in range(0, len(rows.records), ROWS):
            chunk = Chunk(rows.first + start, rows.records[start : start + ROWS])
            block = self._block(chunk, rows.file)
            beside.append(self._beside(block))
            bad += block.bad
            if block.known is not None:
                parts = self.model.batches(block.known, baseline=self.answers_examples)
                inputs += [part.plan(self.model.model.encoder, share=True) for part in parts]
            known = 0 if block.known is None else len(block.known)
            places += [answered + i if i < known else None for i in block.order]
            answered += known
        return PreparedRows(pyarrow.concat_tables(beside), inputs, bad, places if self.keeps_bad else None)

    keeps_bad = False
    """Whether what cannot be answered has a row."""
    answers_examples = False
    """Whether it wants the model's answers, not only vectors."""

    def _block(self, chunk: Chunk, file: str) -> RecordBlock:
        return block_of(self.model, self.parsed(chunk, file), self.table.reading, self._twice)

    def parsed(self, chunk: Chunk, file: str) -> ParsedChunk:
        """Rows of a file as trees."""
        return parse(replace(self.table, file=file), chunk)

    def _twice(self, ids: Sequence[str | None], lines: Sequence[int], files: Sequence[str]) -> dict[int, Bad]:
        if not self.repeated:
            return {}
        places = enumerate(zip(files, lines, strict=True))
        return {i: self.repeated[place] for i, place in places if place in self.repeated}

    @abstractmethod
    def _beside(self, block: RecordBlock) -> "pyarrow.Table":
        """The columns next to the answers."""

    def _answered(self, answer: Callable[[Labelled], Tensor], inputs: list[Labelled], *shape: int) -> Tensor:
        device = next(self.model.model.parameters()).device
        return torch.cat([torch.empty(0, *shape), *(answer(part.to(device)).cpu() for part in inputs)])

    def to(self, device: str) -> None:
        self.model.model.to(device)


class Encode(TreeJob):
    """The vectors of trees: the columns ``line``, ``id``, ``tree`` (1: the second of a pair) and ``vector``.

    ``dataset.map_batches(Encode, fn_constructor_args=["runs/trees"], batch_format="pyarrow", ...)`` of a Ray data set
    calls it with the tables of the batches: ``line`` counts in the batch. What cannot be read has no row.

    Args:
        model: the folder that :func:`dgltree.fit` wrote.
        device: where to compute.
        cell: the class, or ``FILE.py:CLASS``, of a model with a cell of your own.
        nodes: a row for each node, in preorder, with ``node``, ``function`` and ``token``.
        reading: settings of :class:`dgltree.datasets.Reading`; those of the training for what is not given.

    Raises ``FileNotFoundError`` and ``ValueError`` as :meth:`dgltree.training.trained_model.TrainedModel.load`, and
    ``ValueError`` for the nodes of an encoder that has no vectors of them.
    """

    def __init__(
        self,
        model: str | Path,
        device: str = "cpu",
        cell: type[Cell] | str | None = None,
        nodes: bool = False,
        **reading: Any,
    ) -> None:
        super().__init__(model, device, cell, **reading)
        self.nodes, self.width = nodes, int(self.model.model.encoder.config["hidden_size"])
        if nodes:
            self.model.check_nodes()
            self.rows, self.size = 2000, max(1 << 14, (1 << 26) // self.width)  # a vector is longer than its text

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "kind of rows": "nodes" if self.nodes else "trees"}

    def _beside(self, block: RecordBlock) -> "pyarrow.Table":
        return whose(block.known, self.nodes)

    def answer(self, inputs: list[Labelled]) -> Answers:
        import pyarrow

        vectors = self._answered(self.model.nodes if self.nodes else self.model.roots, inputs, self.width)
        return Answers(pyarrow.table({VECTOR: vectors_column(vectors)}), [])


class Predict(TreeJob):
    """Predictions: the columns ``line``, ``id`` (else the line), ``prediction``, and the probability of each class.

    Used as :class:`Encode` is. What cannot be read has a row without a prediction.

    Args:
        model: the folder that :func:`dgltree.fit` wrote.
        device: where to compute.
        cell: the class, or ``FILE.py:CLASS``, of a model with a cell of your own.
        reading: settings of :class:`dgltree.datasets.Reading`; those of the training for what is not given.

    Raises ``FileNotFoundError`` and ``ValueError`` as :meth:`dgltree.training.trained_model.TrainedModel.load`, and
    ``ValueError`` for a class that is called as a column is.
    """

    keeps_bad, answers_examples = True, True

    def __init__(
        self, model: str | Path, device: str = "cpu", cell: type[Cell] | str | None = None, **reading: Any
    ) -> None:
        super().__init__(model, device, cell, **reading)
        for name in BESIDE:
            if name in self.model.classes:
                raise ValueError(f"a class of the model is called {name!r}, like a column of the predictions")

    def _beside(self, block: RecordBlock) -> "pyarrow.Table":
        import pyarrow

        lines = [*(() if block.known is None else block.known.lines), *(bad.line for bad in block.bad)]
        columns = {"line": [lines[i] for i in block.order], "id": names_of(block)}
        return pyarrow.table(columns, schema=pyarrow.schema({"line": pyarrow.int64(), "id": pyarrow.string()}))

    def answer(self, inputs: list[Labelled]) -> Answers:
        import pyarrow

        objective = self.model.objective
        found = self._answered(self.model.answers, inputs, *objective.shape)
        return Answers(pyarrow.table(objective.columns(found)), [])


class Evaluate(Predict):
    """Predictions for records that have a label, next to it: the column ``label``. The others have no row.

    Args:
        model: the folder that :func:`dgltree.fit` wrote.
        device: where to compute.
        cell: the class, or ``FILE.py:CLASS``, of a model with a cell of your own.
        reading: settings of :class:`dgltree.datasets.Reading`; those of the training for what is not given.

    Raises as :class:`Predict`.
    """

    keeps_bad = False

    def _block(self, chunk: Chunk, file: str) -> RecordBlock:
        block = super()._block(chunk, file)
        known, bad = (
            (None, []) if block.known is None else select_labelled(block.known, self.model.objective.labels_are_numbers)
        )
        names = [*block.bad_names, *(each.name for each in bad)]
        return RecordBlock(known, [*block.bad, *bad], list(range(0 if known is None else len(known))), names, {})

    def _beside(self, block: RecordBlock) -> "pyarrow.Table":
        import pyarrow

        labels = [] if block.known is None else block.known.labels
        return super()._beside(block._replace(bad=[])).append_column("label", pyarrow.array(labels, pyarrow.string()))
