"""Folders that belong to one run: what a folder is of, and who writes to it now."""

import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dgltree.files import NO_LINK, replacing

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
