"""Cache of what was read of a file, a safetensors file next to it: the second reading maps its arrays into memory."""

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dgltree.batching.vocabulary import Vocabulary
from dgltree.datasets.formats import Bad, Format
from dgltree.datasets.loading.gather import Stored
from dgltree.files import open_regular, replacing

VERSION = 5
DIGEST = "dgltree"  # the key in the file's metadata
CHECKSUM = "contents"
TEXTS = "texts"  # the array of all that is not an array
DTYPES = {
    f"{kind.upper()}{8 * size}": np.dtype(f"{kind}{size}")
    for kind, sizes in {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}.items()
    for size in sizes
}
"""By the file's names of them."""
BLOCK = 1 << 22


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
    root, rights = Path(file.source.path).resolve(), 0o666
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
    header, start = {}, 0
    for name, array in arrays.items():
        kind, stop = f"{array.dtype.kind.upper()}{8 * array.itemsize}", start + array.nbytes
        header[name], start = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, stop]}, stop
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
            if metadata.get(DIGEST) != digest or metadata.get(CHECKSUM) != _checksum_of(header, file):
                return None
            content = np.memmap(file, np.uint8, "c", start)  # torch knows no read-only arrays
        arrays = {name: _array(content, **of) for name, of in header.items()}
        texts = json.loads(arrays.pop(TEXTS).tobytes())
        bad = [Bad(*each) for each in texts["bad"]]
        return Stored(arrays, Vocabulary.from_json(texts["vocabulary"]), bad, texts["reading"])
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _header(file: BinaryIO) -> tuple[dict[str, Any], dict[str, str], int]:
    """Of each array where it is, what else is known, and where the arrays begin."""
    size = int.from_bytes(file.read(8), "little")
    if size > os.fstat(file.fileno()).st_size:
        raise ValueError("the header is longer than the file")
    header = json.loads(file.read(size))
    return header, header.pop("__metadata__"), 8 + size


def _array(content: np.ndarray, dtype: str, shape: list[int], data_offsets: list[int]) -> np.ndarray:
    return content[slice(*data_offsets)].view(DTYPES[dtype]).reshape(shape)


def _checksum_of(header: dict[str, Any], file: BinaryIO) -> str:
    """That of a file's content, which is read for it, not mapped: mapped pages count as this process's memory."""
    return _checksum(header, iter(partial(file.read, BLOCK), b""))


def _checksum(header: dict[str, Any], blocks: Iterable[bytes]) -> str:
    """Of all arrays with their names, sizes and dtypes, so that a damaged file is read again and not believed."""
    digest = hashlib.blake2b(json.dumps(header).encode())
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _blocks(array: np.ndarray) -> Iterator[bytes]:
    items = BLOCK // array.itemsize
    for start in range(0, len(array), items):
        yield array[start : start + items].tobytes()
