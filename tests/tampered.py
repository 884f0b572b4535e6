"""Models that were tampered with under a right hash, as ``scripts/fuzz`` gives them to the commands.

A command refuses such a model in one line, or answers with it in text that can be read again.
"""

import copy
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from fuzzing import Target
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save

import dgltree
from dgltree import Vocabulary
from dgltree.batching.vocabulary import without_signatures
from dgltree.commands.main import main
from dgltree.datasets.settings import Reading
from dgltree.encoders import make_encoder
from dgltree.models import (
    ClassifierReadout,
    LanguageModel,
    NumberReadout,
    PairModel,
    PairReadout,
    TreeModel,
    load_language_model,
    save_language_model,
)
from dgltree.models.checkpoint import HEADER, digest
from dgltree.training.folder import WEIGHTS
from dgltree.training.model_files import READING, write_reading
from dgltree.training.trained_model import TrainedModel

TREES = "tree\nx*y\nsin(x + y)\n"
PAIRS = "left\tright\nx*y\ty*x\n"
SENTENCES = "the cat\n\nthe dog sleeps\n"
VALUES = [
    *(None, True, False, -1, 0, 1, 2, 1.5, 8000, 10**9, 10**18, 10**40, float("nan"), float("inf")),
    *("", "x", "a\nb\x1b[2J", "\ud800", [], {}, [None], ["x"], [[1]], {"a": 1}, [1, None, {}]),
]
DTYPES = [torch.complex64, torch.float64, torch.int64, torch.bool, torch.bfloat16, torch.uint8]


class Content(NamedTuple):
    """The parts of a model on disk."""

    header: Any
    tensors: dict[str, torch.Tensor]
    reading: Any


class Kind(NamedTuple):
    """A whole model, and the command that is asked to answer with it."""

    content: Content
    arguments: list[str]
    """``{folder}`` and ``{weights}`` are filled in."""
    text: str


