"""Models on disk: one safetensors file, whose header says what the weights are weights of."""

import hashlib
import json
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS, Aggregation, Cell
from dgltree.cells.vocabulary_signature import with_signatures, without_signatures
from dgltree.encoders import SEQUENCE_ENCODERS, Encoder, SequenceEncoder, TreeEncoder, make_encoder
from dgltree.files import save_tensors
from dgltree.models.bounds import check_length, check_sizes, parse_header
from dgltree.models.contents import check_classes, check_parts, check_switches, check_weights
from dgltree.models.readouts import (
    ClassifierReadout,
    EquationReadout,
    GELUClassifierReadout,
    GELUPairReadout,
    NumberReadout,
    PairReadout,
)
from dgltree.models.tree_model import EquationModel, PairModel, TreeModel

Saved = TreeModel | Encoder | Cell
VERSION = 3
OPTIONS_OF_2 = {
    "layers": "num_layers",
    "heads": "num_heads",
    "feedforward": "feedforward_size",
    "slots": "num_slots",
    "evaluation_slots": "num_evaluation_slots",
    "steps": "num_steps",
}
"""Options of cells and encoders by their names in format 2, with their names now."""
OPTIONS_SINCE: dict[str, dict[str, Any]] = {
    "gumbel_tree": {"composed": "pairs"},
    "crvnn": {"merged_by": "existence"},
    "beam_tree": {"handed_on": "mean"},
    "efficient_beam_tree": {"handed_on": "mean"},
}
"""Options of encoders that are newer than format 3, with what was done before them: what files without them do."""
HEADER = "dgltree"  # the key of our JSON in the file's metadata
READOUTS: dict[str, tuple[type[Any], type[TreeModel]]] = {
    "pair": (PairReadout, PairModel),
    "classifier": (ClassifierReadout, TreeModel),
    "number": (NumberReadout, TreeModel),
    "gelu_pair": (GELUPairReadout, PairModel),
    "gelu_classifier": (GELUClassifierReadout, TreeModel),
}
"""Readouts by name, in addition to that of equations, and the models that they are part of."""


def save(model: Saved, path: str | Path) -> None:
    """Write a model: its weights, and as JSON what it is made of, the vocabulary, the format's version and a hash.

    Examples:
        >>> import tempfile, dgltree
        >>> from dgltree.cells import TreeLSTM
        >>> vocabulary = dgltree.Vocabulary.from_trees([dgltree.read_infix("x + 1")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dgltree.save(TreeLSTM(vocabulary, hidden_size=8), f"{folder}/cell.safetensors")
        ...     type(dgltree.load(f"{folder}/cell.safetensors")).__name__
        'TreeLSTM'

    Or an encoder or a cell without what follows it, such as one to begin another training with.

    An existing file is replaced at once or left as it was. Raises ``ValueError`` for an encoder or cell that is not
    registered, for another readout than those of :mod:`dgltree.models.readouts`, for a vocabulary too long to read, for
    classes whose names are not all different texts, and for weights that are not finite or not of one floating-point
    dtype, and ``OSError`` if the file cannot be written.

    See also: :func:`dgltree.load`.
    """
    if isinstance(model, TreeModel):
        header = {**_encoder_header(model.encoder), **_readout_header(model)}
        vocabulary = model.encoder.vocabulary
    elif isinstance(model, Cell):
        header = {"part": "cell", "cell": _cell_name(model), "options": _named(model.config)}
        vocabulary = model.vocabulary
    elif isinstance(model, Encoder):
        header, vocabulary = {"part": "encoder", **_encoder_header(model)}, model.vocabulary
    else:
        raise ValueError(f"a {type(model).__name__} cannot be saved; a model, an encoder or a cell of dgltree can")
    write(path, model, {**header, "vocabulary": vocabulary.to_json()})


def write(path: str | Path, module: nn.Module, header: dict[str, Any]) -> None:
    """Write the weights of a module, with ``header``, the format's version and a hash. Errors as of :func:`save`."""
    weights = without_signatures(module.state_dict())  # the header has the vocabulary
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    header = {"version": VERSION, **header}
    check_weights(tensors)
    _check_finite(tensors)
    header["sha256"] = digest(header, tensors)
    text = json.dumps(header)
    check_length(text)
    save_tensors(path, tensors, {HEADER: text})


