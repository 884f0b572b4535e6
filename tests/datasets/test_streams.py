"""Pipes as files: what is not a regular file is read once, as a stream."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from own_trees import written

from dgltree import TreeDataset

ROWS = [f"e{i}\tx{'+y' * (i % 3)}\t{i % 2}" for i in range(401)]
FILES = {
    "table": "\n".join(["id\ttree\tlabel", *ROWS]),
    "lines": "\n".join(row.split("\t")[1] for row in ROWS),
    "JSON": "\n".join('{{"id": "{}", "tree": "{}", "label": {}}}'.format(*row.split("\t")) for row in ROWS),
    "CoNLL-U": "1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n" * 401,
}


def written_into(pipe: Path | int, content: str | bytes) -> threading.Thread:
    """What writes into a pipe while the test reads."""

    def fill() -> None:
        number = pipe if isinstance(pipe, int) else os.open(pipe, os.O_WRONLY)
        with suppress(BrokenPipeError), os.fdopen(number, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    writer = threading.Thread(target=fill)
    writer.start()
    return writer


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("how", ["/dev/fd", "fifo"])
def test_a_pipe_gives_every_record_that_a_file_gives(kind: str, how: str, tmp_path: Path) -> None:
    whole = TreeDataset.from_file(written(tmp_path, "plain", FILES[kind]), cached=False, workers=0)
    path, read = tmp_path / "fifo", -1
    if how == "fifo":
        os.mkfifo(path)
        writer = written_into(path, FILES[kind])
    else:
        read, write = os.pipe()
        path, writer = Path(f"/dev/fd/{read}"), written_into(write, FILES[kind])
    data = TreeDataset.from_file(path, workers=0)
    writer.join()
    if how != "fifo":
        os.close(read)
    assert len(data) == len(whole) == 401
    assert [data[i] for i in (0, 1, 400)] == [whole[i] for i in (0, 1, 400)]
    assert data.lines == whole.lines
    assert {entry.name for entry in tmp_path.iterdir()} <= {"plain", "fifo"}  # there is nothing to keep beside a pipe


def test_a_pipe_of_parquet_or_sources_is_refused_with_what_would_do(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = tmp_path / "trees.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"tree": ["x+y"]}), table)
    for name, content, message in (
        ("pipe", table.read_bytes(), "a Parquet file is read from its end, which a pipe does not allow; give a file"),
        ("pipe.parquet", b"", "a Parquet file is read from its end, which a pipe does not allow; give a file"),
        ("pipe.py", b"x = 1\n", "a pipe; source code is read from files and folders"),
    ):
        path = tmp_path / name
        os.mkfifo(path)
        writer = written_into(path, content)
        with pytest.raises(ValueError, match=message):
            TreeDataset.from_file(path, workers=0)
        writer.join()
        path.unlink()


def test_a_parquet_file_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"tree": ["x+y"]}), tmp_path / "table")
    assert len(TreeDataset.from_file(tmp_path / "table")) == 1
