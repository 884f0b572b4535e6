"""Word vectors, and the three models that begin with them on five classes and on two."""

from collections.abc import Sequence
from pathlib import Path

import command_line
import numpy as np
import pytest
import torch

from dgltree import batch
from dgltree.datasets.glove import read_glove
from dgltree.encoders import make_encoder
from dgltree.read.bracket import read_sst
from dgltree.read.words import words_of

pytest.importorskip("lightning", reason="the train extra is not installed")

from sentiment.treebank import CONFIGS, assert_same_weights, checkpoint, run, write_treebank

from dgltree.encoders.bracket_scores import InducedBrackets
from dgltree.training.stepping.module import TreeTraining
from tasks import baselines
from tasks.sentiment.__main__ import main
from tasks.sentiment.data import SentimentTreebank
from tasks.sentiment.vectors import word_vectors

MODELS = ["tree_lstm", "tree_smu", "ordered_memory"]
TEXT = ["the good film", "a good film is fine", "the bad film", "the film is bad", "N of the <unk> films is dull"] * 2
SENTENCE = "(3 (2 (2 -LRB-) (2 The)) (3 (3 good) (2 -RRB-)))"


def config(model: str) -> Path:
    return CONFIGS / f"vectors_{model}.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebank(tmp_path_factory.mktemp("sst"))


@pytest.fixture(scope="module")
def vectors(folder: Path) -> Path:
    (folder / "text.txt").write_text("\n".join(TEXT))
    arguments = [f"--out={folder / 'vectors.txt'}", f"--data.folder={folder}", f"--text={folder / 'text.txt'}"]
    main(["vectors", *arguments, "--size=5"])
    return folder / "vectors.txt"


def assert_words_are_the_vectors(out: Path, vectors: Path, tokens: Sequence[str]) -> None:
    weights = checkpoint(out)["state_dict"]
    [words] = [weight for name, weight in weights.items() if name.endswith("embedding.weight")]
    found = read_glove(vectors, tokens, 5)
    assert torch.equal(words[len(words) - len(tokens) :][found.index], found.vectors)


def literal(sentences: list[list[str]], words: list[str], size: int, window: int) -> np.ndarray:
    """The cosines of all words' vectors, by the formulas as they stand."""
    counts = np.zeros((len(words), len(words)))
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j, context in enumerate(sentence):
                if i != j and abs(i - j) <= window and word in words and context in words:
                    counts[words.index(word), words.index(context)] += (window + 1 - abs(i - j)) / window
    smoothed = counts.sum(0) ** 0.75
    with np.errstate(divide="ignore"):
        information = np.log((counts / counts.sum(1, keepdims=True)) / (smoothed / smoothed.sum()))
    u, s, _ = np.linalg.svd(np.maximum(information, 0))
    vectors = u[:, :size] * s[:size] ** 0.5
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def test_vectors_are_those_of_the_formulas_and_always_the_same() -> None:
    sentences = [line.split() for line in TEXT] + [["rare", "film"]]
    words, vectors = word_vectors(sentences, 4, window=2)
    assert words[:2] == ["film", "the"]
    assert "rare" not in words
    np.testing.assert_allclose(vectors @ vectors.T, literal(sentences, words, 4, 2), atol=1e-6)
    assert np.array_equal(vectors, word_vectors(sentences, 4, window=2)[1])


def test_the_file_is_one_that_glove_reads(vectors: Path) -> None:
    found = read_glove(vectors, ["good", "Bad", "<unk>", "never"], 5)
    assert found.index.tolist() == [0, 1, 2]
    assert found.lowered == 1
    assert torch.linalg.norm(found.vectors, dim=1).tolist() == pytest.approx([1] * 3, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--size=40"], "words occur 2 times or more; vectors of 40 need more than that"),
        (["--size=3", "--window=0"], "window is 0; it must be a whole number, 1 or more"),
        (["--text=nowhere.txt"], "No such file or directory: 'nowhere.txt'"),
        (["--data.folder=nowhere"], "nowhere/train.txt: no such file; the folder holds train.txt"),
    ],
)
def test_what_has_no_vectors_is_said_in_one_line(
    folder: Path, vectors: Path, tmp_path: Path, arguments: list[str], error: str
) -> None:
    given = [f"--out={tmp_path / 'out.txt'}", f"--data.folder={folder}", f"--text={folder / 'text.txt'}", *arguments]
    with pytest.raises(SystemExit, match=f"error: .*{error}"):
        main(["vectors", *given])
    assert not list(tmp_path.iterdir())