def load_model(path: str | Path, device: str | torch.device = "cpu") -> TreeModel:
    """:func:`load` for a whole model; ``ValueError`` for a file with an encoder or a cell alone."""
    model = load(path, device)
    if not isinstance(model, TreeModel):
        raise ValueError(
            f"{path}: a {type(model).__name__} without a readout, which is not a model; dgltree.load reads it"
        )
    return model


def load(path: str | Path, device: str | torch.device = "cpu") -> Any:
    """Read what :func:`save` wrote, in evaluation mode, on a device, in the dtype it was saved in.

    Returns a model, an encoder or a cell, as was saved. Files of format 2 are read, too.

    What reads equations is an :class:`dgltree.models.EquationModel`, what reads other pairs of trees a
    :class:`dgltree.models.PairModel`.

    Raises ``FileNotFoundError``, and ``ValueError`` for a file that is not a safetensors file, is truncated, was not
    written by dgltree, has a version, cell, encoder or readout this release does not know, whose contents do not
    match their hash or their header, whose header has parts that no model is made of, or that has weights that are not
    finite or not of one floating-point dtype; ``OSError`` for what cannot be read.
    Nothing is allocated before the header's sizes are found to be those of the file.
    """
    with reading(path) as (header, tensors):
        if "language_model" in header:
            raise ValueError("a language model; dgltree.models.load_language_model reads it")
        if header["version"] == 2:
            header = from_format_2(header)
        since = OPTIONS_SINCE.get(header.get("encoder", ""), {})
        header["options"] = {**since, **header["options"]}
        kind = "encoder" if "encoder" in header else "cell"
        known: Mapping[str, type] = SEQUENCE_ENCODERS if kind == "encoder" else CELLS
        _check_known(header, kind, known)
        check_switches(known[header[kind]], header["options"])
        check_sizes(header, tensors)
        with torch.device("meta"), WithoutInitialization():  # shapes without memory
            shapes = _made(header, kind)
            shapes.load_state_dict(with_signatures(shapes, tensors), assign=True)
        model = _made(header, kind)
        model.to(next(iter(tensors.values())).dtype)
        model.load_state_dict(with_signatures(model, tensors))
    return model.eval().to(device)


@contextmanager
def reading(path: str | Path) -> Iterator[tuple[dict[str, Any], dict[str, Tensor]]]:
    """A block with the header and the tensors of a file, whole and as they were written.

    What is wrong with the file, or what the block finds wrong with it, is a ``ValueError`` with its name; other errors
    as of :func:`load`.
    """
    header, tensors = _read(Path(path))
    try:
        if header["version"] not in (2, VERSION):
            raise ValueError(f"format version {header['version']}; this release reads versions 2 and {VERSION}")
        if header.pop("sha256") != digest(header, tensors):
            raise ValueError("the contents do not match their hash: the file was changed or damaged")
        check_parts(header)
        check_weights(tensors)
        _check_finite(tensors)
        yield header, tensors
    except KeyError as error:
        raise ValueError(f"{path}: its header lacks {error}") from None
    except (AttributeError, TypeError) as error:
        raise ValueError(f"{path}: its header describes no model ({_one_line(error)})") from None
    except (RuntimeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path}: {_one_line(error)}") from None


class WithoutInitialization(TorchFunctionMode):
    """Leaves out the functions of torch.nn.init: on the meta device they do nothing, after importing a compiler."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def _one_line(error: Exception) -> str:
    """Torch names every tensor that does not fit on a line of its own; the first few do."""
    return textwrap.shorten(str(error), 400, placeholder=" ...")


def from_format_2(header: dict[str, Any]) -> dict[str, Any]:
    """A header of format 2 as one of format 3, which differs by names of options."""
    options = {OPTIONS_OF_2.get(name, name): value for name, value in header["options"].items()}
    return {**header, "version": 3, "options": options}


def _encoder_header(encoder: Encoder) -> dict[str, Any]:
    """A cell's name, or that of an encoder of sequences, and the options."""
    if isinstance(encoder, TreeEncoder):
        return {"cell": _cell_name(encoder.cell), "options": _named(encoder.config)}
    if isinstance(encoder, SequenceEncoder):
        if encoder.name not in SEQUENCE_ENCODERS:
            raise ValueError(
                f"{encoder.name} is not in dgltree.encoders.SEQUENCE_ENCODERS; register it to save and load it"
            )
        return {"encoder": encoder.name, "options": encoder.config}
    raise ValueError(f"a {type(encoder).__name__} cannot be saved; a TreeEncoder and a SequenceEncoder can")


