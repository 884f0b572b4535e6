"""Data sets on disk."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

import pyarrow
from pyarrow import parquet

from dgltree.read.infix import read_equation
from dgltree.read.infix_writer import write_equation
from tasks.equations import store
from tasks.equations.store import EquationRow, Made, read, table, with_splits, write
from tasks.equations.words import word

TEXTS = ["sin(var_0)^2 + cos(var_0)^2 = 1", "var_1*var_1 = var_1^2", "-1 = pi", "2/5*var_3 = -1/2 - 0.7"]
SPLITS = ["validation", "train", "train", "train"]
ROWS = [
    EquationRow(*map(word, equation), i % 2, equation.depth, SPLITS[i], 2**64 - 1 - i)
    for i, equation in enumerate(map(read_equation, TEXTS))
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = [
        Made(row.label, row.digest, row.depth, *map(word, row.equation), write_equation(row.equation)) for row in ROWS
    ]
    write(tmp_path / "set.parquet", with_splits(table(made, "train"), [row.split for row in ROWS]))
    return tmp_path / "set.parquet"


def test_rows_of_no_split_are_none(path: Path) -> None:
    assert store.rows(store.load(path), []) == []
    assert [row.split for row in store.rows(store.load(path), ["validation"])] == ["validation"]


def rewritten(path: Path, old: bytes, new: bytes) -> None:
    table = parquet.read_table(path)
    header = table.schema.metadata[store.KEY].replace(old, new)
    parquet.write_table(table.replace_schema_metadata({store.KEY: header}), path)


def test_rows_come_back_as_they_were_and_can_be_read_by_people(path: Path) -> None:
    assert read(path) == ROWS
    assert parquet.read_table(path).column("equation").to_pylist() == TEXTS
    assert read(path, splits=["validation"]) == ROWS[:1]


def test_a_damaged_file_is_named(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"set.parquet: damaged, or no Parquet file"):
        read(path)
    path.write_text("equation,label\n")
    with pytest.raises(ValueError, match=r"set.parquet: damaged, or no Parquet file"):
        read(path)
    with pytest.raises(FileNotFoundError, match=r"tasks.equations generate makes it"):
        read(path.with_name("nowhere.parquet"))


def test_other_files_versions_and_vocabularies_are_refused_with_the_difference(path: Path) -> None:
    rewritten(path, b'"sec"', b'"arcsec"')
    with pytest.raises(ValueError, match=r"another vocabulary: it has \['arcsec', 1, None\] that ours lacks"):
        read(path)
    rewritten(path, b'"version": 1', b'"version": 7')
    with pytest.raises(ValueError, match=r"holds version 7; this program reads version 1"):
        read(path)
    parquet.write_table(pyarrow.table({"equation": ["x = x"]}), path)
    with pytest.raises(ValueError, match=r"holds no equations of ours; this program reads version 1"):
        read(path)


def test_a_failed_write_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: pyarrow.Table, where: Path) -> None:
        where.write_bytes(b"PAR1")
        raise OSError("disk full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(parquet, "write_table", full)
        write(path, store.load(path))
    assert read(path) == ROWS
    assert [file.name for file in path.parent.iterdir()] == [path.name]
