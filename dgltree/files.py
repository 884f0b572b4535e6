"""Files that are whole or not there."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

ALL = 0o777


@contextmanager
def replacing(path: str | Path, rights: int = ALL) -> Iterator[Path]:
    """A path beside ``path`` to write to; it takes the place of ``path`` when the block ends, or goes if it fails.

    An existing file is replaced at once or left as it was; a failing or interrupted run leaves no half-written file.
    A new file has the rights that the umask leaves, an existing one keeps its own; neither has more than ``rights``.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        mode = _begin(beside)
        if path.exists():
            mode = stat.S_IMODE(path.stat().st_mode)
        yield beside
        written = beside.stat()
        if not written.st_size and not written.st_mtime_ns:
            raise FileNotFoundError(f"nothing was written for {path}")
        beside.chmod(mode & rights)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _begin(beside: Path) -> int:
    """Make an empty file, for its owner alone until it is whole; the rights that a new file has here."""
    beside.touch(0o666)
    mode = stat.S_IMODE(beside.stat().st_mode)
    beside.chmod(0o600)
    os.utime(beside, (0, 0))  # whatever writes to it changes that
    return mode


def save_tensors(path: str | Path, tensors: "dict[str, Tensor]", metadata: dict[str, str], rights: int = ALL) -> None:
    """A safetensors file, by :func:`replacing`. Raises ``OSError`` where it cannot be written, as all writers do."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with replacing(path, rights) as beside:
        try:
            save_file(tensors, beside, metadata=metadata)
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written: {error}") from None
