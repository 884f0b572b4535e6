"""The sentiment task at its smallest setting: both configurations, bad input, equal seeds, interrupted runs."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from dgltree import Tree, Vocabulary, batch
from dgltree.read.bracket import read_sst

pytest.importorskip("lightning", reason="the train extra is not installed")

from sentiment.treebank import NODES, ROOTS, assert_same_weights, checkpoint, run, write_treebank

from tasks.sentiment.data import SentimentTreebank, read_trees
from tasks.sentiment.model import SentimentClassifier


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebank(tmp_path_factory.mktemp("sst"))


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run of two epochs."""
    out = tmp_path_factory.mktemp("trained")
    run(folder, out)
    return out


@pytest.mark.parametrize("configs", [[NODES], [NODES, ROOTS]], ids=["nodes", "roots"])
def test_both_configurations_run(folder: Path, tmp_path: Path, capsys, configs: list[Path]) -> None:
    run(folder, tmp_path, *configs, trainer__fast_dev_run="true")
    out = capsys.readouterr().out
    assert "test: accuracy" in out
    assert ("node_accuracy" in out) == (len(configs) == 1)


def test_a_run_reports_every_epoch_and_the_best_one_on_the_test_trees(folder: Path, tmp_path: Path, capsys) -> None:
    run(folder, tmp_path, seed_everything=3, model__lr=0.05)
    first, second, last = capsys.readouterr().out.splitlines()
    pattern = r"epoch \d: accuracy ([\d.]+), loss [\d.]+, node_accuracy [\d.]+; [\d.]+ s \+ [\d.]+ s"
    validation = [float(re.fullmatch(pattern, line)[1]) for line in (first, second)]
    best = checkpoint(tmp_path, "best")
    assert best["epoch"] == validation.index(max(validation))
    state = next(state for name, state in best["callbacks"].items() if "'accuracy'" in name)
    assert float(state["best_model_score"]) == pytest.approx(max(validation), abs=1e-4)
    config = (tmp_path / "config.yaml").read_text()

    run(folder, tmp_path, command="test", ckpt_path=tmp_path / "checkpoints" / "best.ckpt", seed_everything=4)
    table = capsys.readouterr().out
    figures = dict(re.findall(r"test_(accuracy|node_accuracy)\D+([\d.]+)", table))
    assert last == f"test: accuracy {float(figures['accuracy']):.4f}, " + (
        f"node_accuracy {float(figures['node_accuracy']):.4f}"
    )
    assert (tmp_path / "config.yaml").read_text() == config, "a test leaves the training's configuration"


def test_equal_seeds_give_equal_weights_and_others_do_not(folder: Path, tmp_path: Path, trained: Path) -> None:
    run(folder, tmp_path / "same")
    assert_same_weights(trained, tmp_path / "same")
    run(folder, tmp_path / "other", seed_everything=1)
    with pytest.raises(AssertionError):
        assert_same_weights(trained, tmp_path / "other")


