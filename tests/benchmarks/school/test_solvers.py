"""The solvers and the command."""

import json
from contextlib import contextmanager

import pytest

from benchmarks.school import command, peer
from benchmarks.school.command import SOLVERS
from benchmarks.school.problems import KNOWN, read_problems
from benchmarks.school.values import same_value
from dgltree import read_equation, read_infix, write_infix
from tasks.equations.__main__ import main


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("x^2 - 7*x + 12 = (x - 3)*_", "x - 4"),
        ("1/3 + _ = 5/6", "1/2"),
        ("log(x, 2) = log(x)/_", "log(2)"),
        ("2^_ = 64", "6"),
        ("abs(-3*x) = 3*_", "abs(x)"),
        ("abs(abs(x) - y) + _ = 2*abs(abs(x) - y)", "abs(abs(x) - y)"),
        ("sqrt(_) = x + 1", "(x + 1)^2"),
    ],
)
def test_sympy(text, answer):
    equation = read_equation(text, KNOWN)
    first, *_ = peer.complete(equation, positive=False)
    assert same_value(first, read_infix(answer, KNOWN), equation)


def test_sympy_with_positive_variables_and_in_the_order_that_it_prints():
    equation = read_equation("sqrt(x^2) = _ + 3")
    assert list(map(write_infix, peer.complete(equation, positive=True))) == ["x + -3"]


def test_sympy_finds_nothing():
    assert peer.complete(read_equation("_ - _ = 1"), positive=False) == []
    assert peer.complete(read_equation("_^2 = -1"), positive=False) == []  # no tree says i


def test_the_process_is_replaced_when_time_is_up():
    equation = read_equation("x + _ = 1")
    with peer.Peer(seconds=0) as hasty:
        assert hasty.solver(positive=False)(equation) == ()
    with peer.Peer() as patient:
        assert list(map(write_infix, patient.solver(positive=False)(equation))) == ["1 - x"]
        assert patient.solver(positive=False)(read_equation("foo(x) = _", None)) == ()


@pytest.mark.slow
def test_list_has_nothing_for_what_the_model_cannot_read():
    with SOLVERS["list"]() as (solve,):
        assert write_infix(solve(read_equation("sin(x)^2 + _ = 1"))[0]) == "cos(x)^2"
        assert solve(read_equation("foo(x) = _", None)) == ()


def test_the_command(monkeypatch, tmp_path, capsys):
    @contextmanager
    def knowing():
        answers = {problem.equation: problem.answer for problem in read_problems()}
        yield [lambda equation: [answers[equation]]]

    monkeypatch.setitem(SOLVERS, "knowing", knowing)
    out = tmp_path / "answers.jsonl"
    assert main(["benchmark", "--part", "tuned", "--solvers", "knowing", "--out", str(out)]) == 0
    tuned = read_problems("tuned")
    printed = capsys.readouterr().out
    assert printed.startswith(f"part tuned: {len(tuned)} equations\n")
    assert [line.split()[1:6] for line in printed.splitlines() if line.startswith("all ")] == [
        [str(len(tuned)), "100.0", "100.0", "100.0", "100.0"]
    ]
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["equation"] for line in lines] == [problem.text for problem in tuned]
    assert all(line["textbook"] and line["part"] == "tuned" for line in lines)


def test_an_interrupted_run_reports_what_it_has(monkeypatch, capsys):
    asked, closed = [], []

    @contextmanager
    def interrupted():
        def solve(equation):
            asked.append(equation)
            if len(asked) == 4:
                raise KeyboardInterrupt
            return []

        try:
            yield [solve]
        finally:
            closed.append(True)

    monkeypatch.setitem(SOLVERS, "interrupted", interrupted)
    assert command.main(["--solvers", "interrupted"]) == command.INTERRUPTED
    captured = capsys.readouterr()
    assert "interrupted after 3 answers" in captured.err
    assert [line.split()[1] for line in captured.out.splitlines() if line.startswith("all ")] == ["3"]
    assert closed
