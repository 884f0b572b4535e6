"""What was read of a file, kept beside it: the second reading takes as long as the arrays take to load."""

import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import NO_LABEL, Vocabulary
from dgltree.datasets.formats import Format
from dgltree.files import save_tensors

VERSION = 2
DIGEST = "dgltree"  # the key in the file's metadata
CHECKSUM = "contents"
BLOCK = 1 << 22


def cache_path(path: str | Path) -> Path:
    """The hidden file beside ``path`` that holds its flat trees; a file has one."""
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
    """What trees depend on besides the text: our readers, and Python's own parser."""
    try:
        ours = version("dgltree")
    except PackageNotFoundError:  # run from a checkout that was not installed
        ours = "checkout"
    return f"dgltree {ours} Python {platform.python_version()}"


def _checksum(tensors: dict[str, Tensor]) -> str:
    """Of all tensors with their names, sizes and dtypes, so that a damaged file is read anew and not believed."""
    digest = hashlib.blake2b()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


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


def write(path: Path, digest: str, trees: TreeBatch, columns: dict[str, Any], rights: int) -> None:
    """Keep flat trees and what stands beside them. Raises ``OSError`` where the file cannot be written."""
    tensors = {name: getattr(trees, name) for name in ("function", "token", "child_ptr", "child_index", "level")}
    tensors |= {"roots": trees.roots, "sizes": trees.sizes}
    tensors = {name: tensor.to(torch.int32) for name, tensor in tensors.items()}
    if bool((trees.label != NO_LABEL).any()):
        tensors["label"] = trees.label.to(torch.int32)
    if trees.value is not None:
        tensors["value"] = trees.value
    assert trees.vocabulary is not None
    texts = json.dumps({"vocabulary": trees.vocabulary.to_json(), "columns": columns}).encode()
    tensors["texts"] = torch.from_numpy(np.frombuffer(texts, np.uint8).copy())  # metadata has a limit
    save_tensors(path, tensors, {DIGEST: digest, CHECKSUM: _checksum(tensors)}, rights)


def read(path: Path, digest: str) -> tuple[TreeBatch, dict[str, Any]] | None:
    """What :func:`write` kept under this digest; None where there is nothing, or something else or damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get(DIGEST) != digest:
                return None
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
        if metadata.get(CHECKSUM) != _checksum(tensors):
            return None
        texts = json.loads(tensors.pop("texts").numpy().tobytes())
    except (OSError, SafetensorError, KeyError, ValueError):
        return None
    value = tensors.pop("value", None)
    tensors = {name: tensor.long() for name, tensor in tensors.items()}
    label = tensors.pop("label", torch.full_like(tensors["function"], NO_LABEL))
    vocabulary = Vocabulary.from_json(texts["vocabulary"])
    return TreeBatch(**tensors, label=label, value=value, vocabulary=vocabulary), texts["columns"]
