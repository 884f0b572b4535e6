"""What was read of a file and is kept beside it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from disks import full_disk, read_only_folder
from own_trees import TABLE, written

from dgltree import TreeDataset
from dgltree.datasets.loading import from_file


def test_a_cache_whose_bits_were_flipped_is_read_anew(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    whole = TreeDataset.from_file(path, cached=False)
    TreeDataset.from_file(path)
    kept = from_file.cache_path(path)
    content = kept.read_bytes()
    for at in range(0, len(content), 37):
        kept.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        data = TreeDataset.from_file(path)
        assert [data[i] for i in range(3)] == [whole[i] for i in range(3)]


def test_the_second_reading_takes_what_the_first_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "trees.tsv", TABLE + "d\tx+\tbad\ttrain\n")
    first = TreeDataset.from_file(path)
    assert from_file.cache_path(path).exists()
    monkeypatch.setattr("dgltree.datasets.loading.from_file.parts", None)  # nothing may be read anew
    second = TreeDataset.from_file(path)
    assert [second[i] for i in range(3)] == [first[i] for i in range(3)]
    assert (second.ids, second.splits, second.lines, second.bad) == (first.ids, first.splits, first.lines, first.bad)
    assert second.reading == first.reading
    with pytest.raises(TypeError):
        TreeDataset.from_file(path, numbers=True)  # read in another way, it is read anew
    path.write_text(TABLE, encoding="utf-8")
    with pytest.raises(TypeError):
        TreeDataset.from_file(path)


def test_a_folder_is_read_again_where_a_file_has_another_name_or_another_part_of_the_text(tmp_path: Path) -> None:
    rows = [f"1\t{word}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n" for word in "abc"]

    def read() -> list[str | None]:
        return TreeDataset.from_file(tmp_path, label_from="file").labels

    one, two, other = (tmp_path / name for name in ("1.conllu", "2.conllu", "3.conllu"))
    one.write_text(rows[0], encoding="utf-8")
    two.write_text(rows[1] + rows[2], encoding="utf-8")
    assert read() == ["1.conllu", "2.conllu", "2.conllu"]
    one.write_text(rows[0] + rows[1], encoding="utf-8")
    two.write_text(rows[2], encoding="utf-8")
    assert read() == ["1.conllu", "1.conllu", "2.conllu"], "the same text in all"
    two.rename(other)
    assert read() == ["1.conllu", "1.conllu", "3.conllu"], "the same texts in the same order"


def test_a_damaged_cache_is_read_anew(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    TreeDataset.from_file(path)
    kept = from_file.cache_path(path)
    kept.write_bytes(kept.read_bytes()[:200])
    assert len(TreeDataset.from_file(path)) == 3


def test_a_cache_on_a_full_disk_is_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    with full_disk(), pytest.warns(UserWarning, match="could not be written: .*cannot be written"):
        assert len(TreeDataset.from_file(path)) == 3
    assert list(tmp_path.iterdir()) == [path]


def test_a_cache_in_a_read_only_folder_is_a_warning() -> None:
    with read_only_folder(("trees.tsv", TABLE)) as folder:
        with pytest.warns(UserWarning, match="could not be written: .*Permission denied"):
            assert len(TreeDataset.from_file(folder / "trees.tsv")) == 3
        assert [entry.name for entry in folder.iterdir()] == ["trees.tsv"]


def rights(path: Path) -> int:
    return from_file.cache_path(path).stat().st_mode & 0o777


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """A mask that takes no right of reading from a new file, whatever that of the machine is."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_under_a_strict_mask_a_cache_has_fewer_rights_than_its_source(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    path.chmod(0o644)
    before = os.umask(0o077)
    try:
        TreeDataset.from_file(path)
    finally:
        os.umask(before)
    assert rights(path) == 0o600


