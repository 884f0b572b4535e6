"""The files of a folder that are in one format."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dgltree.datasets.formats.source import kind_of

PASSED_OVER = {"site-packages", "__pycache__", "node_modules"}
"""Folders of a folder of source files that are not part of it, in addition to hidden ones."""
MAX_NAMED_FILES = 5


def files_of(path: Path, suffixes: Sequence[str]) -> Iterator[Path]:
    """The file itself; of a folder all files with one of the suffixes, by name, and what is below it."""
    if path.is_file():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.is_dir():
            if not entry.name.startswith(".") and entry.name not in PASSED_OVER and not entry.is_symlink():
                yield from files_of(entry, suffixes)
        elif kind_of(entry) in suffixes and entry.is_file():  # no pipe, which would never end
            yield entry


def kinds_in(path: Path) -> str:
    """The other files of a folder, for a message: ``3 .txt, 1 .md``."""
    counts = Counter(entry.suffix or entry.name for entry in path.rglob("*") if entry.is_file())
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common(MAX_NAMED_FILES)) or "nothing"
