"""The ``dgltree`` command."""

import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
    assert main(["complete", "sin t + _ = 1", "--model", model, "--fillers", fillers, "--top", "2"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "sin(t) + _ = 1"
    assert len([line for line in lines if line.endswith(", list)")]) == 2
    assert "var_" not in out
    assert err == ""


def first_infix(row: dict[str, Any]) -> str:
    """What a row of JSON has for the first blank."""
    text: str = row["blanks"][0]["infix"]
    return text


def test_complete_json_is_one_object_an_equation(model: str, fillers: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["complete", "sin(t) + _ = 1", "_ = t", "--json", "--model", model, "--fillers", fillers]
    assert main(arguments) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["equation"] for answer in answers] == ["sin(t) + _ = 1", "_ = t"]
    for answer in answers:
        assert (answer["blanks"], answer["unknown"], answer["imaginary_unit"]) == (["_"], None, None)
        assert [row["blanks"][0]["name"] for row in answer["fillers"]] == ["_"] * 4
        assert sorted(map(first_infix, answer["fillers"])) == ["1", "sin(t)", "t", "t^2"]
        scores = [row["score"] for row in answer["fillers"]]
        assert scores == sorted(scores, reverse=True)


def test_any_variables_also_offers_variables_that_the_equation_lacks(
    model: str, fillers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["complete", "t + _ = 1", "--any-variables", "--json", "--model", model, "--fillers", fillers])
    assert "var_1" in set(map(first_infix, json.loads(capsys.readouterr().out)["fillers"]))


def test_the_steps_of_a_calculation_are_verified_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "2x + 4 = 2(x+2) = 2x + 5", "x = 1", "--json"]) == 0
    first, second, third = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["equation"], first["grade"]) == ("2x + 4 = 2(x+2)", "proved")
    assert (second["equation"], second["grade"]) == ("2(x+2) = 2x + 5", "refuted")
    assert third["equation"] == "x = 1"


@pytest.mark.parametrize("text", ["x = y, z = 2", "a = b ="])
def test_what_is_no_calculation_in_steps_is_refused_as_a_whole(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", text]) == 1
    assert f"{text!r}: line 1" in capsys.readouterr().err


def test_verify_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "x = x", "-x = 1", "exp(x)*exp(-x) = 1", "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["equation"] for answer in answers] == ["x = x", "-x = 1", "exp(x)*exp(-x) = 1"]
    assert [answer["verdict"] for answer in answers] == [
        "holds everywhere",
        "holds for x = -1 only",
        "holds everywhere",
    ]
    assert [(answer["grade"], answer["domain"]) for answer in answers] == [
        ("proved", "everywhere"),
        ("proved", "part"),
        ("proved", "everywhere"),
    ]
    assert answers[1]["part"] == [{"from": "-1", "to": "-1", "from_included": True, "to_included": True}]
    assert answers[1]["counterexample"] == {"variables": {"x": "1"}, "left": "is -1", "right": "is 1"}
    assert ["counterexample" in answer for answer in answers] == [False, True, False]


def test_a_search_says_what_it_understood_where_fillers_hold_and_what_it_tried(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["complete", "x^2 - 5x + 6 = (x - 2)_", "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "x^2 - 5*x + 6 = (x - 2)*_"
    assert lines[1] == "   1  x - 3  holds everywhere (proved)  (search)"
    assert len(lines) == 3
    assert "expressions tried in" in lines[2] and "MB" in lines[2]


def test_forms_are_the_other_spellings_of_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "sin(x)^2 + _ = 1", "--forms"]) == 0
    _, first, *forms, _ = capsys.readouterr().out.splitlines()
    assert first == "   1  cos(x)^2  holds everywhere (proved)  (search)"
    assert "      = 1 - sin(x)^2" in forms
    assert all(form.startswith("      = ") for form in forms)


def test_latex_goes_in_and_comes_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", r"\frac{1}{x} = \frac{_}{x^{2}}", "--latex"]) == 0
    understood, first, _ = capsys.readouterr().out.splitlines()
    assert understood == r"\frac{1}{x} = \frac{\square}{x^{2}}"
    assert first.split()[:2] == ["1", "x"]


@pytest.mark.parametrize("option", ["--latex", "--forms"])
def test_json_has_latex_and_forms_of_its_own(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["complete", "x + _ = 1", "--json", option])
    assert "--json contains infix, LaTeX and all forms" in capsys.readouterr().err


def test_solutions_are_lines_with_the_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "2x + 3 = 11, x = _", "x^2 + 4 = 0 => x = _"]) == 0
    first, second = capsys.readouterr().out.split("x^2 + 4 = 0, x = _\n")
    assert first.splitlines()[:2] == ["2*x + 3 = 11, x = _", "   1  x = 4  holds everywhere (proved)  (a number)"]
    said, *found, unit, _ = second.splitlines()
    assert said == "      there is no real solution (proved)"
    assert [line.split("  ")[2] for line in found] == ["x = 2*i", "x = -2*i"]
    assert unit == "      (i is the imaginary unit)"