@pytest.mark.usefixtures("usual_umask")
def test_a_cache_has_no_more_rights_than_its_source(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    for mode, others in ((0o644, False), (0o600, False), (0o640, False), (0o640, True)):
        path.chmod(mode)
        if others and os.geteuid() == 0:
            os.chown(path, -1, 12345)  # whose group is not the one that a new file gets
        from_file.cache_path(path).unlink(missing_ok=True)
        TreeDataset.from_file(path)
        assert rights(path) == (0o600 if others and os.geteuid() == 0 else mode)


@pytest.mark.usefixtures("usual_umask")
@pytest.mark.parametrize("private", ["sources", "sources/inner", "sources/inner/a.py"])
def test_the_cache_of_a_folder_is_as_private_as_all_that_is_in_it(private: str, tmp_path: Path) -> None:
    inner = tmp_path / "sources" / "inner"
    inner.mkdir(parents=True)
    written(inner, "a.py", "x = 1\n")
    TreeDataset.from_file(tmp_path / "sources")
    assert rights(tmp_path / "sources") == 0o644
    (tmp_path / private).chmod(0o700)
    from_file.cache_path(tmp_path / "sources").unlink()
    TreeDataset.from_file(tmp_path / "sources")
    assert rights(tmp_path / "sources") == 0o600


def test_a_file_that_changed_while_it_was_read_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    real = from_file.parts

    def changing(*arguments: Any) -> Any:
        yield from real(*arguments)
        path.write_text(TABLE + "d\tx\tbare\ttrain\n", encoding="utf-8")

    monkeypatch.setattr(from_file, "parts", changing)
    with pytest.warns(UserWarning, match="could not be written: it changed while it was read"):
        assert len(TreeDataset.from_file(path)) == 3
    monkeypatch.undo()
    assert len(TreeDataset.from_file(path)) == 4


def test_another_python_or_another_dgltree_reads_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a.py", "x = 1\n")
    TreeDataset.from_file(path)
    monkeypatch.setattr(from_file, "parts", None)  # nothing may be read anew
    TreeDataset.from_file(path)
    for name, other in (("platform.python_version", lambda: "9.9.9"), ("version", lambda _: "9.9")):
        with monkeypatch.context() as patch, pytest.raises(TypeError):
            patch.setattr(f"dgltree.datasets.loading.from_file.{name}", other)
            TreeDataset.from_file(path)


def test_labels_of_nodes_values_and_all_columns_are_kept(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.txt", "(3 (2 The) (4 Rock))\n(1 (0 no) (1 1.5))\n")
    whole = TreeDataset.from_file(path, numbers=True)
    again = TreeDataset.from_file(path, numbers=True)
    assert whole.trees.label.tolist() == [3, 2, 4, 1, 0, 1]
    assert again.trees.label.tolist() == whole.trees.label.tolist()
    assert [again[i] for i in range(2)] == [whole[i] for i in range(2)]
    assert again.trees.value is not None


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "pipe"])
def test_a_cache_leads_nowhere_else(kind: str, tmp_path: Path) -> None:
    """An archive that was unpacked may have links and pipes where caches are kept."""
    path, victim = written(tmp_path, "trees.tsv", TABLE), tmp_path / "victim"
    kept = from_file.cache_path(path)
    if kind != "dangling link":
        victim.write_text("precious")
    if kind == "pipe":
        os.mkfifo(kept)
    elif kind == "hard link":
        kept.hardlink_to(victim)
    else:
        kept.symlink_to(victim)
    for _ in range(2):
        assert len(TreeDataset.from_file(path)) == 3
    assert (kept.is_file(), kept.is_symlink(), kept.stat().st_nlink) == (True, False, 1)
    assert (victim.read_text() if victim.exists() else None) == (None if kind == "dangling link" else "precious")


def test_a_link_to_a_whole_cache_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    TreeDataset.from_file(path)
    kept = from_file.cache_path(path)
    kept.rename(tmp_path / "elsewhere")
    kept.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(from_file, "parts", None)
    with pytest.raises(TypeError):
        TreeDataset.from_file(path)


def test_a_folder_in_the_place_of_a_cache_is_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    from_file.cache_path(path).mkdir()
    with pytest.warns(UserWarning, match=rf"{from_file.cache_path(path)} cannot be written: Is a directory$"):
        assert len(TreeDataset.from_file(path)) == 3


def test_an_input_may_be_a_link_whose_cache_is_kept_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "on").mkdir()
    path, link = written(tmp_path / "on", "trees.tsv", TABLE), tmp_path / "link.tsv"
    link.symlink_to(path)
    assert len(TreeDataset.from_file(link)) == 3
    assert (from_file.cache_path(link), from_file.cache_path(link).is_file()) == (
        tmp_path / "on" / ".trees.tsv.dgltree",
        True,
    )


@pytest.mark.parametrize("at", ["dtype", "data_offsets", "shape"])
def test_a_cache_with_the_right_digests_and_impossible_arrays_is_read_anew(at: str, tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    TreeDataset.from_file(path)
    kept = from_file.cache_path(path)
    content = kept.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, arrays = json.loads(content[8 : 8 + size]), content[8 + size :]
    digests = header.pop("__metadata__")
    header["function"][at] = {"dtype": "O64", "data_offsets": [0, 10**12], "shape": [-5]}[at]
    digests[from_file.CHECKSUM] = from_file._checksum(header, [arrays])
    written_header = json.dumps({"__metadata__": digests, **header}).encode()
    kept.write_bytes(len(written_header).to_bytes(8, "little") + written_header + arrays)
    assert len(TreeDataset.from_file(path)) == 3
