"""Files that are whole or not there."""

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from torch import Tensor

ALL = 0o777
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""How a disk says that it takes no more, or no more of this user, or of this file."""
PROCESS = re.compile(r"([0-9]+)\.[0-9a-f]{8}\.part")
"""After the name of a file: whose half of it this is."""
NO_LINK, AT_ONCE = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))  # 0 if there is none


@contextmanager
def replacing(path: str | Path, rights: int = ALL, links: bool = True) -> Iterator[Path]:
    """A path next to ``path`` to write to; it takes the place of ``path`` when the block ends, or goes if it fails.

    An existing file is replaced at once or left as it was; a failing or interrupted run leaves no half-written file.
    What a killed run of this machine left is removed. What is written to is a regular file of a random name that was
    not there before: no link or pipe that somebody put there is ever opened.
    A new file has the rights that the umask leaves, an existing one keeps its own; neither has more than ``rights``.

    Args:
        path: of the file.
        rights: that it may have at most.
        links: whether a link stays one, and the file that it leads to is replaced, as the user of an output expects; of
            files that nobody named, such as caches, the link itself, or a pipe, is replaced and leads nowhere.

    Raises ``OSError`` naming ``path``, also where the disk is full, and where ``path`` is a device or a pipe.
    """
    path = Path(os.path.realpath(path)) if links and Path(path).is_symlink() else Path(path)
    old = _mode(path)
    if old is not None and links and not (stat.S_ISREG(old) or stat.S_ISDIR(old)):
        raise OSError(f"{path} cannot be written: it is a device or a pipe, and no regular file")
    kept = stat.S_IMODE(old) & rights if old is not None and stat.S_ISREG(old) else None
    _sweep(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    with _naming(path, beside):
        mode = _begin(beside, 0o666 & rights if kept is None else 0o600)
        try:
            yield beside
            written = beside.lstat()
            if not written.st_size and not written.st_mtime_ns:
                raise FileNotFoundError(f"nothing was written for {path}")
            beside.chmod(mode if kept is None else kept)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    """Kind and rights of what is there; of a link its own."""
    try:
        return path.lstat().st_mode
    except OSError:  # also for a name that cannot be one, which the writing then says
        return None


@contextmanager
def _naming(path: Path, beside: Path) -> Iterator[None]:
    """A block whose errors of writing name the file that was asked for: those of a full disk name none."""
    try:
        yield
    except OSError as error:
        ours = error.filename == str(beside) or (error.filename is None and error.errno in FULL)
        if not ours or error.strerror is None:
            raise
        raise type(error)(f"{path} cannot be written: {error.strerror}") from None


def _sweep(path: Path) -> None:
    """Remove what processes that are gone left half-written next to ``path``."""
    for left in path.parent.glob(f".{escape(path.name)}.*.part"):
        found = PROCESS.fullmatch(left.name.removeprefix(f".{path.name}."))
        if found and not _runs(int(found[1])) and stat.S_ISREG(_mode(left) or 0):
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


def _begin(beside: Path, rights: int) -> int:
    """Make an empty file, for its owner alone until it is whole; the rights that one made with ``rights`` has here."""
    made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, rights)
    try:
        mode = stat.S_IMODE(os.fstat(made).st_mode)
    finally:
        os.close(made)
    beside.chmod(0o600)
    os.utime(beside, (0, 0))  # whatever writes to it changes that
    return mode


def open_regular(path: Path) -> BinaryIO:
    """A file to read that nobody named, such as a cache. Raises ``OSError`` for a link, a pipe and all else."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | NO_LINK | AT_ONCE))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path}: no regular file")
    return file


def save_tensors(path: str | Path, tensors: "dict[str, Tensor]", metadata: dict[str, str]) -> None:
    """A safetensors file, by :func:`replacing`. Raises ``OSError`` if it cannot be written, as all writers do."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with replacing(path) as beside:
        try:
            save_file(tensors, beside, metadata=metadata)
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written: {error}") from None


def check_exists(path: str | Path) -> None:
    """``FileNotFoundError`` for a path that is not there."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