def _named(options: dict[str, Any]) -> dict[str, Any]:
    """The options, which are plain values. ``ValueError`` for an aggregation that has no name."""
    for option, value in options.items():
        if isinstance(value, Aggregation):
            raise ValueError(
                f"{option} is a {type(value).__name__}, which is not in dgltree.cells.AGGREGATIONS; register it to "
                "save and load it"
            )
    return options


def _cell_name(cell: Cell) -> str:
    for name, cls in CELLS.items():
        if type(cell) is cls:
            return name
    raise ValueError(f"{type(cell).__name__} is not in dgltree.cells.CELLS; register it to save and load it")


def _readout_header(model: TreeModel) -> dict[str, Any]:
    if isinstance(model.readout, EquationReadout):
        return {"readout": "equation"}
    for name, (readout, _) in READOUTS.items():
        if type(model.readout) is readout:
            check_classes(model.classes)
            return {"readout": name, "readout_options": model.readout.config, "classes": model.classes}
    known = ", ".join(["EquationReadout", *(readout.__name__ for readout, _ in READOUTS.values())])
    raise ValueError(f"a {type(model.readout).__name__} cannot be saved; one of {known} can")


def _check_known(header: dict[str, Any], kind: str, known: Mapping[str, type]) -> None:
    """``ValueError`` for a cell, encoder, readout or part of a model that there is none of."""
    part = header.get("part")
    if part is None:
        if header[kind] not in known or header["readout"] not in ("equation", *READOUTS):
            raise ValueError(f"a {header[kind]!r} {kind} with a {header['readout']!r} readout, unknown to this release")
    elif part not in ("encoder", kind):
        raise ValueError(f"a part of a model called {part!r}, unknown to this release")
    elif header[kind] not in known:
        raise ValueError(f"a {header[kind]!r} {kind}, unknown to this release")


def _made(header: dict[str, Any], kind: str) -> Saved:
    vocabulary = Vocabulary.from_json(header["vocabulary"])
    if header.get("part") == "cell":
        return CELLS[header["cell"]](vocabulary, **header["options"])
    encoder = make_encoder(header[kind], vocabulary, **header["options"])
    if header.get("part") == "encoder":
        return encoder
    if header["readout"] == "equation":
        return EquationModel(encoder, EquationReadout())
    readout, model = READOUTS[header["readout"]]
    return model(encoder, readout(**header["readout_options"]), header["classes"])


def _check_finite(tensors: dict[str, Tensor]) -> None:
    """``ValueError`` naming the first weight that is NaN or infinite: every answer would be NaN without a word."""
    for name, tensor in sorted(tensors.items()):
        if not bool(tensor.isfinite().all()):
            wrong = tensor[~tensor.isfinite()]
            raise ValueError(f"{len(wrong)} of {tensor.numel()} weights of {name!r} are not finite: {wrong[0]:g}")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    try:
        path.open("rb").close()  # safetensors does not say why it cannot
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror}") from None
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a dict)
    except SafetensorError as error:
        raise ValueError(f"{path}: not a whole safetensors file ({error})") from None
    if HEADER not in metadata:
        raise ValueError(f"{path}: a safetensors file, but not a model that dgltree saved")
    try:
        return parse_header(metadata[HEADER]), tensors
    except ValueError as error:
        raise ValueError(f"{path}: a safetensors file, but not a model that dgltree saved ({error})") from None


def digest(header: dict[str, Any], tensors: dict[str, Tensor]) -> str:
    """sha256 over the header and every tensor's name, dtype, shape and bytes, in the order of names."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        if tensor.numel():  # of none torch may have a stride that cannot be viewed as bytes
            digest.update(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