def content_of(weights: Path, reading: Any) -> Content:
    with safe_open(weights, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return Content(json.loads(file.metadata()[HEADER]), tensors, reading)


def write(content: Content, folder: Path) -> None:
    """The folder of a model, its hash right whatever it holds."""
    header = {name: value for name, value in content.header.items() if name != "sha256"}
    header["sha256"] = digest(header, content.tensors)
    (folder / WEIGHTS).write_bytes(save(content.tensors, {HEADER: json.dumps(header)}))
    if isinstance(content.reading, dict):
        write_reading(folder, content.reading)
    else:
        (folder / READING).write_text(json.dumps(content.reading), encoding="utf-8")


def kinds() -> dict[str, Kind]:
    """Models of all kinds by what reads them out, small."""
    torch.manual_seed(0)
    vocabulary = Vocabulary.from_trees(map(dgltree.read_infix, ("x*y", "sin(x + y)")), unk=True)
    tree = TreeModel(make_encoder("tree_smu", vocabulary, 3, stack_size=2), ClassifierReadout(3, 3), ["a", "b", "c"])
    pair = PairModel(make_encoder("transformer", vocabulary, 4, num_heads=2), PairReadout(4, 2), ["<", "="])
    number = TreeModel(make_encoder("child_sum", vocabulary, 3), NumberReadout(3))
    words = Vocabulary((), ["<eos>", "<unk>", "the", "cat"], unk=True)
    language = LanguageModel(words, "on_lstm", (4, 4), {"chunk_size": 2})
    found = {}
    with TemporaryDirectory() as made:
        folder = Path(made)
        for name, model, text in (("classes", tree, TREES), ("pairs", pair, PAIRS), ("numbers", number, TREES)):
            reading = Reading(notation="infix")
            TrainedModel(model, reading).save(folder)
            content = content_of(folder / WEIGHTS, reading.to_json())
            found[name] = Kind(content, ["predict", "{folder}"], text)
        save_language_model(language, folder / WEIGHTS)
        found["words"] = Kind(content_of(folder / WEIGHTS, {}), ["parse", "{weights}"], SENTENCES)
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all parts of a JSON value, the whole one left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from places(part, (*path, key))


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """JSON with one part replaced, left out, doubled, or set in the place of another."""
    value = copy.deepcopy(value)
    *way, last = draw(st.sampled_from(list(places(value))))
    part = value
    for key in way:
        part = part[key]
    change = draw(st.sampled_from(["replace", "leave out", "add", "another's"]))
    if change == "replace":
        part[last] = draw(st.sampled_from(VALUES))
    elif change == "leave out":
        del part[last]
    elif change == "add" and isinstance(part, list):
        part.append(draw(st.sampled_from(VALUES)))
    elif change == "add":
        part[draw(st.sampled_from(["new", "", "vocabulary"]))] = draw(st.sampled_from(VALUES))
    else:
        part[last] = copy.deepcopy(draw(st.sampled_from(list(part.values() if isinstance(part, dict) else part))))
    return value


@st.composite
def spoilt_tensors(draw: st.DrawFn, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors some of which have another type, shape or name, or are missing."""
    found = dict(tensors)
    dtype = draw(st.sampled_from(DTYPES))
    for name in draw(st.just(list(tensors)) | st.lists(st.sampled_from(list(tensors)), min_size=1, max_size=1)):
        tensor = found.pop(name)
        change = draw(st.sampled_from(["dtype", "dtype", "dtype", "shape", "name", "leave out"]))
        if change == "dtype":
            found[name] = tensor.to(dtype)
        elif change == "shape":
            found[name] = tensor[None]
        elif change == "name":
            found[f"{name}.x"] = tensor
    return found


def tampered(whole: Content) -> st.SearchStrategy[Content]:
    return (
        spoilt(whole.header).map(lambda header: whole._replace(header=header))
        | spoilt_tensors(whole.tensors).map(lambda tensors: whole._replace(tensors=tensors))
        | (
            spoilt(whole.reading).map(lambda reading: whole._replace(reading=reading))
            if whole.reading
            else st.nothing()
        )
    )


def answers(kind: Kind) -> Callable[[Content], bool]:
    """What says whether the command answers with a model; a defect is an exception."""

    def run(content: Content) -> bool:
        with TemporaryDirectory() as made, printing() as (out, err):
            folder = Path(made)
            write(content, folder)
            (folder / "text.tsv").write_text(kind.text, encoding="utf-8")
            given = [each.format(folder=folder, weights=folder / WEIGHTS) for each in kind.arguments]
            code = main([*given, str(folder / "text.tsv")])
            if code == 0:
                kept(content, folder / WEIGHTS)
        said = [line for line in err.buffer.getvalue().decode().splitlines() if line.startswith("dgltree: ")]
        assert code == 0 or said, "no word about what is wrong"
        assert all(len(line) < 4000 for line in said), "a message of more than a screen"
        printed = out.buffer.getvalue().decode()
        rows = [line.split("\t") for line in printed.splitlines()] if kind.arguments[0] == "predict" else []
        assert len({len(row) for row in rows}) <= 1, "rows of different lengths"
        return code == 0

    return run


def kept(content: Content, weights: Path) -> None:
    """What was taken is taken as it is."""
    model = load_language_model(weights) if "language_model" in content.header else dgltree.load(weights)
    vocabulary = model.vocabulary if isinstance(model, LanguageModel) else model.encoder.vocabulary
    for name, value in vocabulary.to_json().items():
        assert json.dumps(value) == json.dumps(content.header["vocabulary"][name])
    assert list(getattr(model, "classes", ())) == content.header.get("classes", [])
    weights = without_signatures(model.state_dict())
    assert all(torch.equal(tensor, content.tensors[name]) for name, tensor in weights.items())


@contextmanager
def printing() -> Iterator[tuple[Any, Any]]:
    """A block that prints to memory what could be printed to a file."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=way) for way in ("strict", "backslashreplace"))
    with redirect_stdout(out), redirect_stderr(err):
        yield out, err
        sys.stdout.flush()
        sys.stderr.flush()


def tampered_targets() -> dict[str, Target]:
    """By name."""
    return {f"tampered {name}": Target(tampered(kind.content), answers(kind)) for name, kind in kinds().items()}
