"""Parquet files in any file system of fsspec, and the folder of the output."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from disks import full_disk

pyarrow = pytest.importorskip("pyarrow", reason="the train extra is not installed")
fsspec = pytest.importorskip("fsspec", reason="the train extra is not installed")
pytest.importorskip("lightning", reason="the train extra is not installed")

from pyarrow.dataset import dataset  # noqa: E402
from pyarrow.parquet import read_table, write_table  # noqa: E402

from dgltree.datasets.formats.source import TOO_LONG  # noqa: E402
from dgltree.scale.running import OutFolder  # noqa: E402
from dgltree.scale.tables import open_tables  # noqa: E402

TREES = [f"x{i}" for i in range(25)]


@pytest.fixture(params=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A folder, as a path or URL."""
    if request.param == "local":
        yield str(tmp_path)
        return
    yield f"memory://{tmp_path.name}"
    fsspec.filesystem("memory").rm("/", recursive=True)


def write(url: str, rows: list[str], group: int = 4, **more: Any) -> None:
    table = pyarrow.table({"tree": rows, "n": range(len(rows)), **more})
    with fsspec.open(url, "wb", auto_mkdir=True) as file:
        write_table(table, file, row_group_size=group)


@pytest.mark.parametrize(("group", "block"), [(4, 10), (25, 10), (10, 4), (3, 1), (25, 100)])
def test_blocks_hold_every_row_once_in_the_order_of_their_names(place: str, group: int, block: int) -> None:
    write(f"{place}/a.parquet", TREES[:15], group)
    write(f"{place}/b/c.parquet", TREES[15:], group)
    write(f"{place}/_b/hidden.parquet", TREES)
    tables = open_tables(place)
    assert [file.name for file in tables.files] == ["a.parquet", "b/c.parquet"]
    spans = tables.spans(block, 1 << 20)
    blocks = [rows for span in spans for rows in span.read(["tree"], set(span.blocks()), 1000)]
    assert [rows.name for rows in blocks] == sorted(name for span in spans for name in span.blocks())
    assert max(len(rows.records) for rows in blocks) <= block
    found = [(rows.file, rows.first + i, row) for rows in blocks for i, row in enumerate(rows.records)]
    wanted = [("a.parquet", i, TREES[i - 1]) for i in range(1, 16)]
    wanted += [("b/c.parquet", i, TREES[14 + i]) for i in range(1, 11)]
    assert found == [(file, line, {"tree": tree}) for file, line, tree in wanted]


def test_some_of_the_blocks_are_read_alone_and_long_rows_make_smaller_ones(place: str) -> None:
    write(f"{place}/a.parquet", TREES, 25)
    [span] = open_tables(f"{place}/a.parquet").spans(10, 1 << 20)
    assert list(span.blocks().values()) == [10, 10, 5]
    [_, second, _] = span.blocks()
    [rows] = span.read(["n"], {second}, 1000)
    assert (rows.first, rows.file, [row["n"] for row in rows.records]) == (11, "", list(range(10, 20)))
    assert set(open_tables(place).spans(10, 1)[0].blocks().values()) == {1}


