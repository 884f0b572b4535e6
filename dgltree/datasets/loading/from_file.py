"""A whole file becomes flat trees and their columns: it is read by several processes, and kept for the next time.

The parts of a file are gathered in arrays that grow in files: memory holds the vocabulary and the ids, not the trees.
What was read is kept in a safetensors file next to it, whose arrays the second reading maps into memory.
"""

import hashlib
import json
import os
import platform
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN, Vocabulary
from dgltree.datasets.formats import Bad, Format, open_format
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.formats.records import check_named
from dgltree.datasets.loading.columns_on_disk import (
    COLUMN_CLASSES,
    Column,
    NumberColumn,
    SpilledColumn,
    SpilledTextColumn,
)
from dgltree.datasets.loading.flatten import ParsedChunk, parts
from dgltree.datasets.settings import Reading, names_of
from dgltree.support.files import open_regular, replacing

TREES = ("function", "token", "child_ptr", "child_index", "level", "roots", "sizes")
VERSION = 6
DIGEST = "dgltree"  # the key in the file's metadata
CHECKSUM = "contents"
TEXTS = "texts"  # the array of all that is not an array
DTYPES = {
    f"{kind.upper()}{8 * size}": np.dtype(f"{kind}{size}")
    for kind, sizes in {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}.items()
    for size in sizes
}
"""The dtypes by their names in the file."""
BLOCK = 1 << 22  # bytes that are hashed or written at a time
MAX_LISTED_RECORDS = 10
"""Bad records that a message lists."""


class Stored(NamedTuple):
    """All that a file says: int32 if that holds its numbers, else int64."""

    arrays: dict[str, np.ndarray]
    """The fields of the flat trees; ``label`` and ``value`` only if a node has one. Columns by ``name.array``."""
    vocabulary: Vocabulary
    bad: list[Bad]
    reading: dict[str, Any]

    @property
    def trees(self) -> TreeBatch:
        """The flat trees over the arrays, without a copy."""
        fields = {name: torch.from_numpy(array) for name, array in self.arrays.items() if "." not in name}
        none = torch.full((1,), NO_LABEL, dtype=torch.int32)
        fields.setdefault("label", none.expand(len(fields["function"])))  # one number for all nodes
        return TreeBatch(vocabulary=self.vocabulary, **fields)

    @property
    def columns(self) -> dict[str, Column[Any]]:
        """The columns next to the trees, by name."""
        by_column: dict[str, dict[str, np.ndarray]] = {name: {} for name in COLUMN_CLASSES}
        for name, array in self.arrays.items():
            column, _, part = name.partition(".")
            if part:
                by_column[column][part] = array
        return {name: kind(by_column[name]) for name, kind in COLUMN_CLASSES.items()}


def read_file(
    path: str | Path, reading: Reading, workers: int | None, cached: bool, progress: bool, named: bool
) -> Stored:
    """All that a file says; see :meth:`dgltree.datasets.TreeDataset.from_file`."""
    file = open_format(path, reading)
    if named and file.column_names is not None:
        check_named(file.source.path, file.column_names, reading)
    cached = cached and file.source.stream is None
    digest = digest_of(file) if cached else ""
    stored = read(cache_path(path), digest) if cached else None
    if stored is None:
        stored = _read(path, file, digest, workers, progress)
    _check_features_found(file.source.path, stored, reading)
    if named:
        _check_found(file.source.path, stored, reading)
    return stored


def _read(path: str | Path, file: Format, digest: str, workers: int | None, progress: bool) -> Stored:
    """Read the file itself; with a digest what was read is kept for the next time."""
    asked = file
    file = file.with_notation()
    stored = _gathered(file, workers, progress)
    if digest:
        try:
            _keep(asked, digest, stored)
        except OSError as error:
            warnings.warn(f"the cache of {path} could not be written: {error}", stacklevel=4)
        else:
            return read(cache_path(path), digest) or stored  # whose temporary files then go
    return stored


