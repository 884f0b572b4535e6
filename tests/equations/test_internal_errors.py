"""A fault of the program at one input is reported for that input, by its name; refusals say what is wrong with one."""

import io
import pickle
from pathlib import Path
from typing import Any

import pytest

from dgltree import check, complete, verify
from dgltree.commands.main import main
from dgltree.equations.completion import verification
from dgltree.equations.marking import checker
from dgltree.equations.marking.check import Marking, MarkingTask
from dgltree.equations.marking.checker import Checker
from dgltree.equations.marking.marks import Mark
from dgltree.ranking.completion import Completer, each
from dgltree.support.refusal import InternalError, Refusal, attempt


def fault(*_: Any, **__: Any) -> Any:
    raise KeyError("a")


def test_an_attempt_tells_refusals_from_faults_and_ends_where_the_input_is_not_to_blame() -> None:
    def refuse() -> None:
        raise Refusal("it is too long")

    def lack_a_file() -> None:
        raise FileNotFoundError("no such model")

    def divide() -> float:
        return float("1") / 0 if attempt else int("x")

    refusal, error = attempt(refuse), attempt(fault)
    assert isinstance(refusal, Refusal) and str(refusal) == "it is too long"
    assert isinstance(error, InternalError) and str(error) == "undecided: internal error KeyError"
    assert str(attempt(divide)) == "undecided: internal error ZeroDivisionError"
    assert str(attempt(int, "x")) == "undecided: internal error ValueError"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(FileNotFoundError):
        attempt(lack_a_file)


def test_each_answers_the_others_where_one_has_a_fault() -> None:
    def answer(several: list[int]) -> list[int]:
        return [12 // one for one in several]

    assert [str(one) for one in each(answer, [3, 0, 4])] == ["4", "undecided: internal error ZeroDivisionError", "3"]


LINES = "x + _ = 3\nx - _ = 1\nx*_ = x\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_complete_and_verify_go_on_behind_a_line_with_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    answer = Completer.answer

    def sometimes(self: Completer, asked: Any, *others: Any, **more: Any) -> Any:
        return fault() if "1" in str(asked.equation) else answer(self, asked, *others, **more)

    monkeypatch.setattr(Completer, "answer", sometimes)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))
    options = ["--json"] if as_json else []
    assert main(["complete", "-", "--processes", "1", *options]) == 1
    found = capsys.readouterr()
    assert "equation 2, 'x - _ = 1': undecided: internal error KeyError" in found.err
    assert (found.out.count("3 - x") >= 1 and "3: x*_ = x" in found.out) or as_json
    assert not as_json or '"error": "undecided: internal error KeyError"' in found.out

    monkeypatch.setattr(verification, "reasons", fault)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 = 2\nx = 2\nx = x + \n2 = 2\n")))
    assert main(["verify", "-", "--why", *options]) == 1
    found = capsys.readouterr()
    assert "equation 2, 'x = 2': undecided: internal error KeyError" in found.err
    assert "equation 3" in found.err and "internal" not in found.err.splitlines()[1]
    assert "2 = 2" in found.out


def test_a_mark_of_an_answer_with_a_fault_is_undecided_and_the_table_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    listed = checker.parse_claim
    monkeypatch.setattr(checker, "parse_claim", lambda text: fault() if "7" in text else listed(text))
    found = Checker("x + _ = 3").mark("7")
    assert (found.mark, str(found)) == (Mark.UNDECIDED, "undecided: internal error KeyError")
    assert not found.is_judged and Checker("x + _ = 3").mark("3 - x").is_judged
    with pytest.raises(KeyError):
        check("x + _ = 3", "7")
    assert main(["check", "x + _ = 3", "7", "3 - x"]) == 1
    said = capsys.readouterr()
    assert "answer 1, '7'" in said.err and "right" in said.out
    monkeypatch.setattr("dgltree.commands.check_table.mark_within", lambda task, _: Marking().mark(task))
    (tmp_path / "answers.csv").write_text("answer\n7\n3 - x\n")
    assert main(["check", "x + _ = 3", "--table", str(tmp_path / "answers.csv")]) == 1
    said = capsys.readouterr()
    assert "row 1, '7': undecided: internal error KeyError" in said.err and said.out.count("right") >= 1

    monkeypatch.setattr(checker, "read_question", fault)
    found = Marking().mark(MarkingTask("x + _ = 4", "1"))
    assert found.mark is Mark.NOT_ASKED and "internal error KeyError" in str(found)


@pytest.mark.parametrize(
    "question",
    [
        "log(x) = 1000, x = _",
        "lg(x) = 400, x = _",
        "log(log(x)) = 7, x = _",
        "(x^2+3x+1)/sqrt(x) = 0, x = _",
        "ln(x) + x^2 + 3x + 1 = ln(x), x = _",
        "sin(x/0) = 0, x = _",
    ],
)
def test_completing_has_no_fault_at(question: str) -> None:
    assert complete(question, budget=12_000).understood()


@pytest.mark.parametrize(
    ("question", "answer", "mark"),
    [("x^2 + y^2 = 1, y = _", "sqrt(1-x^2)", "positive"), ("(x^2+3x+1)/sqrt(x) = 0, x = _", "no solution", "right")],
)
def test_marking_has_no_fault_at(question: str, answer: str, mark: str) -> None:
    assert check(question, answer).mark.value == mark


@pytest.mark.parametrize("equation", ["sqrt(((x + abs(x))^2)*csc(x)) = abs(x + abs(x))*sqrt(csc(x))", "sin(x/0) = 0"])
def test_a_proof_that_is_too_much_work_to_explain_is_explained_in_part(equation: str) -> None:
    assert isinstance(verify(equation).why, list)
