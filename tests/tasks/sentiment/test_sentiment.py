"""The sentiment task at its smallest setting: both configurations, bad input, equal seeds, interrupted runs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import dgltree
from dgltree import Tree, TreeDataset

pytest.importorskip("lightning", reason="the train extra is not installed")

from sentiment.treebank import NODES, ROOTS, assert_same_weights, checkpoint, run, write_treebank

from dgltree.training.model_files import READING
from tasks import fit_cli
from tasks.fit_cli import read_results
from tasks.sentiment.data import SentimentTreebank, read_trees


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebank(tmp_path_factory.mktemp("sst"))


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run of two epochs."""
    out = tmp_path_factory.mktemp("trained")
    run(folder, out)
    return out


def test_a_run_on_nodes_reports_all_nodes_and_one_on_roots_does_not(
    folder: Path, tmp_path: Path, trained: Path
) -> None:
    assert read_results(trained).keys() == {"accuracy", "node_accuracy"}
    assert run(folder, tmp_path, NODES, ROOTS, fit__epochs=1).keys() == {"accuracy"}


def test_the_accuracies_are_the_shares_of_right_nodes(folder: Path, trained: Path) -> None:
    model, trees = dgltree.TrainedModel.load(trained), SentimentTreebank(folder).test
    vectors = model.node_vectors(TreeDataset(trees))
    with torch.no_grad():
        said = model.model.read_out(vectors).argmax(1)
    labels = [node.label for tree in trees for node in tree.preorder()]
    right = [label == int(model.classes[i]) for label, i in zip(labels, said.tolist(), strict=True)]
    assert read_results(trained)["node_accuracy"] == pytest.approx(sum(right) / len(right))
    roots = [sum(tree.size for tree in trees[:k]) for k in range(len(trees))]
    assert read_results(trained)["accuracy"] == pytest.approx(sum(right[i] for i in roots) / len(roots))


def test_equal_seeds_give_equal_weights_and_others_do_not(folder: Path, tmp_path: Path, trained: Path) -> None:
    run(folder, tmp_path / "same")
    assert_same_weights(trained, tmp_path / "same")
    run(folder, tmp_path / "other", fit__seed=1)
    with pytest.raises(AssertionError):
        assert_same_weights(trained, tmp_path / "other")


def test_of_two_classes_neutral_sentences_are_left_out_and_neutral_phrases_have_no_label(folder: Path) -> None:
    whole, two = SentimentTreebank(folder), SentimentTreebank(folder, classes=2)
    assert len(two.train) == sum(tree.label != 2 for tree in whole.train)
    pairs = zip((tree for tree in whole.train if tree.label != 2), two.train, strict=True)
    labels = {(a.label, b.label) for one, other in pairs for a, b in zip(one.preorder(), other.preorder(), strict=True)}
    assert labels <= {(0, 0), (1, 0), (2, None), (3, 1), (4, 1)}
    assert (2, None) in labels


def test_words_begin_with_their_glove_vectors(folder: Path, tmp_path: Path, capsys) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("good 1 2 3 4 5\nelsewhere 1 1 1 1 1\nbad 5 4 3 2 1\n")
    run(folder, tmp_path / "run", fit__vectors=file, fit__frozen="true", fit__epochs=1)
    assert "glove.txt: 2 of 7 words have a vector (28.6%)" in capsys.readouterr().err
    tokens = SentimentTreebank(folder).vocabulary.tokens
    weight = checkpoint(tmp_path / "run")["state_dict"]["model.encoder.cell.input_embedding.weight"]
    assert weight[tokens.index("good")].tolist() == [1, 2, 3, 4, 5]
    assert weight[tokens.index("bad")].tolist() == [5, 4, 3, 2, 1]
    with pytest.raises(
        SystemExit, match=r"error: .*glove.txt, line 1: found 5 numbers after the word 'good'; expected 4"
    ):
        run(folder, tmp_path / "other", fit__vectors=file, fit__input_size=4)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"fit__encoder": "tree"}, "the encoder is 'tree'; it must be one of tree_rnn, tree_lstm"),
        ({"fit__encoder": "lstm"}, "input_size and nodes need a cell; lstm reads sequences"),
        ({"fit__options": {"pooling": "mean"}}, "so it takes no pooling"),
        ({"fit__options": "{slots: 3}"}, "tree_lstm has no option 'slots'; its options are typed"),
        ({"fit__input_size": 0, "fit__vectors": "glove.txt"}, "vectors needs an input_size: the width of the vectors"),
    ],
)
def test_impossible_settings_are_refused(folder: Path, tmp_path: Path, options: dict[str, Any], error: str) -> None:
    with pytest.raises(SystemExit, match=error):
        run(folder, tmp_path, **options)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", r"dev.txt has no trees; expected lines such as \(3 \(2 The\) \(4 Rock\)\)"),
        ("(3 (2 a) (4 b))\n(3 (7 a) (4 b))\n", r"dev.txt: .*line 2, column 4.*the label '7'"),
        ("(3 (2 a) (4 b)\n", r"dev.txt: .*line 1, column 1.*no end of the bracket that opens here"),
        (b"(3 \xff)", r"dev.txt: .*can't decode byte 0xff"),
    ],
)
def test_bad_files_are_refused_by_name_and_place(tmp_path: Path, text: str | bytes, error: str) -> None:
    file = tmp_path / "dev.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=error):
        read_trees(file)


def test_missing_folders_and_files_are_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"error: .*train.txt: no such file; the folder holds train.txt, dev.txt and"):
        run(tmp_path, tmp_path / "out")
    monkeypatch.delenv("DGLTREE_DATA", raising=False)
    with pytest.raises(ValueError, match=r"no folder of data: give --data.folder, or set DGLTREE_DATA"):
        SentimentTreebank()
    monkeypatch.setenv("DGLTREE_DATA", str(folder.parent))
    assert SentimentTreebank().folder == folder.parent / "sst"


def test_a_training_finds_out_that_the_test_file_is_missing_before_its_first_step(folder: Path, tmp_path: Path) -> None:
    for name in ("train.txt", "dev.txt"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(SystemExit, match=r"error: .*test.txt: no such file"):
        run(tmp_path, tmp_path / "out")


def test_the_published_trees_train_and_hardly_overlap(published: Path, tmp_path: Path, capsys) -> None:
    lines = {}
    for name in ("train", "dev", "test"):
        lines[name] = (published / "sst" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        (tmp_path / f"{name}.txt").write_text("\n".join(lines[name][:100]), encoding="utf-8")
    assert [len(trees) for trees in lines.values()] == [8544, 1101, 2210]
    assert len({*lines["train"]} & {*lines["test"]}) == 2, "'No. .' and 'What 's next ?' stand in both"
    assert 0 <= run(tmp_path, tmp_path / "out", fit__epochs=1)["accuracy"] <= 1


def test_each_set_for_tests_and_each_part_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = TreeDataset([Tree("w", token=name) for name in "abcd"], [*"pnpn"])
    made = fit_cli.Sets(
        data, data, {"test": data, "other": data.select([0])}, data.vocabulary, "np", {"long": [1, 2, 3]}
    )
    (tmp_path / READING).touch()
    monkeypatch.setattr(dgltree.TrainedModel, "load", lambda _: SimpleNamespace(evaluate=len))
    fit_cli._test(tmp_path, made)
    assert capsys.readouterr().out.splitlines() == ["test: 4", "other: 1", "long: 3"]