def _check_found(path: str, stored: Stored, reading: Reading) -> None:
    """``ValueError`` if the settings name a place of splits or groups, and no record has any there."""
    columns = stored.columns
    for option, column in (("split", "splits"), ("split_from", "splits"), ("group_by", "groups")):
        place = getattr(reading, option)
        if place != getattr(Reading, option) and not any(columns[column]):
            what = "a column or a comment" if option == "split" else "COLUMN, or COLUMN:REGEX with a REGEX that matches"
            raise ValueError(f"{path}: --{option.replace('_', '-')} is {place!r}, which no record has; give {what}")


def _check_features_found(path: str, stored: Stored, reading: Reading) -> None:
    """``ValueError`` if no record of several has a value in a column that is read next to the trees."""
    rows = stored.columns["features"]
    names = names_of(reading.features)
    if not names or len(rows) < 2:
        return
    left = set(range(len(names)))
    for row in rows:
        left -= {k for k in left if row is not None and json.loads(row)[k] is not None}
        if not left:
            return
    raise ValueError(f"{path}: no record has a value in the column {names[min(left)]!r} (--features)")


def _keep(file: Format, digest: str, stored: Stored) -> None:
    """Leave what was read for the next time. Raises ``OSError`` if that cannot be, or should not."""
    rights = rights_of(file)
    if digest_of(file) != digest:
        raise OSError("it changed while it was read")
    write(cache_path(file.source.path), digest, stored, rights)


def _gathered(file: Format, workers: int | None, progress: bool) -> Stored:
    """All parts as one. Raises ``ValueError`` if there are no examples."""
    gathering = Gathering()
    with tqdm(unit="node", unit_scale=True, delay=1, disable=None if progress else True, desc="reading") as bar:
        for part in parts(file, workers):
            gathering.add(part)
            bar.update(0 if part.trees is None else part.trees.num_nodes)
    if not len(gathering):
        raise ValueError(f"{file.source.path}: no trees. {list_bad_records(gathering.bad)}")
    return gathering.finish(file.reading)


def list_bad_records(bad: Sequence[Bad]) -> str:
    """The first few bad records, and how many there are."""
    if not bad:
        return ""
    lines = [
        f"{len(bad)} could not be read:",
        *(f"  {each.where}: {each.message}" for each in bad[:MAX_LISTED_RECORDS]),
    ]
    return "\n".join(
        [*lines, f"  and {len(bad) - MAX_LISTED_RECORDS} more"] if len(bad) > MAX_LISTED_RECORDS else lines
    )


