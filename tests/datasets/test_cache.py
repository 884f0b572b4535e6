"""What was read of a file and is kept beside it."""

from pathlib import Path

import pytest
from own_trees import TABLE, written

from dgltree import TreeDataset
from dgltree.datasets import cache


def test_a_cache_whose_bits_were_flipped_is_read_anew(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    whole = TreeDataset.from_file(path)
    kept = cache.cache_path(path)
    content = kept.read_bytes()
    for at in range(0, len(content), 37):
        kept.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        data = TreeDataset.from_file(path)
        assert [data[i] for i in range(3)] == [whole[i] for i in range(3)]


def test_the_second_reading_takes_what_the_first_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "trees.tsv", TABLE + "d\tx+\tbad\ttrain\n")
    first = TreeDataset.from_file(path)
    assert cache.cache_path(path).exists()
    monkeypatch.setattr("dgltree.datasets.from_file.parts", None)  # nothing may be read anew
    second = TreeDataset.from_file(path)
    assert [second[i] for i in range(3)] == [first[i] for i in range(3)]
    assert (second.ids, second.splits, second.lines, second.bad) == (first.ids, first.splits, first.lines, first.bad)
    assert second.reading == first.reading
    with pytest.raises(TypeError):
        TreeDataset.from_file(path, numbers=True)  # read in another way, it is read anew
    path.write_text(TABLE, encoding="utf-8")
    with pytest.raises(TypeError):
        TreeDataset.from_file(path)


def test_a_damaged_cache_is_read_anew_and_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "trees.tsv", TABLE)
    TreeDataset.from_file(path)
    kept = cache.cache_path(path)
    kept.write_bytes(kept.read_bytes()[:200])
    assert len(TreeDataset.from_file(path)) == 3

    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    kept.unlink()
    monkeypatch.setattr(cache, "write", refuse)
    with pytest.warns(UserWarning, match="is not kept for the next time: read-only"):
        assert len(TreeDataset.from_file(path)) == 3
