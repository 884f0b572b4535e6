"""Labelled equations as Parquet: text that a person can read beside preorders of symbol ids that load without parsing.

Columns: ``equation`` (infix), ``label`` (1 correct, 0 wrong), ``depth``, ``split`` ("train", "validation" or "test"),
``digest`` (of the canonical form, uint64), ``left`` and ``right`` (preorders of symbol ids). The symbols, each
``[function, arity, token]``, stand in the file's metadata with the format's version. A set with numbers also has
``left_values`` and ``right_values`` (the numbers of the ``Number`` leaves in preorder, double); a program that knows no
numbers refuses it by the name of that symbol.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dgltree.equation import Equation
from dgltree.files import replacing
from dgltree.read.infix import write_equation
from dgltree.tree import Tree
from tasks.equations.chunk import NAMES
from tasks.equations.fillers import BINARY, LITERALS, TRIGONOMETRIC
from tasks.equations.leaves import with_leaves

if TYPE_CHECKING:
    import pyarrow

VERSION = 1
KEY = b"dgltree.equations"  # of our JSON in the file's metadata
VALUES = ("left_values", "right_values")
Symbol = tuple[str, int, str | None]
SYMBOLS: tuple[Symbol, ...] = (
    *((leaf.function, 0, leaf.token) for leaf in (*NAMES, *LITERALS)),
    *((function, 1, None) for function in TRIGONOMETRIC),
    *((function, 2, None) for function in BINARY),
)
NUMBER: Symbol = ("Number", 0, None)
"""A leaf with a value; the sets of the symbolic presets have none."""


class Row(NamedTuple):
    """One labelled equation of a data set."""

    equation: Equation
    label: int
    depth: int
    split: str
    digest: int


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write ``rows``; an existing file is replaced at once or left as it was."""
    import pyarrow as pa
    from pyarrow import parquet

    values = [[_values(row.equation[side]) for row in rows] for side in (0, 1)]
    numbers = any(any(column) for column in values)
    symbols = (*SYMBOLS, NUMBER) if numbers else SYMBOLS
    ids = {symbol: number for number, symbol in enumerate(symbols)}
    sides = [[_preorder(row.equation[side], ids) for row in rows] for side in (0, 1)]
    columns: dict[str, Any] = {
        "equation": pa.array([_text(row.equation) for row in rows], pa.string()),
        "label": pa.array([row.label for row in rows], pa.int8()),
        "depth": pa.array([row.depth for row in rows], pa.int8()),
        "split": pa.array([row.split for row in rows], pa.string()),
        "digest": pa.array([row.digest for row in rows], pa.uint64()),
        "left": pa.array(sides[0], pa.list_(pa.uint8())),
        "right": pa.array(sides[1], pa.list_(pa.uint8())),
    }
    if numbers:
        columns |= {name: pa.array(column, pa.list_(pa.float64())) for name, column in zip(VALUES, values, strict=True)}
    header = json.dumps({"version": VERSION, "symbols": symbols}).encode()
    with replacing(path) as beside:
        parquet.write_table(pa.table(columns).replace_schema_metadata({KEY: header}), beside)


def read(path: str | Path, splits: Iterable[str] | None = None) -> list[Row]:
    """The rows of a file that :func:`write` wrote, those of some splits only on request.

    Raises ``FileNotFoundError``, and ``ValueError`` naming the file for what is no whole Parquet file or none of ours,
    for another version, and for symbols that this version does not have, which it lists.
    """
    table = _table(Path(path))
    symbols: list[Symbol] = [tuple(symbol) for symbol in json.loads(table.schema.metadata[KEY])["symbols"]]
    columns = [table.column(name).to_pylist() for name in ("label", "depth", "split", "digest", "left", "right")]
    columns += [table.column(n).to_pylist() if n in table.column_names else [()] * len(table) for n in VALUES]
    wanted = None if splits is None else set(splits)
    rows = []
    for label, depth, split, digest, left, right, left_values, right_values in zip(*columns, strict=True):
        if wanted is None or split in wanted:
            equation = Equation(_tree(left, left_values, symbols), _tree(right, right_values, symbols))
            rows.append(Row(equation, label, depth, split, digest))
    return rows


def _table(path: Path) -> "pyarrow.Table":
    import pyarrow as pa
    from pyarrow import parquet

    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; python -m tasks.equations.generate makes data sets")
    try:
        table = parquet.read_table(path, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: damaged, or no Parquet file ({str(error).splitlines()[0]})") from None
    header = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    if header.get("version") != VERSION:
        found = f"version {header['version']}" if header else "no equations of ours"
        raise ValueError(f"{path} holds {found}; this program reads version {VERSION}")
    unknown = [symbol for symbol in header["symbols"] if tuple(symbol) not in (*SYMBOLS, NUMBER)]
    if unknown:
        raise ValueError(f"{path} is of another vocabulary: it has {', '.join(map(str, unknown))} besides ours")
    return table


def _text(equation: Equation) -> str:
    """Infix, with the numbers as they are printed; it reads as literals, which is why the ids are the data."""
    leaves = {node for side in equation for node in side.preorder() if node.value is not None}
    literals = {leaf: Tree("Float", token=repr(leaf.value)) for leaf in leaves}
    return write_equation(Equation(*(with_leaves(side, literals) for side in equation)) if literals else equation)


def _preorder(tree: Tree, ids: dict[Symbol, int]) -> list[int]:
    return [ids[node.function, len(node.children), node.token] for node in tree.preorder()]


def _values(tree: Tree) -> list[float]:
    return [node.value for node in tree.preorder() if node.value is not None]


def _tree(preorder: list[int], values: Sequence[float], symbols: Sequence[Symbol]) -> Tree:
    done: list[Tree] = []
    numbers = list(values)
    for number in reversed(preorder):
        function, arity, token = symbols[number]
        value = numbers.pop() if function == "Number" else None
        done.append(Tree(function, [done.pop() for _ in range(arity)], token, value))
    return done[0]