class Gathering:
    """Takes the parts of a file in order; an example whose id was there before is bad."""

    def __init__(self) -> None:
        self.bad: list[Bad] = []
        self._arrays = {name: SpilledColumn() for name in TREES}
        self._arrays["child_ptr"].append(np.zeros(1))
        self._lines = SpilledColumn()
        self._texts = {name: SpilledTextColumn() for name, kind in COLUMN_CLASSES.items() if kind is not NumberColumn}
        self._functions: dict[tuple[str, int | None], int] = {}
        self._tokens: dict[str, int] = {}
        self._ids = Ids()
        self._repeated: list[Bad] = []

    def __len__(self) -> int:
        """The examples so far."""
        return len(self._lines)

    def add(self, part: ParsedChunk) -> None:
        """Add what is in the next part of the file."""
        self.bad += part.bad
        if part.trees is None:
            return
        columns = {name: getattr(part, name) for name in COLUMN_CLASSES}
        trees = part.trees
        repeated = self._ids.repeated(part.ids, part.lines, part.files)
        if repeated:
            self._repeated += (bad._replace(split=part.splits[i]) for i, bad in repeated.items())
            kept = [i for i in range(len(part.lines)) if i not in repeated]
            if not kept:
                return
            each = len(trees) // len(part.lines)
            trees = trees[(torch.tensor(kept).unsqueeze(1) * each + torch.arange(each)).flatten()]
            columns = {name: [column[i] for i in kept] for name, column in columns.items()}
        self._add_trees(trees)
        self._lines.append(np.asarray(columns.pop("lines"), np.int64))
        for name, texts in columns.items():
            self._texts[name].append(texts)

    def _add_trees(self, trees: TreeBatch) -> None:
        own = trees.vocabulary
        arrays = self._arrays
        assert own is not None
        function = np.array([self._functions.setdefault(f, len(self._functions)) for f in own.functions], np.int64)
        tokens = [self._tokens.setdefault(t, len(self._tokens)) for t in own.tokens]
        token = np.array([*tokens, NO_TOKEN])  # the last by its number, -1
        nodes = len(arrays["function"])
        edges = len(arrays["child_index"])
        if trees.value is not None:
            self._optional("value", np.float64).fill(np.nan, nodes)
            arrays["value"].append(trees.value.numpy())
        if bool((trees.label != NO_LABEL).any()):
            self._optional("label", np.int32).fill(NO_LABEL, nodes)
            arrays["label"].append(trees.label.numpy())
        arrays["function"].append(function[trees.function.numpy()])
        arrays["token"].append(token[trees.token.numpy()])
        arrays["child_ptr"].append(trees.child_ptr[1:].numpy() + edges)
        arrays["child_index"].append(trees.child_index.numpy() + nodes)
        arrays["level"].append(trees.level.numpy())
        arrays["roots"].append(trees.roots.numpy() + nodes)
        arrays["sizes"].append(trees.sizes.numpy())

    def _optional(self, name: str, dtype: Any) -> SpilledColumn:
        return self._arrays.setdefault(name, SpilledColumn(dtype))

    def finish(self, reading: Reading) -> Stored:
        """All parts as one, of which there is at least one example."""
        nodes = len(self._arrays["function"])
        for name, nothing in (("value", np.nan), ("label", NO_LABEL)):
            if name in self._arrays:
                self._arrays[name].fill(nothing, nodes)
        arrays = {name: growing.array() for name, growing in self._arrays.items()}
        arrays["lines.numbers"] = self._lines.array()
        for name, texts in self._texts.items():
            arrays |= {f"{name}.{part}": array for part, array in texts.arrays().items()}
        bad = in_order([*self.bad, *self._repeated]) if self._repeated else self.bad
        return Stored(arrays, Vocabulary(self._functions, self._tokens), bad, asdict(reading))


class Ids:
    """The ids of a file, as far as it was read."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def repeated(self, ids: Sequence[str | None], lines: Sequence[int], files: Sequence[str]) -> dict[int, Bad]:
        """The next examples whose id occurred before, by their numbers."""
        found = {}
        for i, (name, line, file) in enumerate(zip(ids, lines, files, strict=True)):
            if name is not None and name in self.places:
                found[i] = Bad(
                    line,
                    f"the id {name!r} was already used in {self.places[name]}; each record needs its own id",
                    file,
                )
            elif name is not None:
                self.places[name] = Bad(line, "", file).where
        return found


def cache_path(path: str | Path) -> Path:
    """The hidden file next to ``path`` that holds its flat trees; a file has one."""
    path = Path(path).resolve()
    return path.with_name(f".{path.name}.dgltree")


def digest_of(file: Format) -> str:
    """sha256 of all that is in a file, or in a folder's files by their names, and of how and by what it is read."""
    digest = hashlib.sha256(f"{VERSION} {_readers()} {json.dumps(file.reading.to_json())}".encode())
    for name, path in file.contents():
        digest.update(f"\n{name}\n".encode())
        with path.open("rb") as content:
            while block := content.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()


def _readers() -> str:
    """The versions that trees depend on in addition to the text: our readers, and Python's own parser."""
    try:
        ours = version("dgltree")
    except PackageNotFoundError:  # run from a checkout that was not installed
        ours = "checkout"
    return f"dgltree {ours} Python {platform.python_version()}"


