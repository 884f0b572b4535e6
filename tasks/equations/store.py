"""Labelled equations as Parquet: text that a person can read beside preorders of symbol ids that load without parsing.

Columns: ``equation`` (infix), ``label`` (1 correct, 0 wrong), ``depth``, ``split`` ("train", "validation" or "test"),
``digest`` (of the canonical form, uint64), ``left`` and ``right`` (preorders of symbol ids). The symbols, each
``[function, arity, token]``, stand in the file's metadata with the format's version.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dgltree.equation import Equation
from dgltree.files import replacing
from tasks.equations.chunk import Made
from tasks.equations.words import SYMBOLS, Symbol, Word, tree

if TYPE_CHECKING:
    import pyarrow

VERSION = 1
KEY = b"dgltree.equations"  # of our JSON in the file's metadata


class Row(NamedTuple):
    """One labelled equation of a data set."""

    equation: Equation
    label: int
    depth: int
    split: str
    digest: int


def table(made: Sequence[Made], split: str) -> "pyarrow.Table":
    """The columns of a data set."""
    import pyarrow as pa

    columns: dict[str, Any] = {
        "equation": pa.array([one.text for one in made], pa.string()),
        "label": pa.array([one.label for one in made], pa.int8()),
        "depth": pa.array([one.depth for one in made], pa.int8()),
        "split": pa.array([split] * len(made), pa.string()),
        "digest": pa.array([one.digest for one in made], pa.uint64()),
        "left": _lists([one.left for one in made]),
        "right": _lists([one.right for one in made]),
    }
    header = json.dumps({"version": VERSION, "symbols": SYMBOLS}).encode()
    return pa.table(columns).replace_schema_metadata({KEY: header})


def with_splits(table: "pyarrow.Table", splits: Sequence[str]) -> "pyarrow.Table":
    """``table`` with other splits."""
    import pyarrow as pa

    return table.set_column(table.schema.get_field_index("split"), "split", pa.array(splits, pa.string()))


def write(path: Path, table: "pyarrow.Table") -> None:
    """Write a data set; an existing file is replaced at once or left as it was."""
    from pyarrow import parquet

    with replacing(path) as beside:
        parquet.write_table(table, beside)


def read(path: str | Path, splits: Iterable[str] | None = None) -> list[Row]:
    """The rows of a file that :func:`write` wrote, those of some splits only on request; errors as of :func:`load`."""
    return rows(load(path), splits)


def rows(table: "pyarrow.Table", splits: Iterable[str] | None = None) -> list[Row]:
    """The rows of a data set, those of some splits only on request."""
    symbols: list[Symbol] = [tuple(symbol) for symbol in json.loads(table.schema.metadata[KEY])["symbols"]]
    columns = [table.column(name).to_pylist() for name in ("label", "depth", "split", "digest", "left", "right")]
    wanted = None if splits is None else set(splits)
    found = []
    for label, depth, split, digest, left, right in zip(*columns, strict=True):
        if wanted is None or split in wanted:
            found.append(Row(Equation(tree(left, symbols), tree(right, symbols)), label, depth, split, digest))
    return found


def sides(table: "pyarrow.Table") -> list[tuple[Word, Word]]:
    """The words of the left and right sides. Raises ``ValueError`` for symbols numbered otherwise than ``SYMBOLS``."""
    if [tuple(symbol) for symbol in json.loads(table.schema.metadata[KEY])["symbols"]] != list(SYMBOLS):
        raise ValueError("the symbols of this data set are numbered otherwise; python -m tasks.equations.generate it anew")
    return list(zip(_words(table.column("left")), _words(table.column("right")), strict=True))


def load(path: str | Path) -> "pyarrow.Table":
    """The columns of a file that :func:`write` wrote.

    Raises ``FileNotFoundError``, and ``ValueError`` naming the file for what is no whole Parquet file or none of ours,
    for another version, and for symbols that this version does not have, which it lists.
    """
    import pyarrow as pa
    from pyarrow import parquet

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; python -m tasks.equations.generate makes data sets")
    try:
        found = parquet.read_table(path, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: damaged, or no Parquet file ({str(error).splitlines()[0]})") from None
    header = json.loads((found.schema.metadata or {}).get(KEY, b"{}"))
    if header.get("version") != VERSION:
        held = f"version {header['version']}" if header else "no equations of ours"
        raise ValueError(f"{path} holds {held}; this program reads version {VERSION}")
    unknown = [symbol for symbol in header["symbols"] if tuple(symbol) not in SYMBOLS]
    if unknown:
        raise ValueError(f"{path} is of another vocabulary: it has {', '.join(map(str, unknown))} besides ours")
    return found


def _lists(words: list[Word]) -> "pyarrow.ListArray":
    """Words as lists of symbol ids."""
    import pyarrow as pa

    ends = pa.array([0, *accumulate(map(len, words))], pa.int32())
    return pa.ListArray.from_arrays(ends, pa.Array.from_buffers(pa.uint8(), ends[-1].as_py(), [None, pa.py_buffer(b"".join(words))]))


def _words(column: "pyarrow.ChunkedArray") -> list[Word]:
    array = column.combine_chunks()
    symbols, ends = array.values.to_numpy().tobytes(), array.offsets.to_pylist()
    return [symbols[start:end] for start, end in pairwise(ends)]
