"""Columns next to the trees of a file, a value an example, in flat arrays that a file may be mapped to."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from dgltree.datasets.loading.spilled_column import SpilledColumn

T = TypeVar("T")
BLOCK = 1 << 14
"""Values that are decoded together."""


class Column(Sequence[T]):
    """Values in the order of the examples; equal to a list of the same.

    Args:
        arrays: of all examples of a file.
        rows: (E,) int64, the examples whose values these are; None: all.
    """

    def __init__(self, arrays: dict[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        self.arrays, self.rows = arrays, rows

    @abstractmethod
    def _values(self, rows: np.ndarray) -> list[T]:
        """Of these rows of the file."""

    @property
    @abstractmethod
    def _count(self) -> int:
        """Of all examples of the file."""

    def select(self, rows: np.ndarray) -> Self:
        """Those of some examples."""
        return self.__class__(self.arrays, rows if self.rows is None else self.rows[rows])

    def __len__(self) -> int:
        return self._count if self.rows is None else len(self.rows)

    def __getitem__(self, i: Any) -> Any:
        place = np.arange(len(self))[i] if isinstance(i, slice) else np.array([range(len(self))[i]])
        found = self._values(place if self.rows is None else self.rows[place])
        return found if isinstance(i, slice) else found[0]

    def __iter__(self) -> Iterator[T]:
        for start in range(0, len(self), BLOCK):
            yield from self[start : start + BLOCK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class NumberColumn(Column[int]):
    """Whole numbers, in the array ``numbers``."""

    def _values(self, rows: np.ndarray) -> list[int]:
        return self.arrays["numbers"][rows].tolist()

    @property
    def _count(self) -> int:
        return len(self.arrays["numbers"])


class TextColumn(Column[str | None]):
    """Texts: in UTF-8 one after the other in ``content``, that of example i from ``ends[i]`` to ``ends[i + 1]``."""

    nothing: ClassVar[str | None] = None
    """The meaning of an empty one."""

    def _values(self, rows: np.ndarray) -> list[str | None]:
        ends, content = self.arrays["ends"], self.arrays["content"]
        if not len(content):
            return [self.nothing] * len(rows)
        places = zip(ends[rows].tolist(), ends[rows + 1].tolist(), strict=True)
        return [content[a:b].tobytes().decode("utf-8", "surrogatepass") if a < b else self.nothing for a, b in places]

    @property
    def _count(self) -> int:
        return len(self.arrays["ends"]) - 1


class FileNameColumn(TextColumn):
    """Of the files of a folder; of a single file they are empty."""

    nothing = ""


COLUMN_CLASSES: dict[str, type[NumberColumn | TextColumn]] = {
    "lines": NumberColumn,
    **dict.fromkeys(("labels", "splits", "ids", "groups", "features"), TextColumn),
    "files": FileNameColumn,
}
"""The columns of a file."""


class SpilledTextColumn:
    """The arrays of :class:`TextColumn`, which grow; an empty text is none."""

    def __init__(self) -> None:
        self.ends, self.content = SpilledColumn(), SpilledColumn(np.uint8)
        self.ends.append(np.zeros(1))

    def append(self, texts: Iterable[str | None]) -> None:
        encoded = [(text or "").encode("utf-8", "surrogatepass") for text in texts]
        self.ends.append(len(self.content) + np.cumsum([len(text) for text in encoded], dtype=np.int64))
        self.content.append(np.frombuffer(b"".join(encoded), np.uint8))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"ends": self.ends.array(), "content": self.content.array()}
