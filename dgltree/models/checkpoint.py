"""Models on disk are one safetensors file each, whose header says what the weights are weights of."""

import hashlib
import json
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from dgltree.batching.vocabulary import Vocabulary, with_signatures, without_signatures
from dgltree.cells import CELLS, Aggregation, Cell, DownwardCell
from dgltree.encoders import SEQUENCE_ENCODERS, Encoder, SequenceEncoder, TreeEncoder, make_encoder
from dgltree.models.readouts import (
    ClassifierReadout,
    EquationReadout,
    GELUClassifierReadout,
    GELUPairReadout,
    NumberReadout,
    PairReadout,
)
from dgltree.models.tree_model import EquationModel, PairModel, TreeModel, kept_generators
from dgltree.read.text import one_line
from dgltree.support.files import reworded, save_tensors

MAX_HEADER_LENGTH = 2**25
"""Characters of a header: a vocabulary of a million tokens is half as long. Checked before anything is built."""
MAX_UNCHECKED = 1000
"""A number up to which options and arities are taken as they are."""
UNBOUND = ("max_length",)
"""Options that make nothing larger."""
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""The dtypes that weights may have."""
PARTS: dict[str, tuple[type, str]] = {
    "part": (str, "a string"),
    "cell": (str, "a string"),
    "encoder": (str, "a string"),
    "options": (dict, "an object"),
    "readout": (str, "a string"),
    "readout_options": (dict, "an object"),
    "classes": (list, "a list"),
    "vocabulary": (dict, "an object"),
    "language_model": (dict, "an object"),
}
"""The parts of a header that are checked: the type of each, and what JSON calls it."""
MAX_VALUE_LENGTH = 80
"""Characters of a value in a message."""
Saved = TreeModel | Encoder | Cell
Contents = tuple[dict[str, Any], dict[str, Tensor]]
"""The header and the tensors of a file."""
VERSION = 3
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
        header = {"part": "cell", "cell": _cell_name(model), "options": _plain_options(model.config)}
        vocabulary = model.vocabulary
    elif isinstance(model, Encoder):
        header = {"part": "encoder", **_encoder_header(model)}
        vocabulary = model.vocabulary
    else:
        raise ValueError(f"a {type(model).__name__} cannot be saved; give a model, an encoder or a cell of dgltree")
    write(path, model, {**header, "vocabulary": vocabulary.to_json()})


def write(
    path: str | Path,
    module: nn.Module,
    header: dict[str, Any],
) -> None:
    """Write the weights of a module, with ``header``, the format's version and a hash. Errors as of :func:`save`."""
    weights = without_signatures(module.state_dict())  # the header has the vocabulary
    tensors = {}
    for name, tensor in weights.items():
        tensors[name] = tensor.detach().cpu().contiguous()
    header = {"version": VERSION, **header}
    check_weights(tensors)
    _check_finite(tensors)
    header["sha256"] = digest(header, tensors)
    text = json.dumps(header)
    check_length(text)
    save_tensors(path, tensors, {HEADER: text})


def load_model(path: str | Path, device: str | torch.device = "cpu") -> TreeModel:
    """Read a whole model as :func:`load`. Raises ``ValueError`` for a file with an encoder or a cell alone."""
    model = load(path, device)
    if not isinstance(model, TreeModel):
        raise ValueError(f"{path}: a {type(model).__name__} without a readout, which is not a model; use dgltree.load")
    return model


