"""Labelled equations as Parquet: text that a person can read next to preorders of symbol ids that load without parsing.

Columns: ``equation`` (infix), ``label`` (1 correct, 0 wrong), ``depth``, ``split`` ("train", "validation" or "test"),
``digest`` (of the canonical form, uint64), ``left`` and ``right`` (preorders of symbol ids). The symbols, each
``[function, arity, token]``, are in the file's metadata with the format's version. Sets of number equations have the
symbol ``Number`` as well, and ``left_values`` and ``right_values``, the numbers in preorder. Sets of the published kind
have ``truth`` as well, what numbers say (null: undecided), and ``run``.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dgltree import Equation, Tree, write_equation
from dgltree.files import replacing
from tasks.equations.leaves import with_leaves
from tasks.equations.words import PAPER_SYMBOLS, SYMBOLS, Symbol, Word, tree

if TYPE_CHECKING:
    import pyarrow

VERSION = 1
KEY = b"dgltree.equations"  # of our JSON in the file's metadata
VALUES = ("left_values", "right_values")
Label = Literal["label", "truth"]
"""The source of an equation's label: its process, or numbers."""
NUMBER: Symbol = ("Number", 0, None)
"""A leaf with a value; the sets of the symbolic presets have none."""
SYMBOLS_AND_NUMBER = (*PAPER_SYMBOLS, NUMBER)
_IDS = {symbol: number for number, symbol in enumerate(SYMBOLS_AND_NUMBER)}


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
        """As trees."""
        return Equation(tree(self.left), tree(self.right))


class EquationRow(NamedTuple):
    """One labelled equation of a data set: its sides as words, and the numbers that are in them."""

    left: Word
    right: Word
    label: int
    depth: int
    split: str
    digest: int
    left_values: tuple[float, ...] = ()
    right_values: tuple[float, ...] = ()

    @property
    def equation(self) -> Equation:
        """As trees."""
        sides = ((self.left, self.left_values), (self.right, self.right_values))
        symbols = SYMBOLS_AND_NUMBER if self.left_values or self.right_values else SYMBOLS
        return Equation(*(tree(word, symbols, values) for word, values in sides))


def row_of(equation: Equation, label: int, split: str, digest: int) -> EquationRow:
    """The row of an equation, which may have number leaves."""
    left, right = (list(side.preorder()) for side in equation)
    return EquationRow(_word(left), _word(right), label, equation.depth, split, digest, _values(left), _values(right))


def _word(preorder: list[Tree]) -> Word:
    return bytes(_IDS[node.function, len(node.children), node.token] for node in preorder)


def _values(preorder: list[Tree]) -> tuple[float, ...]:
    return tuple(node.value for node in preorder if node.value is not None)


def table(made: Sequence[Made], split: str, symbols: Sequence[Symbol] = PAPER_SYMBOLS) -> "pyarrow.Table":
    """The columns of a data set whose words are of ``symbols``."""
    texts, labels, depths, digests = ([getattr(m, name) for m in made] for name in ("text", "label", "depth", "digest"))
    columns = _columns(texts, labels, depths, [split] * len(made), digests)
    columns |= {"left": _lists([one.left for one in made]), "right": _lists([one.right for one in made])}
    return _table(columns, symbols)


def number_table(rows: Sequence[EquationRow]) -> "pyarrow.Table":
    """The columns of a data set in which leaves are numbers."""
    import pyarrow as pa

    left, right, labels, depths, splits, digests, *values = zip(*rows, strict=True)
    columns = _columns([_text(row.equation) for row in rows], labels, depths, splits, digests)
    columns |= {"left": _lists(left), "right": _lists(right)}
    columns |= {name: pa.array(side, pa.list_(pa.float64())) for name, side in zip(VALUES, values, strict=True)}
    return _table(columns, SYMBOLS_AND_NUMBER)


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
    columns += [list(map(tuple, table.column(name).to_pylist())) for name in VALUES if name in table.column_names]
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
        raise FileNotFoundError(f"{path}: no such file; python -m tasks.equations generate or number-sets makes it")
    try:
        found = parquet.read_table(path, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: damaged, or no Parquet file ({str(error).splitlines()[0]})") from None
    header = json.loads((found.schema.metadata or {}).get(KEY, b"{}"))
    if header.get("version") != VERSION:
        held = f"version {header['version']}" if header else "no equations of ours"
        raise ValueError(f"{path} holds {held}; this program reads version {VERSION}")
    symbols = [tuple(symbol) for symbol in header["symbols"]]
    unknown = [list(symbol) for symbol in symbols if symbol not in (*SYMBOLS, NUMBER)]
    if unknown:
        raise ValueError(f"{path} is of another vocabulary: it has {', '.join(map(str, unknown))} that ours lacks")
    if symbols not in (list(PAPER_SYMBOLS), list(SYMBOLS_AND_NUMBER), list(SYMBOLS)):
        raise ValueError(f"{path} is of another vocabulary: its symbols are ours in another order, or not all of them")
    return found


def _text(equation: Equation) -> str:
    """Infix, with the numbers as they are printed; it reads as literals, which is why the ids are the data."""
    leaves = {node for side in equation for node in side.preorder() if node.value is not None}
    literals = {leaf: Tree("Float", token=repr(leaf.value)) for leaf in leaves}
    return write_equation(Equation(*(with_leaves(side, literals) for side in equation)))


def _lists(words: Sequence[Word]) -> "pyarrow.ListArray":
    """Words as lists of symbol ids."""
    import pyarrow as pa

    ends = pa.array([0, *accumulate(map(len, words))], pa.int32())
    return pa.ListArray.from_arrays(
        ends, pa.Array.from_buffers(pa.uint8(), ends[-1].as_py(), [None, pa.py_buffer(b"".join(words))])
    )


def _words(column: "pyarrow.ChunkedArray") -> list[Word]:
    array = column.combine_chunks()
    symbols, ends = array.values.to_numpy().tobytes(), array.offsets.to_pylist()
    return [symbols[start:end] for start, end in pairwise(ends)]
