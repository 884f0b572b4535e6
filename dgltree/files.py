"""Files that are whole or not there."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

ALL = 0o777


@contextmanager
def replacing(path: str | Path, rights: int = ALL) -> Iterator[Path]:
    """A path beside ``path`` to write to; it takes the place of ``path`` when the block ends, or goes if it fails.

    An existing file is replaced at once or left as it was; a failing or interrupted run leaves no half-written file.
    What a killed run of this machine left is removed. A link stays one: the file that it leads to is replaced.
    A new file has the rights that the umask leaves, an existing one keeps its own; neither has more than ``rights``.
    """
    path = Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)
    _sweep(path)
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


def _sweep(path: Path) -> None:
    """Remove what is half written beside ``path`` by processes that are gone."""
    for left in path.parent.glob(f".{escape(path.name)}.*.part"):
        number = left.name.removeprefix(f".{path.name}.").removesuffix(".part")
        if number.isdecimal() and not _runs(int(number)):
            left.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    if os.name != "posix":  # on Windows signal 0 is no question: it ends the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # another user's, or no process's number at all
        return True
    return True


def _begin(beside: Path) -> int:
    """Make an empty file, for its owner alone until it is whole; the rights that a new file has here."""
    beside.touch(0o666)
    mode = stat.S_IMODE(beside.stat().st_mode)
    beside.chmod(0o600)
    os.utime(beside, (0, 0))  # whatever writes to it changes that
    return mode


def save_tensors(path: str | Path, tensors: "dict[str, Tensor]", metadata: dict[str, str]) -> None:
    """A safetensors file, by :func:`replacing`. Raises ``OSError`` where it cannot be written, as all writers do."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with replacing(path) as beside:
        try:
            save_file(tensors, beside, metadata=metadata)
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written: {error}") from None
