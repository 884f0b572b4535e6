"""Models on disk: one safetensors file, whose header says what the weights are weights of."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.files import replacing
from dgltree.readout import EquationModel, EquationReadout
from dgltree.vocabulary import Vocabulary

VERSION = 2
HEADER = "dgltree"  # the key of our JSON in the file's metadata


def save(model: EquationModel, path: str | Path) -> None:
    """Write a model: its weights, and as JSON the cell, its options, the vocabulary, the format's version and a hash.

    An existing file is replaced at once or left as it was.
    """
    from safetensors.torch import save_file

    cell = model.cell
    names = {cls: name for name, cls in CELLS.items()}
    if type(cell) not in names:
        raise ValueError(f"{type(cell).__name__} is not in dgltree.cells.CELLS; register it to save and load it")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    header = {
        "version": VERSION,
        "cell": names[type(cell)],
        "options": cell.config,
        "readout": "equation",
        "vocabulary": cell.vocabulary.to_json(),
    }
    header["sha256"] = _digest(header, tensors)
    with replacing(path) as beside:
        save_file(tensors, beside, metadata={HEADER: json.dumps(header)})


def load(path: str | Path) -> EquationModel:
    """Read a model that :func:`save` wrote, in evaluation mode, on the CPU, in the dtype it was saved in.

    Raises ``FileNotFoundError``, and ``ValueError`` for a file that is no safetensors file, is truncated, was not
    written by dgltree, has a version or cell this release does not know, or whose contents do not match their hash or
    their header.
    """
    header, tensors = _read(Path(path))
    try:
        if header["version"] != VERSION:
            raise ValueError(f"format version {header['version']}; this release reads version {VERSION}")
        if header["cell"] not in CELLS or header["readout"] != "equation":
            raise ValueError(f"a {header['cell']!r} cell with a {header['readout']!r} readout, unknown to this release")
        if header.pop("sha256") != _digest(header, tensors):
            raise ValueError("the contents do not match their hash: the file was changed or damaged")
        vocabulary = Vocabulary.from_json(header["vocabulary"])
        cell = CELLS[header["cell"]](vocabulary, **header["options"])
        model = EquationModel(TreeEncoder(cell), EquationReadout())
        model.to(next(iter(tensors.values())).dtype)
        model.load_state_dict(tensors)
    except (KeyError, TypeError, StopIteration, RuntimeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
    return model.eval()


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except SafetensorError as error:
        raise ValueError(f"{path}: not a whole safetensors file ({error})") from None
    try:
        header = json.loads(metadata[HEADER])
        return dict(header), tensors
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: a safetensors file, but not a model that dgltree saved") from None


def _digest(header: dict[str, Any], tensors: dict[str, Tensor]) -> str:
    """sha256 over the header and every tensor's name, dtype, shape and bytes, in the order of names."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
