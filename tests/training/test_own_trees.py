"""``dgltree fit``, ``predict``, ``encode``, ``evaluate`` and ``inspect``, as they are typed."""

import io
import json
import random
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.commands.main import main

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec.*", "ignore:.*multi-threaded.*fork.*")
SMALL = ["--hidden-size", "12", "--epochs", "3", "--lr", "0.01", "--batch-nodes", "200"]


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice("xyz")
    return f"({expression(rng, depth - 1)}{rng.choice('+*-')}{expression(rng, depth - 1)})"


def worth(node: Tree, children: list[float]) -> float:
    """The value at a point."""
    if node.function in ("Add", "Mul"):
        return sum(children) if node.function == "Add" else children[0] * children[1]
    return {"x": 1.5, "y": -0.5, "z": 2.25, "-1": -1.0}[str(node.token)]


def table(count: int, label: str = "class", seed: int = 0) -> str:
    """Expressions and their value at a point: its sign, or itself."""
    rng = random.Random(seed)
    lines = ["id\ttree\tlabel"]
    for i in range(count):
        text = expression(rng, 3)
        value = dgltree.read_infix(text).fold(worth)
        lines.append(f"e{i}\t{text}\t{('pos' if value > 0 else 'neg') if label == 'class' else value}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of classes, and the file it was trained on."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "trees.tsv").write_text(table(400), encoding="utf-8")
    arguments = ["fit", str(folder / "trees.tsv"), "--out", str(folder / "model"), *SMALL, "--epochs", "6"]
    assert main(arguments) == 0
    return folder


def answers(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_a_training_leaves_a_model_its_metrics_and_its_card(folder: Path) -> None:
    left = {path.name for path in (folder / "model").iterdir()}
    assert {"model.safetensors", "reading.json", "card.md", "card.json", "confusion.tsv", "confusion.png"} <= left
    card = json.loads((folder / "model" / "card.json").read_text())
    assert card["task"] == "classify"
    assert card["classes"] == ["neg", "pos"]
    assert card["metrics"]["test"]["accuracy"] > 0.7
    assert set(card["data"]["examples"]) == {"train", "validation", "test"}
    assert len(card["data"]["sha256"]) == 64
    assert card["command"].startswith("dgltree fit ")
    assert card["versions"]["torch"] == torch.__version__
    text = (folder / "model" / "card.md").read_text()
    assert f"| test | {card['metrics']['test']['examples']} |" in text
    assert (folder / "model" / "confusion.tsv").read_text().splitlines()[0] == "true/predicted\tneg\tpos"


def test_predictions_stand_in_the_order_of_the_file_and_bad_lines_keep_their_place(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "new.tsv"
    path.write_text("tree\nx+y\nx+\nsin(x)\n\nz\n" + "y\t1\n", encoding="utf-8")
    assert main(["predict", str(folder / "model"), str(path)]) == 1
    out, err = capsys.readouterr()
    header, *rows = answers(out)
    assert header == ["id", "prediction", "neg", "pos"]
    assert [row[0] for row in rows] == ["2", "3", "4", "5", "6", "7"]
    assert [row[1] in ("neg", "pos") for row in rows] == [True, False, False, False, True, False]
    assert [len(row) for row in rows] == [4] * 6
    for row in (rows[0], rows[4]):
        assert float(row[2]) + float(row[3]) == pytest.approx(1, abs=2e-6)
    for line in ("line 3: tree: no infix tree", "line 4: unknown function 'sin'", "line 5: the line is empty"):
        assert line in err
    assert "fit with --unk" in err
    assert main(["predict", str(folder / "model"), str(path), "--strict"]) == 1
    assert "line 3" in capsys.readouterr().err


def test_the_standard_input_is_a_file_too(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"(x+{'y' * (i % 2)}{'z' * (1 - i % 2)})" for i in range(150)]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("\n".join(texts).encode())))
    monkeypatch.setattr("dgltree.datasets.parallel.default_workers", lambda: 0)
    assert main(["predict", str(folder / "model"), "-"]) == 0
    rows = answers(capsys.readouterr().out)[1:]
    assert len(rows) == 150
    assert [row[0] for row in rows] == [str(i) for i in range(1, 151)]
    assert rows[0][1:] == rows[2][1:] != rows[1][1:] == rows[3][1:]