def rights_of(file: Format) -> int:
    """Who may read and write all that is in a file or a folder: nobody else may read what is kept of it.

    Members of a file's group may, if new files are for the same group.
    """
    root = Path(file.source.path).resolve()
    rights = 0o666
    paths = {path.resolve() for _, path in file.contents()}
    folders = {folder for path in paths for folder in path.parents if folder.is_relative_to(root)}
    for path in paths | folders:
        found = path.stat()
        others = found.st_mode & 0o006
        rights &= found.st_mode if found.st_gid == os.getegid() else found.st_mode & ~0o060 | others << 3
    return rights


def write(path: Path, digest: str, stored: Stored, rights: int) -> None:
    """Keep what was read of a file. Raises ``OSError`` if that cannot be written."""
    texts = {"vocabulary": stored.vocabulary.to_json(), "bad": stored.bad, "reading": stored.reading}
    arrays = {**stored.arrays, TEXTS: np.frombuffer(json.dumps(texts).encode(), np.uint8)}  # metadata has a limit
    arrays = dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize))  # so that each is aligned
    header = {}
    start = 0
    for name, array in arrays.items():
        kind = f"{array.dtype.kind.upper()}{8 * array.itemsize}"
        stop = start + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, stop]}
        start = stop
    checksum = _checksum(header, (block for array in arrays.values() for block in _blocks(array)))
    with_digests = {"__metadata__": {DIGEST: digest, CHECKSUM: checksum}, **header}
    written = json.dumps(with_digests).encode()
    written += b" " * (-len(written) % 8)
    with replacing(path, rights, links=False) as beside, beside.open("wb") as file:
        file.write(len(written).to_bytes(8, "little") + written)
        for array in arrays.values():
            file.writelines(_blocks(array))


def read(path: Path, digest: str) -> Stored | None:
    """The entry that :func:`write` kept under this digest; None if there is nothing, or something else or damaged.

    The arrays are the file's own pages, which are read when they are looked at. They stay what they are when the file
    is replaced or removed. Neither a link nor a pipe is opened.
    """
    try:
        with open_regular(path) as file:
            header, metadata, start = _header(file)
            if metadata.get(DIGEST) != digest:
                return None
            blocks = iter(partial(file.read, BLOCK), b"")  # read, not mapped: mapped pages count as this process's
            if metadata.get(CHECKSUM) != _checksum(header, blocks):
                return None
            content = np.memmap(file, np.uint8, "c", start)  # torch knows no read-only arrays
        arrays = {name: _array(content, **of) for name, of in header.items()}
        texts = json.loads(arrays.pop(TEXTS).tobytes())
        bad = [Bad(*each) for each in texts["bad"]]
        return Stored(arrays, Vocabulary.from_json(texts["vocabulary"]), bad, texts["reading"])
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _header(file: BinaryIO) -> tuple[dict[str, Any], dict[str, str], int]:
    """The place of each array, what else is known, and where the arrays begin."""
    size = int.from_bytes(file.read(8), "little")
    if size > os.fstat(file.fileno()).st_size:
        raise ValueError("the header is longer than the file")
    header = json.loads(file.read(size))
    return header, header.pop("__metadata__"), 8 + size


def _array(content: np.ndarray, dtype: str, shape: list[int], data_offsets: list[int]) -> np.ndarray:
    return content[slice(*data_offsets)].view(DTYPES[dtype]).reshape(shape)


def _checksum(header: dict[str, Any], blocks: Iterable[bytes]) -> str:
    """The digest of all arrays with names, sizes and dtypes, so that a damaged file is read again and not believed."""
    digest = hashlib.blake2b(json.dumps(header).encode())
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _blocks(array: np.ndarray) -> Iterator[bytes]:
    items = BLOCK // array.itemsize
    for start in range(0, len(array), items):
        yield array[start : start + items].tobytes()