def load(path: str | Path, device: str | torch.device = "cpu") -> Any:
    """Read what :func:`save` wrote, in evaluation mode, on a device, in the dtype it was saved in.

    Returns a model, an encoder or a cell, as was saved.

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
            raise ValueError("a language model; use dgltree.models.load_language_model")
        kind = "cell"
        classes: Mapping[str, type] = CELLS
        if "encoder" in header:
            kind = "encoder"
            classes = SEQUENCE_ENCODERS
        _check_known(header, kind, classes)
        check_switches(classes[header[kind]], header["options"])
        check_sizes(header, tensors)
        # First without memory, so that a header whose shapes are not those of the tensors costs nothing.
        with torch.device("meta"), WithoutInitialization():
            shapes = _build(header, kind)
            shapes.load_state_dict(with_signatures(shapes, tensors), assign=True)
        model = _build(header, kind)
        model.to(next(iter(tensors.values())).dtype)
        model.load_state_dict(with_signatures(model, tensors))
    return model.eval().to(device)


@contextmanager
def reading(path: str | Path) -> Iterator[Contents]:
    """A block with the header and the tensors of a file, whole and as they were written.

    What is wrong with the file, or what the block finds wrong with it, is a ``ValueError`` with its name; other errors
    as of :func:`load`.
    """
    header, tensors = _read(Path(path))
    try:
        if header["version"] != VERSION:
            raise ValueError(f"format version {header['version']}; this release reads version {VERSION}")
        if header.pop("sha256") != digest(header, tensors):
            raise ValueError("the contents do not match their hash: the file was changed or damaged")
        check_parts(header)
        check_weights(tensors)
        _check_finite(tensors)
        with kept_generators():  # the first weights of a module are drawn before it has those of the file
            yield header, tensors
    except KeyError as error:
        raise ValueError(f"{path}: its header lacks {error}") from None
    except (AttributeError, TypeError) as error:
        raise ValueError(f"{path}: its header describes no model ({_one_line(error)})") from None
    except (RuntimeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path}: {_one_line(error)}") from None


def check_parts(header: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a part of a header of another kind, and for classes that are not all different texts.

    A right hash does not say so: it is of what was written, by whomever.
    """
    for name, (kind, json_name) in PARTS.items():
        if name in header and not isinstance(header[name], kind):
            raise ValueError(f"its header has {_brief(header[name])} as {name}; it must be {json_name}")
    check_classes(header.get("classes", []))


def check_classes(classes: Any) -> None:
    """Raise ``ValueError`` for names of classes that are not texts, or that occur twice."""
    names = set()
    for name in classes:
        if not isinstance(name, str):
            raise ValueError(f"a class is named {_brief(name)}; a name must be a string")
        if name in names:
            raise ValueError(f"two classes are named {_brief(name)}; give each class a different name")
        names.add(name)


