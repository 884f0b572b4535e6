"""The parts of a file as one, in arrays that grow in files: memory holds the vocabulary and the ids, not the trees."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import torch

from dgltree.batching.batch import TreeBatch
from dgltree.batching.select import select
from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN, Vocabulary
from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.loading.columns_on_disk import COLUMN_CLASSES, Column, NumberColumn, SpilledTextColumn
from dgltree.datasets.loading.parse import ParsedChunk
from dgltree.datasets.loading.spilled_column import SpilledColumn
from dgltree.datasets.settings.read_settings import Reading

TREES = ("function", "token", "child_ptr", "child_index", "level", "roots", "sizes")


class Stored(NamedTuple):
    """All that a file says: int32 if that holds its numbers, else int64."""

    arrays: dict[str, np.ndarray]
    """The fields of the flat trees; ``label`` and ``value`` only if a node has one. Columns by ``name.array``."""
    vocabulary: Vocabulary
    bad: list[Bad]
    reading: dict[str, Any]

    @property
    def trees(self) -> TreeBatch:
        """Over the arrays, without a copy."""
        fields = {name: torch.from_numpy(array) for name, array in self.arrays.items() if "." not in name}
        none = torch.full((1,), NO_LABEL, dtype=torch.int32)
        fields.setdefault("label", none.expand(len(fields["function"])))  # one number for all nodes
        return TreeBatch(vocabulary=self.vocabulary, **fields)

    @property
    def columns(self) -> dict[str, Column[Any]]:
        """The columns next to the trees, by name."""
        by_column: dict[str, dict[str, np.ndarray]] = {name: {} for name in COLUMN_CLASSES}
        for name, array in self.arrays.items():
            column, _, part = name.partition(".")
            if part:
                by_column[column][part] = array
        return {name: kind(by_column[name]) for name, kind in COLUMN_CLASSES.items()}


class Gathering:
    """Takes the parts of a file in order; an example whose id was there before is bad."""

    def __init__(self) -> None:
        self.bad: list[Bad] = []
        self._arrays = {name: SpilledColumn() for name in TREES}
        self._arrays["child_ptr"].append(np.zeros(1))
        self._lines = SpilledColumn()
        self._texts = {name: SpilledTextColumn() for name, kind in COLUMN_CLASSES.items() if kind is not NumberColumn}
        self._functions: dict[tuple[str, int | None], int] = {}
        self._tokens: dict[str, int] = {}
        self._ids = Ids()
        self._repeated: list[Bad] = []

    def __len__(self) -> int:
        """The examples so far."""
        return len(self._lines)

    def add(self, part: ParsedChunk) -> None:
        """Add what is in the next part of the file."""
        self.bad += part.bad
        if part.trees is None:
            return
        columns, trees = {name: getattr(part, name) for name in COLUMN_CLASSES}, part.trees
        repeated = self._ids.repeated(part.ids, part.lines, part.files)
        if repeated:
            self._repeated += (bad._replace(split=part.splits[i]) for i, bad in repeated.items())
            kept = [i for i in range(len(part.lines)) if i not in repeated]
            if not kept:
                return
            each = len(trees) // len(part.lines)
            trees = select(trees, (torch.tensor(kept).unsqueeze(1) * each + torch.arange(each)).flatten())
            columns = {name: [column[i] for i in kept] for name, column in columns.items()}
        self._add_trees(trees)
        self._lines.append(np.asarray(columns.pop("lines"), np.int64))
        for name, texts in columns.items():
            self._texts[name].append(texts)

    def _add_trees(self, trees: TreeBatch) -> None:
        own, arrays = trees.vocabulary, self._arrays
        assert own is not None
        function = np.array([self._functions.setdefault(f, len(self._functions)) for f in own.functions], np.int64)
        tokens = [self._tokens.setdefault(t, len(self._tokens)) for t in own.tokens]
        token = np.array([*tokens, NO_TOKEN])  # the last by its number, -1
        nodes, edges = len(arrays["function"]), len(arrays["child_index"])
        if trees.value is not None:
            self._optional("value", np.float64).fill(np.nan, nodes)
            arrays["value"].append(trees.value.numpy())
        if bool((trees.label != NO_LABEL).any()):
            self._optional("label", np.int32).fill(NO_LABEL, nodes)
            arrays["label"].append(trees.label.numpy())
        arrays["function"].append(function[trees.function.numpy()])
        arrays["token"].append(token[trees.token.numpy()])
        arrays["child_ptr"].append(trees.child_ptr[1:].numpy() + edges)
        arrays["child_index"].append(trees.child_index.numpy() + nodes)
        arrays["level"].append(trees.level.numpy())
        arrays["roots"].append(trees.roots.numpy() + nodes)
        arrays["sizes"].append(trees.sizes.numpy())

    def _optional(self, name: str, dtype: Any) -> SpilledColumn:
        return self._arrays.setdefault(name, SpilledColumn(dtype))

    def finish(self, reading: Reading) -> Stored:
        """All parts as one, of which there is at least one example."""
        nodes = len(self._arrays["function"])
        for name, nothing in (("value", np.nan), ("label", NO_LABEL)):
            if name in self._arrays:
                self._arrays[name].fill(nothing, nodes)
        arrays = {name: growing.array() for name, growing in self._arrays.items()}
        arrays["lines.numbers"] = self._lines.array()
        for name, texts in self._texts.items():
            arrays |= {f"{name}.{part}": array for part, array in texts.arrays().items()}
        bad = in_order([*self.bad, *self._repeated]) if self._repeated else self.bad
        return Stored(arrays, Vocabulary(self._functions, self._tokens), bad, asdict(reading))


class Ids:
    """The ids of a file, as far as it was read."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def repeated(self, ids: Sequence[str | None], lines: Sequence[int], files: Sequence[str]) -> dict[int, Bad]:
        """Those of the next examples whose id occurred before, by their numbers."""
        found = {}
        for i, (name, line, file) in enumerate(zip(ids, lines, files, strict=True)):
            if name is not None and name in self.places:
                found[i] = Bad(
                    line,
                    f"the id {name!r} was already used in {self.places[name]}; each record needs its own id",
                    file,
                )
            elif name is not None:
                self.places[name] = Bad(line, "", file).where
        return found
