"""Columns next to the trees of a file are flat arrays that a file may be mapped to, with a value for each example.

While a file is read they grow as spilled columns: in temporary files, once they are longer than memory should hold.
"""

import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any, ClassVar, Self, TypeVar

import numpy as np

from dgltree.support.files import reworded

HELD = 1 << 20
"""Bytes that are held in memory before they go to a file."""
BLOCK = 1 << 14
"""Values that are decoded or copied together."""
LAST = int(np.iinfo(np.int32).max)
"""The largest number of 32 bits; columns with larger ones have 64."""
T = TypeVar("T")


class Column(Sequence[T]):
    """Values in the order of the examples; equal to a list of the same.

    Args:
        arrays: of all examples of a file.
        rows: (E,) int64, the examples whose values these are; None: all.
    """

    def __init__(self, arrays: dict[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        self.arrays = arrays
        self.rows = rows

    @abstractmethod
    def _values(self, rows: np.ndarray) -> list[T]:
        """The values of these rows of the file."""

    @property
    @abstractmethod
    def _count(self) -> int:
        """The number of all examples of the file."""

    def select(self, rows: np.ndarray) -> Self:
        """The values of some examples."""
        return self.__class__(self.arrays, rows if self.rows is None else self.rows[rows])

    def __len__(self) -> int:
        return self._count if self.rows is None else len(self.rows)

    def __getitem__(self, i: Any) -> Any:
        if not isinstance(i, slice) and not -len(self) <= i < len(self):
            raise IndexError(f"there is no value {i}; the length of the column is {len(self)}")
        place = np.arange(len(self))[i] if isinstance(i, slice) else np.array([i % len(self)])
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
        ends = self.arrays["ends"]
        content = self.arrays["content"]
        if not len(content):
            return [self.nothing] * len(rows)
        places = zip(ends[rows].tolist(), ends[rows + 1].tolist(), strict=True)
        return [content[a:b].tobytes().decode("utf-8", "surrogatepass") if a < b else self.nothing for a, b in places]

    @property
    def _count(self) -> int:
        return len(self.arrays["ends"]) - 1


class FileNameColumn(TextColumn):
    """Names of the files of a folder; of a single file they are empty."""

    nothing = ""


COLUMN_CLASSES: dict[str, type[NumberColumn | TextColumn]] = {
    "lines": NumberColumn,
    **dict.fromkeys(("labels", "splits", "ids", "groups", "features"), TextColumn),
    "files": FileNameColumn,
}
"""The columns of a file."""


class SpilledColumn:
    """A column: in memory while it is short, then in a temporary file, which goes when nobody reads it any more.

    Args:
        dtype: of the numbers; int32 becomes int64 with the first number that it cannot hold.

    Raises ``OSError`` if the folder of temporary files has no room.
    """

    def __init__(self, dtype: Any = np.int32) -> None:
        self.dtype = np.dtype(dtype)
        self._begin()

    def _begin(self) -> None:
        self._length = self._held = 0
        self._parts: list[np.ndarray] = []
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return self._length

    def append(self, numbers: np.ndarray) -> None:
        """Add some at the end."""
        if self.dtype == np.int32 and len(numbers) and max(-int(numbers.min()) - 1, int(numbers.max())) > LAST:
            self._widen()
        part = np.ascontiguousarray(numbers, self.dtype)
        self._parts.append(part)
        self._length += len(part)
        self._held += part.nbytes
        if self._held > HELD:
            self._spill()

    def fill(self, number: float, length: int) -> None:
        """Add one number until there are ``length``."""
        while len(self) < length:
            self.append(np.full(min(BLOCK, length - len(self)), number, self.dtype))

    def array(self) -> np.ndarray:
        """All of them: (length,), of a file its mapped pages, which are read when they are looked at."""
        if self._file is None:
            return np.concatenate([np.empty(0, self.dtype), *self._parts])
        self._spill()
        return np.memmap(self._file, self.dtype, "c")  # torch knows no read-only arrays; changes are the reader's own

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="dgltree-")  # noqa: SIM115 (it is closed with the column)
            weakref.finalize(self, self._file.close)
        try:
            for part in self._parts:
                self._file.write(part.data)
            self._file.flush()
        except OSError as error:
            with suppress(OSError):  # which it says once more
                self._file.close()
            where = f"{tempfile.gettempdir()} (set TMPDIR to another folder)"
            raise reworded(error, f"the folder for temporary files is full: {where}: {error}") from None
        self._parts = []
        self._held = 0

    def _widen(self) -> None:
        before = self.array()
        self.dtype = np.dtype(np.int64)
        self._begin()
        for start in range(0, len(before), BLOCK):
            self.append(before[start : start + BLOCK])


class SpilledTextColumn:
    """The arrays of :class:`TextColumn`, which grow; an empty text is none."""

    def __init__(self) -> None:
        self.ends = SpilledColumn()
        self.content = SpilledColumn(np.uint8)
        self.ends.append(np.zeros(1))

    def append(self, texts: Iterable[str | None]) -> None:
        encoded = [(text or "").encode("utf-8", "surrogatepass") for text in texts]
        self.ends.append(len(self.content) + np.cumsum([len(text) for text in encoded], dtype=np.int64))
        self.content.append(np.frombuffer(b"".join(encoded), np.uint8))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"ends": self.ends.array(), "content": self.content.array()}
