"""Numbers that come one part after the other, more of them than memory holds."""

import tempfile
import weakref
from contextlib import suppress
from typing import IO, Any

import numpy as np

HELD = 1 << 20
"""Bytes that are held in memory before they go to a file."""
BLOCK = 1 << 19
"""Numbers that are copied at a time."""
LAST = int(np.iinfo(np.int32).max)
"""The largest number of 32 bits; columns with larger ones have 64."""


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
            raise OSError(f"the folder for temporary files is full: {where}: {error}") from None
        self._parts, self._held = [], 0

    def _widen(self) -> None:
        before = self.array()
        self.dtype = np.dtype(np.int64)
        self._begin()
        for start in range(0, len(before), BLOCK):
            self.append(before[start : start + BLOCK])
