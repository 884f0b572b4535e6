"""``dgltree inspect``, and what all commands on files of trees say."""

import re
from pathlib import Path

import pytest
from own_trees import QUIET, table, written

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def test_inspect_says_what_is_there_and_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text(table(50) + "bad\tx+\tpos\n", encoding="utf-8")
    assert main(["inspect", str(path), "--no-cache"]) == 0
    out, err = capsys.readouterr()
    assert "50 trees, read as infix" in out
    assert "labels: 2 different labels on 50 of 50 examples" in out
    assert "line 52: tree: not a valid infix tree" in out
    assert re.search(r"nodes in .* a second; peak memory .* MB", err)
    assert [entry.name for entry in tmp_path.iterdir()] == ["trees.tsv"]


@pytest.mark.parametrize(
    ("trees", "told"),
    [
        (
            ["x+y", "x*z", "y+x", "x*y"],
            ["tree_lstm, which reads functions, tokens and"],
        ),
        (
            ["Add(x, y, 2.5, y)", "x*2.5"],
            [
                "child_sum, which reads tokens, numbers and",
                "  numeric leaves are read as numbers",
            ],
        ),
    ],
)
def test_inspect_says_what_fit_would_read(
    trees: list[str], told: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text("tree\tlabel\n" + "".join(f"{tree}\ta\n" for tree in trees), encoding="utf-8")
    assert main(["inspect", str(path), "--no-cache"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-len(told) :] == [f"unless an encoder is named, fit trains {told[0]} the order of children", *told[1:]]


def test_inspect_counts_numbers_node_labels_and_labels_that_mean_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values, labels = [-2.5, 4.0, 0.25, 4.0], ["a", "NA", "b", "n/a", "NA", "a"]
    rows = [f"(f {value} x)\t{label}" for value, label in zip([*values, 7, 1], labels, strict=True)]
    table, bank = written(tmp_path, "trees.tsv", "\n".join(["tree\tlabel", *rows, ""])), tmp_path / "bank.txt"
    assert main(["inspect", str(table), "--no-cache", "--numbers", "--missing", "NA,n/a"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"  {len(rows)} leaves are numbers, from {min(values):g} to 7" in lines
    counts = ", ".join(f"{name} ({labels.count(name)})" for name in ("NA", "n/a"))
    assert f"labels read as missing: {counts}; --missing sets these labels" in lines
    known = [label for label in labels if label in "ab"]
    assert f"labels: {len(set(known))} different labels on {len(known)} of {len(labels)} examples:" in lines
    text = "(3 (2 The) (4 Rock))\n(1 (0 No) (2 way))\n"
    bank.write_text(text)
    assert main(["inspect", str(bank), "--no-cache"]) == 0
    said = f"labels at {text.count('(')} nodes; fit --nodes learns from these labels"
    assert said in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "nothing", "trees.tsv"], "no model.safetensors in this folder; give the folder that 'dgltree"),
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


@pytest.mark.parametrize("command", ["fit", "inspect", "predict", "encode", "evaluate", "similar"])
def test_defaults_of_reading_are_told_where_no_training_says_otherwise(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    reading = capsys.readouterr().out.split("how the trees are read")[1]
    assert ("Default:" in reading) == (command in ("fit", "inspect"))
    assert reading.startswith(" (by default as in training)") != (command in ("fit", "inspect"))
