"""``dgltree embed``: vectors without labels, and the commands that take them."""

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from own_trees import QUIET, SMALL, expression, rows_of, table

import dgltree
from dgltree import Tree, TreeDataset
from dgltree.commands.main import main
from dgltree.explore.open_models import open_all
from dgltree.models import load
from dgltree.read.text import brief
from dgltree.read.words import read_sentence
from dgltree.training import embedding
from dgltree.training.embedding import autoencoding, embed
from dgltree.training.folder import read_epochs
from dgltree.training.unlabelled import UnlabelledBatches, UnlabelledTraining
from dgltree.training.unlabelled_model import UnlabelledModel

pytest.importorskip("lightning", reason="the train extra is not installed")
pytestmark = QUIET


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``trees.tsv``, whose labels are texts, and in ``model`` what ``dgltree embed`` made of it."""
    folder = tmp_path_factory.mktemp("embedded")
    (folder / "trees.tsv").write_text(table(120), encoding="utf-8")
    arguments = ["--hidden-size", "8", "--epochs", "3", "--out", str(folder / "model")]
    assert main(["embed", str(folder / "trees.tsv"), *arguments]) == 0
    return folder


def test_the_loss_falls_and_is_reported(embedded: Path) -> None:
    epochs = read_epochs(embedded / "model")
    assert [epoch["epoch"] for epoch in epochs] == [0, 1, 2]
    assert epochs[-1]["loss"] < epochs[0]["loss"]
    assert epochs[-1]["validation_loss"] < epochs[0]["validation_loss"]


def test_encode_gives_vectors_of_trees_of_parts_and_of_their_context(embedded: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    command = ["encode", str(embedded / "model"), str(embedded / "trees.tsv"), "--out"]
    assert main([*command, str(tmp_path / "v.npy")]) == 0
    assert main([*command, str(tmp_path / "parts.parquet"), "--nodes"]) == 0
    assert main([*command, str(tmp_path / "both.parquet"), "--nodes", "--context"]) == 0
    roots = np.load(tmp_path / "v.npy")
    parts, both = (
        parquet.read_table(tmp_path / f"{name}.parquet").to_pandas().to_dict("list") for name in ("parts", "both")
    )
    parts_vectors, both_vectors = np.stack(parts["vector"]), np.stack(both["vector"])
    assert roots.shape == (120, 8)
    assert both_vectors.shape == (len(parts["node"]), 16)
    np.testing.assert_allclose(both_vectors[:, :8], parts_vectors, atol=1e-6)
    at_root = np.array(parts["node"]) == 0
    np.testing.assert_allclose(parts_vectors[at_root], roots, atol=1e-6)
    np.testing.assert_allclose(both_vectors[at_root, 8:], roots, atol=1e-6)  # a root has no context
    x = np.array([token == "x" for token in parts["token"]]) & ~at_root
    assert float(both_vectors[x][:, :8].std(0).max()) < 1e-6, "a leaf is the same everywhere"
    assert float(both_vectors[x][:, 8:].std(0).max()) > 1e-3, "its context is not"


def test_similar_finds_parts(embedded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    command = ["similar", str(embedded / "model"), str(embedded / "trees.tsv"), "--query", "x*y", "--top", "3"]
    assert main([*command, "--parts"]) == 0
    _, *rows = rows_of(capsys.readouterr().out)
    assert rows[0][2:] == ["1.0000", rows[0][3], "(Mul x y)"]
    assert len({row[4] for row in rows}) == 3, "equal parts are found once"
    trees = TreeDataset.from_file(embedded / "trees.tsv")
    for _, name, _, _, part in rows:
        whole, _ = trees[list(trees.ids).index(name)]
        assert part in [brief(node) for node in whole.preorder()], "the tree has the part"
    assert main([*command[:-1], "0", "--parts"]) == 1
    assert "top is 0; it must be 1 or more" in capsys.readouterr().err


def test_nothing_is_predicted_of_vectors_without_labels(embedded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("predict", "evaluate", "explain"):
        assert main([name, str(embedded / "model"), str(embedded / "trees.tsv")]) == 1
        assert (
            "a model of 'dgltree embed' has no labels to predict; use encode or similar, or fit a model"
            in capsys.readouterr().err
        )
    with pytest.raises(
        ValueError, match="a model of 'dgltree embed' has no labels to predict; use encode or similar, or fit a model"
    ):
        open_all([str(embedded / "model")])
    with pytest.raises(SystemExit, match="2"):
        main(["encode", str(embedded / "model"), str(embedded / "trees.tsv"), "--out", "v.npy", "--context"])
    assert "--context needs --nodes, and cannot be combined with --ray" in capsys.readouterr().err


@pytest.mark.parametrize("frozen", [False, True])
def test_fit_begins_with_the_vectors(frozen: bool, embedded: Path, tmp_path: Path) -> None:
    out = tmp_path / "fitted"
    more = ["--from", str(embedded / "model"), "--out", str(out), "--epochs", "1", *(["--frozen"] if frozen else [])]
    assert main(["fit", str(embedded / "trees.tsv"), *more, "--no-baseline"]) == 0
    before, after = (load(folder / "model.safetensors").encoder.state_dict() for folder in (embedded / "model", out))
    assert before.keys() == after.keys()
    same = all(torch.equal(before[name], after[name]) for name in before if "gates" in name or "input_" in name)
    assert same is frozen
    assert all((before[name] - after[name]).abs().max() < 0.2 for name in before if before[name].numel())
    assert main(["predict", str(out), str(embedded / "trees.tsv")]) == 0


def test_what_from_gives_is_not_given_again(
    embedded: Path, fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["fit", str(fitted / "trees.tsv"), "--out", str(tmp_path / "out"), *SMALL]
    assert main([*arguments, "--from", str(embedded / "model")]) == 1
    assert (
        "hidden_size is 12; leave out hidden_size, which --from (from_) takes from the folder"
        in capsys.readouterr().err
    )
    assert main([*arguments[:4], "--from", str(tmp_path)]) == 1
    assert (
        "no model.safetensors in this folder; give the folder that 'dgltree embed --out' wrote"
        in capsys.readouterr().err
    )


def test_what_cannot_be_learnt_from_says_so(embedded: Path, tmp_path: Path) -> None:
    rng = random.Random(1)
    trees = [dgltree.read_infix(expression(rng, 2)) for _ in range(20)]
    for data, more, message in (
        (
            TreeDataset([(trees[0], trees[1])] * 2),
            {},
            "the file has pairs of trees, but vectors are learned for single trees",
        ),
        (
            TreeDataset(trees[:1]),
            {},
            "the file has only one tree; vectors are learned from differences between trees: give two or more trees",
        ),
        (
            TreeDataset(trees),
            {"encoder": "lstm"},
            "the encoder is 'lstm', which computes no vectors for parts of a tree; name a cell such as tree_lstm, or",
        ),
        (TreeDataset([Tree("w", token=token) for token in "abc"]), {}, r"all tokens are rare .* use min_count=1"),
    ):
        with pytest.raises(ValueError, match=message):
            embed(data, **more)
    with pytest.raises(
        FileNotFoundError, match=r"no context.safetensors in this folder; give the folder that 'dgltree"
    ):
        UnlabelledModel.load(tmp_path)
    with pytest.raises(ValueError, match=r"the loss is nan; lower --lr \(1e\+30\)"):
        embed(TreeDataset(trees), hidden_size=4, lr=1e30, epochs=3, out=tmp_path)
    assert not list(tmp_path.iterdir()), "the folder is free for other settings"
    assert UnlabelledModel.load(embedded / "model").down.hidden_size == 8


def test_trees_that_are_kept_aside_are_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(network: Any, sweep: Any, training: list[int], validation: list[int], *_: Any, **__: Any) -> None:
        assert (len(training), len(validation)) == (54, 6)
        assert sorted([*training, *validation]) == list(range(60))

    monkeypatch.setattr(embedding, "learn", learn)
    embed(TreeDataset([Tree("f", (Tree("x", token=str(i % 7)),)) for i in range(60)]), hidden_size=4)


@pytest.mark.parametrize(("name", "leaves"), [("banyan", 0.1), ("self_strae", 0.2)])
def test_sentences_have_the_published_dropouts(name: str, leaves: float) -> None:
    data = TreeDataset([read_sentence(text) for text in ("a cat sat", "a dog ran off")])
    network = autoencoding(data, name, 128, None, 1, 0).network
    assert (network.up.leaf_dropout, network.up.dropout, network.down.dropout) == (leaves, 0.1, 0.1)


def test_batches_are_all_examples_in_an_order_of_the_epoch() -> None:
    batches, orders = UnlabelledBatches(range(20), range(20, 23), 6, seed=1), []
    for epoch in (0, 1, 0):
        batches.trainer = SimpleNamespace(current_epoch=epoch)  # type: ignore[assignment]
        orders.append([number for batch in batches.train_dataloader() for number in batch])
        assert list(batches.val_dataloader()) == [[20, 21, 22]]
    assert sorted(orders[0]) == list(range(20))
    assert orders[0] == orders[2] != orders[1]


def test_a_seed_gives_the_same_vectors() -> None:
    rng = random.Random(2)
    data = TreeDataset([dgltree.read_infix(expression(rng, 2)) for _ in range(20)])
    losses = ("both", "both", "contrastive")
    found = [embed(data, hidden_size=4, epochs=2, loss=loss).node_vectors(data) for loss in losses]
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_vectors_and_a_training_with_labels_do_not_share_a_folder(
    embedded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees, vectors = str(embedded / "trees.tsv"), embedded / "model"
    before = (vectors / "model.safetensors").read_bytes()
    assert main(["fit", trees, *SMALL, "--no-baseline", "--out", str(vectors)]) == 1
    assert f"{vectors} holds vectors of 'dgltree embed'; give another --out" in capsys.readouterr().err
    (tmp_path / "fit.json").write_text("{}", encoding="utf-8")
    assert main(["embed", trees, "--out", str(tmp_path)]) == 1
    assert f"{tmp_path} holds a training run of 'dgltree fit'; give another --out" in capsys.readouterr().err
    assert (vectors / "model.safetensors").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["fit.json"]


def test_a_training_that_was_interrupted_goes_on_to_the_same_vectors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trees.tsv").write_text(table(60), encoding="utf-8")
    trees = str(tmp_path / "trees.tsv")

    def command(name: str) -> list[str]:
        return ["embed", trees, "--hidden-size", "4", "--epochs", "3", "--out", str(tmp_path / name)]

    assert main(command("whole")) == 0
    step, seen = UnlabelledTraining.training_step, list[int]()

    def interrupted(self: UnlabelledTraining, batch: list[int], index: int) -> torch.Tensor:
        seen.append(self.current_epoch)
        if self.current_epoch == 2:
            raise KeyboardInterrupt
        return step(self, batch, index)

    with monkeypatch.context() as patch:
        patch.setattr(UnlabelledTraining, "training_step", interrupted)
        assert main(command("halved")) != 0
    assert (
        "halved contains the best model so far, and the same command continues the training" in capsys.readouterr().err
    )
    assert main(["encode", str(tmp_path / "halved"), trees, "--out", str(tmp_path / "v.npy")]) == 0
    assert main(command("halved")) == 0
    assert "epoch 0" not in capsys.readouterr().out
    for name in ("model.safetensors", "context.safetensors"):
        assert (tmp_path / "halved" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert main([*command("halved"), "--seed", "1"]) == 1
    assert "belongs to another run: options.seed: 0 there, 1 now. Give another --out" in capsys.readouterr().err


SUBJECTS, VERBS, OBJECTS = ("the cat", "a dog", "my bird"), ("sees", "likes", "hears"), ("fish", "a mouse", "the sun")


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``s.txt``, 81 sentences, and in ``model`` and ``strae`` what ``dgltree embed`` made of it."""
    folder = tmp_path_factory.mktemp("sentences")
    every = [f"{s} {v} {o}, {t}." for s in SUBJECTS for v in VERBS for o in OBJECTS for t in ("now", "often", "today")]
    (folder / "s.txt").write_text("\n".join(every), encoding="utf-8")
    command = ["embed", str(folder / "s.txt"), "--notation", "words", "--epochs", "3", "--out"]
    assert main([*command, str(folder / "model"), "--hidden-size", "8"]) == 0
    assert main([*command, str(folder / "strae"), "--hidden-size", "16", "--encoder", "self_strae"]) == 0
    return folder


