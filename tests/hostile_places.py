"""Links, pipes and folders in the place of caches and outputs, as an archive that was unpacked may have them."""

import os
import signal
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzzing import Target
from hypothesis import strategies as st

from dgltree import TreeDataset
from dgltree.datasets.loading.from_file import cache_path
from dgltree.support.files import replacing

TABLE = "tree\tlabel\n(+ x y)\ta\n(- x y)\tb\n"
PLACES = ("nothing", "file", "link", "dangling link", "loop", "hard link", "folder", "link to a folder", "pipe")
WRITABLE = ("nothing", "file", "link", "dangling link", "hard link")


def put(kind: str, path: Path, victim: Path) -> None:
    """What an archive may have in the place of a file; links lead to the victim."""
    match kind:
        case "file":
            path.write_text("old")
        case "link" | "dangling link":
            path.symlink_to(victim if kind == "link" else victim.with_name("gone"))
        case "loop":
            path.symlink_to(path)
        case "hard link":
            path.hardlink_to(victim)
        case "folder":
            path.mkdir()
        case "link to a folder":
            path.symlink_to(victim.parent)
        case "pipe":
            os.mkfifo(path)


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """A block that is a defect where it waits, as for the other end of a pipe."""

    def late(*_: object) -> None:
        raise AssertionError(f"it waits for more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def with_victim() -> Iterator[tuple[Path, Path]]:
    """A folder, and a file elsewhere that nothing may change."""
    with TemporaryDirectory() as made, warnings.catch_warnings(), in_time(20):
        warnings.simplefilter("ignore")
        folder, victim = Path(made) / "in", Path(made) / "elsewhere" / "victim"
        folder.mkdir()
        victim.parent.mkdir()
        victim.write_text("precious")
        yield folder, victim


def read_among(example: tuple[str, str, bool]) -> bool:
    """Trees are read whatever is in the place of their cache, or of what a killed run left of one."""
    cache, half, linked = example
    with with_victim() as (folder, victim):
        path = (victim.parent if linked else folder) / "trees.tsv"
        path.write_text(TABLE, encoding="utf-8")
        if linked:
            (folder / "trees.tsv").symlink_to(path)
        kept = cache_path(path)
        put(cache, kept, victim)
        put(half, kept.with_name(f"{kept.name}.{2**22 + 1}.0123abcd.part"), victim)
        for _ in range(2):
            assert len(TreeDataset.from_file(folder / "trees.tsv")) == 2
        assert victim.read_text() == "precious"
        assert not victim.with_name("gone").exists()
        return kept.is_file() and not kept.is_symlink()


def written_over(kind: str) -> bool:
    """An output replaces a file, goes where a link leads, and is refused elsewhere."""
    with with_victim() as (folder, victim):
        path = folder / "out"
        put(kind, path, victim)
        was_link = path.is_symlink()
        try:
            with replacing(path) as beside:
                assert stat.S_ISREG(beside.lstat().st_mode)
                beside.write_text("new")
        except OSError as error:
            assert kind not in WRITABLE, error
            assert (path.is_symlink(), victim.read_text()) == (was_link, "precious")
            return False
        assert kind in WRITABLE
        assert (path.is_symlink(), path.read_text()) == (was_link, "new")
        assert victim.read_text() == ("new" if kind == "link" else "precious")
        assert sorted(entry.name for entry in folder.iterdir()) == ["out"]
        return True


def place_targets() -> dict[str, Target]:
    """By name."""
    return {
        "links for caches": Target(st.tuples(*map(st.sampled_from, (PLACES, PLACES, (False, True)))), read_among),
        "links for outputs": Target(st.sampled_from(PLACES), written_over),
    }
