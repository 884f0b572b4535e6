"""The ``dgltree`` command."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import dgltree
from dgltree import Vocabulary
from dgltree.cells import TreeSMU
from dgltree.commands.main import main
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout

FUNCTIONS = [("Symbol", 0), ("Integer", 0), ("NegativeOne", 0), ("sin", 1), ("Add", 2), ("Mul", 2), ("Pow", 2)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(0)
    vocabulary = Vocabulary(FUNCTIONS, [*(f"var_{i}" for i in range(10)), *map(str, range(4)), "-1"])
    path = tmp_path_factory.mktemp("model") / "small.safetensors"
    dgltree.save(EquationModel(TreeEncoder(TreeSMU(vocabulary, 8)), EquationReadout()), path)
    return str(path)


@pytest.fixture
def fillers(tmp_path: Path) -> str:
    path = tmp_path / "fillers.txt"
    path.write_text("1\nvar_0\nsin(var_0)\n\nvar_1\nvar_0^2\n", encoding="utf-8")
    return str(path)


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def test_complete_prints_the_best_fillers_in_the_equations_names(
    model: str, fillers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["complete", "sin(t) + _ = 1", "--model", model, "--fillers", fillers, "--top", "2"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "sin(t) + _ = 1"
    assert len(lines) == 3
    assert "var_" not in out
    assert err == ""


def test_complete_json_is_one_object_an_equation(model: str, fillers: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["complete", "sin(t) + _ = 1", "_ = t", "--json", "--model", model, "--fillers", fillers]
    assert main(arguments) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["equation"] for answer in answers] == ["sin(t) + _ = 1", "_ = t"]
    for answer in answers:
        assert set(answer) == {"equation", "fillers"}
        assert [set(row) for row in answer["fillers"]] == [{"filler", "score", "probability", "check"}] * 4
        assert sorted(row["filler"] for row in answer["fillers"]) == ["1", "sin(t)", "t", "t^2"]
        scores = [row["score"] for row in answer["fillers"]]
        assert scores == sorted(scores, reverse=True)


def test_any_variables_also_offers_variables_that_the_equation_lacks(
    model: str, fillers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["complete", "t + _ = 1", "--any-variables", "--json", "--model", model, "--fillers", fillers])
    assert "var_1" in {row["filler"] for row in json.loads(capsys.readouterr().out)["fillers"]}


def test_verify_json(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "x = x", "-x = 1", "--json", "--model", model]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["equation"] for answer in answers] == ["x = x", "-x = 1"]
    assert all(set(answer) == {"equation", "probability", "check"} for answer in answers)
    assert all(0 <= answer["probability"] <= 1 for answer in answers)
    assert [answer["check"] for answer in answers] == ["holds", "does not hold"]


def test_what_arithmetic_says_stands_beside_the_models_answer_unless_it_is_turned_off(
    model: str, fillers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["complete", "sin(t)*_ = sin(t)^2", "--model", model, "--fillers", fillers]
    main(arguments)
    checked = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in checked[1:] if line.endswith("  holds")] == ["sin(t)"]
    assert sum(line.endswith("  does not hold") for line in checked) == 3
    main([*arguments, "--no-check"])
    assert capsys.readouterr().out.splitlines() == [re.sub("  (does not hold|holds)$", "", line) for line in checked]
    main(["verify", "t = t", "t = 1", "--no-check", "--json", "--model", model])
    assert "check" not in capsys.readouterr().out


@pytest.mark.parametrize("equation", ["-x = 1", "-h = x", "--x = x", "-1 = x"])
@pytest.mark.parametrize("first", [True, False])
def test_an_argument_that_begins_with_a_dash_and_is_no_option_is_an_equation(
    equation: str, first: bool, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--model", model, "--json"]
    arguments = [equation, *options] if first else ["x = x", *options, equation]
    assert main(["verify", *arguments]) == 0
    assert equation in [json.loads(line)["equation"] for line in capsys.readouterr().out.splitlines()]


def test_one_bad_equation_is_reported_and_the_rest_answered(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["x = x", "sni(x) = 1", "", "x + = 1", "_ = x", "tan(x) = 1", "a+b+c+d+f+g+h+i+j+k+l = 1"]
    feed(monkeypatch, "\n".join(lines).encode() + b"\n\xff = 1\nx + 1 = 1 + x")
    assert main(["verify", "-", "--json", "--model", model]) == 1
    out, err = capsys.readouterr()
    assert [json.loads(line)["equation"] for line in out.splitlines()] == ["x = x", "x + 1 = 1 + x"]
    messages = err.splitlines()
    assert [message.split(",")[0] for message in messages] == [f"dgltree: equation {n}" for n in (2, 4, 8, 5, 6, 7)]
    for part in ("unknown function 'sni'", "line 1, column 5", "not UTF-8", "unknown function 'tan'", "11 variables"):
        assert part in err


def test_text_that_tries_to_run_code_is_a_syntax_error(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / "mark"
    assert main(["verify", f"__import__('os').system('touch {mark}') = 1", "--model", model]) == 1
    assert "line 1, column" in capsys.readouterr().err
    assert not mark.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["solve", "x = x"],
        ["complete"],
        ["complete", "_ = x", "--top", "0"],
        ["complete", "_ = x", "--top", "many"],
        ["complete", "_ = x", "--top"],
    ],
)
def test_bad_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: dgltree" in capsys.readouterr().err


def test_a_bad_line_of_a_filler_file_is_named(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fillers.txt"
    path.write_text("1\nsin(x)\n2x\n", encoding="utf-8")
    assert main(["complete", "_ = x", "--model", model, "--fillers", str(path)]) == 1
    assert f"{path}, line 3, column 2" in capsys.readouterr().err
    path.write_bytes(b"1\n\xe9\n")
    assert main(["complete", "_ = x", "--model", model, "--fillers", str(path)]) == 1
    assert f"{path}: line 2, column 1: byte 0xe9" in capsys.readouterr().err
    path.write_text("1\ntan(x)\n", encoding="utf-8")
    assert main(["complete", "_ = x", "--model", model, "--fillers", str(path)]) == 1
    assert "filler 2: unknown function 'tan'" in capsys.readouterr().err
    path.write_text("\n", encoding="utf-8")
    assert main(["complete", "_ = x", "--model", model, "--fillers", str(path)]) == 1
    assert "no fillers" in capsys.readouterr().err


def test_a_model_that_is_missing_or_damaged_is_named(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "x = x", "--model", "nosuch"]) == 1
    assert "nosuch: no such file, and no shipped model of that name" in capsys.readouterr().err
    half = tmp_path / "half.safetensors"
    half.write_bytes(Path(model).read_bytes()[:1000])
    assert main(["verify", "x = x", "--model", str(half)]) == 1
    assert "not a whole safetensors file" in capsys.readouterr().err


def test_an_empty_standard_input_is_an_error(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, b"\n")
    assert main(["verify", "-", "--model", model]) == 1
    assert "no equations" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["complete", "--help"], ["verify", "--help"]])
def test_help_shows_examples(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    assert 'dgltree complete "sin(x)^2 + _ = 1"' in capsys.readouterr().out


def test_a_closed_pipe_and_a_pipe_without_a_terminal_are_quiet(model: str) -> None:
    command = f"yes 'x = x' | head -2000 | {sys.executable} -m dgltree verify - --model {model} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.endswith("x = x\n")
    assert done.stderr == ""


def test_the_shipped_model_completes_the_main_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "sin(x)^2 + _ = 1", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["fillers"][0]
    assert first["filler"] == "cos(x)^2"
    assert main(["verify", "x + 0 = x", "x + 1 = x", "--json"]) == 0
    true, false = (json.loads(line)["probability"] for line in capsys.readouterr().out.splitlines())
    assert false < 0.5 < true
