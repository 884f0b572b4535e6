"""What ``fit`` learns, leaves and says."""

import json
import random
from pathlib import Path

import pytest
import torch
from own_trees import QUIET, SMALL, expression, rows_of, table

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def test_a_training_leaves_a_model_its_metrics_and_its_card(fitted: Path) -> None:
    left = {path.name for path in (fitted / "model").iterdir()}
    assert {"model.safetensors", "reading.json", "card.md", "card.json", "confusion.tsv", "confusion.png"} <= left
    pictures = [fitted / "model" / f"{name}.{kind}" for name in ("confusion", "learning") for kind in ("png", "svg")]
    assert all(file.stat().st_size > 1000 for file in pictures), "they are painted"
    card = json.loads((fitted / "model" / "card.json").read_text())
    assert card["task"] == "classify"
    assert card["classes"] == ["neg", "pos"]
    assert card["metrics"]["test"]["accuracy"] > 0.6  # 31 examples
    assert set(card["data"]["examples"]) == {"train", "validation", "test"}
    assert len(card["data"]["sha256"]) == 64
    assert card["command"].startswith("dgltree fit ")
    assert card["versions"]["torch"] == torch.__version__
    text = (fitted / "model" / "card.md").read_text()
    assert f"| test | {card['metrics']['test']['examples']} |" in text
    assert (fitted / "model" / "confusion.tsv").read_text().splitlines()[
        0
    ] == "label (rows), prediction (columns)\tneg\tpos"


@pytest.mark.slow
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
    assert main([*arguments, "--epochs", "20", "--patience", "20", "--no-baseline"]) == 0
    said = capsys.readouterr().err
    assert "regress: 300 train, 40 validation, 40 test" in said
    assert "warning: 40 of 40 test examples also occur in the training set" in said
    card = json.loads((out / "card.json").read_text())
    assert card["metrics"]["test"]["r2"] > 0.9
    model = TrainedModel.load(out)
    assert model.objective.labels_are_numbers
    found = model.answers_to([dgltree.read_infix("x+x+x+x")])
    assert float(found[0]) == pytest.approx(4002, rel=0.25)
    assert main(["predict", str(out), str(test)]) == 0
    header, first, *_ = rows_of(capsys.readouterr().out)
    assert header == ["id", "prediction"]
    [wanted] = model.answers_to([dgltree.read_infix(lines[0].split("\t")[0])]).tolist()
    assert float(first[1]) == pytest.approx(wanted, rel=1e-4)


def test_pairs_and_a_sequence_encoder(tmp_path: Path) -> None:
    rng = random.Random(0)
    pairs = [(expression(rng, 2), expression(rng, 2)) for _ in range(120)]
    rows = [{"left": a, "right": b, "label": "longer" if len(a) > len(b) else "no"} for a, b in pairs]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = tmp_path / "model"
    options = ["--encoder", "ordered_memory", "--options", '{"num_slots": 4}']
    few = [*SMALL, "--epochs", "1", "--no-baseline"]
    assert main(["fit", str(path), "--out", str(out), *few, *options]) == 0
    model = TrainedModel.load(out)
    data = TreeDataset.from_file(path)
    assert model.answers_to(data).shape == (120, 2)
    assert model.encode(data).shape == (240, 12)
    with pytest.raises(ValueError, match="the model reads pairs of trees, but these examples are single trees"):
        model.answers_to([dgltree.read_infix("x")])
    with pytest.raises(
        ValueError,
        match=r"reads sequences and has no node vectors\. Use a tree encoder, or efficient_beam_tree with",
    ):
        model.node_vectors(data)


def test_unk_reads_functions_that_training_never_saw(tmp_path: Path) -> None:
    trees = [Tree("f" if i % 2 else "g", (Tree("w", token="a"), Tree("w", token=str(i % 7)))) for i in range(60)]
    trees += [Tree(f"rare{i}", (Tree("w", token="a"), Tree("w", token=str(i)))) for i in range(8)]
    data = TreeDataset(trees, ["even" if tree.function == "g" else "odd" for tree in trees])
    model = dgltree.fit(data, out=tmp_path / "model", unk=True, hidden_size=4, epochs=1, no_baseline=True)
    assert bool(model.answers_to([Tree("new", (Tree("w", token="z"), Tree("w", token="a")))]).isfinite().all())


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
    assert model.answers_to(trees[:2]).argmax(1).tolist() == [0, 1]


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
    assert card["network"]["validation"]["accuracy"] == pytest.approx(max(row["accuracy"] for row in rows), abs=1e-6)
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "model"), str(valid), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(found[name] == pytest.approx(value) for name, value in card["metrics"]["validation"].items())


@pytest.mark.painted
def test_labels_with_dollar_signs_and_of_validation_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, valid = tmp_path / "trees.tsv", tmp_path / "valid.tsv"
    path.write_text(table(60).replace("\tpos", "\t$\\frac{$"), encoding="utf-8")
    valid.write_text("tree\tlabel\nx*x\tnew\ny*y\tother\n", encoding="utf-8")
    arguments = ["fit", str(path), "--validation", str(valid), "--test", str(valid), "--out", str(tmp_path / "model")]
    assert main([*arguments, *SMALL, "--epochs", "1", "--no-baseline"]) == 0
    assert "count as errors: new, other" in capsys.readouterr().err
    epoch = json.loads((tmp_path / "model" / "epochs.jsonl").read_text())
    assert epoch["accuracy"] == 0


def test_bad_lines_and_labels_never_seen_are_said_and_do_not_stop_a_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = table(100).splitlines()
    rows[5:5] = ["b1\tx+\tpos", "b2\tx\t", "e3\tx\tpos"]
    path, test = tmp_path / "trees.tsv", tmp_path / "test.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    test.write_text("tree\tlabel\nx*x*y*y\tpos\nx*y*z*z*z\tzero\nsin(x)\tpos\n", encoding="utf-8")
    few = [*SMALL, "--epochs", "1", "--no-unk", "--no-baseline"]
    arguments = ["fit", str(path), "--test", str(test), *few, "--out", str(tmp_path / "model")]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    said = err + out
    card = json.loads((tmp_path / "model" / "card.json").read_text())["metrics"]["test"]
    all_rows = f"{card['accuracy'] * 2 / 3:.4f}"
    for part in (
        "test, all 3 rows: 1 are rejected for names unknown to the model; accuracy with these rows counted as errors: "
        f"{all_rows}",
        "line 6: tree: not a valid infix tree",
        "the id 'e3' was already used in line",
        "no label",
        "test: labels that do not occur in the training set count as errors: zero",
        "test: 1 could not be read:\n  line 4: unknown function 'sin'",
    ):
        assert part in said
    assert main([*arguments[:-2], "--strict", "--out", str(tmp_path / "other")]) == 1
    assert "line 6" in capsys.readouterr().err