@pytest.mark.parametrize(("name", "cells"), [("model", "banyan"), ("strae", "strae")])
def test_sentences_have_vectors_by_the_trees_that_are_found(
    sentences: Path, tmp_path: Path, name: str, cells: str
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    model, file = str(sentences / name), str(sentences / "s.txt")
    assert main(["encode", model, file, "--out", str(tmp_path / "v.npy")]) == 0
    assert main(["encode", model, file, "--out", str(tmp_path / "n.parquet"), "--nodes", "--context"]) == 0
    roots = np.load(tmp_path / "v.npy")
    rows = parquet.read_table(tmp_path / "n.parquet").to_pandas()
    vectors, width = np.stack(rows["vector"]), roots.shape[1]
    at_root = rows["node"].to_numpy() == 0
    assert len(rows) == sum(len(tree.children) + 1 for tree in map(read_sentence, _lines(sentences)))
    found = UnlabelledModel.load(sentences / name)
    assert found.model.model.encoder.core.config["cell"] == cells
    np.testing.assert_allclose(vectors[at_root, width:], vectors[at_root, :width], atol=1e-6)
    cat = rows["token"].to_numpy() == "cat"
    assert float(vectors[cat][:, :width].std(0).max()) < 1e-6, "a word is the same everywhere"
    assert float(vectors[cat][:, width:].std(0).max()) > 1e-4, "its context is not"
    alone = found.node_vectors(TreeDataset([read_sentence(_lines(sentences)[0])]))
    np.testing.assert_allclose(alone.numpy(), vectors[: len(alone)], atol=1e-5)  # no other sentence changes it
    epochs = read_epochs(sentences / name)
    assert epochs[-1]["loss"] < epochs[0]["loss"]


def test_similar_sentences_and_a_fit_from_them(
    sentences: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    file = str(sentences / "s.txt")
    assert main(["similar", str(sentences / "model"), file, "--query", "The cat sees fish, now.", "--top", "2"]) == 0
    _, first, _ = rows_of(capsys.readouterr().out)
    assert first[1:] == ["1", "1.0000", "", "(sentence the cat sees fish , now .)"]
    lines = _lines(sentences)
    table = "tree\tlabel\n" + "".join(f"{line}\t{line.split()[2]}\n" for line in lines)
    (tmp_path / "t.tsv").write_text(table, encoding="utf-8")
    more = ["--from", str(sentences / "model"), "--out", str(tmp_path / "fit"), "--epochs", "1", "--no-baseline"]
    assert main(["fit", str(tmp_path / "t.tsv"), *more]) == 0
    assert load(tmp_path / "fit" / "model.safetensors").encoder.name == "easy_first"
    assert json.loads((tmp_path / "fit" / "reading.json").read_text(encoding="utf-8"))["notation"] == "words"
    more[3] = str(tmp_path / "other")
    assert main(["fit", str(tmp_path / "t.tsv"), "--notation", "sexpr", *more]) == 1
    assert "found a second expression" in capsys.readouterr().err, "what the command line says goes first"


def test_the_page_shows_the_trees_that_are_found(sentences: Path) -> None:
    pytest.importorskip("starlette", reason="the explore extra is not installed")
    from dgltree.explore.request_fields import RequestFields
    from dgltree.explore.sequence_room import SequencesRoom

    opened = open_all([str(sentences / "model")])
    room = SequencesRoom(opened)
    [about] = [one for one in room.about() if one["name"] == "model"]
    found = room.look(RequestFields({"model": "model", "text": "the cat sees fish", "other": ""}))
    assert not about["pairs"] and found["classes"] == [] and found["checked"] is None
    [one] = found["sequences"]
    assert one["kind"] == "merges" and sorted(one["beams"][0]["order"]) == [0, 1, 2]


def test_what_is_no_sentence_has_no_words_in_context(sentences: Path) -> None:
    found = UnlabelledModel.load(sentences / "model")
    nested = Tree("sentence", [Tree("sentence", [Tree("word", token="cat")]), Tree("word", token="dog")])
    with pytest.raises(
        ValueError,
        match="a tree has inner nodes below its root, but only words of plain sentences have contextual vectors",
    ):
        found.node_vectors(TreeDataset([nested]))


def _lines(folder: Path) -> list[str]:
    return (folder / "s.txt").read_text(encoding="utf-8").splitlines()
