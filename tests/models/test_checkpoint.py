"""A loaded model is the saved one: each kind of model, encoder, cell and readout, and the shipped files.

Saving is all or nothing. A file that is foreign, truncated, changed, or of weights that are not finite is refused by
name.
"""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from disks import full_disk, read_only_folder
from helpers import VOCABULARY, random_tree
from rows import make_cell, make_sequence_encoder
from safetensors import safe_open
from safetensors.torch import save_file

import dgltree
from dgltree import Vocabulary, batch
from dgltree.cells import TreeRNN
from dgltree.encoders import Encoder, TreeEncoder, make_encoder
from dgltree.models import (
    ClassifierReadout,
    EquationModel,
    EquationReadout,
    PairModel,
    PairReadout,
    TreeModel,
    checkpoint,
)
from dgltree.read.bracket import read_unlabelled
from dgltree.read.infix import read_infix

SHIPPED = Path(dgltree.__file__).parent / "data"


def make_model(name: str = "tree_smu, no_op") -> EquationModel:
    return EquationModel(TreeEncoder(make_cell(name, seed=1).float()), EquationReadout())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    dgltree.save(make_model(), path)
    return path


def rewrite(path: Path, change) -> None:
    """Write the file anew with a changed header or changed tensors, under the old hash."""
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()[checkpoint.HEADER])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(header, tensors)
    save_file(tensors, path, metadata={checkpoint.HEADER: json.dumps(header)})


def rehash(header, tensors) -> None:
    header["sha256"] = checkpoint.digest({k: v for k, v in header.items() if k != "sha256"}, tensors)


@pytest.mark.parametrize(
    ("name", "options"),
    [("ordered_memory", {"num_slots": 3, "order": "leaves"}), ("lstm", {}), ("tree_transformer", {"path_length": 2})],
)
def test_a_model_of_pairs_is_loaded_with_its_classes(name: str, options: dict, tmp_path: Path) -> None:
    trees = [random_tree(3, 2, seed) for seed in range(4)]
    encoder = make_encoder(name, Vocabulary.from_trees(trees), 8, **options)
    model = PairModel(encoder, PairReadout(8, 3, dropout=0.5), ["<", "=", ">"]).eval()
    dgltree.save(model, tmp_path / "model")
    loaded = dgltree.load(tmp_path / "model")
    assert loaded.classes == ("<", "=", ">")
    assert loaded.readout.config == model.readout.config
    assert loaded.encoder.config == encoder.config
    flat = batch(trees, encoder.vocabulary)
    before, after = model.state_dict(), loaded.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    torch.testing.assert_close(loaded(flat), model(flat))  # a product rounds by where its rows lie in memory
    with pytest.raises(ValueError, match=r"reads no equations but classifies into <, =, >: use dgltree\.load"):
        dgltree.open_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("default", "1dfc6ad28bd243d35c11d72d099319bc76aa76a1c53e4f27dbf89040d16ffe2f"),
        ("listops", "ad04f07e11e19b977b1c6ce484d9354f7f065bf2cde5491ffea6e1ad8c290a54"),
        ("logic", "89f580d2166a2760ed5876b40cb26d048490908b19eb9b86d9e9efba023cea8d"),
    ],
)
def test_a_shipped_model_is_what_save_writes_today_with_the_weights_that_were_trained(
    name: str, digest: str, tmp_path: Path
) -> None:
    shipped = SHIPPED / f"{name}.safetensors"
    dgltree.save(dgltree.load(shipped), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == shipped.read_bytes(), "its format or its options are of another version"
    weights = hashlib.sha256()
    with safe_open(shipped, "pt") as file:
        for key in sorted(file.keys()):
            tensor = file.get_tensor(key)
            weights.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}".encode())
            weights.update(tensor.numpy().tobytes())
    assert weights.hexdigest() == digest


@pytest.mark.parametrize(
    ("name", "read", "texts", "logits"),
    [
        ("default", read_infix, ("sin(x)^2", "1 - cos(x)^2", "x + x", "2*x"), [0.6799536, -0.6308022]),
        (
            "logic",
            read_unlabelled,
            ("( a ( or ( not b ) ) )", "( a ( or b ) )"),
            [-0.1744, -4.5008, -11.3956, -2.4072, -1.6479, 11.0753, -8.5903],
        ),
    ],
)
def test_a_shipped_model_answers_as_when_it_was_trained(name: str, read: Any, texts: Any, logits: Any) -> None:
    model = dgltree.load(SHIPPED / f"{name}.safetensors").float()
    found = model(batch([read(text) for text in texts], model.encoder.vocabulary)).squeeze()
    torch.testing.assert_close(found, torch.tensor(logits), rtol=0, atol=1e-4)


def test_an_encoder_that_no_file_can_name_is_not_saved(tmp_path: Path) -> None:
    class Own(Encoder):
        def forward(self, batch, share=False):
            return torch.zeros(len(batch), 8)

    with pytest.raises(ValueError, match="a Own cannot be saved; give a TreeEncoder or a SequenceEncoder"):
        dgltree.save(TreeModel(Own(), ClassifierReadout(8, 3)), tmp_path / "model")


def test_a_readout_that_a_file_cannot_name_is_not_saved(tmp_path: Path) -> None:
    model = make_model()
    model.readout = torch.nn.Identity()
    with pytest.raises(ValueError, match="a Identity cannot be saved; give one of EquationReadout, PairReadout"):
        dgltree.save(model, tmp_path / "model")


