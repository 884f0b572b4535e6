"""Disks that cannot be written to."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may have more than a hundred bytes, as if the disk was full."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only_folder(*files: tuple[str, str], mode: int = 0o644) -> Iterator[Path]:
    """A folder with these files that nothing can be written to, not even by root, whose rights are dropped."""
    with tempfile.TemporaryDirectory() as name:
        folder, user = Path(name), os.geteuid()
        for file, text in files:
            (folder / file).write_text(text, encoding="utf-8")
            (folder / file).chmod(mode)
        folder.chmod(0o555)
        os.seteuid(user or 65534)
        try:
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o755)