def test_an_interrupted_run_continues_to_the_same_weights(
    folder: Path, tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = SentimentClassifier.training_step

    def stop_in_the_second_epoch(self, trees, index):
        if self.current_epoch == 1 and index == 2:
            raise KeyboardInterrupt
        return step(self, trees, index)

    with monkeypatch.context() as patch:
        patch.setattr(SentimentClassifier, "training_step", stop_in_the_second_epoch)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            run(folder, tmp_path)
    assert checkpoint(tmp_path)["epoch"] == 0
    torch.manual_seed(99)
    run(folder, tmp_path, ckpt_path="last")
    assert checkpoint(tmp_path)["global_step"] == checkpoint(trained)["global_step"]
    assert_same_weights(trained, tmp_path)


def test_a_checkpoint_of_other_words_is_refused(folder: Path, tmp_path: Path, trained: Path) -> None:
    ckpt = trained / "checkpoints" / "last.ckpt"
    with pytest.raises(SystemExit, match=r"error: the checkpoint has another vocabulary: give the train.txt"):
        run(folder, tmp_path, command="test", ckpt_path=ckpt, data__min_count=15)


def test_words_begin_with_their_glove_vectors(folder: Path, tmp_path: Path, capsys) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("good 1 2 3 4 5\nelsewhere 1 1 1 1 1\nbad 5 4 3 2 1\n")
    run(folder, tmp_path, glove=file, model__lr=0, trainer__max_epochs=1)
    assert "glove.txt: 2 of 7 words have a vector (28.6%); " in capsys.readouterr().out
    tokens = SentimentTreebank(folder).vocabulary.tokens
    weight = checkpoint(tmp_path)["state_dict"]["encoder.cell.input_embedding.weight"]
    assert weight[tokens.index("good")].tolist() == [1, 2, 3, 4, 5]
    assert weight[tokens.index("bad")].tolist() == [5, 4, 3, 2, 1]
    with pytest.raises(
        SystemExit, match=r"error: .*glove.txt, line 1: found 5 numbers after the word 'good'; expected 4"
    ):
        run(folder, tmp_path, glove=file, model__input_size=4)


def test_the_order_of_training_depends_on_seed_and_epoch_alone(folder: Path) -> None:
    class Trainer:
        current_epoch, global_rank, world_size = 0, 0, 1

    def order(seed: int, epoch: int) -> list[int]:
        data = SentimentTreebank(folder, seed=seed)
        data.trainer = Trainer()
        data.trainer.current_epoch = epoch
        return [row for rows in data.train_dataloader().batch_sampler for row in rows]

    torch.manual_seed(1)
    first = order(0, 0)
    torch.manual_seed(2)
    assert order(0, 0) == first
    assert order(0, 1) != first
    assert order(1, 0) != first
    assert sorted(map(str, order(1, 0))) == sorted(map(str, first))


def small_model(trees: list[Tree], **options: Any) -> SentimentClassifier:
    torch.manual_seed(0)
    vocabulary = Vocabulary.from_trees(trees, unk=True)
    model = SentimentClassifier(vocabulary, hidden_size=4, input_size=3, **options).eval()
    model.log = lambda *_, **__: None  # there is no trainer
    return model


def test_the_loss_reads_the_supervised_labels_and_the_logits_none(folder: Path) -> None:
    first, other = [read_sst(f"({root} (2 good) ({inner} film))") for root, inner in ((3, 2), (3, 1))]
    for supervision, reads in (("nodes", True), ("roots", False)):
        model = small_model([first], supervision=supervision, dropout=0.0, input_dropout=0.0)
        a, b = batch([first], model.vocabulary), batch([other], model.vocabulary)
        logits = model(a)
        assert torch.equal(logits, model(b))
        losses = [model.loss(trees)[0] for trees in (a, b)]
        assert (not torch.equal(*losses)) == reads


def test_the_accuracies_are_the_shares_of_right_nodes(folder: Path, trained: Path) -> None:
    data = SentimentTreebank(folder)
    trees = batch(data.validation, data.vocabulary)
    model = small_model(data.train)
    model.validation_step(trees, 0)
    right = model(trees).argmax(1) == trees.label
    assert float(model.node_accuracy.compute()) == pytest.approx(float(right.double().mean()))
    assert float(model.accuracy.compute()) == pytest.approx(float(right[trees.roots].double().mean()))


def test_words_are_dropped_at_random_and_nothing_else_changes() -> None:
    trees = [read_sst("(3 (2 good) (2 good))")]
    model = small_model(trees, input_dropout=0.0)
    flat = batch(trees, model.vocabulary)
    assert torch.equal(model(model.with_dropped_inputs(flat)), model(flat))
    model = small_model(trees, input_dropout=0.5)
    x = model.with_dropped_inputs(flat).x
    x, vector = x.detach(), model.words[flat.token[1]].detach()
    assert x[0].tolist() == [0, 0, 0], "an inner node has no word"
    assert all(
        float(value) in (0.0, 2 * float(whole)) for row in x[1:] for value, whole in zip(row, vector, strict=True)
    )


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"encoder": "tree"}, "the encoder is 'tree'; it must be one of tree_rnn, tree_lstm"),
        ({"encoder": "lstm"}, "supervision is 'nodes', but 'lstm' reads a sentence as a sequence and has no states of"),
        ({"encoder": "tree_smu", "options": {"slots": 3}}, "tree_smu has no option 'slots'; its options are typed"),
        ({"dropout": 1.5}, "dropout is 1.5; it must be a probability"),
        ({"hidden_size": 0}, "hidden_size is 0"),
    ],
)
def test_impossible_models_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        SentimentClassifier(Vocabulary([("word", 0)], ["a"]), **options)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", r"dev.txt has no trees; expected lines such as \(3 \(2 The\) \(4 Rock\)\)"),
        ("(3 (2 a) (4 b))\n(3 (7 a) (4 b))\n", r"dev.txt: .*line 2, column 4.*the label '7'"),
        ("(3 (2 a) (4 b)\n", r"dev.txt: .*line 1, column 1.*no end of the bracket"),
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
    with pytest.raises(ValueError, match="batch_size is 0; it must be 1 or more"):
        SentimentTreebank(folder, batch_size=0)


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
    run(tmp_path, tmp_path / "out", trainer__limit_train_batches=2, trainer__max_epochs=1)
    assert "test: accuracy" in capsys.readouterr().out