def test_an_interrupted_save_leaves_the_old_file_and_nothing_beside_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def interrupted(tensors, beside, metadata) -> None:
        Path(beside).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("safetensors.torch.save_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dgltree.save(make_model("tree_lstm"), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_that_may_not_be_read_and_a_folder_are_told_as_such(path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="cannot be read: Is a directory"):
        dgltree.load(path.parent)
    told = pytest.raises(PermissionError, match=r"model.safetensors cannot be read: Permission denied")
    with read_only_folder(("model.safetensors", ""), mode=0) as folder, told:
        dgltree.load(folder / "model.safetensors")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_finite_numbers_are_neither_saved_nor_loaded(number: float, path: Path) -> None:
    model = make_model()
    with torch.no_grad():
        model.readout.bias[0] = number
    message = "1 of 1 weights of 'readout.bias' are not finite"
    with pytest.raises(ValueError, match=message):
        dgltree.save(model, path)

    def spoil(header, tensors) -> None:
        tensors["readout.bias"][0] = number
        rehash(header, tensors)

    dgltree.load(path)
    rewrite(path, spoil)
    with pytest.raises(ValueError, match=message):
        dgltree.load(path)


def test_a_model_on_a_full_disk_is_an_os_error(path: Path) -> None:
    before = path.read_bytes()
    with full_disk(), pytest.raises(OSError, match="cannot be written"):
        dgltree.save(make_model(), path)
    assert path.read_bytes() == before


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing: no such file"):
        dgltree.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a model at all",
        b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ",
        pickle.dumps({"weights": 1}),
        json.dumps({"version": 1}).encode(),
    ],
)
def test_foreign_files_are_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(ValueError, match=r"model: (an incomplete safetensors file|.*not a model that dgltree saved)"):
        dgltree.load(tmp_path / "model")


@pytest.mark.parametrize("kept", [4, 50, 5000, -1])
def test_truncated_files_are_refused(kept: int, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"an incomplete safetensors file \("):
        dgltree.load(path)


def test_safetensors_of_others_are_refused(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(2)}, tmp_path / "model", metadata={"format": "pt"})
    with pytest.raises(ValueError, match="not a model that dgltree saved"):
        dgltree.load(tmp_path / "model")


def test_a_changed_header_or_weight_is_noticed(path: Path) -> None:
    original = path.read_bytes()
    rewrite(path, lambda header, tensors: header["options"].update(stack_size=7))
    with pytest.raises(ValueError, match="do not match their hash"):
        dgltree.load(path)
    path.write_bytes(original)
    rewrite(path, lambda header, tensors: tensors["readout.bias"].add_(1))
    with pytest.raises(ValueError, match="do not match their hash"):
        dgltree.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.update(version=99), "format version 99; this release reads version 3"),
        (lambda header: header.update(cell="tree_transformer"), "'tree_transformer' cell"),
        (lambda header: header.update(cell="tree_lstm", options={"hidden_size": 5}), "size mismatch|Missing key"),
        (lambda header: header["vocabulary"]["tokens"].append("new"), "size mismatch"),
        (lambda header: header["options"].update(color="red"), "color"),
        (lambda header: header.pop("vocabulary"), "vocabulary"),
    ],
)
def test_weights_of_another_cell_vocabulary_or_version_are_refused(change, message: str, path: Path) -> None:
    def both(header, tensors) -> None:
        change(header)
        rehash(header, tensors)

    rewrite(path, both)
    with pytest.raises(ValueError, match=message):
        dgltree.load(path)


def test_a_cell_that_is_not_registered_is_not_saved(tmp_path: Path) -> None:
    class Own(TreeRNN):
        pass

    own = make_model("tree_rnn")
    own.encoder.cell.__class__ = Own
    with pytest.raises(ValueError, match="Own is not in dgltree"):
        dgltree.save(own, tmp_path / "model")


PARTS = {
    "an encoder of sequences": lambda: make_sequence_encoder("lstm", VOCABULARY),
    "an encoder of trees": lambda: TreeEncoder(make_cell("tree_smu, no_op").float(), pooling="mean"),
    "a cell": lambda: make_cell("tree_lstm, leaf gates").float(),
}


@pytest.mark.parametrize("kind", PARTS)
def test_an_encoder_or_a_cell_alone_is_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    part = PARTS[kind]()
    dgltree.save(part, tmp_path / "part.safetensors")
    loaded = dgltree.load(tmp_path / "part.safetensors")
    assert type(loaded) is type(part)
    assert loaded.config == part.config
    assert loaded.vocabulary == part.vocabulary
    assert not loaded.training
    assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in part.state_dict().items())
    with pytest.raises(ValueError, match=rf"a {type(part).__name__} without a readout, which is not a model"):
        dgltree.open_model(tmp_path / "part.safetensors")


def test_a_part_that_this_release_does_not_know_is_refused(path: Path) -> None:
    rewrite(path, lambda header, tensors: (header.update(part="decoder"), rehash(header, tensors)))
    with pytest.raises(ValueError, match="the file contains a part called 'decoder', which this release cannot read"):
        dgltree.load(path)


def test_what_is_no_part_of_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a Linear cannot be saved; give a model, an encoder or a cell of dgltree"):
        dgltree.save(torch.nn.Linear(2, 3), tmp_path / "part")