OF_WORDS = {"fit__options.embedding_size": 5, "fit__input_size": None}
"""In place of the width of inputs, for a sequence encoder."""


@pytest.mark.parametrize("classes", [5, 2])
@pytest.mark.parametrize("model", MODELS)
def test_all_models_begin_with_the_vectors_and_are_tested(
    folder: Path, vectors: Path, tmp_path: Path, model: str, classes: int
) -> None:
    of_words = OF_WORDS if model == "ordered_memory" else {}
    how = {"fit__vectors": vectors, "fit__frozen": "true", "fit__epochs": 1, "data__classes": classes, **of_words}
    found = run(folder, tmp_path, config(model), **how)
    assert found.keys() == {"accuracy", "f1" if model == "ordered_memory" else "node_accuracy"}
    weights = checkpoint(tmp_path)["state_dict"]
    assert_words_are_the_vectors(tmp_path, vectors, SentimentTreebank(folder, classes=classes).vocabulary.tokens)
    assert len(weights[max(name for name in weights if name.startswith("model.readout"))]) == classes


@pytest.mark.slow
def test_a_training_of_ordered_memory_goes_on_to_the_same_weights(folder: Path, vectors: Path, tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    options = {"fit__vectors": vectors, "fit__epochs": 4, "fit__lr": 0.05, **OF_WORDS}
    halving = config("ordered_memory")
    run(folder, whole, halving, **options)
    with command_line.stopped(TreeTraining, epoch=3, step=1):
        run(folder, stopped, halving, **options)
    run(folder, stopped, halving, **options)
    assert_same_weights(whole, stopped)
    assert_words_are_the_vectors(whole, vectors, SentimentTreebank(folder).vocabulary.tokens)  # which are frozen


def test_vectors_of_another_width_are_refused(folder: Path, vectors: Path, tmp_path: Path) -> None:
    of_words = {**OF_WORDS, "fit__options.embedding_size": 6}
    with pytest.raises(SystemExit, match=r"error: .*vectors.txt, line 1: found 5 numbers after .*; expected 6"):
        run(folder, tmp_path, config("ordered_memory"), fit__vectors=vectors, **of_words)


def test_another_number_of_classes_and_phrases_of_sequences_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="error: classes is 3; it must be 5, or 2 for negative and positive"):
        run(folder, tmp_path, data__classes=3)
    with pytest.raises(SystemExit, match="error: input_size and nodes need a cell; ordered_memory reads sequences"):
        run(folder, tmp_path, config("ordered_memory"), fit__input_size=None, fit__nodes="true")


def test_two_classes_are_without_what_is_neutral(folder: Path, tmp_path: Path) -> None:
    lines = ["(4 (2 a) (1 b))", "(2 (0 c) (4 d))", "(0 (3 Film) (0 f))"]
    (tmp_path / "train.txt").write_text("\n".join(lines))
    data = SentimentTreebank(tmp_path, classes=2, lowercase=True, min_count=1)
    assert [words_of(tree) for tree in data.train] == [["a", "b"], ["film", "f"]]
    assert [node.label for tree in data.train for node in tree.preorder()] == [1, None, 0, 0, 1, 0]
    (tmp_path / "train.txt").write_text(lines[1])
    with pytest.raises(ValueError, match=r"train.txt has neutral sentences only, which classes=2 leaves out"):
        _ = SentimentTreebank(tmp_path, classes=2).train


def test_brackets_of_a_sentence_are_words_of_its_trees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = [read_sst(SENTENCE)]
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.txt").write_text(SENTENCE)
    data = SentimentTreebank(tmp_path, min_count=1)
    encoder = make_encoder("ordered_memory", data.vocabulary, 4, order="leaves").eval()
    flat = batch(trees, data.vocabulary)
    assert words_of(encoder.trees(flat)[0]) == ["(", "The", "good", ")"]
    found = InducedBrackets()
    found.update(encoder, flat, encoder.encoded(flat).parse)
    assert found.f1 >= 1 / 3, "that of the whole sentence"
    baselines.main(["sentiment", f"--data={tmp_path}"])
    figures = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert figures["balanced"] == "100.0"