def test_several_blanks_have_a_filler_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "x^2 - 5x + 6 = (x - _1)(x - _2)", "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "_1, _2 = 2, 3" in out


def test_an_equation_without_a_solution_has_none_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "0*_ = x^2 + 1", "0*_ = 1", "--budget", "2000", "--json"]) == 0
    searched, proved = map(json.loads, capsys.readouterr().out.splitlines())
    assert not searched["found"] and searched["tried"] > 2000
    assert not proved["found"] and proved["reason"] == "there is no real solution (proved)"
    assert searched["fillers"] == proved["fillers"] == []


def test_the_clock_ends_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["complete", "_*x = sin(x)*exp(y)*cos(x+y)^3*log(x)*tan(z)^5", "--seconds", "0.1", "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["stopped"]


BAD = {
    "x + 1": "there is no '='",
    "x = _ = 1": "a second '='",
    "x + 1 = 2": "the equation has no blank",
    "1/0 = _": "1/0 has no value",
    "9^9^9^9 = _": "9^9^9^9 has no value",
    "1/2x = _": "can mean (1/2)*x or 1/(2*x)",
    f"{'(' * 300}x{')^2' * 300} = _": "nested more than 200 deep",
    "x_ = 1": "",
}


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_completed_is_told_in_a_line_and_in_json(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", text, "_ = 1", "--json"]) == 1
    out, err = capsys.readouterr()
    refused, answered = map(json.loads, out.splitlines())
    assert BAD[text] in refused["error"]
    assert set(refused) == {"equation", "error"}
    assert first_infix(answered["fillers"][0]) == "1"
    assert len(err.splitlines()) == 1
    assert err.startswith("dgltree: equation 1, ")


@pytest.mark.slow
def test_a_long_equation_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    side = " + ".join(f"x^{k % 7 + 1}*y" for k in range(1300))
    assert len(side) > 10_000
    assert main(["complete", f"{side} + _ = {side} + z", "--budget", "2000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fillers"]


@pytest.mark.parametrize("equation", ["-x = 1", "-h = x", "--x = x", "-1 = x"])
@pytest.mark.parametrize("first", [True, False])
def test_an_argument_that_begins_with_a_dash_and_is_no_option_is_an_equation(
    equation: str, first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--json"]
    arguments = [equation, *options] if first else ["x = x", *options, equation]
    assert main(["verify", *arguments]) == 0
    assert equation in [json.loads(line)["equation"] for line in capsys.readouterr().out.splitlines()]


def test_one_bad_equation_is_reported_and_the_rest_answered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["x = x", "sni(x) = 1", "", "x + = 1", "_ = x"]
    feed(monkeypatch, "\n".join(lines).encode() + b"\n\xff = 1\nx + 1 = 1 + x")
    assert main(["verify", "-", "--json"]) == 1
    out, err = capsys.readouterr()
    answers = list(map(json.loads, out.splitlines()))
    assert [(answer["equation"], "error" in answer) for answer in answers] == [
        ("x = x", False),
        ("sni(x) = 1", True),
        ("x + = 1", True),
        ("_ = x", True),
        ("\ufffd = 1", True),
        ("x + 1 = 1 + x", False),
    ]
    messages = err.splitlines()
    assert [message.split(",")[0] for message in messages] == [f"dgltree: equation {n}" for n in (2, 4, 5, 6)]
    for part in ("unknown function 'sni'", "line 1, column 5", "not UTF-8", "has a blank"):
        assert part in err


ORDERED = ["_ = 1", "2 +", "x + _ = 3x", "x = x", "sni(x) = _", "_ = x"]


@pytest.mark.parametrize("by_score", [False, True])
@pytest.mark.parametrize("as_json", [False, True])
def test_answers_come_in_the_order_of_the_input_refused_ones_in_their_place(
    by_score: bool, as_json: bool, model: str, fillers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks of one, of 64, and with a block that ends within the input."""
    lines = [*ORDERED * 12, "x = x"] if by_score else ORDERED
    feed(monkeypatch, "\n".join(lines).encode())
    told = io.StringIO()
    monkeypatch.setattr(sys, "stdout", told)
    monkeypatch.setattr(sys, "stderr", told)
    options = ["--model", model, "--fillers", fillers] if by_score else []
    assert main(["complete", "-", "--top", "1", *options, *(["--json"] if as_json else [])]) == 1
    found = told.getvalue().splitlines()
    if as_json:
        rows = [json.loads(line) for line in found if line.startswith("{")]
        assert [(row["equation"], row["line"]) for row in rows] == [(line, i) for i, line in enumerate(lines, 1)]
        return
    bad = [line for line in lines if line in ("2 +", "x = x", "sni(x) = _")]
    wanted = [
        f"dgltree: equation {i}, {line!r}: " if line in bad else f"{i}: {line}" for i, line in enumerate(lines, 1)
    ]
    heads = [line for line in found if not line.startswith(" ")]
    for head, text in zip(heads, wanted, strict=True):
        assert head.startswith(text.replace("3x", "3*x"))


def test_a_refused_equation_is_told_before_the_next_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def lines():
        yield b"sni(x) = _\n"
        seen.append(capsys.readouterr().out)
        yield b"_ = 1\n"

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines()))
    assert main(["complete", "-", "--json", "--processes", "1"]) == 1
    assert [json.loads(line)["equation"] for line in seen] == ["sni(x) = _"]


def test_text_that_tries_to_run_code_is_a_syntax_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = tmp_path / "mark"
    assert main(["verify", f"__import__('os').system('touch {mark}') = 1"]) == 1
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
        ["complete", "_ = x", "--seconds", "0"],
        ["complete", "_ = x", "--seconds", "soon"],
        ["complete", "_ = x", "--any-variables"],
        ["complete", "_ = x", "--wieghts"],
    ],
)
def test_bad_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert re.fullmatch(r"dgltree( complete)?: error: .*; see dgltree( complete)? --help\n", capsys.readouterr().err)


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
    assert main(["complete", "x = _", "--order", "score", "--model", "nosuch"]) == 1
    assert "nosuch: no such file, and no shipped model of that name" in capsys.readouterr().err
    half = tmp_path / "half.safetensors"
    half.write_bytes(Path(model).read_bytes()[:1000])
    assert main(["complete", "x = _", "--order", "score", "--model", str(half)]) == 1
    assert "an incomplete safetensors file (" in capsys.readouterr().err


def test_an_empty_standard_input_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, b"\n")
    assert main(["verify", "-"]) == 1
    assert "no equations" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["complete", "--help"], ["verify", "--help"]])
def test_help_shows_examples(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    assert "examples:\n  dgltree " in capsys.readouterr().out


VERIFY = f"{shlex.quote(sys.executable)} -m dgltree verify"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (f"yes 'x = x' | head -2000 | {VERIFY} - | head -1", "1: x = x\n"),
        (f"{VERIFY} 'x = x' | true; echo ${{PIPESTATUS[0]}}", "0\n"),  # all is in a buffer when the command ends
    ],
)
def test_a_closed_pipe_and_a_pipe_without_a_terminal_are_quiet(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=900, check=True)
    assert (done.stdout, done.stderr) == (shown, "")


def test_what_goes_to_a_closed_stream_goes_nowhere(tmp_path: Path) -> None:
    command = f"{VERIFY} 'x = x' >&-; echo $?; {VERIFY} 'x = x' 2>&- <&-; {VERIFY} 'x = ' >&-; echo $?"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=900, check=True)
    assert done.stdout.splitlines()[0] == "0" and done.stdout.splitlines()[-1] == "1"
    assert "x = x" in done.stdout
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


def test_the_shipped_model_completes_the_main_example(capsys: pytest.CaptureFixture[str]) -> None:
    for order in ("textbook", "score"):
        assert main(["complete", "sin(x)^2 + _ = 1", "--json", "--order", order]) == 0
        assert first_infix(json.loads(capsys.readouterr().out)["fillers"][0]) == "cos(x)^2"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["evaluate", "runs"], "dgltree evaluate: error: the following arguments are required: FILE"),
        (["complete"], "dgltree complete: error: the following arguments are required: EQUATION"),
        (["check", "x = _", "--thing"], "dgltree check: error: "),
        (["fit", "trees.tsv", "--epochs", "x"], "dgltree fit: error: --epochs is 'x'"),
        (["sample", "x"], "dgltree sample: error: unexpected argument: x"),
        (["evalute", "runs"], "dgltree: error: there is no command 'evalute'; nearest known: evaluate"),
        ([], "dgltree: error: "),
    ],
)
def test_a_wrong_command_line_is_answered_in_one_line(
    given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(given)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(message) and line.endswith(f"; see {message.partition(': ')[0]} --help")
