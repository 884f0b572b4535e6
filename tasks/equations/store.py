"""Labelled equations as Parquet: text that a person can read next to preorders of symbol ids that load without parsing.

Columns: ``equation`` (infix), ``label`` (1 correct, 0 wrong), ``depth``, ``split`` ("train", "validation" or "test"),
``digest`` (of the canonical form, uint64), ``left`` and ``right`` (preorders of symbol ids). The symbols, each
``[function, arity, token]``, are in the file's metadata with the format's version. Sets of the published kind
have ``truth`` as well, what numbers say (null: undecided), and ``run``.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dgltree import Equation
from dgltree.support.files import replacing
from tasks.equations.words import PAPER_SYMBOLS, SYMBOLS, Symbol, Word, tree

if TYPE_CHECKING:
    import pyarrow

VERSION = 1
KEY = b"dgltree.equations"  # of our JSON in the file's metadata
Label = Literal["label", "truth"]
"""The source of an equation's label: its process, or numbers."""


class Made(NamedTuple):
    """One labelled equation in the model's names of variables, its digest, depth and infix."""

    label: int
    digest: int
    depth: int
    left: Word
    right: Word
    text: str

    @property
    def equation(self) -> Equation:
        """The equation as trees."""
        return Equation(tree(self.left), tree(self.right))


class EquationRow(NamedTuple):
    """One labelled equation of a data set: its sides as words."""

    left: Word
    right: Word
    label: int
    depth: int
    split: str
    digest: int

    @property
    def equation(self) -> Equation:
        """The equation as trees."""
        return Equation(*(tree(word) for word in (self.left, self.right)))


def table(made: Sequence[Made], split: str, symbols: Sequence[Symbol] = PAPER_SYMBOLS) -> "pyarrow.Table":
    """The columns of a data set whose words are of ``symbols``."""
    texts, labels, depths, digests = ([getattr(m, name) for m in made] for name in ("text", "label", "depth", "digest"))
    columns = _columns(texts, labels, depths, [split] * len(made), digests)
    columns |= {"left": _lists([one.left for one in made]), "right": _lists([one.right for one in made])}
    return _table(columns, symbols)


def _columns(texts: Sequence[str], labels: Any, depths: Any, splits: Any, digests: Any) -> "dict[str, pyarrow.Array]":
    import pyarrow as pa

    return {
        "equation": pa.array(texts, pa.string()),
        "label": pa.array(labels, pa.int8()),
        "depth": pa.array(depths, pa.int8()),
        "split": pa.array(splits, pa.string()),
        "digest": pa.array(digests, pa.uint64()),
    }


def _table(columns: "dict[str, pyarrow.Array]", symbols: Sequence[Symbol]) -> "pyarrow.Table":
    import pyarrow as pa

    header = json.dumps({"version": VERSION, "symbols": symbols}).encode()
    return pa.table(columns).replace_schema_metadata({KEY: header})


def with_splits(table: "pyarrow.Table", splits: Sequence[str]) -> "pyarrow.Table":
    """``table`` with other splits."""
    import pyarrow as pa

    return table.set_column(table.schema.get_field_index("split"), "split", pa.array(splits, pa.string()))


def with_origin(table: "pyarrow.Table", truths: Sequence[bool | None], run: int) -> "pyarrow.Table":
    """``table`` with what numbers say of each equation (None: undecided), and the run it comes from."""
    import pyarrow as pa

    table = table.append_column(
        "truth", pa.array([None if truth is None else int(truth) for truth in truths], pa.int8())
    )
    return table.append_column("run", pa.array([run] * len(table), pa.int16()))


def write(path: Path, table: "pyarrow.Table") -> None:
    """Write a data set; an existing file is replaced at once or left as it was."""
    from pyarrow import parquet

    with replacing(path) as beside:
        parquet.write_table(table, beside)


def read(path: str | Path, splits: Iterable[str] | None = None, label: Label = "label") -> list[EquationRow]:
    """:func:`rows` of a file that :func:`write` wrote; errors as of :func:`load`, and ``ValueError`` without truths."""
    found = load(path)
    if label not in found.column_names:
        raise ValueError(f"{path} has no column {label!r}; the sets of the published presets have it")
    return rows(found, splits, label)


def rows(table: "pyarrow.Table", splits: Iterable[str] | None = None, label: Label = "label") -> list[EquationRow]:
    """The rows of a data set, those of some splits only on request; with "truth" for a label, those that have one."""
    if label == "truth":
        table = table.filter(table.column(label).is_valid())
    columns: list[Sequence[Any]] = [_words(table.column(name)) for name in ("left", "right")]
    columns += [table.column(name).to_pylist() for name in (label, "depth", "split", "digest")]
    wanted = None if splits is None else set(splits)
    found = (EquationRow(*row) for row in zip(*columns, strict=True))
    return [row for row in found if wanted is None or row.split in wanted]


def load(path: str | Path) -> "pyarrow.Table":
    """The columns of a file that :func:`write` wrote.

    Raises ``FileNotFoundError``, and ``ValueError`` naming the file for a file that is damaged or not one of ours,
    for another version, and for symbols that this version does not have, which it lists.
    """
    import pyarrow as pa
    from pyarrow import parquet

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; python -m tasks.equations generate makes it")
    try:
        found = parquet.read_table(path, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: damaged, or no Parquet file ({str(error).splitlines()[0]})") from None
    header = json.loads((found.schema.metadata or {}).get(KEY, b"{}"))
    if header.get("version") != VERSION:
        held = f"version {header['version']}" if header else "no equations of ours"
        raise ValueError(f"{path} holds {held}; this program reads version {VERSION}")
    symbols = [tuple(symbol) for symbol in header["symbols"]]
    unknown = [list(symbol) for symbol in symbols if symbol not in SYMBOLS]
    if unknown:
        raise ValueError(f"{path} is of another vocabulary: it has {', '.join(map(str, unknown))} that ours lacks")
    if symbols not in (list(PAPER_SYMBOLS), list(SYMBOLS)):
        raise ValueError(f"{path} is of another vocabulary: its symbols are ours in another order, or not all of them")
    return found


def _lists(words: Sequence[Word]) -> "pyarrow.ListArray":
    """Words as lists of symbol ids."""
    import pyarrow as pa

    ends = pa.array([0, *accumulate(map(len, words))], pa.int32())
    return pa.ListArray.from_arrays(
        ends, pa.Array.from_buffers(pa.uint8(), ends[-1].as_py(), [None, pa.py_buffer(b"".join(words))])
    )


def _words(column: "pyarrow.ChunkedArray") -> list[Word]:
    array = column.combine_chunks()
    symbols = array.values.to_numpy().tobytes()
    ends = array.offsets.to_pylist()
    return [symbols[start:end] for start, end in pairwise(ends)]
