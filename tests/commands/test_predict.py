"""``dgltree predict``."""

import csv
import io
import os
import shutil
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from own_trees import QUIET, SMALL, rows_of

from dgltree.commands.main import main
from dgltree.datasets.formats import source
from dgltree.read.infix import read_infix
from dgltree.training.trained_model import TrainedModel

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def test_predictions_stand_in_the_order_of_the_file_and_bad_lines_keep_their_place(
    fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "new.tsv"
    path.write_text("tree\nx+y\nx+\nsin(x)\n\nz\n" + "y\t1\n", encoding="utf-8")
    assert main(["predict", str(fitted / "model"), str(path)]) == 1
    out, err = capsys.readouterr()
    header, *rows = rows_of(out)
    assert header == ["id", "prediction", "neg", "pos"]
    assert [row[0] for row in rows] == ["2", "3", "4", "5", "6", "7"]
    assert [row[1] in ("neg", "pos") for row in rows] == [True, False, False, False, True, False]
    assert [len(row) for row in rows] == [4] * 6
    for row in (rows[0], rows[4]):
        assert float(row[2]) + float(row[3]) == pytest.approx(1, abs=2e-6)
    for line in ("line 3: tree: not a valid infix tree", "line 4: unknown function 'sin'", "line 5: the line is empty"):
        assert line in err
    assert "trained with --no-unk" in err
    assert main(["predict", str(fitted / "model"), str(path), "--strict"]) == 1
    assert "line 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("t.tsv", "id\ttree\na\tx+y\nb\tx+\nc\tsin(x)\na\tx\n\tx+\ny\n", ["a", "b", "c", "5", "6", "7"]),
        ("t.jsonl", '{"id": "a", "tree": "x+"}\n{"id": [1], "tree": "x+"}\n{"id": 3}\n{\n', ["a", "2", "3", "4"]),
    ],
)
def test_a_record_without_an_answer_has_its_id(
    name: str, text: str, ids: list[str], fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert main(["predict", str(fitted / "model"), str(path)]) == 1
    assert [row[0] for row in rows_of(capsys.readouterr().out)[1:]] == ids


def test_the_standard_input_is_a_file_too(
    fitted: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"(x+{'y' * (i % 2)}{'z' * (1 - i % 2)})" for i in range(150)]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("\n".join(texts).encode())))
    monkeypatch.setattr("dgltree.datasets.loading.flatten.default_workers", lambda: 0)
    assert main(["predict", str(fitted / "model"), "-"]) == 0
    rows = rows_of(capsys.readouterr().out)[1:]
    assert len(rows) == 150
    assert [row[0] for row in rows] == [str(i) for i in range(1, 151)]
    assert rows[0][1:] == rows[2][1:] != rows[1][1:] == rows[3][1:]


def test_functions_of_one_file_keep_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = tmp_path / "sources"
    for name in ("one", "two"):
        (sources / name).mkdir(parents=True)
        for i in range(12):
            body = f"return a + {i}" if name == "one" else f"return [a] * {i}"
            (sources / name / f"{i}.py").write_text(f"def f(a):\n    {body}\n")
    assert main(["fit", str(sources), "--unit", "function", "--out", str(tmp_path / "model"), *SMALL, "--no-unk"]) == 0
    new = tmp_path / "new.py"
    new.write_text("def f(a):\n    return a\n\ndef g(a):\n    del a\n\ndef h(a):\n    return a\n")
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "model"), str(new)]) == 1
    rows = rows_of(capsys.readouterr().out)[1:]
    assert [(row[0], row[1] != "") for row in rows] == [
        ("new.py:1:f", True),
        ("new.py:4:g", False),
        ("new.py:7:h", True),
    ]


