"""The ways in which values were met, so many of each as are kept: as arrays."""

from collections.abc import Iterator

import numpy as np

from dgltree.equations.truth.elementary import Array

FORMS = 8  # ways of each value that are kept


class KeptForms:
    """Forms of entries by number: an operation and the entries that it is applied to, in the order of adding."""

    def __init__(self) -> None:
        self._blocks: list[tuple[Array, Array, Array, Array]] = []  # operation, left, right, entry
        self._counts = np.empty(0, np.int8)
        self._sorted: tuple[Array, ...] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self._counts.nbytes + sum(column.nbytes for block in self._blocks for column in block)

    def add(self, entries: int, operation: Array, left: Array, right: Array, entry: Array) -> None:
        """Of forms (m,), keep those that are among the first FORMS of their entry; there are ``entries`` by now."""
        self._counts = np.concatenate([self._counts, np.zeros(entries - len(self._counts), np.int8)])
        order = np.argsort(entry, kind="stable")
        entry = entry[order]
        first = np.searchsorted(entry, entry)
        keep = np.arange(len(entry)) - first + self._counts[entry] < FORMS
        order, entry = order[keep], entry[keep]
        np.add.at(self._counts, entry, 1)
        columns = (operation[order].astype(np.int8), left[order].astype(np.int32), right[order].astype(np.int32))
        self._blocks.append((*columns, entry.astype(np.int32)))
        self._sorted = None

    def of_operation(self, operation: int) -> Iterator[tuple[int, int]]:
        """(entry, left) of all forms by an operation."""
        for operations, left, _, entries in self._blocks:
            for place in np.flatnonzero(operations == operation):
                yield int(entries[place]), int(left[place])

    def of_entry(self, entry: int) -> list[tuple[int, int, int]]:
        """(operation, left, right) of an entry, in the order of adding."""
        if self._sorted is None:
            columns = [np.concatenate(column) for column in zip(*self._blocks, strict=True)]
            order = np.argsort(columns[3], kind="stable")
            self._sorted = tuple(column[order] for column in columns)
        operation, left, right, entries = self._sorted
        first, last = np.searchsorted(entries, [entry, entry + 1])
        return list(zip(*(column[first:last].tolist() for column in (operation, left, right)), strict=True))