def check_switches(module_class: type, options: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for an option of a class that is true or false, and has another value: a network takes any.

    Options that a base class takes are in the signature of its own constructor.
    """
    for cls in module_class.__mro__:
        for name, parameter in signature(cls.__init__).parameters.items():  # type: ignore[misc]
            if parameter.annotation is bool and not isinstance(options.get(name, False), bool):
                raise ValueError(f"its option {name} is {_brief(options[name])}; it must be true or false")


def check_sizes(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Raise ``ValueError`` if a header asks for more than the file has weights for.

    Every size is at most the number of weights, layers are at most as many as tensors, and a cell other than one that
    adds up its children has weights for each of them. Whether each tensor has its shape is seen later, without memory.
    """
    weights = max(MAX_UNCHECKED, sum(tensor.numel() for tensor in tensors.values()))
    for options in (header["options"], header.get("readout_options", {})):
        for name, value in options.items():
            if name in UNBOUND or not isinstance(value, int):
                continue
            most = len(tensors) if name in ("num_layers", "rounds") else weights
            if value > most:
                raise ValueError(
                    f"its header declares {name} {value:,}, but the file has only {len(tensors)} tensors with "
                    f"{weights:,} weights"
                )
    cell = CELLS.get(header.get("cell", ""))
    if cell is not None and not cell.any_arity:
        children = sum(Vocabulary.from_json(header["vocabulary"]).arities)
        if children > weights:
            raise ValueError(f"its functions have {children:,} children, more than the {weights:,} weights of the file")
    classes = header.get("classes", ())
    count = header.get("readout_options", {}).get("classes")
    if classes and len(classes) != count:
        raise ValueError(f"its header names {len(classes)} classes, but its readout has {count}")


def check_weights(tensors: Mapping[str, Tensor]) -> None:
    """Raise ``ValueError`` for weights that are not real floating-point numbers or of several dtypes, and for none."""
    if not tensors:
        raise ValueError("it has no weights")
    first = min(tensors)
    first_dtype = _dtype_name(tensors[first])
    for name, tensor in sorted(tensors.items()):
        dtype = _dtype_name(tensor)
        if tensor.dtype not in DTYPES:
            dtypes = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
            raise ValueError(f"the weights {one_line(name)!r} are {dtype}; they must be one of {dtypes}")
        if dtype != first_dtype:
            raise ValueError(
                f"the weights {one_line(first)!r} are {first_dtype}, {one_line(name)!r} are {dtype}; "
                "all must have one dtype"
            )


def _dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _check_finite(tensors: dict[str, Tensor]) -> None:
    """Raise ``ValueError`` for a weight that is NaN or infinite: every answer would be NaN without a word."""
    for name, tensor in sorted(tensors.items()):
        finite = tensor.isfinite()
        if not bool(finite.all()):
            wrong = tensor[~finite]
            count = f"{len(wrong)} of {tensor.numel()} weights of {name!r}"
            raise ValueError(f"{count} are not finite: {wrong[0]:g}")


def _check_known(
    header: dict[str, Any],
    kind: str,
    classes: Mapping[str, type],
) -> None:
    """Raise ``ValueError`` for a cell, encoder, readout or part of a model that there is none of."""
    part = header.get("part")
    is_known = header[kind] in classes
    own = "" if kind == "cell" else "; if it is yours, first put its class into dgltree.encoders.SEQUENCE_ENCODERS"
    if part is None:
        readout = header["readout"]
        if not is_known or readout not in ("equation", *READOUTS):
            raise ValueError(
                f"the file contains a {header[kind]!r} {kind} with a {readout!r} readout, which this release cannot "
                f"read{own}"
            )
    elif part not in ("encoder", kind):
        raise ValueError(f"the file contains a part called {part!r}, which this release cannot read")
    elif not is_known:
        raise ValueError(f"the file contains a {header[kind]!r} {kind}, which this release cannot read{own}")


def _build(header: dict[str, Any], kind: str) -> Saved:
    """The module that a header describes, with its first weights."""
    vocabulary = Vocabulary.from_json(header["vocabulary"])
    if header.get("part") == "cell":
        return CELLS[header["cell"]](vocabulary, **header["options"])
    encoder = make_encoder(header[kind], vocabulary, **header["options"])
    if header.get("part") == "encoder":
        return encoder
    if header["readout"] == "equation":
        return EquationModel(encoder, EquationReadout())
    readout_class, model_class = READOUTS[header["readout"]]
    readout = readout_class(**header["readout_options"])
    return model_class(encoder, readout, header["classes"])


class WithoutInitialization(TorchFunctionMode):
    """A block that leaves out the functions of torch.nn.init.

    On the meta device they do nothing, but import a compiler first.
    """

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def parse_header(text: str) -> dict[str, Any]:
    """The JSON of a header. Raises ``ValueError`` for what is longer, nested more deeply, or no object."""
    check_length(text)
    try:
        header = json.loads(text)
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    return header


def check_length(text: str) -> None:
    """Raise ``ValueError`` for a header that is too long to be read again."""
    if len(text) > MAX_HEADER_LENGTH:
        raise ValueError(f"its header has {len(text):,} characters; at most {MAX_HEADER_LENGTH:,} are read")


def _read(path: Path) -> Contents:
    """The header and the tensors of a file, as they are."""
    from safetensors import SafetensorError, safe_open

    try:
        path.open("rb").close()  # safetensors does not say why it cannot
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except OSError as error:
        raise reworded(error, f"{path} cannot be read: {error.strerror}") from None
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a dict)
    except SafetensorError as error:
        raise ValueError(f"{path}: an incomplete safetensors file ({error})") from None
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
        kind = f"{name} {tensor.dtype} {tuple(tensor.shape)}"
        digest.update(kind.encode())
        if tensor.numel():  # of none torch may have a stride that cannot be viewed as bytes
            elements = tensor.contiguous().view(torch.uint8)
            digest.update(elements.numpy().tobytes())
    return digest.hexdigest()


def _encoder_header(encoder: Encoder) -> dict[str, Any]:
    """The name of a cell, or of an encoder of sequences, and the options."""
    if isinstance(encoder, TreeEncoder):
        return {"cell": _cell_name(encoder.cell), "options": _plain_options(encoder.config)}
    if isinstance(encoder, SequenceEncoder):
        if encoder.name not in SEQUENCE_ENCODERS:
            raise ValueError(
                f"{encoder.name} is not in dgltree.encoders.SEQUENCE_ENCODERS; register it to save and load it"
            )
        return {"encoder": encoder.name, "options": encoder.config}
    raise ValueError(f"a {type(encoder).__name__} cannot be saved; give a TreeEncoder or a SequenceEncoder")


def _plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options, which are plain values. Raises ``ValueError`` for an aggregation or a downward cell without
    a name."""
    for option, value in options.items():
        if isinstance(value, DownwardCell):
            raise ValueError(f"{option} is a {type(value).__name__} object, which cannot be saved; use context='down'")
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
    names = ["EquationReadout"]
    names += [readout.__name__ for readout, _ in READOUTS.values()]
    registered = ", ".join(names)
    raise ValueError(f"a {type(model.readout).__name__} cannot be saved; give one of {registered}")


def _brief(value: Any) -> str:
    return one_line(repr(value), MAX_VALUE_LENGTH)


def _one_line(error: Exception) -> str:
    """The beginning of a message: torch names every tensor that does not fit, each on a line of its own."""
    message = str(error)
    return textwrap.shorten(message, 400, placeholder=" ...")
