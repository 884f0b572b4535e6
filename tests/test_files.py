"""Files that are whole or not there."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from disks import full_disk

from dgltree.support.files import open_regular, replacing, save_tensors


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as beside:
        beside.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failing_or_interrupted_run_leaves_the_old_file_alone(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as beside:
        beside.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_existing_file_keeps_its_permissions_and_a_new_one_can_be_read_by_others(tmp_path: Path) -> None:
    for name, mode in (("old", 0o640), ("new", 0o644)):
        path = tmp_path / name
        if name == "old":
            path.write_text("old")
            path.chmod(mode)
        with replacing(path) as beside:
            beside.write_text("text")
            beside.chmod(0o600)
        assert (path.read_text(), path.stat().st_mode & 0o777) == ("text", mode)


def test_a_block_that_writes_nothing_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(FileNotFoundError), replacing(path):
        pass
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_written_stands_beside_the_file_so_that_it_can_take_its_place_at_once(tmp_path: Path) -> None:
    with replacing(str(tmp_path / "file")) as beside:
        assert beside.parent == tmp_path
        beside.write_text("text")


def test_what_a_killed_run_left_is_swept_and_what_a_running_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file[1]"
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    number = gone.stdout.strip()
    left = tmp_path / f".{path.name}.{number}.0123abcd.part"
    others = [
        f".{path.name}.1.0123abcd.part",
        f".{path.name}.{number}.1.0123abcd.part",
        f".file.{number}.0123abcd.part",
    ]
    for name in (left.name, *others):
        (tmp_path / name).write_text("half")
    link = tmp_path / f".{path.name}.{number}.9876abcd.part"
    link.symlink_to(others[0])
    with replacing(path) as beside:
        assert not left.exists()
        beside.write_text("whole")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([*others, link.name, path.name])


def test_what_is_written_to_has_a_name_that_nobody_can_guess_and_is_never_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, victim = tmp_path / "file", tmp_path / "victim"
    victim.write_text("precious")
    names = []
    for _ in range(2):
        with replacing(path) as beside:
            beside.write_text("text")
        names.append(beside.name)
    assert names[0] != names[1]
    monkeypatch.setattr("secrets.token_hex", lambda _: "0123abcd")
    link = tmp_path / f".file.{os.getpid()}.0123abcd.part"
    link.symlink_to(victim)
    with pytest.raises(FileExistsError, match=rf"^{path} cannot be written: File exists$"), replacing(path) as beside:
        beside.write_text("evil")
    assert (victim.read_text(), path.read_text(), link.is_symlink()) == ("precious", "text", True)


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe"])
def test_a_file_that_nobody_named_takes_the_place_of_a_link_or_a_pipe(kind: str, tmp_path: Path) -> None:
    path, victim = tmp_path / "file", tmp_path / "victim"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(victim)
    if kind == "link":
        victim.write_text("precious")
    with pytest.raises(OSError, match=r"file: no regular file|symbolic links"):
        open_regular(path)
    with replacing(path, links=False) as beside:
        beside.write_text("text")
    assert not path.is_symlink()
    with open_regular(path) as file:
        assert file.read() == b"text"
    assert (victim.read_text() if victim.exists() else None) == ("precious" if kind == "link" else None)


def test_a_pipe_or_a_device_given_as_output_is_refused(tmp_path: Path) -> None:
    path, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(path)
    link.symlink_to(path)
    for name in (path, link):
        with (
            pytest.raises(OSError, match=rf"^{path} cannot be written: it is a device or a pipe, not a regular file$"),
            replacing(name) as beside,
        ):
            beside.write_text("text")
    assert path.is_fifo()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.ENOENT, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("named", [True, False])
def test_an_error_of_writing_keeps_its_type_and_number(number: int, named: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(OSError) as caught, replacing(path) as beside:
        raise OSError(number, os.strerror(number), *([str(beside)] if named else []))
    assert (caught.value.errno, type(caught.value)) == (number, type(OSError(number, "")))


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with (
        full_disk(),
        pytest.raises(OSError, match=rf"^{path} cannot be written: File too large$") as caught,
        replacing(path) as beside,
    ):
        beside.write_text("x" * 1000)
    assert caught.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_reading_something_else_keeps_its_own_name(tmp_path: Path) -> None:
    other = tmp_path / "other"
    with (
        pytest.raises(FileNotFoundError, match=rf"No such file or directory: '{other}'$"),
        replacing(tmp_path / "file"),
    ):
        other.read_text()


def test_a_link_keeps_leading_to_its_target(tmp_path: Path) -> None:
    target, link, dangling = tmp_path / "on" / "target", tmp_path / "link", tmp_path / "dangling"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)
    dangling.symlink_to(Path("on") / "new")
    for path in (link, dangling):
        with replacing(path) as beside:
            beside.write_text("text")
        assert path.is_symlink()
    assert (target.read_text(), (tmp_path / "on" / "new").read_text()) == ("text", "text")


def test_a_new_file_honours_the_umask_and_nobody_else_reads_it_before_it_is_whole(tmp_path: Path) -> None:
    for umask, expected in ((0o077, 0o600), (0o027, 0o640), (0o002, 0o664)):
        before = os.umask(umask)
        try:
            with replacing(tmp_path / f"{umask:o}") as beside:
                beside.write_text("text")
                assert beside.stat().st_mode & 0o077 == 0
        finally:
            os.umask(before)
        assert (tmp_path / f"{umask:o}").stat().st_mode & 0o777 == expected


def test_a_file_has_no_more_rights_than_it_may_have(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for old in (False, True):
        if old:
            path.chmod(0o664)
        with replacing(path, rights=0o640) as beside:
            beside.write_text("text")
        assert path.stat().st_mode & 0o777 == 0o640


def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    with replacing(tmp_path / "file") as beside:
        beside.write_text("")
    assert (tmp_path / "file").read_text() == ""


def test_tensors_that_cannot_be_written_are_an_os_error(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(OSError, match="No such file"):
        save_tensors(tmp_path / "gone" / "file", {"a": torch.zeros(3)}, {})
    with full_disk(), pytest.raises(OSError, match="file cannot be written: ") as caught:
        save_tensors(tmp_path / "file", {"a": torch.zeros(100_000)}, {})
    assert caught.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []
