"""Rows of Parquet files: what is long is known to be before it is written out, and damage is named."""

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow", reason="the train extra is not installed")

from pyarrow.parquet import write_table  # noqa: E402

from dgltree import TreeDataset  # noqa: E402
from dgltree.datasets.formats import parquet  # noqa: E402
from dgltree.datasets.formats.parquet import pieces  # noqa: E402
from dgltree.datasets.formats.source import CHUNK, TOO_LONG  # noqa: E402

TEXTS = ["x", None, "", "(f é y)", "x"]
COLUMNS = {
    "text": pyarrow.array(TEXTS),
    "large": pyarrow.array(TEXTS, pyarrow.large_string()),
    "view": pyarrow.array(TEXTS, pyarrow.string_view()),
    "bytes": pyarrow.array([b"a", b"\xff", None, b"", b"a"]),
    "category": pyarrow.array(TEXTS).dictionary_encode(),
    "a.b": pyarrow.array(TEXTS),
    "json": pyarrow.array(["1", '{"a": 2}', None, "1", "1"], pyarrow.json_()),
    "decimal": pyarrow.array([Decimal("1.50"), None, Decimal("2.25"), None, None], pyarrow.decimal128(38, 2)),
    "number": pyarrow.array([1.5, None, 2.0, 0.0, -1.0]),
    "nothing": pyarrow.nulls(5),
    "list": pyarrow.array([["a", "b"], None, [], [None], ["a"]]),
    "fixed": pyarrow.array(
        [["a", "b"], ["c", "d"], ["a", "a"], ["", "b"], ["x", "y"]], pyarrow.list_(pyarrow.string(), 2)
    ),
    "map": pyarrow.array([[("k", "v")], None, [], [("k", "w")], []], pyarrow.map_("string", "string")),
    "record": pyarrow.array([{"label": "f", "children": [{"label": "x"}]}, None, {"label": "y"}, {}, {"children": []}]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_are_those_of_pyarrow_whatever_the_type(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pyarrow.table({name: COLUMNS[name], "other": range(5)})
    write_table(table, tmp_path / "rows.parquet", row_group_size=3)
    monkeypatch.setattr(parquet, "ROWS", 2)  # so that arrays do not begin at their first element
    found = list(pieces(tmp_path / "rows.parquet", "rows", [name], 1000))
    assert [row for piece in found for row in piece.records] == table.select([name]).to_pylist()
    assert pieces_of_groups(tmp_path / "rows.parquet", name, [1]) == table.select([name]).to_pylist()[3:]


def pieces_of_groups(path: Path, name: str, groups: list[int]) -> list[Any]:
    return [row for piece in pieces(path, "rows", [name], 1000, groups) for row in piece.records]


def test_lists_whose_dictionary_is_full_in_the_middle_of_a_row_group_are_read(tmp_path: Path) -> None:
    table = pyarrow.table({"tree": [{"label": f"a{i // 3}", "children": [f"b{i}"] * (i % 4)} for i in range(3000)]})
    write_table(table, tmp_path / "rows", dictionary_pagesize_limit=2000, data_page_size=1000, row_group_size=1700)
    found = [row for piece in pieces(tmp_path / "rows", "rows", ["tree"], 1000) for row in piece.records]
    assert found == table.to_pylist()


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        ("text", ["x" * 10, "x" * 11, None, "é" * 5, "é" * 6]),
        ("list", [["abcd", "efgh"], ["abcd", "efghi"], None, ["a", None, "b"], [""] * 11]),
        (
            "record",
            [{"a": "12345", "b": "12345"}, {"a": "12345", "b": "123456"}, None, {"a": "1" * 10}, {"b": "2" * 11}],
        ),
    ],
)
def test_a_row_is_too_long_from_one_byte_over_the_limit_on(column: str, rows: list[Any], tmp_path: Path) -> None:
    write_table(pyarrow.table({column: rows}), tmp_path / "rows.parquet")
    expected = [TOO_LONG if i in (1, 4) else {column: row} for i, row in enumerate(rows)]
    if column == "record":
        expected[3] = {column: {"a": "1" * 10, "b": None}}
    [piece] = pieces(tmp_path / "rows.parquet", "rows", [column], 10)
    assert piece.records == expected


def test_the_columns_of_a_row_are_counted_together_and_others_are_not(tmp_path: Path) -> None:
    write_table(pyarrow.table({"a": ["12345"] * 2, "b": ["12345", "123456"], "c": ["1" * 99] * 2}), tmp_path / "rows")
    [piece] = pieces(tmp_path / "rows", "rows", ["a", "b"], 10)
    assert piece.records == [{"a": "12345", "b": "12345"}, TOO_LONG]


def test_a_piece_holds_the_bytes_of_a_chunk_at_most_or_one_row(tmp_path: Path) -> None:
    lengths = [*np.random.default_rng(3).integers(0, 100000, 60).tolist(), CHUNK + 5, 7]
    write_table(pyarrow.table({"tree": ["x" * length for length in lengths]}), tmp_path / "rows")
    found = list(pieces(tmp_path / "rows", "rows", ["tree"], 1_000_000))
    held = [[len(row["tree"]) for row in piece.records] for piece in found]
    assert [length for each in held for length in each] == lengths
    assert all(sum(each) + len(each) <= CHUNK or len(each) == 1 for each in held)
    assert [piece.size for piece in found] == [sum(each) + len(each) for each in held]
    assert len(found) < 30


BOMB = "x" * 2_000_000


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Files of some KB whose rows are gigabytes: of texts, and of JSON trees."""
    folder = tmp_path_factory.mktemp("bombs")
    long = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, *[1] * 2000], pyarrow.int32()), ["x + y", BOMB])
    label = pyarrow.StructArray.from_arrays([long], ["label"])
    found = {"texts": folder / "texts.parquet", "records": folder / "records.parquet"}
    for path, trees in zip(found.values(), (long, label), strict=True):
        write_table(pyarrow.table({"tree": trees}), path, compression="zstd", store_schema=False)
        assert path.stat().st_size < 20_000
    yield found


READ = """
import resource, sys
from dgltree import TreeDataset
import pyarrow.parquet
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (3 << 30), resource.RLIM_INFINITY))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = TreeDataset.from_file(sys.argv[1], cached=False, workers=0)
print(len(data), len(data.bad), data.bad[0].line, data.bad[0].message)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own count of memory")
@pytest.mark.parametrize("kind", ["texts", "records"])
def test_a_small_file_of_gigabytes_of_rows_takes_little_memory(kind: str, bombs: dict[str, Path]) -> None:
    done = subprocess.run([sys.executable, "-c", READ, bombs[kind]], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said, kilobytes = done.stdout.splitlines()
    assert said == "1 2000 2 longer than 1,000,000 bytes, the limit (--max-line)"
    assert int(kilobytes) < 200_000


def test_more_values_than_rows_within_the_limit_can_have_are_refused_unread(tmp_path: Path) -> None:
    write_table(pyarrow.table({"tree": [["x"] * 50, ["y"] * 51]}), tmp_path / "rows.parquet")
    assert [piece.records for piece in pieces(tmp_path / "rows.parquet", "rows", ["tree"], 51)] == [[TOO_LONG] * 2]
    with pytest.raises(ValueError, match=r"^rows: 101 values of 'tree\.list\.element' in 2 rows, so rows are longer "):
        list(pieces(tmp_path / "rows.parquet", "rows", ["tree"], 50))


def damaged(path: Path, place: int) -> Path:
    content = bytearray(path.read_bytes())
    content[place : place + 40] = b"\xff" * 40
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("from_end", [False, True])
def test_a_damaged_file_is_named(from_end: bool, tmp_path: Path) -> None:
    path = tmp_path / "trees.parquet"
    write_table(pyarrow.table({"tree": [f"x + {i}" for i in range(500)]}), path)
    damaged(path, path.stat().st_size - 300 if from_end else 4)
    with pytest.raises(ValueError, match=r"trees\.parquet: not a Parquet file, or a damaged one \(.+\)$"):
        TreeDataset.from_file(path, cached=False)


def test_a_text_that_is_not_utf_8_is_an_error_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trees.parquet"
    text = pyarrow.Array.from_buffers(
        pyarrow.string(), 1, [None, pyarrow.py_buffer(np.array([0, 2], np.int32)), pyarrow.py_buffer(b"x\xff")]
    )
    write_table(pyarrow.table({"tree": text}), path)
    with pytest.raises(ValueError, match=r"trees\.parquet: not a Parquet file, or a damaged one \('utf-8' codec"):
        TreeDataset.from_file(path, cached=False)


def test_rows_that_lack_a_column_are_damaged(tmp_path: Path) -> None:
    """The name of a column is in a file twice; one that is damaged in one place is read as another column."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    from dgltree.datasets.formats.parquet import pieces

    write_table(pyarrow.table({"tree": ["x + y"]}), tmp_path / "trees.parquet")
    with pytest.raises(ValueError, match="trees: the Parquet file is damaged: its rows have no column 'label'"):
        list(pieces(tmp_path / "trees.parquet", "trees", ["tree", "label"], 1000))