def test_vectors_do_not_depend_on_the_batch_or_the_order(folder: Path, tmp_path: Path) -> None:
    model = TrainedModel.load(folder / "model")
    data = TreeDataset.from_file(folder / "trees.tsv")
    whole = model.encode(data)
    assert whole.shape == (400, 12)
    order = torch.randperm(400, generator=torch.Generator().manual_seed(0)).tolist()
    torch.testing.assert_close(model.encode(data.select(order)), whole[order], rtol=0, atol=1e-6)
    alone = torch.cat([model.encode(data.select([i])) for i in range(5)])
    torch.testing.assert_close(alone, whole[:5], rtol=0, atol=1e-6)
    assert main(["encode", str(folder / "model"), str(folder / "trees.tsv"), "--out", str(tmp_path / "v.npy")]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), whole.numpy(), rtol=0, atol=1e-6)


def test_vectors_of_bad_lines_are_nan_and_those_of_nodes_say_whose_they_are(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.tsv"
    path.write_text("id\ttree\na\tx+y\nb\tx+\nc\tz\n", encoding="utf-8")
    model = str(folder / "model")
    assert main(["encode", model, str(path), "--out", str(tmp_path / "v.npy")]) == 1
    vectors = np.load(tmp_path / "v.npy")
    assert np.isnan(vectors).all(1).tolist() == [False, True, False]
    assert main(["encode", model, str(path), "--out", str(tmp_path / "v.parquet"), "--nodes"]) == 1
    rows = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "v.parquet").to_pylist()
    assert [(row["line"], row["id"], row["node"], row["function"], row["token"]) for row in rows] == [
        (2, "a", 0, "Add", None),
        (2, "a", 1, "Symbol", "x"),
        (2, "a", 2, "Symbol", "y"),
        (4, "c", 0, "Symbol", "z"),
    ]
    np.testing.assert_allclose(rows[0]["vector"], vectors[0], atol=1e-6)
    np.testing.assert_allclose(rows[3]["vector"], vectors[2], atol=1e-6)


