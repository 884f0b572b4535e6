"""The folder of the output, wherever fsspec writes: whose it is, and which of its files are there."""

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dgltree.locks import OWNER, differences, lock_folder
from dgltree.read.json_text import write_json
from dgltree.scale.tables import SUFFIX, locate

if TYPE_CHECKING:
    import pyarrow

RUN = "_run.json"
"""Readers of Parquet folders pass over names that begin like this."""
RUN_BEFORE = "run.json"
"""Its former name in folders, which is changed when their run continues."""
PART_SUFFIX = ".part"
LEFT_OUT = b"dgltree.left_out"
"""In the metadata of a file: how many records of its block have no row, or none with an answer."""


class OutFolder:
    """A folder of blocks, each in a file that is whole or not there.

    Args:
        url: a path or URL.
    """

    def __init__(self, url: str) -> None:
        self.given = url
        self._files, self._path = locate(url)
        self.url: str = self._files.unstrip_protocol(self._path)

    def __reduce__(self) -> tuple[Any, ...]:
        return OutFolder, (self.url,)

    def claim(self, settings: dict[str, Any]) -> None:
        """Make it the folder of this run, or continue it.

        Raises ``ValueError`` if it holds something else.
        """
        if self._files.isfile(self._path):
            raise ValueError(f"{self.given}: a file; the output is a folder of Parquet files")
        run = next((name for name in (RUN, RUN_BEFORE) if self._files.exists(self._at(name))), None)
        if run is None:
            names = [name for name in self._names() if not name.endswith(PART_SUFFIX) and name != OWNER]
            if names:
                raise ValueError(f"{self.given} holds other files, such as {names[0]}; give another --out")
            self._files.makedirs(self._path, exist_ok=True)
            self._put(RUN, lambda file: file.write((write_json(settings, indent=1) + "\n").encode()))
            return
        found = self._run(run)
        if found != json.loads(json.dumps(settings)):
            raise ValueError(f"{self.given} holds another run ({_other(found, settings)}); give another --out")
        if run != RUN:
            self._files.mv(self._at(run), self._at(RUN))

    def owned(self) -> AbstractContextManager[None]:
        """A block in which no other run writes to the folder, if it is on a local disk (:func:`lock_folder`)."""
        from fsspec.implementations.local import LocalFileSystem

        return lock_folder(Path(self._path)) if isinstance(self._files, LocalFileSystem) else nullcontext()

    def _run(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._files.cat_file(self._at(name)))
        except ValueError:
            raise ValueError(f"{self.given}/{name}: damaged; delete the folder to start again") from None
        return found

    def written(self) -> set[str]:
        """The names of the blocks that are there."""
        return {name for name in self._names() if name.endswith(SUFFIX) and not name.startswith(".")}

    def write(self, name: str, table: "pyarrow.Table", left_out: int) -> None:
        """A block: all of it, or nothing. Writing it twice leaves it there once."""
        from pyarrow.parquet import write_table

        marked = table.replace_schema_metadata({LEFT_OUT: str(left_out)})
        self._put(name, lambda file: write_table(marked, file))

    def read(self, name: str, columns: list[str]) -> tuple["pyarrow.Table", int]:
        """Some columns of a block, and how many of its records were left out."""
        from pyarrow.parquet import ParquetFile

        with self._files.open(self._at(name), "rb") as raw, ParquetFile(raw) as file:
            return file.read(columns=columns), int(file.schema_arrow.metadata[LEFT_OUT])

    def sweep(self) -> None:
        """Remove what processes that were killed left half written."""
        for name in self._names():
            if name.startswith(".") and name.endswith(PART_SUFFIX):
                self._files.rm_file(self._at(name))

    def _put(self, name: str, write: Any) -> None:
        from fsspec.implementations.local import LocalFileSystem

        beside = self._at(f".{name}.{uuid4().hex}{PART_SUFFIX}")
        local = isinstance(self._files, LocalFileSystem)
        try:
            with self._files.open(beside, "xb" if local else "wb") as file:  # never a link, which only local ones have
                write(file)
            self._files.mv(beside, self._at(name))
        except OSError as error:
            if self._files.exists(beside):
                self._files.rm_file(beside)
            raise OSError(f"{self.given}/{name} cannot be written: {error.strerror or error}") from None

    def _at(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}"

    def _names(self) -> list[str]:
        if not self._files.exists(self._path):
            return []
        self._files.invalidate_cache()
        return sorted(str(path).rstrip("/").rsplit("/", 1)[-1] for path in self._files.ls(self._path, detail=False))


def _other(found: dict[str, Any], settings: dict[str, Any]) -> str:
    """The differences between a run and the one in the folder."""
    names = dict.fromkeys(key.partition(".")[0] for key in differences(found, settings))
    return ", ".join(f"another {name}" for name in names) or "of another version"
