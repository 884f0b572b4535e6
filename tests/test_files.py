"""Files that are whole or not there."""

from pathlib import Path

import pytest

from dgltree.files import replacing


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