@pytest.mark.parametrize(
    ("out", "more", "message"),
    [("v.csv", [], "a .npy or .parquet file"), ("v.npy", ["--nodes"], "vectors of nodes go to a .parquet file")],
)
def test_vectors_have_two_kinds_of_files(
    out: str, more: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["encode", str(folder / "model"), str(folder / "trees.tsv"), "--out", out, *more]
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_evaluation_counts_labels_that_the_model_never_saw_as_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "test.tsv"
    path.write_text(table(50, seed=7) + "x\tx+y\tother\n", encoding="utf-8")
    assert main(["evaluate", str(folder / "model"), str(path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split("\t") == ["true/predicted", "neg", "pos", "(other)"]
    counts = np.array([[int(count) for count in line.split("\t")[1:]] for line in out[2:]])
    assert counts.sum() == 51
    assert counts[2].sum() == 1
    accuracy = float(re.findall(r"accuracy ([\d.]+)", out[0])[0])
    assert accuracy == pytest.approx(np.trace(counts) / 51, abs=1e-4)
    assert main(["evaluate", str(folder / "model"), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == pytest.approx(accuracy, abs=1e-4)


def test_numbers_are_told_in_the_unit_of_the_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(0)
    lines = [f"{'+'.join(['x'] * k)}\t{1000.5 * k}" for k in rng.choices(range(1, 9), k=300)]
    path = tmp_path / "trees.tsv"
    path.write_text("tree\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    valid, test = tmp_path / "valid.tsv", tmp_path / "test.tsv"
    for file in (valid, test):
        file.write_text("tree\tlabel\n" + "\n".join(lines[:40]) + "\n", encoding="utf-8")
    out = tmp_path / "model"
    arguments = ["fit", str(path), "--validation", str(valid), "--test", str(test), "--out", str(out), *SMALL]
    assert main([*arguments, "--epochs", "20", "--patience", "20"]) == 0
    said = capsys.readouterr().err
    assert "regress: 300 train, 40 validation, 40 test" in said
    assert "warning: 40 of 40 test examples stand in the training split too" in said
    card = json.loads((out / "card.json").read_text())
    assert card["metrics"]["test"]["r2"] > 0.9
    model = TrainedModel.load(out)
    assert model.gives_numbers
    found = model.predict([dgltree.read_infix("x+x+x+x")])
    assert float(found[0]) == pytest.approx(4002, rel=0.25)
    assert main(["predict", str(out), str(test)]) == 0
    header, first, *_ = answers(capsys.readouterr().out)
    assert header == ["id", "prediction"]
    [wanted] = model.predict([dgltree.read_infix(lines[0].split("\t")[0])]).tolist()
    assert float(first[1]) == pytest.approx(wanted, rel=1e-4)


def test_pairs_and_a_sequence_encoder(tmp_path: Path) -> None:
    rng = random.Random(0)
    pairs = [(expression(rng, 2), expression(rng, 2)) for _ in range(120)]
    rows = [{"left": a, "right": b, "label": "longer" if len(a) > len(b) else "no"} for a, b in pairs]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = tmp_path / "model"
    options = ["--encoder", "ordered_memory", "--options", '{"slots": 4}']
    assert main(["fit", str(path), "--out", str(out), *SMALL, "--epochs", "1", *options]) == 0
    model = TrainedModel.load(out)
    data = TreeDataset.from_file(path)
    assert model.predict(data).shape == (120, 2)
    assert model.encode(data).shape == (240, 12)
    with pytest.raises(ValueError, match="the model reads pairs of trees; these are single trees"):
        model.predict([dgltree.read_infix("x")])
    with pytest.raises(ValueError, match="nodes have vectors in a tree encoder alone"):
        model.node_vectors(data)


def test_a_training_goes_on_where_it_stopped_and_is_not_done_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text(table(120), encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, "--dropout", "0.3", "--out"]
    assert main([*arguments, str(tmp_path / "whole")]) == 0
    from dgltree.training.module import TreeTraining

    step, left = TreeTraining.training_step, [12]

    def interrupted(self: TreeTraining, batch: object, index: int) -> torch.Tensor:
        left[0] -= 1
        if left[0] == 0:
            raise OSError("the disk is gone")
        return step(self, batch, index)

    monkeypatch.setattr(TreeTraining, "training_step", interrupted)
    assert main([*arguments, str(tmp_path / "halves")]) == 1
    assert "the disk is gone" in capsys.readouterr().err
    assert not (tmp_path / "halves" / "card.json").exists()
    monkeypatch.setattr(TreeTraining, "training_step", step)
    assert main([*arguments, str(tmp_path / "halves")]) == 0
    assert "epoch 0" not in capsys.readouterr().out  # it goes on behind the first epoch
    whole, halves = (TrainedModel.load(tmp_path / name).model.state_dict() for name in ("whole", "halves"))
    assert all(torch.equal(whole[name], halves[name]) for name in whole)
    assert main([*arguments, str(tmp_path / "halves")]) == 0
    assert "is done: nothing to do" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "halves"), "--seed", "1"]) == 1
    assert "holds a training with seed 0: give another folder" in capsys.readouterr().err


def test_a_resumed_training_halves_its_rate_when_the_whole_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where validation does not rise, what the schedule knows must be in the checkpoint."""
    from dgltree.training.module import TreeTraining

    rng = random.Random(1)
    rows = [f"{expression(rng, 3)}+{i}\t{rng.choice('ab')}" for i in range(80)]
    path = tmp_path / "noise.tsv"
    path.write_text("tree\tlabel\n" + "\n".join(rows) + "\n", encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, "--epochs", "8", "--patience", "8", "--out"]
    assert main([*arguments, str(tmp_path / "whole")]) == 0
    start = TreeTraining.on_train_epoch_start

    def interrupted(self: TreeTraining) -> None:
        if self.current_epoch in stops:
            stops.remove(self.current_epoch)
            raise OSError("the disk is gone")
        start(self)

    stops = [1, 2, 3, 4, 5, 6, 7]
    monkeypatch.setattr(TreeTraining, "on_train_epoch_start", interrupted)
    assert [main([*arguments, str(tmp_path / "parts")]) for _ in range(8)] == [1] * 7 + [0]
    whole, parts = (torch.load(tmp_path / name / "last.ckpt", weights_only=True) for name in ("whole", "parts"))
    assert whole["optimizer_states"][0]["param_groups"][0]["lr"] < 0.01  # it was halved
    assert all(torch.equal(whole["state_dict"][name], parts["state_dict"][name]) for name in whole["state_dict"])
    for name in ("whole", "parts"):
        epochs = [json.loads(line)["epoch"] for line in (tmp_path / name / "epochs.jsonl").read_text().splitlines()]
        assert epochs == list(range(8))


def test_a_checkpoint_that_is_none_is_named_and_never_executed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text(table(100), encoding="utf-8")
    arguments = ["fit", str(path), "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1"]
    assert main(arguments) == 0
    (tmp_path / "model" / "card.json").unlink()

    class Hostile:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "mark",))

    torch.save({"state_dict": Hostile()}, tmp_path / "hostile")
    for content in (b"", b"no checkpoint", (tmp_path / "hostile").read_bytes()):
        (tmp_path / "model" / "last.ckpt").write_bytes(content)
        capsys.readouterr()
        assert main(arguments) == 1
        assert "last.ckpt: no checkpoint of a training, or damaged" in capsys.readouterr().err
    assert not (tmp_path / "mark").exists()
    (tmp_path / "model" / "reading.json").write_text('{"columns": 5}')
    assert main(["predict", str(tmp_path / "model"), str(path)]) == 1
    assert "columns is 5, a int" in capsys.readouterr().err


def test_ctrl_c_says_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dgltree.training.module import TreeTraining

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TreeTraining, "training_step", interrupted)
    path = tmp_path / "trees.tsv"
    path.write_text(table(100), encoding="utf-8")
    handler = signal.getsignal(signal.SIGINT)
    assert main(["fit", str(path), "--out", str(tmp_path / "model"), *SMALL]) == 130
    signal.signal(signal.SIGINT, handler)  # which Lightning has let go
    assert "dgltree: interrupted" in capsys.readouterr().err


def test_labels_with_dollar_signs_and_of_validation_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, valid = tmp_path / "trees.tsv", tmp_path / "valid.tsv"
    path.write_text(table(60).replace("\tpos", "\t$\\frac{$"), encoding="utf-8")
    valid.write_text("tree\tlabel\nx*x\tnew\ny*y\tother\n", encoding="utf-8")
    arguments = ["fit", str(path), "--validation", str(valid), "--test", str(valid), "--out", str(tmp_path / "model")]
    assert main([*arguments, *SMALL, "--epochs", "1"]) == 0
    assert "count as errors: new, other" in capsys.readouterr().err
    epoch = json.loads((tmp_path / "model" / "epochs.jsonl").read_text())
    assert epoch["accuracy"] == 0


def test_a_block_of_trees_that_the_model_does_not_know_is_no_end(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.tsv"
    path.write_text("tree\nsin(x)\ncos(x)\n", encoding="utf-8")
    assert main(["predict", str(folder / "model"), str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == ["id\tprediction\tneg\tpos", "2\t\t\t", "3\t\t\t"]
    assert main(["encode", str(folder / "model"), str(path), "--out", str(tmp_path / "v.npy")]) == 1
    assert np.isnan(np.load(tmp_path / "v.npy")).all()
    assert main(["encode", str(folder / "model"), str(path), "--out", str(tmp_path / "no" / "v.npy")]) == 1
    assert f"there is no folder {tmp_path / 'no'}" in capsys.readouterr().err


def test_functions_of_one_file_keep_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = tmp_path / "sources"
    for name in ("one", "two"):
        (sources / name).mkdir(parents=True)
        for i in range(12):
            body = f"return a + {i}" if name == "one" else f"return [a] * {i}"
            (sources / name / f"{i}.py").write_text(f"def f(a):\n    {body}\n")
    assert main(["fit", str(sources), "--unit", "function", "--out", str(tmp_path / "model"), *SMALL]) == 0
    new = tmp_path / "new.py"
    new.write_text("def f(a):\n    return a\n\ndef g(a):\n    del a\n\ndef h(a):\n    return a\n")
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "model"), str(new)]) == 1
    rows = answers(capsys.readouterr().out)[1:]
    assert [(row[0], row[1] != "") for row in rows] == [("new.py:1:f", True), ("1", False), ("new.py:7:h", True)]


def test_settings_come_from_a_file_and_the_command_line_has_the_last_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, config = tmp_path / "trees.tsv", tmp_path / "fit.yaml"
    path.write_text(table(100), encoding="utf-8")
    config.write_text("hidden_size: 7\nepochs: 1\nencoder: child_sum\n", encoding="utf-8")
    arguments = ["fit", str(path), "--encoder", "tree_rnn", "--out", str(tmp_path / "model"), "--config", str(config)]
    assert main(arguments) == 0
    options = json.loads((tmp_path / "model" / "card.json").read_text())["options"]
    assert (options["hidden_size"], options["epochs"], options["encoder"]) == (7, 1, "tree_rnn")


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("tree\nx\ny\n", [], "no example can be used: line 2: no label (labels stand in the column 'label'"),
        ("tree\tlabel\n" + "".join(f"x+{'x+' * i}x\ta\n" for i in range(30)), [], "have the label 'a'; two classes"),
        (table(30), ["--task", "regress"], "is no number"),
        (table(30), ["--task", "pair"], "the task is 'pair'"),
        (table(30), ["--nodes"], "nodes needs classes and trees with labels at their nodes"),
        (table(30), ["--encoder", "tree_gru"], "the encoder is 'tree_gru'; it is one of tree_rnn"),
        (
            table(30),
            ["--encoder", "lstm", "--input-size", "5"],
            "input_size and nodes are for cells; lstm reads sequences",
        ),
        (table(30), ["--input-dropout", "0.5"], "input_dropout needs a cell with an input_size"),
        (table(30), ["--options", '{"leaves": 3}'], "its options are"),
        (table(30), ["--hidden-size", "0"], "hidden_size is 0; it is 1 or more"),
        (table(30), ["--dropout", "1"], "dropout is 1.0; it is a probability"),
        (table(4), [], "4 examples leave none for the split"),
        (table(30), ["--seed", "-1"], "seed is -1; it is from 0 to"),
        (table(12, "value"), [], "r2 needs two examples for validation"),
        ("tree\tlabel\n" + "x\tinf\ny\tnan\nx+y\t1e200\n" * 9, ["--task", "regress"], "or none of 32 bits"),
    ],
)
def test_what_cannot_be_learnt_is_refused_before_the_first_step(
    text: str, more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text(text, encoding="utf-8")
    assert main(["fit", str(path), "--out", str(tmp_path / "model"), *SMALL, *more]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_bad_lines_and_labels_never_seen_are_said_and_do_not_stop_a_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = table(100).splitlines()
    rows[5:5] = ["b1\tx+\tpos", "b2\tx\t", "e3\tx\tpos"]
    path, test = tmp_path / "trees.tsv", tmp_path / "test.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    test.write_text("tree\tlabel\nx*x*y*y\tpos\nx*y*z*z*z\tzero\nsin(x)\tpos\n", encoding="utf-8")
    arguments = ["fit", str(path), "--test", str(test), "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1"]
    assert main(arguments) == 0
    said = capsys.readouterr().err
    for part in (
        "line 6: tree: no infix tree",
        "the id 'e3' stands on line",
        "no label",
        "test: labels that no training example has count as errors: zero",
        "test: 1 could not be read:\n  line 4: unknown function 'sin'",
    ):
        assert part in said
    assert main([*arguments[:-2], "--strict", "--out", str(tmp_path / "other")]) == 1
    assert "line 6" in capsys.readouterr().err


def test_a_tree_deeper_and_wider_than_any_in_training_is_read(folder: Path, tmp_path: Path) -> None:
    model = TrainedModel.load(folder / "model")
    deep = Tree("Symbol", token="x")
    for _ in range(3000):
        deep = Tree("Add", (deep, Tree("Symbol", token="y")))
    assert bool(model.predict([deep]).isfinite().all())
    with pytest.raises(ValueError, match=r"'Add' has 3 children here; .* \(fit with --encoder child_sum"):
        model.predict([Tree("Add", [deep] * 3)])
    wide = TreeDataset([Tree("f", [Tree("w", token="ab"[i % 2])] * (i + 1)) for i in range(40)], list("pn") * 20)
    sums = dgltree.fit(wide, out=tmp_path / "model", hidden_size=4, epochs=1)
    assert json.loads((tmp_path / "model" / "card.json").read_text())["options"]["encoder"] == "child_sum"
    assert bool(sums.predict([Tree("f", [Tree("w", token="a")] * 5000)]).isfinite().all())


def test_unk_reads_functions_that_training_never_saw(tmp_path: Path) -> None:
    trees = [Tree("f" if i % 2 else "g", (Tree("w", token="a"), Tree("w", token=str(i % 7)))) for i in range(60)]
    trees += [Tree(f"rare{i}", (Tree("w", token="a"), Tree("w", token=str(i)))) for i in range(8)]
    data = TreeDataset(trees, ["even" if tree.function == "g" else "odd" for tree in trees])
    model = dgltree.fit(data, out=tmp_path / "model", unk=True, hidden_size=4, epochs=1)
    assert bool(model.predict([Tree("new", (Tree("w", token="z"), Tree("w", token="a")))]).isfinite().all())


def test_tokens_of_inner_nodes_are_read_by_gates_with_inputs(tmp_path: Path) -> None:
    trees = [Tree("root", (Tree("nsubj", token=f"w{i % 5}"),), token="ab"[i % 2]) for i in range(80)]
    trees += [
        Tree("root", (Tree("nsubj", token=f"w{i % 9}"), Tree("obj", token="c")), token="ab"[i % 2]) for i in range(20)
    ]
    data = TreeDataset(trees, [tree.token for tree in trees])
    settings = {"hidden_size": 6, "epochs": 8, "encoder": "child_sum", "lr": 0.05}
    model = dgltree.fit(data, validation=data, test=data, out=tmp_path / "model", **settings)
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["options"]["input_size"] == 6
    assert model.predict(trees[:2]).argmax(1).tolist() == [0, 1]


def test_labels_of_all_nodes_are_learnt_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(0)

    def phrase(depth: int) -> str:
        if depth == 0:
            good = rng.random() < 0.5
            return f"({3 if good else 1} {'good' if good else 'bad'}{rng.randrange(4)})"
        children = [phrase(depth - 1), phrase(depth - 1)]
        label = max(children, key=lambda text: text[1])[1]
        return f"({label} {children[0]} {children[1]})"

    path = tmp_path / "trees.txt"
    path.write_text("".join(f"{phrase(rng.randrange(1, 4))}\n" for _ in range(200)), encoding="utf-8")
    arguments = ["fit", str(path), "--nodes", "--input-size", "8", "--input-dropout", "0.1", *SMALL, "--epochs", "5"]
    assert main([*arguments, "--out", str(tmp_path / "model")]) == 0
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["classes"] == ["1", "3"]
    assert card["metrics"]["validation"]["accuracy"] > 0.8


def test_the_metrics_of_the_card_are_those_of_the_model_that_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, valid = tmp_path / "train.tsv", tmp_path / "valid.tsv"
    train.write_text(table(150), encoding="utf-8")
    valid.write_text(table(150, seed=1), encoding="utf-8")
    arguments = [
        "fit",
        str(train),
        "--validation",
        str(valid),
        "--out",
        str(tmp_path / "model"),
        *SMALL,
        "--epochs",
        "4",
    ]
    assert main([*arguments, "--input-size", "8", "--input-dropout", "0.5", "--dropout", "0.5"]) == 0
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    rows = [json.loads(line) for line in (tmp_path / "model" / "epochs.jsonl").read_text().splitlines()]
    assert card["metrics"]["validation"]["accuracy"] == pytest.approx(max(row["accuracy"] for row in rows), abs=1e-6)
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "model"), str(valid), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(found[name] == pytest.approx(value) for name, value in card["metrics"]["validation"].items())


def test_inspect_says_what_is_there_and_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text(table(50) + "bad\tx+\tpos\n", encoding="utf-8")
    assert main(["inspect", str(path), "--no-cache"]) == 0
    out, err = capsys.readouterr()
    assert "50 trees, read as infix" in out
    assert "labels, 2 at 50 of 50 examples" in out
    assert "line 52: tree: no infix tree" in out
    assert re.search(r"nodes in .* a second; at most .* MB of memory", err)
    assert [entry.name for entry in tmp_path.iterdir()] == ["trees.tsv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "nothing", "trees.tsv"], "no model.safetensors in it; give the folder"),
        (["inspect", "nothing.tsv"], "nothing.tsv: no such file or folder"),
        (["fit", "nothing.tsv"], "nothing.tsv: no such file or folder"),
    ],
)
def test_missing_files_are_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["fit", "predict", "encode", "evaluate", "inspect"])
def test_help_shows_examples_and_how_trees_are_read(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    out = capsys.readouterr().out
    assert f"  dgltree {command} " in out
    assert "--notation" in out
    assert "--binarize" in out