def test_a_pipe_is_answered_record_by_record(
    fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dgltree.datasets.loading.flatten.default_workers", lambda: 0)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("tree\n" + "x+y\n" * 401,))
    writer.start()
    assert main(["predict", str(fitted / "model"), str(path)]) == 0
    writer.join()
    rows = rows_of(capsys.readouterr().out)[1:]
    assert [row[0] for row in rows] == [str(i) for i in range(2, 403)]


def test_an_id_that_occurred_before_is_left_out_as_in_training(
    fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", 20)  # wherever it stood
    path = tmp_path / "new.tsv"
    path.write_text("id\ttree\na\tx\nb\ty\na\tz\n\tx\n\tx\nc\tsin(x)\nb\tx\nc\tx\nd\ty\n", encoding="utf-8")
    assert main(["predict", str(fitted / "model"), str(path)]) == 1
    out, err = capsys.readouterr()
    rows = [(row[0], row[1] != "") for row in rows_of(out)[1:]]
    known = [("a", True), ("b", True), ("4", False), ("5", True), ("6", True)]
    assert rows == [*known, ("c", False), ("8", False), ("9", False), ("d", True)]
    assert "line 4: the id 'a' was already used in line 2; each record needs its own id" in err
    assert main(["predict", str(fitted / "model"), str(path), "--strict"]) == 1


def test_a_model_that_cannot_be_read_is_told_as_such(
    fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("model.safetensors", "reading.json"):
        folder = tmp_path / name
        shutil.copytree(fitted / "model", folder)
        (folder / name).unlink()
        (folder / name).mkdir()
        assert main(["predict", str(folder), str(fitted / "trees.tsv")]) == 1
        err = capsys.readouterr().err
        assert name in err
        assert "Is a directory" in err
        assert err.count("\n") == 1


def test_an_empty_folder_is_an_error(fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command in (["predict"], ["encode", "--out", str(tmp_path / "v.npy")], ["evaluate"]):
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert main([command[0], str(fitted / "model"), str(tmp_path / "empty"), *command[1:]]) == 1
        assert "no files of trees in this folder" in capsys.readouterr().err


def test_nothing_is_printed_of_what_cannot_be_opened(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for missing in (tmp_path / "none.tsv", tmp_path / "empty"):
        assert main(["predict", str(fitted / "model"), str(missing)]) == 1
        assert capsys.readouterr().out == ""


def test_a_file_to_be_answered_may_lack_the_columns_that_training_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"x{'+y' * (i % 9)}{'*x' * (i % 7)},{'ab'[i % 2]}-1,f{i}\n" for i in range(60))
    (tmp_path / "train.csv").write_text(f"tree,kind,file\n{rows}")
    (tmp_path / "new.csv").write_text("tree\nx+y\n")
    settings = ["--label-from", "kind:[ab]", "--group-by", "file", "--out", str(tmp_path / "model"), *SMALL]
    assert main(["fit", str(tmp_path / "train.csv"), *settings, "--epochs", "1", "--no-baseline"]) == 0
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / "new.csv")]) == 0
    assert main(["similar", str(tmp_path / "model"), str(tmp_path / "new.csv"), "--query", "x"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "model"), str(tmp_path / "new.csv")]) == 1
    assert "no example can be used" in capsys.readouterr().err


def test_a_network_whose_numbers_overflow_gives_no_answers(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = TrainedModel.load(fitted / "model")
    with torch.no_grad():
        for weight in model.model.parameters():
            weight.fill_(3e38)
    with pytest.raises(ValueError, match=r"the network returns \[.*(nan|inf).*\] for example 1 of a batch of 1"):
        model.predict_proba([read_infix("x + y")])
    model.save(tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), str(fitted / "trees.tsv")]) == 1
    assert "are too large for torch.float32" in capsys.readouterr().err


def test_columns_are_separated_by_commas_on_request(
    fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "new.tsv"
    path.write_text('id\ttree\n"a, b"\tx+y\nc\tx+\n', encoding="utf-8")
    command = ["predict", str(fitted / "model"), str(path)]
    assert main(command) == 1
    by_tabs = rows_of(capsys.readouterr().out)
    assert main([*command, "--csv"]) == 1
    by_commas = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert by_commas == by_tabs
    assert by_commas[1][0] == '"a, b"', "quotes have no meaning in a TSV file"
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--csv", "--ray", "--out", str(tmp_path / "out")])
    assert "--csv is for one process" in capsys.readouterr().err
