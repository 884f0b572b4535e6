"""Files that are whole or not there, and folders that belong to one run."""

import errno
import json
import os
import re
import secrets
import socket
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from torch import Tensor

# ---------------------------------------------------------------------------------------------------------------------
# Files that are whole or not there.


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
        raise OSError(f"{path} cannot be written: it is a device or a pipe, not a regular file")
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
        raise reworded(error, f"{path} cannot be written: {error.strerror}") from None


def reworded(error: OSError, message: str) -> OSError:
    """An error of the same type and number with a message of our own, by which callers may still tell a full disk."""
    found = type(error)(message)
    found.errno = error.errno
    return found


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
        except SafetensorError as error:  # which has the number in its text alone
            number = re.search(r"os error (\d+)", str(error))
            lost = OSError(int(number[1]), "") if number else OSError()
            raise reworded(lost, f"{path} cannot be written: {error}") from None


def check_exists(path: str | Path) -> None:
    """``FileNotFoundError`` for a path that is not there."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: no such file or folder")


# ---------------------------------------------------------------------------------------------------------------------
# Folders that belong to one run: what a folder is of, and who writes to it now.


OWNER = ".owner"
"""The file of a folder that its run has a lock on; a lock goes with the process, however that ends."""
_here: set[Path] = set()
"""The folders that this process owns, whose locks another thread of it would not notice."""
_changing = threading.Lock()


def claim(file: Path, own: Mapping[str, Any]) -> None:
    """Say in ``file`` what its folder is of. Raises ``ValueError`` with the difference if that is a different run."""
    if file.exists():
        refuse_other(file, json.loads(file.read_text(encoding="utf-8")), own)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as beside:
        beside.write_text(json.dumps(own, indent=1), encoding="utf-8")


def refuse_other(file: Path, found: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if what was found in ``file`` is not our own."""
    differ = [f"{key}: {there!r} there, {now!r} now" for key, (there, now) in differences(found, own).items()]
    if differ:
        raise ValueError(
            f"{file} belongs to another run: {'; '.join(differ)}. Give another --out, or the settings of that run"
        )


def differences(found: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The differences of two runs as JSON has them, by ``a.b`` for ``{"a": {"b": ...}}``: the one and the other."""
    there, now = (dict(_flat(json.loads(json.dumps(each)))) for each in (found, own))
    return {key: (there.get(key), now.get(key)) for key in {**there, **now} if there.get(key) != now.get(key)}


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """``{"a": {"b": 1}}`` as ``a.b``, 1."""
    if not isinstance(value, dict):
        yield name, value
        return
    for key, part in value.items():
        yield from _flat(part, f"{name}.{key}" if name else key)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """A block in which no other run writes to a folder, which is made if it is not there.

    Where a lock cannot be had, as in a folder that cannot be written to, on some network file systems and on Windows,
    there is none. Raises ``ValueError`` if another run owns the folder, and if it is a file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ValueError(f"{folder} is a file; the output goes to a folder (--out)") from None
    place = folder.resolve()
    with _changing:
        if place in _here:
            raise ValueError(_taken(folder, f"process {os.getpid()}, this one"))
        lock = _locked(folder)
        _here.add(place)
    try:
        yield
    finally:
        with _changing:
            _here.discard(place)
            if lock is not None:
                (folder / OWNER).unlink(missing_ok=True)
                lock.close()


def _locked(folder: Path) -> BinaryIO | None:
    """The open file with our lock; None if there can be none. Raises ``ValueError`` if another process has it."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, lockf  # of the process: those that it forks do not have it
    except ImportError:
        return None
    file = folder / OWNER
    while True:
        try:
            lock = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | NO_LINK, 0o666), "r+b")
        except OSError:
            return None
        try:
            lockf(lock, LOCK_EX | LOCK_NB)
        except (BlockingIOError, PermissionError):
            who = lock.read(200).decode("utf-8", "replace")
            lock.close()
            raise ValueError(_taken(folder, who)) from None
        except OSError:
            lock.close()
            return None
        if _is_at(lock, file):
            lock.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
            lock.truncate()
            lock.flush()
            return lock
        lock.close()  # the run before was just done, and its file is gone


def _is_at(lock: BinaryIO, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), file.stat())
    except FileNotFoundError:
        return False


def _taken(folder: Path, who: str) -> str:
    return f"another run writes to {folder} ({who or 'another process'}); wait for it, or give another --out"
