"""Files that are whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A path beside ``path`` to write to; it takes the place of ``path`` when the block ends, or goes if it fails.

    An existing file is replaced at once or left as it was; a failing or interrupted run leaves no half-written file.
    What a killed run of this machine left is removed. A link stays one: the file that it leads to is replaced.
    """
    path = Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)
    _sweep(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.chmod(path.stat().st_mode if path.exists() else 0o644)  # some writers make files for their owner alone
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
