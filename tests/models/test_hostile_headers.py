"""Model files whose headers ask for absurd things: refused by name, before anything is built."""

import copy
import json
import random
import resource
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import random_tree
from rows import ENCODERS
from safetensors import safe_open
from safetensors.torch import save_file

import dgltree
from dgltree import Vocabulary
from dgltree.cells import CELLS
from dgltree.encoders import SEQUENCE_ENCODERS, make_encoder
from dgltree.models import PairModel, PairReadout, checkpoint
from dgltree.models.checkpoint import check_sizes

TREES = [random_tree(3, 2, seed) for seed in range(4)]
MODELS = ("tree_smu", "child_sum", "on_lstm", "ordered_memory", "transformer", "universal_transformer")
HOSTILE = [-1, 0, 1.5, 8000, 10**6, 10**9, 10**18, 10**40, float("nan"), "x", None, True, [], {}, [[[[]]]], {"a": [1]}]


def model_file(name: str, path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """A model of pairs, its header and its weights."""
    encoder = make_encoder(name, Vocabulary.from_trees(TREES), 12, **ENCODERS.get(name, {}))
    dgltree.save(PairModel(encoder, PairReadout(12, 3), ["<", "=", ">"]), path)
    with safe_open(path, framework="pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return json.loads(file.metadata()[checkpoint.HEADER]), tensors


def write(path: Path, header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    header["sha256"] = checkpoint.digest({k: v for k, v in header.items() if k != "sha256"}, tensors)
    save_file(tensors, path, metadata={checkpoint.HEADER: json.dumps(header)})


def most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize(
    ("name", "option", "size"),
    [
        ("tree_smu", "hidden_size", 9000),
        ("tree_smu", "stack_size", 10**9),
        ("tree_lstm", "input_size", 10**8),
        ("on_lstm", "num_layers", 10**8),
        ("lstm", "num_layers", 10**5),
        ("transformer", "num_layers", 10**5),
        ("transformer", "feedforward_size", 10**8),
        ("ordered_memory", "num_evaluation_slots", 10**10),
        ("universal_transformer", "num_steps", 10**10),
    ],
)
def test_an_absurd_size_takes_no_memory(name: str, option: str, size: int, tmp_path: Path) -> None:
    header, tensors = model_file(name, tmp_path / "model")
    header["options"][option] = size
    write(tmp_path / "model", header, tensors)
    before = most_memory()
    with pytest.raises(ValueError, match=r"model: .*(its header declares|size mismatch|divides|is all units)"):
        dgltree.load(tmp_path / "model")
    assert most_memory() - before < 200e6


def test_a_function_of_a_billion_children_is_refused(tmp_path: Path) -> None:
    header, tensors = model_file("tree_lstm", tmp_path / "model")
    header["vocabulary"]["functions"].append(["call", 10**9])
    write(tmp_path / "model", header, tensors)
    with pytest.raises(ValueError, match=r"model: its functions have 1,000,000,\d+ children"):
        dgltree.load(tmp_path / "model")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, '{"version": ' + "[" * 900 + "]" * 900 + "}", "[]"])
def test_a_header_nested_too_deeply_is_no_model(text: str, tmp_path: Path) -> None:
    save_file({"w": torch.zeros(2)}, tmp_path / "model", metadata={checkpoint.HEADER: text})
    with pytest.raises(ValueError, match=r"model: .*"):
        dgltree.load(tmp_path / "model")


def test_a_header_too_long_is_neither_read_nor_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_file("tree_lstm", tmp_path / "model")
    monkeypatch.setattr("dgltree.models.checkpoint.MAX_HEADER_LENGTH", 100)
    with pytest.raises(ValueError, match=r"model: .*its header has \d+ characters; at most 100 are read"):
        dgltree.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"its header has \d+ characters"):
        model_file("tree_lstm", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_names_of_classes_are_as_many_as_the_readout_has(tmp_path: Path) -> None:
    header, tensors = model_file("tree_lstm", tmp_path / "model")
    header["classes"].append("new")
    write(tmp_path / "model", header, tensors)
    with pytest.raises(ValueError, match="its header names 4 classes, but its readout has 3"):
        dgltree.load(tmp_path / "model")


def places(value: Any, path: tuple = ()) -> list[tuple]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


@pytest.mark.parametrize("name", MODELS)
def test_a_damaged_header_is_one_line_that_names_the_file(name: str, tmp_path: Path) -> None:
    header, tensors = model_file(name, tmp_path / "model")
    rng, before, refused = random.Random(0), most_memory(), 0
    for _ in range(120):
        damaged = copy.deepcopy(header)
        *way, last = rng.choice([place for place in places(header) if place])
        part = damaged
        for key in way:
            part = part[key]
        part[last] = rng.choice(HOSTILE)
        if rng.random() < 0.2:
            del part[last]
        write(tmp_path / "model", damaged, tensors)
        try:
            dgltree.load(tmp_path / "model")
        except ValueError as error:
            refused += 1
            assert str(error).startswith(f"{tmp_path / 'model'}: ")
            assert len(str(error).splitlines()) == 1
    assert refused > 50
    assert most_memory() - before < 300e6


@pytest.mark.parametrize("name", [*CELLS, *SEQUENCE_ENCODERS])
def test_a_whole_file_loads_and_draws_no_random_numbers_of_the_caller(name: str, tmp_path: Path) -> None:
    model_file(name, tmp_path / "model")
    before = torch.get_rng_state()
    model = dgltree.load(tmp_path / "model")
    assert torch.equal(before, torch.get_rng_state())
    assert all(not tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))


@pytest.mark.parametrize(("layers", "refused"), [(2, False), (3, True)])
def test_layers_are_at_most_as_many_as_tensors(layers: int, refused: bool) -> None:
    tensors = {name: torch.zeros(10, 10) for name in "ab"}
    with (
        pytest.raises(ValueError, match="declares num_layers 3, but the file has only 2 tensors")
        if refused
        else nullcontext()
    ):
        check_sizes({"options": {"num_layers": layers, "hidden_size": 10}}, tensors)
