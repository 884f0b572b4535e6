"""``dgltree fit``: its settings, and what it refuses."""

import json
from pathlib import Path

import pytest
from own_trees import QUIET, SMALL, table, written

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


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
        ("tree\nx\ny\n", [], "no example can be used: line 2: no label (labels are read from the column 'label'"),
        (
            "tree\tlabel\n" + "".join(f"x+{'x+' * i}x\ta\n" for i in range(30)),
            [],
            "have the label 'a'; give at least two classes",
        ),
        (table(30), ["--task", "regress"], "is not a number that float32 can hold"),
        (table(30), ["--task", "pair"], "the task is 'pair', but an example has 1 tree"),
        (table(30), ["--nodes"], "nodes needs trees with class labels at their nodes"),
        (table(30), ["--encoder", "tree_gru"], "the encoder is 'tree_gru'; it must be one of tree_rnn"),
        (table(30), ["--encoder", "tree_lstn"], "; nearest known: tree_lstm, tree_smu, tree_rnn"),
        (table(30), ["--encoder", "tree_smu", "--options", '{"stacksize": 3}'], "; nearest known: stack_size"),
        (
            table(30),
            ["--encoder", "lstm", "--input-size", "5"],
            "input_size and nodes need a cell; lstm reads sequences",
        ),
        (table(30), ["--encoder", "lstm", "--input-dropout", "0.5"], "need a cell with an input_size"),
        (table(30), ["--options", '{"leaves": 3}'], "its options are"),
        (table(30), ["--hidden-size", "0"], "hidden_size is 0; it must be 1 or more"),
        (table(30), ["--dropout", "1"], "dropout is 1.0; it must be a probability"),
        (table(4), [], "too few examples for a validation set: 4 in"),
        (table(30), ["--seed", "-1"], "seed is -1; it must be from 0 to"),
        (table(12, "value"), [], "R2 needs at least two validation examples"),
        ("tree\tlabel\n" + "x\tinf\ny\tnan\nx+y\t1e200\n" * 9, ["--task", "regress"], "float32 can hold"),
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


@pytest.mark.parametrize("option", ["--valid", "--encode", "--hidden"])
def test_an_option_has_one_name(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["fit", "trees.tsv", option, "5"])
    assert f"there is no option {option}" in capsys.readouterr().err


def test_what_cannot_be_read_is_said_before_there_is_too_little_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text("tree\tlabel\n(add x y)\ta\n(mul x y\tb\n(sub x y)\tb\n", encoding="utf-8")
    assert main(["fit", str(path), "--out", str(tmp_path / "model"), "--notation", "sexpr"]) == 1
    said = capsys.readouterr().err
    assert said.index("line 3: tree: not a valid sexpr tree") < said.index(
        "too few examples for a validation set: 2 in 2"
    )


def test_a_file_where_the_folder_of_the_model_should_be_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "t.tsv", table(30))
    assert main(["fit", str(path), "--out", str(path), *SMALL]) == 1
    assert f"{path} is a file; the output goes to a folder" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == table(30)