def test_a_block_is_not_held_that_is_far_longer_than_its_file_says(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(f"{place}/a.parquet", ["x" * 100_000] * 40, 40)
    [span] = open_tables(f"{place}/a.parquet").spans(40, 1 << 22)
    [rows] = span.read(["tree"], set(span.blocks()), 100_000)
    assert [len(row["tree"]) for row in rows.records] == [100_000] * 40
    monkeypatch.setattr("dgltree.scale.tables.MAX_BLOCK_BYTES", 1 << 20)
    with pytest.raises(
        ValueError,
        match=r"a\.parquet: the rows from 1 to \d+ have more than 1,048,576 bytes; leave out long rows",
    ):
        list(span.read(["tree"], set(span.blocks()), 100_000))
    [rows] = span.read(["tree"], set(span.blocks()), 99_999)
    assert rows.records == [TOO_LONG] * 40


def test_small_blocks_of_a_long_file_are_no_long_block(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dgltree.scale.tables.MAX_BLOCK_BYTES", 1 << 20)
    write(f"{place}/a.parquet", [f"{i:0100000d}" for i in range(40)], 40)
    [span] = open_tables(f"{place}/a.parquet").spans(3, 1 << 22)
    blocks = list(span.read(["tree"], set(span.blocks()), 100_000))
    assert [len(rows.records) for rows in blocks] == [3] * 13 + [1]
    assert [int(row["tree"][-9:]) for rows in blocks for row in rows.records] == list(range(40))


def test_the_digest_is_that_of_what_is_in_the_files(place: str) -> None:
    write(f"{place}/a.parquet", TREES)
    first = open_tables(place).digest
    write(f"{place}/a.parquet", TREES)
    assert open_tables(place).digest == first
    write(f"{place}/a.parquet", [*TREES[:-1], "another"])
    assert open_tables(place).digest != first


def test_the_digest_knows_the_names_and_the_number_of_files(place: str) -> None:
    digests = []
    for names in (["a"], ["b"], ["a", "b"], ["a", "c"], ["a", "b", "c"]):
        for name in names:
            write(f"{place}/{'-'.join(names)}/{name}.parquet", TREES)
        digests.append(open_tables(f"{place}/{'-'.join(names)}").digest)
    assert len(set(digests)) == 5


def test_what_is_no_parquet_is_refused(place: str) -> None:
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        open_tables(f"{place}/none")
    with fsspec.open(f"{place}/no/text.parquet", "wb", auto_mkdir=True) as file:
        file.write(b"tree\nx\n")
    with pytest.raises(ValueError, match=r"text\.parquet: not a Parquet file"):
        open_tables(f"{place}/no/text.parquet")
    with pytest.raises(ValueError, match=r"text\.parquet: not a Parquet file"):
        open_tables(f"{place}/no")
    with fsspec.open(f"{place}/empty/text.tsv", "wb", auto_mkdir=True) as file:
        file.write(b"tree\nx\n")
    with pytest.raises(ValueError, match=r"no \.parquet files in this folder"):
        open_tables(f"{place}/empty")
    with pytest.raises(ValueError, match="Protocol not known"):
        open_tables("nowhere://trees")
    write(f"{place}/two/a.parquet", TREES)
    write(f"{place}/two/b.parquet", TREES, label=TREES)
    with pytest.raises(
        ValueError, match=r"a\.parquet has the columns .* all files of a folder must have the same columns"
    ):
        open_tables(f"{place}/two")


def test_a_block_of_the_output_is_whole_or_not_there(place: str) -> None:
    folder = OutFolder(f"{place}/out")
    folder.claim({"model": "a", "data": "b"})
    table = pyarrow.table({"line": [1, 2]})
    folder.write("a.parquet", table, 3)
    folder.write("a.parquet", table, 3)
    assert folder.written() == {"a.parquet"}
    found, left_out = folder.read("a.parquet", ["line"])
    assert (found["line"].to_pylist(), left_out) == ([1, 2], 3)
    with pytest.raises(AttributeError):
        folder.write("b.parquet", None, 0)
    assert folder.written() == {"a.parquet"}
    with fsspec.open(f"{place}/out/.b.parquet.0.part", "wb") as file:
        file.write(b"half")
    assert folder.written() == {"a.parquet"}
    folder.sweep()
    assert not [name for name in fsspec.open(f"{place}/out").fs.ls(f"{place}/out") if "part" in str(name)[-5:]]


def test_a_folder_of_the_output_opens_as_one_data_set(tmp_path: Path) -> None:
    folder = OutFolder(str(tmp_path / "out"))
    folder.claim({"model": "a"})
    for start in (0, 2):
        table = pyarrow.table({"line": [start + 1, start + 2], "prediction": ["a", None]})
        folder.write(f"000000-{start + 1:012d}.parquet", table, start)
    (tmp_path / "out" / ".000000-000000000005.parquet.0.part").write_bytes(b"half")
    assert read_table(tmp_path / "out").to_pydict() == {"line": [1, 2, 3, 4], "prediction": ["a", None, "a", None]}
    assert dataset(tmp_path / "out", format="parquet").count_rows() == 4
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert pandas.read_parquet(tmp_path / "out")["line"].tolist() == [1, 2, 3, 4]


def test_a_full_disk_names_the_file_of_the_block_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    folder, table = OutFolder(str(tmp_path)), pyarrow.table({"line": range(10_000)})
    with full_disk(), pytest.raises(OSError, match=rf"^{tmp_path}/a.parquet cannot be written: .*File too large$"):
        folder.write("a.parquet", table, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_refused(place: str) -> None:
    folder = OutFolder(f"{place}/out")
    folder.claim({"model": "a", "data": "b"})
    folder.claim({"model": "a", "data": "b"})
    with pytest.raises(ValueError, match=r"out holds another run \(another data\); give another --out"):
        folder.claim({"model": "a", "data": "c"})
    write(f"{place}/other/a.parquet", TREES)
    with pytest.raises(ValueError, match=r"other holds other files, such as a\.parquet"):
        OutFolder(f"{place}/other").claim({})
    with pytest.raises(ValueError, match="a file; the output"):
        OutFolder(f"{place}/other/a.parquet").claim({})


def test_what_is_written_is_parquet(tmp_path: Path) -> None:
    OutFolder(str(tmp_path)).write("a.parquet", pyarrow.table({"line": [1]}), 0)
    assert read_table(tmp_path / "a.parquet").to_pylist() == [{"line": 1}]
